//! Names and sentences inside generated comments and strings.

/// The most characters of a name that a comment shows.
const SHOWN: usize = 120;

/// A name for a comment or documentation of any target: one line, no quote, backslash or bracket
/// that could end the comment or be read as markup, no invisible character. It is for people only and never
/// compared.
pub fn shown(name: &str) -> String {
    let mut text = String::new();
    for (i, c) in name.chars().enumerate() {
        if i == SHOWN {
            text.push('…');
            break;
        }
        match c {
            '`' | '\\' | '"' => text.push('\''),
            // `*/` ends a C comment, `/*` warns inside one and nests in Rust, `"""` ends Python's
            // documentation, `??/` continues a line as a trigraph.
            '*' | '/' if text.ends_with(['*', '/']) => text.extend([' ', c]),
            '?' if text.ends_with('?') => text.push_str(" ?"),
            _ if readable(c) => text.push(c),
            _ => text.push_str(&format!("<{:x}>", u32::from(c))),
        }
    }
    text
}

/// True for printable ASCII and for letters and digits of any script, but not for marks, which join the character before.
fn readable(c: char) -> bool {
    matches!(c, ' '..='~') || c.is_alphanumeric() && c.escape_debug().len() == 1
}

/// [`shown`] as inline code of rustdoc and markdown.
pub fn code(name: &str) -> String {
    match shown(name).trim() {
        "" => "(no name)".to_owned(),
        text => format!("`{}`", text.replace('|', "¦")),
    }
}

/// A sentence from a TOML file for documentation: like [`shown`], with markup escaped.
pub fn sentence(text: &str) -> String {
    markup(shown(text).trim())
}

/// Escapes what rustdoc and Markdown read as markup.
pub fn markup(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        if matches!(c, '[' | ']' | '<' | '*' | '&' | '|') || c == '_' && escaped.ends_with('_') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// A string literal of Rust. Letters and digits of any script stay readable; other characters outside ASCII are escaped.
pub fn rust_string(text: &str) -> String {
    let plain = |c: char| if c > '~' && readable(c) { c.into() } else { c.escape_default().to_string() };
    format!("\"{}\"", text.chars().map(plain).collect::<String>())
}

/// A string literal of C. Bytes outside ASCII become octal escapes, which end after three digits.
pub fn c_string(text: &str) -> String {
    let mut literal = String::from("\"");
    for byte in text.bytes() {
        match byte {
            // A question mark could begin a trigraph.
            b'"' | b'\\' | b'?' => literal.extend(['\\', char::from(byte)]),
            b' '..=b'~' => literal.push(char::from(byte)),
            _ => literal.push_str(&format!("\\{byte:03o}")),
        }
    }
    literal.push('"');
    literal
}

/// A string literal of Python, escaped like [`rust_string`].
pub fn python_string(text: &str) -> String {
    escaped_between(if text.contains('"') && !text.contains('\'') { '\'' } else { '"' }, text)
}

/// A string literal of Go or Python between these quotes.
pub fn escaped_between(quote: char, text: &str) -> String {
    let mut literal = String::from(quote);
    for c in text.chars() {
        match c {
            _ if c == quote || c == '\\' => literal.extend(['\\', c]),
            _ if readable(c) => literal.push(c),
            _ => literal.push_str(&format!("\\U{:08x}", u32::from(c))),
        }
    }
    literal.push(quote);
    literal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_stay_what_they_are() {
        assert_eq!(shown("a*/b/*c**/\n\"\"\"`\\"), "a* /b/ *c* * /<a>''''\'");
        assert_eq!(shown("//* ??/"), "/ / * ? ?/");
        assert_eq!(shown("\u{202e}x\u{200b}"), "<202e>x<200b>");
        assert_eq!(shown(&"é".repeat(10_000)).chars().count(), SHOWN + 1);
        assert_eq!(rust_string("快 ú\u{5c7}\u{202e}\""), "\"快 ú\\u{5c7}\\u{202e}\\\"\"");
        assert_eq!(python_string("快 ú\u{202e}\""), "'快 ú\\U0000202e\"'");
        assert_eq!(sentence("see [x](y) <b>"), "see \\[x\\](y) \\<b>");
    }
}
