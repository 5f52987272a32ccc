//! Choices, and the outcome of measuring one.

use serde::{Deserialize, Serialize};

/// A choice's position in the sorted list of names of one log or model. Only
/// names are stable across files; an id never leaves memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChoiceId(pub u32);

impl ChoiceId {
    /// Returns the position as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The outcome of measuring one choice on one input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "outcome")]
pub enum Outcome {
    /// It ran, and its results were right.
    Measured {
        /// One feedback (milliseconds, above 0) for each sample, in the order in which they were taken.
        feedback: Vec<f64>,
    },
    /// Not offered here, for example because an instruction set is missing. The log has no row for it.
    Skipped {
        /// The reason.
        reason: String,
    },
    /// Offered, but it failed or returned a wrong result. The log has `inf`.
    Failed {
        /// The reason.
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

    /// Returns the median feedback: infinite for a failed choice, `None` for a skipped one.
    pub fn median(&self) -> Option<f64> {
        match self {
            Self::Measured { feedback } => median(feedback),
            Self::Failed { .. } => Some(f64::INFINITY),
            Self::Skipped { .. } => None,
        }
    }
}

/// Returns the median: the mean of the two middle values for an even count, `None` without values. Infinite
/// values count, so it is infinite if half or more failed.
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
