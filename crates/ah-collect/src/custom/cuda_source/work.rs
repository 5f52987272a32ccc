//! The work of the winners in a second: bytes and operations.

use std::fmt::Write as _;

use ah_types::log::Log;

use super::expression::NumberExpression;
use super::kernel::CudaKernel;
use crate::report::{Podium, medians};

impl CudaKernel {
    /// Returns the work that the winners of a log do in a second, for people; `None` if the file has neither bytes nor
    /// operations, or the log has no time.
    pub(in crate::custom) fn work(&self, log: &Log) -> Option<String> {
        let winners: Vec<(usize, f64)> = medians(log)
            .iter()
            .enumerate()
            .filter_map(|(input, times)| Some((input, Podium::of(times)?.winner_ms)))
            .collect();
        let mut text = String::new();
        for (what, unit, work) in [("bytes", "B/s", &self.bytes), ("operations", "op/s", &self.operations)] {
            let Some(work) = work else { continue };
            let mut rates: Vec<(f64, usize)> = winners
                .iter()
                .filter_map(|(input, ms)| Some((rate(self, work, log, *input, *ms)?, *input)))
                .collect();
            rates.sort_by(|a, b| a.0.total_cmp(&b.0));
            let Some((most, input)) = rates.last() else { continue };
            let _ = write!(
                text,
                "{}{what}: the winners reach {} in the median, {} at most (on {})",
                if text.is_empty() { "" } else { "\n" },
                shown(rates[rates.len() / 2].0, unit),
                shown(*most, unit),
                log.context(*input)
            );
        }
        (!text.is_empty()).then_some(text)
    }
}

/// Returns the work on this input divided by its time.
fn rate(kernel: &CudaKernel, work: &NumberExpression, log: &Log, input: usize, ms: f64) -> Option<f64> {
    let row = kernel.row(&log.context(input)).ok()?;
    Some(work.number(&row).ok()? / (ms / 1e3))
}

/// Returns a rate with three digits and a prefix.
fn shown(rate: f64, unit: &str) -> String {
    let prefixes = [(1e12, "T"), (1e9, "G"), (1e6, "M")];
    let (scale, prefix) = prefixes.into_iter().find(|(scale, _)| rate >= *scale).unwrap_or((1.0, ""));
    format!("{:.3} {prefix}{unit}", rate / scale)
}
