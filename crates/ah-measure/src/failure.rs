//! Why a choice has no time on an input.

/// Why there is no time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Not offered here: an instruction set is missing, the operands do not fit the memory.
    #[error("skipped: {0}")]
    Skipped(String),
    /// Offered, and it failed or gave a wrong result.
    #[error("failed: {0}")]
    Failed(String),
    /// It failed, and the device is of no more use to this process (an illegal address on a
    /// GPU). A worker process is restarted; without one the run ends.
    #[error("the device is lost: {0}")]
    DeviceLost(String),
}

impl Failure {
    /// Skipped for this reason.
    #[allow(clippy::needless_pass_by_value)] // So that it can be handed to `map_err`.
    pub fn skipped(reason: impl ToString) -> Self {
        Self::Skipped(reason.to_string())
    }

    /// Failed for this reason.
    #[allow(clippy::needless_pass_by_value)] // So that it can be handed to `map_err`.
    pub fn failed(reason: impl ToString) -> Self {
        Self::Failed(reason.to_string())
    }

    /// The reason alone.
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            Self::Skipped(reason) | Self::Failed(reason) | Self::DeviceLost(reason) => reason,
        }
    }
}
