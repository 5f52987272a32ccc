//! Values and ranges of features in TOML files: the tables `[commands.inputs]` and `[cuda.inputs]`.

use std::collections::BTreeMap;

use ah_measure::Failure;
use ah_measure::sampling::{self, Rng};
use ah_types::{Context, FeatureKind, Optimization, Value};
use serde::Deserialize;

/// A value in TOML.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged, expecting = "expected a number, a text, true or false")]
pub(crate) enum ScalarText {
    Integer(i64),
    Float(f64),
    Bool(bool),
    Text(String),
}

impl ScalarText {
    pub(super) fn value(&self) -> Value {
        match self {
            Self::Integer(x) => Value::from(*x),
            Self::Float(x) => Value::from(*x),
            Self::Bool(b) => Value::from(*b),
            Self::Text(text) => Value::from(text.as_str()),
        }
    }

    #[cfg(feature = "kernels")]
    pub(super) fn text(&self) -> String {
        match self {
            Self::Integer(x) => x.to_string(),
            Self::Float(x) => x.to_string(),
            Self::Bool(b) => b.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

/// How a feature is drawn.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged, expecting = "expected a list of values, or { from = 1, to = 9 }")]
pub(crate) enum Draw {
    /// One of these, with equal probability.
    OneOf(Vec<ScalarText>),
    /// A whole number; each octave has the same probability.
    Range { from: u64, to: u64 },
}

impl Draw {
    fn draw(&self, rng: &mut Rng) -> Value {
        match self {
            Self::OneOf(values) => sampling::pick(rng, values).value(),
            Self::Range { from, to } => Value::from(sampling::log_uniform(rng, *from, *to)),
        }
    }
}

/// Checks how the features are drawn. Returns them in the order of the features; `None` for a feature that is not
/// drawn.
pub(crate) fn check(
    inputs: &BTreeMap<String, Draw>,
    optimization: &Optimization,
) -> Result<Vec<Option<Draw>>, String> {
    if let Some(name) = inputs.keys().find(|n| !optimization.features.iter().any(|f| f.name == **n)) {
        return Err(format!(": {name:?} is not a feature; add a [[feature]] of this name"));
    }
    let draws = optimization.features.iter().map(|feature| {
        let Some(draw) = inputs.get(&feature.name) else { return Ok(None) };
        let problem = match draw {
            Draw::OneOf(values) if values.is_empty() => Some("no value to choose from".to_owned()),
            Draw::OneOf(values) => values
                .iter()
                .find(|v| v.value().kind() != feature.kind)
                .map(|v| format!("the feature is {}, found {v:?}", feature.kind)),
            Draw::Range { .. } if feature.kind == FeatureKind::Categorical => {
                Some("a categorical feature has no range; list its values".to_owned())
            }
            Draw::Range { from, to } if *from == 0 || from > to => {
                Some(format!("expected 1 <= from <= to, found {from} and {to}"))
            }
            Draw::Range { .. } => None,
        };
        match problem {
            Some(problem) => Err(format!(".{}: {problem}", feature.name)),
            None => Ok(Some(draw.clone())),
        }
    });
    draws.collect()
}

/// Draws a context.
pub(crate) fn draw(
    optimization: &Optimization,
    draws: &[Option<Draw>],
    table: &str,
    rng: &mut Rng,
) -> Result<Context, Failure> {
    let mut context = Context::new();
    for (feature, draw) in optimization.features.iter().zip(draws) {
        let Some(draw) = draw else {
            let name = &feature.name;
            return Err(Failure::failed(format!(
                "the feature {name:?} has no range; add {name:?} to {table}, or give --inputs"
            )));
        };
        context.set(&feature.name, draw.draw(rng));
    }
    Ok(context)
}
