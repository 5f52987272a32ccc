//! The messages: JSON, one object a line. `docs/workers.md` defines them.

use std::collections::{BTreeMap, BTreeSet};

use ah_measure::sampling::Seed;
use ah_measure::{Burst, Failure};
use ah_types::{Context, Device, Feature, FeatureKind, Schema, Value};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use crate::custom::drawn::Draw;
use crate::process_group::shorten;

/// The version of the protocol.
pub(crate) const VERSION: u32 = 1;

/// What the collector asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "snake_case")]
pub(crate) enum Request {
    Describe { protocol: u32 },
    Draw { seed: Seed },
    Accept { context: WireContext },
    Label { context: WireContext },
    Compile { groups: Vec<WireGroup> },
    Prepare { context: WireContext, seed: Seed },
    Check { cells: Vec<WireCell> },
    Time { cells: Vec<WireCell> },
    Release,
}

impl Request {
    /// Returns the name on the wire.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Describe { .. } => "describe",
            Self::Draw { .. } => "draw",
            Self::Accept { .. } => "accept",
            Self::Label { .. } => "label",
            Self::Compile { .. } => "compile",
            Self::Prepare { .. } => "prepare",
            Self::Check { .. } => "check",
            Self::Time { .. } => "time",
            Self::Release => "release",
        }
    }
}

/// A choice to check, or to time with a burst.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct WireCell {
    pub choice: String,
    #[serde(flatten)]
    pub burst: Option<Burst>,
}

/// Inputs to compile for; without choices, all are meant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct WireGroup {
    pub contexts: Vec<WireContext>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choices: Option<Vec<String>>,
}

/// A request with its number.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Numbered {
    pub id: u64,
    #[serde(flatten)]
    pub request: Request,
}

/// The answer to `describe`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Description {
    pub protocol: u32,
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    pub description: String,
    pub choices: Vec<String>,
    pub features: Vec<Feature>,
    #[serde(default)]
    pub fallback: Vec<String>,
    #[serde(default)]
    pub eligible: BTreeMap<String, String>,
    /// Milliseconds of computing a feature, by name.
    #[serde(default)]
    pub feature_ms: BTreeMap<String, f64>,
    #[serde(default, skip_serializing)]
    pub inputs: BTreeMap<String, Draw>,
    #[serde(default)]
    pub device: Option<Device>,
    #[serde(default)]
    pub timing: Map<String, Json>,
    #[serde(default)]
    pub can: BTreeSet<String>,
    #[serde(default = "one")]
    pub batch: usize,
    #[serde(default)]
    pub simulated: bool,
}

fn one() -> usize {
    1
}

/// A line from the worker, without its number.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer(pub Map<String, Json>);

impl Answer {
    /// Returns the reason that stands in place of an answer.
    pub(crate) fn failure(&self) -> Option<Failure> {
        let reason = |key: &str| {
            self.0.get(key).map(|reason| reason.as_str().map_or_else(|| reason.to_string(), str::to_owned))
        };
        reason("lost")
            .map(Failure::DeviceLost)
            .or_else(|| reason("failed").map(Failure::Failed))
            .or_else(|| reason("skipped").map(Failure::Skipped))
    }

    /// Returns whether it is only a sign of life.
    pub(crate) fn is_working(&self) -> bool {
        self.0.contains_key("working")
    }

    /// Returns the position of the cell that it answers.
    pub(crate) fn cell(&self) -> Option<usize> {
        self.0.get("cell")?.as_u64().and_then(|cell| usize::try_from(cell).ok())
    }

    /// Returns a field, or what was found instead.
    pub(crate) fn field(&self, key: &str) -> Result<&Json, String> {
        self.0.get(key).ok_or_else(|| format!("expected the field {key:?}, found {}", self.shown()))
    }

    /// Returns the context of a drawn input.
    pub(crate) fn context(&self, schema: &Schema) -> Result<Context, String> {
        let context = self.field("context")?;
        let wire: WireContext = serde_json::from_value(context.clone())
            .map_err(|_| format!("expected a context, found {}", shorten(&context.to_string())))?;
        wire.context(schema)
    }

    /// Returns the times of a cell.
    pub(crate) fn times(&self, samples: u32) -> Result<Vec<f64>, String> {
        let ms = self.field("ms")?;
        let times: Option<Vec<f64>> = ms.as_array().and_then(|ms| ms.iter().map(Json::as_f64).collect());
        match times {
            Some(times) if times.len() == samples as usize => Ok(times),
            Some(times) => Err(format!("expected {samples} times, found {}", times.len())),
            None => {
                Err(format!("expected \"ms\" to be a list of numbers, found {}", shorten(&ms.to_string())))
            }
        }
    }

    /// Returns the answer for messages.
    pub(crate) fn shown(&self) -> String {
        shorten(&Json::Object(self.0.clone()).to_string())
    }
}

impl From<Failure> for Answer {
    fn from(failure: Failure) -> Self {
        let key = match &failure {
            Failure::Skipped(_) => "skipped",
            Failure::Failed(_) => "failed",
            Failure::DeviceLost(_) => "lost",
        };
        Self(Map::from_iter([(key.to_owned(), json!(failure.reason()))]))
    }
}

/// A context on the wire: an object of features and values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct WireContext(pub Map<String, Json>);

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
    /// Returns the context: each feature of the schema must be there, with a value of its kind.
    pub(crate) fn context(&self, schema: &Schema) -> Result<Context, String> {
        if let Some(missing) = schema.features().iter().find(|f| !self.0.contains_key(&f.name)) {
            return Err(format!("the context lacks the feature {:?}", missing.name));
        }
        let value = |(name, json): (&String, &Json)| {
            let kind = schema.get(name).map(|feature| feature.kind);
            let value = match (kind, json) {
                (Some(FeatureKind::Numerical) | None, Json::Number(x)) => x.as_f64().map(Value::Number),
                (Some(FeatureKind::Numerical), Json::String(text)) => {
                    text.parse().ok().filter(|x: &f64| !x.is_finite()).map(Value::Number)
                }
                (Some(FeatureKind::Categorical) | None, Json::String(text)) => {
                    Some(Value::from(text.as_str()))
                }
                (Some(FeatureKind::Categorical) | None, Json::Bool(b)) => Some(Value::from(*b)),
                _ => None,
            };
            let value = value.ok_or_else(|| {
                let kind = kind.map_or_else(|| "no feature".to_owned(), |kind| kind.to_string());
                format!("{name:?} is {kind}, found {}", shorten(&json.to_string()))
            })?;
            Ok((name.clone(), value))
        };
        self.0
            .iter()
            .map(value)
            .collect::<Result<Vec<_>, String>>()
            .map(|values| values.into_iter().collect())
    }
}
