//! Fields of CSV as logs write them.

use std::borrow::Cow;

use crate::context::Value;

/// Returns the field as it appears in a row: quoted if necessary (RFC 4180).
pub fn quote(text: &str) -> Cow<'_, str> {
    if text.contains(['"', ',', '\n', '\r']) {
        Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(text)
    }
}

/// Returns the text of an input: its values as a log has them, joined by commas. Equal values have equal texts, however a log
/// writes them: `64` and `64.0` are one input.
pub fn input_text(values: &[Value]) -> String {
    let text = |value: &Value| match value {
        Value::Number(x) if x.is_nan() => Cow::Borrowed(""),
        Value::Number(_) => Cow::Owned(value.to_string()),
        Value::Category(name) => Cow::Owned(quote(name).into_owned()),
    };
    values.iter().map(text).collect::<Vec<_>>().join(",")
}
