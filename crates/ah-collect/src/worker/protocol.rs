//! The messages between parent and child: JSON, one object a line.

use ah_types::{Context, Device, TimingPolicy, Value};
use serde::{Deserialize, Serialize};

use ah_measure::sampling::Rng;
use ah_measure::{Burst, Failure};

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Request {
    Draw { rng: Rng },
    Accepts { context: WireContext },
    Label { context: WireContext },
    Load { context: WireContext, rng: Rng },
    Check { choice: u32 },
    Run { choice: u32, burst: Burst },
    Unload,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    /// The child's first message.
    Ready {
        device: Box<Device>,
        choices: Vec<String>,
        timing: TimingPolicy,
    },
    /// The child could not open its device.
    Unable {
        reason: String,
    },
    Drawn {
        context: WireContext,
        rng: Rng,
    },
    Label {
        text: String,
    },
    Done,
    Times {
        ms: Vec<f64>,
    },
    Refused {
        reason: String,
    },
    Skipped {
        reason: String,
    },
    Failed {
        reason: String,
    },
    DeviceLost {
        reason: String,
    },
}

impl From<Failure> for Answer {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Skipped(reason) => Self::Skipped { reason },
            Failure::Failed(reason) => Self::Failed { reason },
            Failure::DeviceLost(reason) => Self::DeviceLost { reason },
        }
    }
}

/// A context on the wire: names and values in order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct WireContext(Vec<(String, WireValue)>);

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum WireValue {
    Number(f64),
    /// JSON has no infinity and no NaN.
    NotFinite {
        number: String,
    },
    Category(String),
}

impl From<&Context> for WireContext {
    fn from(context: &Context) -> Self {
        let wire = |value: &Value| match value {
            Value::Number(x) if x.is_finite() => WireValue::Number(*x),
            Value::Number(x) => WireValue::NotFinite { number: x.to_string() },
            Value::Category(c) => WireValue::Category(c.to_string()),
        };
        Self(context.iter().map(|(name, value)| (name.to_owned(), wire(value))).collect())
    }
}

impl From<WireContext> for Context {
    fn from(wire: WireContext) -> Self {
        let value = |value| match value {
            WireValue::Number(x) => Value::Number(x),
            WireValue::NotFinite { number } => Value::Number(number.parse().unwrap_or(f64::NAN)),
            WireValue::Category(c) => Value::from(c),
        };
        wire.0.into_iter().map(|(name, v)| (name, value(v))).collect()
    }
}
