//! The logs of a merge, read into one [`Log`].

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustc_hash::{FxHashMap, FxHashSet};

use super::error::MergeError;
use super::machines::{MachineSample, Trial};
use super::metadata;
use super::report::MergedLog;
use crate::choice::median;
use crate::hash::{fnv1a, scramble};
use crate::log::data::{Log, Sample};
use crate::log::error::{LogError, io_error};
use crate::log::head::Head;
use crate::log::lines::Lines;
use crate::log::merger::Merger;
use crate::log::reader::{Line, LogFile, open};

/// The most inputs whose times are compared between machines.
const SAMPLE: usize = 128;

/// The logs of a merge.
pub(super) struct Shards {
    /// All rows of all logs. Its metadata is the first log's, with the choices of all.
    pub(super) log: Log,
    /// By log: its part of the report.
    pub(super) merged: Vec<MergedLog>,
    /// By log: its rows in [`Log::samples`].
    rows: Vec<Range<usize>>,
    /// By input: the first log that holds it, and the number of logs that do.
    holders: Vec<(u32, u32)>,
}

impl Shards {
    /// Reads all logs in order.
    pub(super) fn read(paths: &[PathBuf], skip_bad_rows: bool) -> Result<Self, MergeError> {
        let (mut merger, mut choices) = (None, Vec::new());
        let (mut merged, mut rows) = (Vec::with_capacity(paths.len()), Vec::with_capacity(paths.len()));
        for path in paths {
            let stamp = stamp(path)?;
            let begin = merger.as_ref().map_or(0, |merger: &Merger| merger.samples.len());
            merged.push(read_shard(path, &paths[0], &mut merger, &mut choices, skip_bad_rows)?);
            expect_unchanged(path, stamp)?;
            rows.push(begin..merger.as_ref().map_or(0, |merger| merger.samples.len()));
        }
        let Some(merger) = merger.filter(|merger| !merger.samples.is_empty()) else {
            return Err(LogError::Empty { path: paths.first().cloned().unwrap_or_default() }.into());
        };
        let mut log = merger.finish();
        if let Some(listed) = &mut log.metadata.choices {
            let mut known: FxHashSet<String> = listed.iter().cloned().collect();
            listed.extend(choices.into_iter().filter(|choice| known.insert(choice.clone())));
        }
        let mut shards = Self { log, merged, rows, holders: Vec::new() };
        shards.count()?;
        Ok(shards)
    }

    /// Gives each input to the first log that holds it, and counts the rows that stay.
    fn count(&mut self) -> Result<(), MergeError> {
        self.holders = vec![(0, 0); self.log.inputs.len()];
        // By input: the log after the last one that holds it.
        let mut last = vec![0; self.log.inputs.len()];
        let mut known: FxHashMap<(u64, u64, u64), PathBuf> = FxHashMap::default();
        for ((shard, rows), merged) in (0_u32..).zip(&self.rows).zip(&mut self.merged) {
            // A sum, so that the order of the rows does not matter.
            let mut checksum = 0_u64;
            for sample in &self.log.samples[rows.clone()] {
                let input = sample.input as usize;
                let (owner, holders) = &mut self.holders[input];
                if last[input] != shard + 1 {
                    last[input] = shard + 1;
                    *owner = if *holders == 0 { shard } else { *owner };
                    *holders += 1;
                    *(if *owner == shard { &mut merged.inputs } else { &mut merged.repeated_inputs }) += 1;
                }
                *(if *owner == shard { &mut merged.rows } else { &mut merged.repeated_rows }) += 1;
                let cell = u64::from(sample.input) << 32 | u64::from(sample.choice.0);
                checksum = checksum.wrapping_add(scramble(scramble(cell) ^ sample.feedback.to_bits()));
            }
            let content = (rows.len() as u64, merged.inputs + merged.repeated_inputs, checksum);
            let other = known.insert(content, merged.path.clone());
            if let Some(other) = other.filter(|_| !rows.is_empty()) {
                return Err(MergeError::Twice { path: merged.path.clone(), other });
            }
        }
        Ok(())
    }

