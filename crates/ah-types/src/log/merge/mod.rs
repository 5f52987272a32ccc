//! Merges the logs of several machines into one log.
//!
//! The machines have the same kind of device. Each measured its part of one sequence, and a small sample of inputs
//! that all of them measured shows whether their times agree.
//!
//! 1. `shards` reads all logs into one [`Log`](super::Log). `metadata` compares their first lines, and refuses logs that
//!    do not belong together.
//! 2. Each input belongs to the first log that holds it. Later logs repeat it; their rows are left out.
//! 3. `machines` compares the times of the repeated inputs.
//! 4. The rows that stay are written to a file beside the output, which replaces it at the end.
//!
//! Nothing here compares a file's time with this machine's clock, because clocks of a cluster disagree.

mod error;
mod machines;
mod metadata;
mod report;
mod shards;

use std::io::Write;
use std::path::{Path, PathBuf};

pub use error::MergeError;
pub use machines::{Band, Machine, MachineComparison};
pub use report::{MergeReport, MergedLog};

use super::csv;
use super::error::io_error;
use super::metadata::{CHOICE_COLUMN, FEEDBACK_COLUMN};
use crate::artefact::write_atomic_with;
use machines::Scale;
use shards::Shards;

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
}

impl Default for MergeOptions {
    fn default() -> Self {
        Self { disagreement: Disagreement::default(), tolerance: 0.02, skip_bad_rows: false }
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
    let mut shards = Shards::read(logs, options.skip_bad_rows)?;
    let comparison = MachineComparison::of(&shards.samples(), options.tolerance);
    if options.disagreement == Disagreement::Refuse && comparison.disagreeing().next().is_some() {
        return Err(MergeError::Disagree { comparison, paths: logs.to_vec() });
    }
    let scales = if options.disagreement == Disagreement::Scale { comparison.scales() } else { Vec::new() };
    let same = |log: &PathBuf| {
        std::fs::canonicalize(log).ok().is_some_and(|log| std::fs::canonicalize(output).ok() == Some(log))
    };
    if logs.iter().any(same) {
        return Err(MergeError::OutputIsLog { path: output.to_owned() });
    }
    if let Some(collection) = &mut shards.log.metadata.collection {
        collection.tool = format!("{tool}, merged from {} logs", logs.len());
        if !scales.is_empty() {
            collection.tool.push_str(&format!(", the times of {} scaled", scales.len()));
        }
    }
    write_atomic_with(output, |out| write(out, &shards, &scales)).map_err(io_error(output, "write"))?;
    let scaled = scales.iter().map(|scale| scale.log).collect();
    Ok(MergeReport { logs: shards.merged, comparison, scaled })
}

fn write(out: &mut dyn Write, shards: &Shards, scales: &[Scale]) -> std::io::Result<()> {
    let log = &shards.log;
    serde_json::to_writer(&mut *out, &log.metadata)?;
    let features = log.schema.features().iter().map(|f| f.name.as_str());
    let columns: Vec<_> = features.chain([CHOICE_COLUMN, FEEDBACK_COLUMN]).map(csv::quote).collect();
    writeln!(out, "\n{}", columns.join(","))?;
    let choices: Vec<_> = log.choices.iter().map(|name| csv::quote(name)).collect();
    for shard in 0..shards.merged.len() {
        let scale = scales.iter().find(|scale| scale.log == shard);
        for sample in shards.kept(shard) {
            let ms = scale.map_or(sample.feedback, |scale| scale.apply(sample.feedback));
            let (input, choice) = (&log.inputs[sample.input as usize].text, &choices[sample.choice.index()]);
            writeln!(out, "{input},{choice},{ms}")?;
        }
    }
    Ok(())
}
