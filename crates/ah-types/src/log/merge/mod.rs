//! Merges the logs of several machines into one log.
//!
//! The machines have the same kind of device. Each measured its part of one sequence, and a small sample of inputs
//! that all of them measured shows whether their times agree. [`merge()`] holds no row:
//!
//! 1. `shard` reads a log once: it checks every row, and keeps a digest of each input.
//! 2. `metadata` compares the first lines, and refuses logs that do not belong together.
//! 3. `inputs` gives each input to the first log that holds it. Later logs repeat it; their rows are left out.
//! 4. `machines` compares the times of the repeated inputs.
//! 5. `output` copies the rows that stay, byte by byte, into a file beside the output, and renames it at the end.
//!
//! Nothing here compares a file's time with this machine's clock, because clocks of a cluster disagree.

mod error;
mod inputs;
mod machines;
mod metadata;
mod output;
mod report;
mod row;
mod sample;
mod shard;
mod workers;

use std::path::{Path, PathBuf};

pub use error::MergeError;
pub use machines::{Band, Machine, MachineComparison};
pub use report::{MergeReport, MergedLog};

use super::error::LogError;
use inputs::Inputs;
use shard::Shard;

/// What to do with a machine whose times disagree with the other machines' times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Disagreement {
    /// Merge nothing.
    #[default]
    Refuse,
    /// Divide its times by the ratio that the sample shows.
    Scale,
    /// Keep its times as they are.
    Keep,
}

/// The options of a merge.
#[derive(Clone, Copy, Debug)]
pub struct MergeOptions {
    /// What to do with a machine that disagrees.
    pub disagreement: Disagreement,
    /// Machines agree up to this relative difference.
    pub tolerance: f64,
    /// Leaves malformed rows out and counts them, instead of ending with an error.
    pub skip_bad_rows: bool,
    /// The number of logs that are read at once.
    pub threads: usize,
}

impl Default for MergeOptions {
    fn default() -> Self {
        Self { disagreement: Disagreement::default(), tolerance: 0.02, skip_bad_rows: false, threads: 2 }
    }
}

/// Merges `logs` into the log `output`, which is replaced if it exists. The order of `logs` is the order of the rows.
/// `tool` is the program and its version for the metadata.
///
/// # Errors
/// [`MergeError`] names the file and what to do. `output` is then as it was before.
pub fn merge(
    logs: &[PathBuf],
    output: &Path,
    tool: &str,
    options: MergeOptions,
) -> Result<MergeReport, MergeError> {
    let mut inputs = Inputs::default();
    let mut shards: Vec<Shard> = Vec::with_capacity(logs.len());
    workers::in_order(
        logs.len(),
        options.threads,
        |log| Shard::scan(&logs[log], options.skip_bad_rows),
        |_, shard| {
            let mut shard = shard?;
            if let Some(first) = shards.first() {
                shard.agree(first)?;
            }
            inputs.add(&mut shard);
            if let Some(same) = shards.iter().find(|earlier| earlier.has_the_rows_of(&shard)) {
                return Err(MergeError::Twice { path: shard.path, other: same.path.clone() });
            }
            shards.push(shard);
            Ok(())
        },
    )?;
    if shards.iter().all(|shard| shard.rows == 0) {
        return Err(LogError::Empty { path: logs.first().cloned().unwrap_or_default() }.into());
    }
    let samples = sample::read(&shards, &inputs, options.threads)?;
    let comparison = MachineComparison::of(&samples, options.tolerance);
    if options.disagreement == Disagreement::Refuse && comparison.disagreeing().next().is_some() {
        let paths = shards.into_iter().map(|shard| shard.path).collect();
        return Err(MergeError::Disagree { comparison, paths });
    }
    let scaled = if options.disagreement == Disagreement::Scale { comparison.scales() } else { Vec::new() };
    let kept = output::write(output, &shards, &inputs, &scaled, tool)?;
    Ok(MergeReport::new(shards, &kept, &scaled, comparison))
}