    /// Returns the rows of a log that stay.
    pub(super) fn kept(&self, shard: usize) -> impl Iterator<Item = &Sample> {
        let rows = &self.log.samples[self.rows[shard].clone()];
        rows.iter().filter(move |sample| self.holders[sample.input as usize].0 as usize == shard)
    }

    /// Returns each machine's times of the inputs to compare machines by: those that most logs hold. A hash decides
    /// between equals, so they are random and the same in every merge of the same logs.
    pub(super) fn samples(&self) -> Vec<MachineSample> {
        let shared = (0_u32..).zip(&self.holders).filter(|(_, (_, holders))| *holders > 1);
        let hash = |input: u32| scramble(fnv1a(&self.log.inputs[input as usize].text));
        let mut shared: Vec<_> =
            shared.map(|(input, (_, holders))| (Reverse(*holders), hash(input), input)).collect();
        shared.sort_unstable();
        shared.truncate(SAMPLE);
        let sample: FxHashSet<u32> = shared.into_iter().map(|(.., input)| input).collect();
        let times = |rows: &Range<usize>| {
            let mut times: BTreeMap<Trial, Vec<f64>> = BTreeMap::new();
            let rows = self.log.samples[rows.clone()].iter();
            for row in rows.filter(|row| sample.contains(&row.input)) {
                times.entry((row.input, row.choice)).or_default().push(row.feedback);
            }
            let finite = |times: Vec<f64>| median(&times).filter(|ms| ms.is_finite());
            times.into_iter().filter_map(|(trial, times)| Some((trial, finite(times)?))).collect()
        };
        self.rows.iter().map(times).collect()
    }
}

/// Adds the rows of one log to `merger`, and the choices that its metadata lists to `choices`.
fn read_shard(
    path: &Path,
    first: &Path,
    merger: &mut Option<Merger>,
    choices: &mut Vec<String>,
    skip_bad_rows: bool,
) -> Result<MergedLog, MergeError> {
    let mut lines = Lines::new(open(path).map_err(io_error(path, "read"))?);
    let Head { metadata, schema, columns } = Head::read(path, &mut lines)?;
    let mut merged = MergedLog { path: path.to_owned(), ..MergedLog::default() };
    let merger = match merger {
        None => merger.insert(Merger::new(metadata, schema)),
        Some(merger) => {
            merged.differences = metadata::agree(&merger.metadata, first, &metadata, path)?;
            choices.extend(metadata.choices.into_iter().flatten());
            merger
        }
    };
    let mut file = LogFile::new(path, &columns, lines, merger);
    while let Some(line) = file.next(merger)? {
        match line {
            Line::Blank => merged.blank_lines += 1,
            line if file.torn_line().is_some() => {
                merged.torn_line = file.torn_line();
                if let Line::Row = line {
                    merger.samples.pop();
                }
            }
            Line::Row => {}
            Line::Malformed(fault) if skip_bad_rows => {
                merged.bad_rows += 1;
                merged.bad_row.get_or_insert_with(|| file.error(fault).to_string());
            }
            Line::Malformed(fault) => return Err(file.error(fault).into()),
        }
    }
    Ok(merged)
}

/// Fails if a log is not as it was.
fn expect_unchanged(path: &Path, before: Stamp) -> Result<(), MergeError> {
    if stamp(path)? == before { Ok(()) } else { Err(MergeError::Growing { path: path.to_owned() }) }
}

type Stamp = (u64, Option<SystemTime>);

/// Returns the length and the time of the last change. It is only compared with itself.
fn stamp(path: &Path) -> Result<Stamp, LogError> {
    let metadata = std::fs::metadata(path).map_err(io_error(path, "read"))?;
    Ok((metadata.len(), metadata.modified().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_grows_while_it_is_merged_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        std::fs::write(&path, "1,a,1\n").unwrap();
        let before = stamp(&path).unwrap();
        expect_unchanged(&path, before).unwrap();
        std::fs::write(&path, "1,a,1\n1,b,1\n").unwrap();
        let error = expect_unchanged(&path, before).unwrap_err();
        assert!(matches!(error, MergeError::Growing { .. }), "{error}");
    }
}
