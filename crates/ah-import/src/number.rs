//! Numbers as programs and spreadsheets write them: `1,234.5`, `1.234,5` and `1 234.5` group digits.

use std::sync::LazyLock;

use regex::Regex;

/// The character between the whole part of a number and its fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum Decimal {
    /// A point; commas may group digits.
    Point,
    /// A comma; points may group digits.
    Comma,
}

/// What to do about a number whose comma or point may group digits or begin a fraction: the likely answer first.
pub fn hint(text: &str) -> &'static str {
    if text.contains(',') && plain(text, Decimal::Point).is_some() {
        "give --decimal point where commas group digits, or --decimal comma where a comma begins the fraction"
    } else {
        "give --decimal comma where a comma begins the fraction and points group digits (`tr -d . < TABLE | tr , . > NEW.csv` does the same where no commas separate the cells), or --decimal point where a point begins it"
    }
}

/// What to do about a text that is a number in a form that import does not read; `None` for any other text.
pub fn advice(text: &str) -> Option<&'static str> {
    if is_localized(text) {
        return Some(hint(text));
    }
    is_notation(text).then_some("write its digits alone (1000 for 1_000 or 1k)")
}

/// Reads a number. Without `decimal`, digits may be grouped where it can be read in one way alone: `1,234.5`, but not `1,234`;
/// nor `512 498`, which may be two numbers.
pub fn read(text: &str, decimal: Option<Decimal>) -> Option<f64> {
    if let Some(decimal) = decimal {
        // A text without digits, such as inf, has no fraction.
        let has_digit = text.contains(|c: char| c.is_ascii_digit());
        return if has_digit { ah_types::number(&plain(text, decimal)?) } else { ah_types::number(text) };
    }
    ah_types::number(text).or_else(|| match (plain(text, Decimal::Point), plain(text, Decimal::Comma)) {
        _ if text.trim().contains(' ') => None,
        (Some(number), None) => ah_types::number(&number),
        (Some(number), Some(same)) if number == same => ah_types::number(&number),
        _ => None,
    })
}

/// Reads the number of a feature. Its digits may be grouped only where `decimal` says how.
pub fn of_feature(text: &str, decimal: Option<Decimal>) -> Option<f64> {
    decimal.map_or_else(|| ah_types::number(text), |_| read(text, decimal))
}

/// Whether text that is no number is one with grouped digits or with a decimal comma.
pub fn is_localized(text: &str) -> bool {
    text.contains(|c: char| !c.is_ascii_alphanumeric())
        && ah_types::number(text).is_none()
        && [Decimal::Point, Decimal::Comma].iter().any(|decimal| plain(text, *decimal).is_some())
}

/// Whether a text is a number in a notation that import does not read: `0x64`, `1_000`, `10k`, `2 GiB`, `12,34,567`, `50 %`,
/// `1.5D+03`, `16 threads`, `2^10` or `'64'`.
pub fn is_notation(text: &str) -> bool {
    static NOTATION: LazyLock<Regex> = LazyLock::new(|| {
        let forms = r"0x[\da-f_]+|0[bo][\d_]+|\d{1,3}(_\d{3}|,\d{2,3})+(\.\d+)?|\d+([.,]\d+)? ?([kmgtp]i?b?|b|bytes|%)|\d+([.,]\d+)? [a-z]+|\d+ ?(\^|\*\*) ?\d+|\d+\.\d*d[-+]?\d+|'[\d.]+'";
        Regex::new(&format!("(?i)^[-+]?({forms})$")).expect("a regular expression")
    });
    NOTATION.is_match(text)
}

/// Whether a text is several numbers: `64x128`, `(8, 16)`, `[1, 2]`, `1/2`.
pub fn is_shape(text: &str) -> bool {
    static SHAPE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^\W?\d+(( ?[x×*/] ?|, ?)\d+)+\W?$").expect("a regular expression"));
    SHAPE.is_match(text)
}

/// The number with a decimal point and without groups; `None` where the separators are out of place.
fn plain(text: &str, decimal: Decimal) -> Option<String> {
    let text = text.trim();
    let (mantissa, exponent) = text.split_at(text.find(['e', 'E']).unwrap_or(text.len()));
    let unsigned = mantissa.trim_start_matches(['-', '+']);
    let sign = &mantissa[..mantissa.len() - unsigned.len()];
    let (point, group) = match decimal {
        Decimal::Point => ('.', ','),
        Decimal::Comma => (',', '.'),
    };
    let (whole, fraction) = unsigned.split_once(point).unwrap_or((unsigned, ""));
    let is_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let separators = [group, '\'', '’', ' ', '\u{a0}', '\u{202f}'];
    let separator = whole.chars().find(|c| separators.contains(c)).unwrap_or(group);
    let mut groups = whole.split(separator);
    let first_fits = groups.next().is_some_and(|first| (1..=3).contains(&first.len()));
    let digits = whole.replace(separator, "");
    let is_grouped = digits == whole || first_fits && groups.all(|group| group.len() == 3);
    let has_digits = !digits.is_empty() || !fraction.is_empty();
    // Without a point, so that a whole number that an f64 does not hold is refused.
    let point = if fraction.is_empty() { "" } else { "." };
    let is_number = is_grouped && has_digits && is_digits(&digits) && is_digits(fraction);
    is_number.then(|| format!("{sign}{digits}{point}{fraction}{exponent}"))
}

/// Whether the point of a number may group digits: `1.000`, as a spreadsheet in German writes it, not `0.125`.
pub fn may_be_grouped(number: &str) -> bool {
    !number.trim_start_matches(['-', '+']).starts_with('0') && plain(number, Decimal::Comma).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped_where_there_is_one_way_to_read_them() {
        for (text, english, german, unsaid) in [
            ("1,234.5", Some(1234.5), None, Some(1234.5)),
            ("1.234,5", None, Some(1234.5), None),
            ("1,000", Some(1000.0), Some(1.0), None),
            ("1.000", Some(1.0), Some(1000.0), Some(1.0)),
            ("0,05", None, Some(0.05), None),
            ("0.05", Some(0.05), None, Some(0.05)),
            ("1,234,567", Some(1_234_567.0), None, Some(1_234_567.0)),
            ("1 234", Some(1234.0), Some(1234.0), None),
            ("1\u{202f}234", Some(1234.0), Some(1234.0), Some(1234.0)),
            ("1'234.5", Some(1234.5), None, Some(1234.5)),
            ("-1,5e-3", None, Some(-0.0015), None),
            ("12,34,567", None, None, None),
            ("1234,567", None, Some(1234.567), None),
            ("inf", Some(f64::INFINITY), Some(f64::INFINITY), Some(f64::INFINITY)),
            ("", None, None, None),
            (",", None, None, None),
            ("1.5ms", None, None, None),
        ] {
            let found = [Some(Decimal::Point), Some(Decimal::Comma), None].map(|decimal| read(text, decimal));
            assert_eq!(found, [english, german, unsaid], "{text}");
        }
        for (text, localized) in
            [("1,000", true), ("0,5", true), ("1 234", true), ("1.5", false), ("a,b", false), ("fast", false)]
        {
            assert_eq!(is_localized(text), localized, "{text}");
        }
    }
}
