//! Numbers of logs and tables.

use ah_model::RowNumber;

/// Reads a number: decimal, or `inf`, `infinity` and `nan` in any case. Returns `None` for other text, and for a number
/// that an f64 does not hold: one that is too large, and a whole number beyond 2^53 that would become its neighbour, so
/// that two inputs would become one.
pub fn number(text: &str) -> Option<f64> {
    // Most features are small whole numbers.
    if let Ok(small) = text.parse::<u32>() {
        return Some(f64::from(small));
    }
    let text = text.trim();
    let x: f64 = text.parse().ok()?;
    let digits = text.trim_start_matches(['-', '+']);
    let is_whole = digits.bytes().all(|b| b.is_ascii_digit());
    let is_exact = match is_whole && x.abs() >= 9_007_199_254_740_992.0 {
        // All digits, or the shortest that read back to the same number: those of 2^55 end with 968 and 970.
        true => [format!("{:.0}", x.abs()), x.abs().to_string()]
            .iter()
            .any(|text| text == digits.trim_start_matches('0')),
        false => x.is_finite() || !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.'),
    };
    is_exact.then_some(x)
}

/// The line of a record. Where lines end with CRLF, a reader of CSV has not counted the line feed before the record.
pub fn csv_line(position: Option<&csv::Position>, crlf: bool) -> RowNumber {
    RowNumber::Line(position.map_or(1, |at| at.line() + u64::from(crlf && at.byte() > 0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_read_or_refused_but_never_changed() {
        for (text, x) in
            [("64", 64.0), (" 64.0", 64.0), ("-1e3", -1000.0), ("9007199254740994", 9_007_199_254_740_994.0)]
        {
            assert_eq!(number(text), Some(x));
        }
        assert_eq!(number("36028797018963968"), Some(36_028_797_018_963_968.0));
        assert_eq!(number("Inf"), Some(f64::INFINITY));
        assert!(number("nan").is_some_and(f64::is_nan));
        for text in [
            "1e400",
            "-1e309",
            "9007199254740993",
            "1_000",
            "",
            "0x10",
            "99999999999999999999999999999999999999999999",
        ] {
            assert_eq!(number(text), None, "{text}");
        }
    }
}
