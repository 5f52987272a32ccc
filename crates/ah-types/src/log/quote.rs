//! Fields of CSV as logs write them.

use std::borrow::Cow;

use ah_model::{Context, Feature, Schema, Value};

/// The field as it appears in a row: quoted if necessary (RFC 4180).
pub fn quote(text: &str) -> Cow<'_, str> {
    if text.contains(['"', ',', '\n', '\r']) {
        Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(text)
    }
}

/// The text of an input: its values as a log has them, joined by commas. Equal values have equal texts, however a log
/// writes them: `64` and `64.0` are one input.
pub fn input_text(values: &[Value]) -> String {
    let text = |value: &Value| match value {
        Value::Number(x) if x.is_nan() => Cow::Borrowed(""),
        Value::Number(_) => Cow::Owned(value.to_string()),
        Value::Category(name) => Cow::Owned(quote(name).into_owned()),
    };
    values.iter().map(text).collect::<Vec<_>>().join(",")
}

/// The context's features as one row of a log, joined by commas, in the order of `schema`: the key of an input.
///
/// A feature that the context lacks stays empty, and so does a number that is undefined.
pub fn context_text(context: &Context, schema: &Schema) -> String {
    let value = |f: &Feature| context.get(&f.name).cloned().unwrap_or(Value::Number(f64::NAN));
    input_text(&schema.features().iter().map(value).collect::<Vec<_>>())
}
