//! One line of CSV (RFC 4180, a record a line) as byte ranges, without copying.
//!
//! The common line has no quotes; `memchr` finds its commas at several GB/s.

use std::borrow::Cow;
use std::ops::Range;

/// Splits `line` into fields; ranges include the quotes of a quoted field.
///
/// # Errors
/// The byte at which a quoted field is not closed, or continues after its quote.
pub(super) fn split(line: &[u8], fields: &mut Vec<Range<usize>>) -> Result<(), usize> {
    fields.clear();
    if memchr::memchr(b'"', line).is_none() {
        let mut start = 0;
        for comma in memchr::memchr_iter(b',', line) {
            fields.push(start..comma);
            start = comma + 1;
        }
        fields.push(start..line.len());
        return Ok(());
    }
    let mut at = 0;
    loop {
        let start = at;
        if line.get(at) == Some(&b'"') {
            at += 1;
            loop {
                match memchr::memchr(b'"', &line[at..]) {
                    None => return Err(start),
                    Some(i) if line.get(at + i + 1) == Some(&b'"') => at += i + 2,
                    Some(i) => {
                        at += i + 1;
                        break;
                    }
                }
            }
            if at < line.len() && line[at] != b',' {
                return Err(at);
            }
        } else {
            at += memchr::memchr(b',', &line[at..]).unwrap_or(line.len() - at);
        }
        fields.push(start..at);
        if at == line.len() {
            return Ok(());
        }
        at += 1;
    }
}

/// Returns the text of a field without its quotes.
pub(super) fn unquote(field: &str) -> Cow<'_, str> {
    match field.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inner) => Cow::Owned(inner.replace("\"\"", "\"")),
        None => Cow::Borrowed(field),
    }
}

/// Returns the field as it appears in a row: quoted if necessary.
pub fn quote(text: &str) -> Cow<'_, str> {
    if text.contains(['"', ',', '\n', '\r']) {
        Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(text)
    }
}

/// Returns the column of a byte of a line, in characters from 1.
pub(super) fn column(line: &[u8], byte: usize) -> usize {
    String::from_utf8_lossy(&line[..byte]).chars().count() + 1
}
