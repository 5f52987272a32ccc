//! Parses JSON strictly: of a repeated key, `serde_json` keeps the last value.

use std::fmt;

use ah_model::shown::quoted;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value as Json};

/// Parses JSON without losing a value.
///
/// # Errors
/// A sentence with the place; also for an object that has a key twice.
pub fn strict_json(text: &str) -> Result<Json, String> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = DistinctKeys.deserialize(&mut deserializer);
    value.and_then(|value| deserializer.end().map(|()| value)).map_err(|e| e.to_string())
}

/// Builds a value of distinct keys.
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
                return Err(A::Error::custom(format!("the key {} twice", quoted(&key))));
            }
            object.insert(key, entries.next_value_seed(Self)?);
        }
        Ok(Json::Object(object))
    }
}
