//! The messages between a collector and its worker: JSON, one object a line. `docs/workers.md` defines them.

use std::collections::{BTreeMap, BTreeSet};

use ah_model::{Context, Device, Feature, FeatureKind, Schema, Value};
use ah_types::{Failure, TimingPolicy, strict_json};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use crate::bench::Burst;
use crate::draws::Inputs;
use crate::runner::Experiment;
use crate::sampling::Seed;

/// The version of the protocol.
pub const VERSION: u32 = 1;

/// The most characters of a reason: a page of a compiler's messages.
const LONGEST_REASON: usize = 2000;

/// What the collector asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
pub enum Request {
    /// The first request of every process.
    Describe {
        /// The version of the protocol.
        protocol: u32,
    },
    /// The features of an input.
    Draw {
        /// Its place in the sequence.
        seed: Seed,
    },
    /// Whether a context can be measured.
    Accept {
        /// The context.
        context: WireContext,
    },
    /// Compile what these inputs need.
    Compile {
        /// Their features.
        contexts: Vec<WireContext>,
    },
    /// Make the input of the next requests.
    Prepare {
        /// Its features.
        context: WireContext,
        /// Its place in the sequence.
        seed: Seed,
    },
    /// Check the results of choices.
    Check {
        /// The choices.
        cells: Vec<WireCell>,
    },
    /// Time choices.
    Time {
        /// The choices with their samples.
        cells: Vec<WireCell>,
    },
    /// Drop the input.
    Release,
}

/// A choice to check, or to time with a burst.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WireCell {
    /// The name of the choice.
    pub choice: String,
    /// The samples of a time.
    #[serde(flatten)]
    pub burst: Option<Burst>,
}

/// A request with its number.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Numbered {
    /// The number, which the answers repeat.
    pub id: u64,
    /// The request.
    #[serde(flatten)]
    pub request: Request,
}

/// The answer to `describe`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Description {
    /// The version of the protocol.
    pub protocol: u32,
    /// The name of the decision.
    pub name: Option<String>,
    /// A sentence.
    pub description: String,
    /// The names of the choices.
    pub choices: Vec<String>,
    /// The features of an input.
    pub features: Vec<Feature>,
    /// What the program does without a heuristic: the first one that is among the choices.
    pub fallback: Vec<String>,
    /// Conditions by choice.
    pub eligible: BTreeMap<String, String>,
    /// Milliseconds of computing a feature, by name.
    pub feature_ms: BTreeMap<String, f64>,
    /// How features are drawn, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: Inputs,
    /// The device that the choices run on.
    pub device: Option<Device>,
    /// The timing policy; a field that is not there has its default.
    pub timing: TimingPolicy,
    /// The requests that it answers, beside `describe`, `prepare` and `time`.
    pub can: BTreeSet<String>,
    /// The most cells of a request, at least one.
    pub batch: usize,
    /// Whether the times are computed, not taken.
    pub simulated: bool,
    /// The most threads over which a time adds up, at least one.
    pub threads: u32,
    /// Nanoseconds of one small decision, by language.
    pub decision_ns: BTreeMap<String, f64>,
    /// A hash of what the choices run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commands_hash: Option<String>,
}

/// The most cells in a request to a runner in Rust.
const BATCH: usize = 128;

impl Description {
    /// Describes an experiment of this process. Its optimization may name choices of other devices; they are left out.
    pub(crate) fn of(experiment: &Experiment) -> Self {
        let Experiment { optimization, choices, inputs, .. } = experiment.clone();
        let is_here = |name: &String| choices.contains(name);
        let draws = inputs.is_none().then_some("draw");
        let ahead = experiment.compiles_ahead.then_some("compile");
        let can = ["accept", "check", "release"].into_iter().chain(draws).chain(ahead);
        Self {
            protocol: VERSION,
            name: Some(optimization.name.clone()),
            description: optimization.description.clone(),
            fallback: optimization.fallback.iter().filter(|name| is_here(name)).cloned().collect(),
            eligible: optimization.eligible.into_iter().filter(|(name, _)| is_here(name)).collect(),
            choices,
            features: optimization.features,
            feature_ms: optimization.feature_ms,
            inputs: inputs.unwrap_or_default(),
            device: Some(experiment.device.clone()),
            timing: experiment.timing,
            can: can.map(str::to_owned).collect(),
            batch: BATCH,
            simulated: experiment.simulated,
            threads: experiment.threads,
            commands_hash: experiment.commands_hash.clone(),
            ..Self::default()
        }
    }
}

