//! Which log each input belongs to: the first one that holds it.

use rustc_hash::FxHashMap;

use super::row::Digest;
use super::shard::Shard;

/// The most inputs whose times are compared between machines.
const SAMPLE: usize = 128;

/// All inputs of the logs: 32 bytes an input, and room to grow.
#[derive(Default)]
pub(super) struct Inputs {
    held: FxHashMap<Digest, InputLogs>,
    /// By log: the position behind the last run of rows whose input another log holds too.
    shared_runs: Vec<u32>,
}

/// The logs that hold one input.
#[derive(Clone, Copy)]
struct InputLogs {
    /// The first log that holds it.
    owner: u32,
    /// The last log that holds it.
    last: u32,
    /// The number of logs that hold it.
    logs: u32,
    /// The position behind its first run of rows in the first log.
    run: u32,
}

impl Inputs {
    /// Adds the inputs of the next log, and counts those that an earlier log holds.
    pub(super) fn add(&mut self, shard: &mut Shard) {
        let log = u32::try_from(self.shared_runs.len()).unwrap_or(u32::MAX);
        self.shared_runs.push(0);
        for (run, input) in (1..).zip(std::mem::take(&mut shard.runs)) {
            let held = self.held.entry(input).or_insert(InputLogs { owner: log, last: log, logs: 0, run });
            if held.logs > 0 && held.last == log {
                continue;
            }
            held.logs += 1;
            held.last = log;
            shard.inputs += 1;
            if held.owner != log {
                shard.repeated += 1;
                self.shared_runs[log as usize] = run;
                let owners = &mut self.shared_runs[held.owner as usize];
                *owners = held.run.max(*owners);
            }
        }
    }

    /// Returns the number of runs of rows in which all shared inputs of this log begin.
    pub(super) fn shared_runs(&self, log: usize) -> u32 {
        self.shared_runs[log]
    }

    /// Returns true if the rows of this input stay in this log.
    pub(super) fn stays(&self, input: Digest, log: usize) -> bool {
        self.held.get(&input).is_some_and(|held| held.owner as usize == log)
    }

    /// Returns the inputs to compare machines by: those that most logs hold. The smaller digest decides between equals, so
    /// the sample is random and the same in every merge of the same logs.
    pub(super) fn sample(&self) -> Vec<Digest> {
        let shared = self.held.iter().filter(|(_, held)| held.logs > 1);
        let mut shared: Vec<_> = shared.map(|(input, held)| (std::cmp::Reverse(held.logs), *input)).collect();
        shared.sort_unstable();
        shared.truncate(SAMPLE);
        shared.into_iter().map(|(_, input)| input).collect()
    }
}
