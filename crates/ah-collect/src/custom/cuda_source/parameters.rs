//! The parameters of a kernel: macros of its source. Each combination of their values is a choice.

use ah_model::{Feature, FieldValue, Precondition, Schema, Value};

use crate::custom::combinations::{Parameters, combinations, is_identifier};
use crate::worker::check_choices;

/// One configuration of the kernel.
#[derive(Debug)]
pub(super) struct CudaChoice {
    pub(super) name: String,
    /// The parameters' values, in the order of the schema, which has them after the features.
    pub(super) values: Vec<Value>,
    pub(super) defines: Vec<String>,
}

/// The features, followed by the parameters.
pub(super) fn extend(features: &Schema, parameters: &Parameters) -> Result<Schema, String> {
    let mut all = features.clone();
    for (name, values) in parameters {
        let wrong = |message: String| format!("cuda.parameters.{name}: {message}");
        if !is_identifier(name) {
            return Err(wrong("expected the name of a macro: letters, digits and _".to_owned()));
        }
        let first = values.first().ok_or_else(|| wrong("expected at least one value".to_owned()))?;
        let kind = parameter(first).kind();
        if let Some(other) = values.iter().find(|value| parameter(value).kind() != kind) {
            return Err(wrong(format!("expected numbers alone or texts alone, found {other:?}")));
        }
        let feature = Feature { kind, ..Feature::numerical(name) };
        all.push(feature).map_err(|_| wrong("a feature has this name too; rename one".to_owned()))?;
    }
    Ok(all)
}

/// The value of a parameter in expressions; truth values are 1 and 0, as the preprocessor needs
/// them.
fn parameter(value: &FieldValue) -> Value {
    value.number().map_or_else(|| value.value(), Value::from)
}

/// Every combination of the parameters that these conditions allow.
pub(super) fn choices(
    parameters: &Parameters,
    features: &Schema,
    conditions: &[Precondition],
) -> Result<Vec<CudaChoice>, String> {
    let combinations = combinations(parameters.iter()).map_err(|e| format!("cuda.parameters: {e}"))?;
    let mut choices: Vec<CudaChoice> = Vec::new();
    let unknown = vec![Value::from(f64::NAN); features.len()];
    for combination in combinations {
        let combination: Vec<(&str, Value)> =
            combination.into_iter().map(|(name, value)| (name, parameter(value))).collect();
        let values: Vec<Value> = combination.iter().map(|(_, value)| value.clone()).collect();
        let row = [unknown.as_slice(), &values].concat();
        if !conditions.iter().all(|condition| condition.holds(&row[..])) {
            continue;
        }
        // A value in a choice's name ends at the first underscore.
        let plain = |value: &Value| value.to_string().replace(['_', '='], "-");
        let parts = combination.iter().map(|(name, value)| format!("{name}={}", plain(value)));
        let name = parts.collect::<Vec<_>>().join("_");
        let defines = combination.iter().map(|(name, value)| format!("{name}={value}")).collect();
        choices.push(CudaChoice { name, values, defines });
    }
    check_choices(choices.iter().map(|choice| &choice.name))
        .map_err(|e| format!("cuda.parameters, within cuda.constraints: {e}"))?;
    Ok(choices)
}