/// A line from the worker.
#[derive(Clone, Debug, Deserialize)]
pub struct Answer {
    /// The number of the request.
    pub id: Option<u64>,
    /// The position of the cell that it answers.
    pub cell: Option<usize>,
    ms: Option<Vec<f64>>,
    /// The features of a drawn input.
    context: Option<WireContext>,
    /// The progress of the work: the answer comes later.
    pub working: Option<String>,
    /// A description, or the reason why there is no answer: [`Failure`] as JSON.
    #[serde(flatten)]
    pub rest: Map<String, Json>,
    #[serde(skip)]
    line: String,
}

impl Answer {
    /// Reads a line.
    ///
    /// # Errors
    /// It is no answer: it has a key twice, for example, or a time beside the reason why there is none.
    pub fn read(line: &str) -> Result<Self, String> {
        let answer: Self = serde_json::from_value(strict_json(line)?).map_err(|e| e.to_string())?;
        let answer = Self { line: line.trim().to_owned(), ..answer };
        match answer.reason().filter(|_| answer.ms.is_some()) {
            Some((key, _)) => Err(format!("\"ms\" contradicts {key:?}")),
            None => Ok(answer),
        }
    }

    fn reason(&self) -> Option<(&'static str, &Json)> {
        let mut keys = ["skipped", "failed", "unmeasured", "lost"].into_iter();
        keys.find_map(|key| Some((key, self.rest.get(key)?)))
    }

    /// The reason that stands in place of an answer.
    pub fn failure(&self) -> Option<Failure> {
        let (key, reason) = self.reason()?;
        let reason = reason.as_str().map_or_else(|| reason.to_string(), str::to_owned);
        let reason = ah_model::shown::cut(&reason, LONGEST_REASON);
        serde_json::from_value(json!({ key: reason })).ok()
    }

    /// The context of a drawn input.
    pub fn context(&self, schema: &Schema) -> Result<Context, String> {
        self.context.as_ref().ok_or_else(|| self.lacks("context"))?.context(schema)
    }

    /// The times of a cell.
    pub fn times(&self, samples: u32) -> Result<Vec<f64>, String> {
        match &self.ms {
            Some(times) if times.len() == samples as usize => Ok(times.clone()),
            Some(times) => Err(format!("expected {samples} times, found {}", times.len())),
            None => Err(self.lacks("ms")),
        }
    }

    fn lacks(&self, key: &str) -> String {
        format!("expected the field {key:?}, found {}", self.shown())
    }

    /// The answer for messages.
    pub fn shown(&self) -> String {
        shorten(&self.line)
    }
}

/// At most 160 characters of a text.
pub fn shorten(text: &str) -> String {
    ah_model::shown::cut(text, 160)
}

/// A context on the wire: an object of features and values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WireContext(pub Map<String, Json>);

/// Whole numbers up to this one are sent without a point.
const MOST_WHOLE: f64 = 9_007_199_254_740_992.0;

impl From<&Context> for WireContext {
    fn from(context: &Context) -> Self {
        let wire = |value: &Value| match value {
            Value::Number(x) if x.fract() == 0.0 && x.abs() <= MOST_WHOLE => json!(*x as i64),
            Value::Number(x) if x.is_finite() => json!(x),
            // JSON has no infinity and no NaN.
            Value::Number(x) => json!(x.to_string()),
            Value::Category(category) => json!(**category),
        };
        Self(context.iter().map(|(name, value)| (name.to_owned(), wire(value))).collect())
    }
}

impl WireContext {
    /// The context: each feature of the schema must be there, with a value of its kind.
    pub fn context(&self, schema: &Schema) -> Result<Context, String> {
        let mut context = Context::new();
        for (name, json) in &self.0 {
            let is_number = schema.get(name).is_some_and(|feature| feature.kind == FeatureKind::Numerical);
            let value = match json {
                Json::Number(x) => x.as_f64().map(Value::Number),
                Json::Bool(b) => Some(Value::from(*b)),
                Json::String(text) => Some(match text.parse::<f64>() {
                    Ok(x) if is_number && !x.is_finite() => Value::Number(x),
                    _ => Value::from(text.as_str()),
                }),
                _ => None,
            };
            let value = value.ok_or_else(|| {
                let found = shorten(&json.to_string());
                format!("{name:?}: expected a number, a text or a truth value, found {found}")
            })?;
            context.set(name, value);
        }
        for (feature, value) in schema.features().iter().zip(context.row(schema)?) {
            if let (true, Value::Number(x)) = (feature.integer, value)
                && x.is_finite()
                && x.fract() != 0.0
            {
                return Err(format!("{:?} is an integer, found {x}", feature.name));
            }
        }
        Ok(context)
    }
}
