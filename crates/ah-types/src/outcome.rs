//! The outcome of measuring one choice.

use serde::{Deserialize, Serialize};

/// The outcome of measuring one choice on one input: its feedback (milliseconds, above 0) for each sample, in the order in
/// which they were taken, or the reason why there is none.
pub type Outcome = Result<Vec<f64>, Failure>;

/// The reason why a choice, or a whole input, has no time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// The choice is not offered here: an instruction set is missing, or the operands do not fit the memory. The log has no
    /// row for it.
    #[error("skipped: {0}")]
    Skipped(String),
    /// The choice is offered, and it failed or gave a wrong result. The log has `inf`.
    #[error("failed: {0}")]
    Failed(String),
    /// The machine is at fault and not the choice: another program holds the memory, the card is throttled. Nothing is
    /// recorded, so that a later run measures it.
    #[error("not measured: {0}")]
    Unmeasured(String),
    /// This process can no longer use the device (an illegal address on a GPU). The process is replaced, and the
    /// choice is tried again; without another process the run ends.
    #[error("the device is lost: {0}")]
    #[serde(rename = "lost")]
    DeviceLost(String),
}

impl Failure {
    /// A skip with this reason.
    #[allow(clippy::needless_pass_by_value)] // Takes a value, to be passed to `map_err`.
    pub fn skipped(reason: impl ToString) -> Self {
        Self::Skipped(reason.to_string())
    }

    /// A failure with this reason.
    #[allow(clippy::needless_pass_by_value)] // Takes a value, to be passed to `map_err`.
    pub fn failed(reason: impl ToString) -> Self {
        Self::Failed(reason.to_string())
    }

    /// The reason.
    pub fn reason(&self) -> &str {
        match self {
            Self::Skipped(reason)
            | Self::Failed(reason)
            | Self::Unmeasured(reason)
            | Self::DeviceLost(reason) => reason,
        }
    }
}

/// The median: the mean of the two middle values for an even count, `None` without values. Infinite
/// values count, so it is infinite if half or more failed.
pub fn median(values: &[f64]) -> Option<f64> {
    let last = values.len().checked_sub(1)?;
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    // For an odd count, both are the middle one.
    Some(f64::midpoint(sorted[last / 2], sorted[values.len() / 2]))
}
