//! The reason why a choice has no time on an input.

/// The reason why a choice, or a whole input, has no time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// The choice is not offered here: an instruction set is missing, or the operands do not fit the memory.
    #[error("skipped: {0}")]
    Skipped(String),
    /// The choice is offered, and it failed or gave a wrong result.
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
    /// Returns a skip with this reason.
    #[allow(clippy::needless_pass_by_value)] // Takes a value, to be passed to `map_err`.
    pub fn skipped(reason: impl ToString) -> Self {
        Self::Skipped(reason.to_string())
    }

    /// Returns a failure with this reason.
    #[allow(clippy::needless_pass_by_value)] // Takes a value, to be passed to `map_err`.
    pub fn failed(reason: impl ToString) -> Self {
        Self::Failed(reason.to_string())
    }

    /// Returns the reason.
    pub fn reason(&self) -> &str {
        match self {
            Self::Skipped(reason)
            | Self::Failed(reason)
            | Self::Unmeasured(reason)
            | Self::DeviceLost(reason) => reason,
        }
    }
}
