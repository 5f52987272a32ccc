//! Values in messages. Text from files is quoted, with control characters escaped, and cut to a length that fits a terminal: a file may
//! contain a name of megabytes, or one with escape codes.

/// The most characters of a name or value in a message.
const MOST_CHARACTERS: usize = 60;
/// The most characters of an expression, or of a library's reason.
const MOST_TEXT: usize = 300;
/// The most characters of its end, after the cut.
const MOST_END: usize = 100;
/// The most names in a list.
const MOST_NAMES: usize = 20;

/// A name or value in quotes, cut after 60 characters.
pub fn quoted(text: &str) -> String {
    format!("{:?}", cut(text, MOST_CHARACTERS))
}

/// A name as it is, or in quotes if it has other than visible ASCII characters.
pub fn whole(name: &str) -> String {
    if name.bytes().all(|b| b.is_ascii_graphic()) { name.to_owned() } else { format!("{name:?}") }
}

/// An expression in quotes, cut after 300 characters.
pub fn expression(text: &str) -> String {
    format!("{:?}", cut(text, MOST_TEXT))
}

/// Names separated by commas, in quotes if they need them: the first twenty, fewer if they have more than 300 characters, and
/// the number of further names.
pub fn listed<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> String {
    let shown = |name: &str| {
        let plain = name.len() <= MOST_CHARACTERS && name.bytes().all(|b| b.is_ascii_graphic());
        if plain { name.to_owned() } else { quoted(name) }
    };
    let mut names = names.into_iter();
    let mut list = Vec::new();
    let mut length = 0;
    while list.len() < MOST_NAMES
        && length <= MOST_TEXT
        && let Some(name) = names.next()
    {
        let name = shown(name.as_ref());
        length += name.len();
        list.push(name);
    }
    let more = names.count();
    if more > 0 {
        list.push(format!("and {more} more"));
    }
    list.join(", ")
}

/// `; did you mean "NAME"?` with the most similar known name, or nothing if none is similar enough.
pub fn did_you_mean<T: AsRef<str>>(name: &str, known: impl IntoIterator<Item = T>) -> String {
    // clap proposes a flag from the same similarity on.
    const SIMILAR: f64 = 0.7;
    let scored = known.into_iter().map(|known| (similarity(name, known.as_ref()), known));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(similarity, _)| *similarity > SIMILAR);
    best.map(|(_, known)| format!("; did you mean {}?", quoted(known.as_ref()))).unwrap_or_default()
}

/// The similarity of two names after Jaro ("Advances in record-linkage methodology", 1989): 0 for nothing in common, 1 for the same text.
pub fn similarity(a: &str, b: &str) -> f64 {
    let [a, b] = [a, b].map(|text| text.chars().collect::<Vec<char>>());
    // Equal characters count if they are no further apart.
    let apart = (a.len().max(b.len()) / 2).saturating_sub(1);
    let mut partners = vec![None; b.len()];
    for (at, c) in a.iter().enumerate() {
        let near = at.saturating_sub(apart)..(at + apart + 1).min(b.len());
        if let Some(partner) = near.into_iter().find(|&other| partners[other].is_none() && b[other] == *c) {
            partners[partner] = Some(at);
        }
    }
    let in_b: Vec<usize> = partners.into_iter().flatten().collect();
    let in_a = (0..a.len()).filter(|at| in_b.contains(at));
    let moved = in_a.zip(&in_b).filter(|(at, other)| a[*at] != a[**other]).count();
    let common = in_b.len() as f64;
    let moved = (moved / 2) as f64;
    if common == 0.0 {
        return f64::from(u8::from(a.is_empty() && b.is_empty()));
    }
    (common / a.len() as f64 + common / b.len() as f64 + (common - moved) / common) / 3.0
}

/// A library's reason. The middle of each line longer than 400 characters is cut, and control characters
/// are escaped.
pub fn reason(text: &str) -> String {
    // Also marks that turn the direction of text, such as U+202E.
    let is_shown = |c: char| matches!(c, '"' | '\'' | '\\') || c.escape_debug().count() == 1;
    let escape = |c: char| if is_shown(c) { c.to_string() } else { c.escape_debug().to_string() };
    // Such a reason has the refused value in the middle, and the expected one at the end.
    let shortened = |line: &str| match line.char_indices().rev().nth(MOST_END) {
        Some((end, _)) if end > MOST_TEXT => format!("{}{}", cut(line, MOST_TEXT), &line[end..]),
        _ => line.to_owned(),
    };
    let line = |line: &str| shortened(line).chars().map(escape).collect::<String>();
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// At most this many characters of a text.
pub fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A measured time with four digits: `52.31 µs`.
pub fn time(ms: f64) -> String {
    let (value, unit) = match ms {
        ..1e-3 => (ms * 1e6, "ns"),
        ..1.0 => (ms * 1e3, "µs"),
        ..1e3 => (ms, "ms"),
        _ => (ms / 1e3, "s"),
    };
    let decimals = match value {
        ..10.0 => 3,
        ..100.0 => 2,
        ..1000.0 => 1,
        _ => 0,
    };
    format!("{value:.decimals$} {unit}")
}

/// The value of this name, which a person wrote in a flag or in an optimization's TOML.
///
/// # Errors
/// A sentence with the names that there are; `what` is the kind of value with its article.
pub fn named<T: Copy>(what: &str, names: &[(&str, T)], name: &str) -> Result<T, String> {
    let found = names.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    found.ok_or_else(|| {
        let known = || names.iter().map(|(name, _)| *name);
        format!(
            "expected {what} of {}, found {}{}",
            listed(known()),
            quoted(name),
            did_you_mean(name, known())
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_stay_short_and_printable() {
        assert_eq!(quoted("a\u{1b}[31m"), r#""a\u{1b}[31m""#);
        assert_eq!(quoted(&"x".repeat(1 << 20)).chars().count(), MOST_CHARACTERS + 3);
        assert_eq!(listed(["m", "a\tb"]), r#"m, "a\tb""#);
        assert_eq!(listed(["m"; 22]), format!("{}, and 2 more", ["m"; 20].join(", ")));
        let long = "x".repeat(MOST_CHARACTERS);
        assert_eq!(listed([&long; 22]), format!("{}, and 16 more", [&*long; 6].join(", ")));
        assert_eq!(reason("a\u{7}\nb \"\u{202e}\""), "a\\u{7}\nb \"\\u{202e}\"");
        assert_eq!(quoted("\u{202e}x"), r#""\u{202e}x""#);
    }

    /// Pairs from Winkler's papers on the measure.
    #[test]
    fn names_are_as_similar_as_jaro_says() {
        for (a, b, expected) in [
            ("MARTHA", "MARHTA", 0.944),
            ("DIXON", "DICKSONX", 0.767),
            ("DWAYNE", "DUANE", 0.822),
            ("abc", "xyz", 0.0),
            ("", "", 1.0),
            ("", "a", 0.0),
        ] {
            assert!((similarity(a, b) - expected).abs() < 5e-4, "{a} {b}: {}", similarity(a, b));
        }
        assert_eq!(did_you_mean("mrege", ["std", "merge"]), "; did you mean \"merge\"?");
    }

    #[test]
    fn units_fit_the_time() {
        let times = [1e-5, 0.0123, 0.9, 1.0, 52.307, 152.0, 12_345.0, f64::INFINITY].map(time);
        assert_eq!(
            times,
            ["10.00 ns", "12.30 µs", "900.0 µs", "1.000 ms", "52.31 ms", "152.0 ms", "12.35 s", "inf s"]
        );
    }
}
