//! Parses JSON as programs write it: with Python's numbers, and strictly where a value would be lost.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value as Json};

/// Parses JSON. Python writes `NaN` and `Infinity`, which JSON does not have.
///
/// # Errors
/// A sentence with the place; also for an object that has a key twice.
pub fn parse(text: &str) -> Result<Json, String> {
    strict(text).or_else(|e| without_python_numbers(text).map_or(Err(e), |without| strict(&without)))
}

/// Parses a document, which may be the cache of Kernel Tuner before the end of a run: only then it is closed.
///
/// # Errors
/// Those of [`parse`].
pub fn parse_document(text: &str) -> Result<Json, String> {
    let closed = || parse(&format!("{}}}}}", text.trim_end().trim_end_matches(',')));
    parse(text).or_else(|e| closed().map_err(|_| e))
}

fn strict(text: &str) -> Result<Json, String> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = DistinctKeys.deserialize(&mut deserializer);
    value.and_then(|value| deserializer.end().map(|()| value)).map_err(|e| e.to_string())
}

/// Builds a value of distinct keys: of a repeated key, `serde_json` keeps the last value.
struct DistinctKeys;

impl<'de> DeserializeSeed<'de> for DistinctKeys {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(self)
    }
}

macro_rules! plain {
    ($($visit:ident: $type:ty),*) => {
        $(fn $visit<E>(self, value: $type) -> Result<Json, E> { Ok(value.into()) })*
    };
}

impl<'de> Visitor<'de> for DistinctKeys {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    plain! { visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Self)? {
            list.push(item);
        }
        Ok(Json::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if object.contains_key(&key) {
                return Err(A::Error::custom(format!("the key {} twice", ah_types::shown::quoted(&key))));
            }
            object.insert(key, entries.next_value_seed(Self)?);
        }
        Ok(Json::Object(object))
    }
}

/// Writes `null` for `NaN` and `"inf"` for `Infinity` outside strings. Returns `None` if the text has neither.
fn without_python_numbers(text: &str) -> Option<String> {
    const WORDS: [(&str, &str); 3] = [("NaN", "null"), ("-Infinity", "\"-inf\""), ("Infinity", "\"inf\"")];
    let (mut out, mut found, mut in_string) = (String::with_capacity(text.len()), false, false);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let word = WORDS.iter().find(|(word, _)| !in_string && rest.starts_with(word));
        let length = match (c, word) {
            (_, Some((word, json))) => {
                found = true;
                out.push_str(json);
                rest = &rest[word.len()..];
                continue;
            }
            // An escaped character is one of the string.
            ('\\', _) if in_string => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            _ => c.len_utf8(),
        };
        in_string ^= c == '"';
        out.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    found.then_some(out)
}
