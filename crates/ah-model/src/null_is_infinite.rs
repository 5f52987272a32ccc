//! Serializes infinity as `null`: JSON has no infinity.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Writes infinity (and NaN) as null.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<S: Serializer>(x: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    x.is_finite().then_some(*x).serialize(serializer)
}

/// Reads null as infinity.
///
/// # Errors
/// Those of the deserializer.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(deserializer)?.unwrap_or(f64::INFINITY))
}
