//! Choices and what measuring one gave.

use serde::{Deserialize, Serialize};

/// A choice's position in the sorted list of names of one log or model. Only
/// names are stable across files; an id never leaves memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChoiceId(pub u32);

impl ChoiceId {
    /// The position as an index.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What came of measuring one choice on one input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "outcome")]
pub enum Outcome {
    /// One feedback (milliseconds, above 0) a sample.
    Measured {
        /// In the order in which they were taken.
        feedback: Vec<f64>,
    },
    /// Not offered here (an instruction set is missing, say). Leaves no row in the log.
    Skipped {
        /// Why.
        reason: String,
    },
    /// Offered, and it failed or gave a wrong result. Stands in the log as `inf`.
    Failed {
        /// Why.
        reason: String,
    },
}

impl Outcome {
    /// Skipped for this reason.
    pub fn skipped(reason: impl Into<String>) -> Self {
        Self::Skipped { reason: reason.into() }
    }

    /// Failed for this reason.
    pub fn failed(reason: impl Into<String>) -> Self {
        Self::Failed { reason: reason.into() }
    }

    /// The median feedback: infinite for a failed choice, `None` for a skipped one.
    #[must_use]
    pub fn median(&self) -> Option<f64> {
        match self {
            Self::Measured { feedback } => median(feedback),
            Self::Failed { .. } => Some(f64::INFINITY),
            Self::Skipped { .. } => None,
        }
    }
}

/// The median; the mean of the two middle values for an even count. `None` without values.
/// A value that is infinite counts as such (so half or more failures make it infinite).
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    Some(if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        f64::midpoint(sorted[middle - 1], sorted[middle])
    })
}
