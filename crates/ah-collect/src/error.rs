//! Errors that end a run.

use ah_types::FileError;
use ah_types::log::LogError;

/// A run cannot start or continue.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CollectError {
    /// A log or a file of inputs cannot be read or written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The optimization is unknown or malformed.
    #[error(transparent)]
    Optimization(#[from] FileError),
    /// Another collector measures the same inputs into the same log.
    #[error("{0}")]
    Busy(String),
    /// The device or backend is missing or does not work.
    #[error("{0}")]
    Device(String),
    /// A worker describes something that cannot be measured.
    #[error("the worker's description: {0}")]
    Worker(String),
    /// The request cannot be fulfilled here.
    #[error("{0}")]
    Usage(String),
    /// There is nothing to judge or to write.
    #[error("{0}")]
    TooLittle(String),
    /// Standard output cannot be written.
    #[error(transparent)]
    Output(#[from] ah_cli::OutputError),
}

impl ah_cli::FatalError for CollectError {
    fn exit_code(&self) -> u8 {
        use ah_cli::exit;
        match self {
            Self::Log(e) => e.exit_code(),
            Self::Optimization(e) => e.exit_code(),
            Self::Busy(_) => exit::IO,
            Self::Device(_) => exit::DEVICE,
            Self::Worker(_) => exit::BAD_INPUT,
            Self::Usage(_) => exit::USAGE,
            Self::TooLittle(_) => exit::TOO_LITTLE,
            Self::Output(e) => e.exit_code(),
        }
    }
}
