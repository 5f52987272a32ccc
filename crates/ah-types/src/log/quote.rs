//! A field of CSV as logs write it.

use std::borrow::Cow;

/// Returns the field as it appears in a row: quoted if necessary (RFC 4180).
pub fn quote(text: &str) -> Cow<'_, str> {
    if text.contains(['"', ',', '\n', '\r']) {
        Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(text)
    }
}
