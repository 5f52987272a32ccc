//! Values and ranges of features: the tables `[commands.inputs]` and `[cuda.inputs]` of TOML files, and `inputs` of workers.

use std::collections::BTreeMap;

use ah_model::{Context, Feature, FeatureKind, FieldValue, Value};
use ah_types::Optimization;
use serde::{Deserialize, Serialize};

use crate::sampling::{self, Rng};

/// How a feature is drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a list of values, or { from = 1, to = 9 }")]
pub enum Draw {
    /// One of these, with equal probability.
    OneOf(Vec<FieldValue>),
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

/// How the features of an input are drawn, by name.
pub type Inputs = BTreeMap<String, Draw>;

/// Checks how the features are drawn.
///
/// # Errors
/// The first mistake, as the rest of a sentence that begins with the name of the table.
pub fn check(inputs: &Inputs, optimization: &Optimization) -> Result<(), String> {
    for (name, draw) in inputs {
        let Some(feature) = optimization.features.iter().find(|f| f.name == *name) else {
            return Err(format!(": {name:?} is not a feature; add a [[feature]] of this name"));
        };
        let problem = match draw {
            Draw::OneOf(values) if values.is_empty() => "no value to choose from".to_owned(),
            Draw::OneOf(values) => match values.iter().find(|v| v.value().kind() != feature.kind) {
                Some(value) => format!("the feature is {}, found {value:?}", feature.kind),
                None => continue,
            },
            Draw::Range { .. } if feature.kind == FeatureKind::Categorical => {
                "a categorical feature has no range; list its values".to_owned()
            }
            Draw::Range { from, to } if *from == 0 || from > to => {
                format!("expected 1 <= from <= to, found {from} and {to}")
            }
            Draw::Range { .. } => continue,
        };
        return Err(format!(".{name}: {problem}"));
    }
    Ok(())
}

/// Draws a context: each feature in the order of the optimization.
///
/// # Errors
/// A sentence that names the first feature without a range.
pub fn draw(optimization: &Optimization, inputs: &Inputs, rng: &mut Rng) -> Result<Context, String> {
    let value = |Feature { name, .. }: &Feature| match inputs.get(name) {
        Some(draw) => Ok((name.clone(), draw.draw(rng))),
        None => Err(format!(
            "the feature {name:?} has no range; add {name:?} to the inputs, or give a file of inputs"
        )),
    };
    optimization.features.iter().map(value).collect()
}
