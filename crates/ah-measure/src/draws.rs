//! Values and ranges of features: the tables `[commands.inputs]` and `[cuda.inputs]` of TOML files, and `inputs` of workers.

use std::collections::BTreeMap;

use ah_types::{Context, FeatureKind, Optimization, Value};
use serde::{Deserialize, Serialize};

use crate::sampling::{self, Rng};

/// A value in TOML.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number, a text, true or false")]
pub enum ScalarText {
    /// A whole number.
    Integer(i64),
    /// A number.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A text.
    Text(String),
}

impl ScalarText {
    /// Returns the value of a feature.
    pub fn value(&self) -> Value {
        match self {
            Self::Integer(x) => Value::from(*x),
            Self::Float(x) => Value::from(*x),
            Self::Bool(b) => Value::from(*b),
            Self::Text(text) => Value::from(text.as_str()),
        }
    }

    /// Returns the text of a parameter.
    pub fn text(&self) -> String {
        match self {
            Self::Bool(b) => b.to_string(),
            other => other.value().to_string(),
        }
    }
}

/// How a feature is drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a list of values, or { from = 1, to = 9 }")]
pub enum Draw {
    /// One of these, with equal probability.
    OneOf(Vec<ScalarText>),
    /// A whole number; each octave has the same probability.
    Range {
        /// The least one.
        from: u64,
        /// The greatest one.
        to: u64,
    },
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
///
/// # Errors
/// The first mistake, as the rest of a sentence that begins with the name of the table.
pub fn check(
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

/// Checks that every feature has a range.
///
/// # Errors
/// A sentence that names the first of them; `table` is where ranges are listed.
pub fn complete(optimization: &Optimization, draws: &[Option<Draw>], table: &str) -> Result<(), String> {
    let missing = optimization.features.iter().zip(draws).find(|(_, draw)| draw.is_none());
    missing.map_or(Ok(()), |(feature, _)| {
        let name = &feature.name;
        Err(format!("the feature {name:?} has no range; add {name:?} to {table}, or give --inputs"))
    })
}

/// Draws a context. A feature without a range is left out.
pub fn draw(optimization: &Optimization, draws: &[Option<Draw>], rng: &mut Rng) -> Context {
    let mut context = Context::new();
    for (feature, draw) in optimization.features.iter().zip(draws) {
        if let Some(draw) = draw {
            context.set(&feature.name, draw.draw(rng));
        }
    }
    context
}
