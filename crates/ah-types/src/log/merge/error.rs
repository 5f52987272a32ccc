//! Why logs are not merged.

use std::path::PathBuf;

use super::machines::MachineComparison;
use crate::log::LogError;

/// Logs are not merged.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The messages show the fields.
pub enum MergeError {
    /// A log cannot be read, or does not belong to the first one; or the output cannot be written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// Two of the logs hold the same rows.
    #[error("{}: it holds the same rows as {}; give each log once, and look for one that is missing", path.display(), other.display())]
    Twice { path: PathBuf, other: PathBuf },
    /// A log changed while it was read.
    #[error("{}: it changed while it was read; wait until its collector ends, then merge again", path.display())]
    Growing { path: PathBuf },
    /// The output is one of the logs.
    #[error("{}: the output is one of the logs that are merged; write to another file (-o)", path.display())]
    OutputIsLog { path: PathBuf },
    /// The machines' times disagree.
    #[error(
        "the machines disagree: {}; leave such logs out, or merge with --disagreement scale or keep",
        comparison.sentences(paths).join("; ")
    )]
    Disagree { comparison: MachineComparison, paths: Vec<PathBuf> },
}
