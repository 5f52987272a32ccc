//! The times of each input by choice, and the choices by their medians.

use std::collections::BTreeMap;

use ah_types::log::Log;
use ah_types::median;

/// A gap between winner and second above which the winner should be the same in every repeat.
pub const CLEAR_GAP: f64 = 1.03;

/// The times of one input, by choice.
pub type Times = BTreeMap<u32, Vec<f64>>;

/// The times of each input.
pub fn times(log: &Log) -> Vec<Times> {
    let mut times = vec![Times::new(); log.inputs.len()];
    for sample in &log.samples {
        times[sample.input as usize].entry(sample.choice.0).or_default().push(sample.feedback);
    }
    times
}

/// The choices with a finite median of these times, each behind its median, fastest first.
pub fn ranked<'t>(times: impl Iterator<Item = (&'t u32, &'t [f64])>) -> Vec<(f64, u32)> {
    let medians = times.filter_map(|(choice, times)| Some((median(times)?, *choice)));
    let mut ranked: Vec<_> = medians.filter(|(ms, _)| ms.is_finite()).collect();
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    ranked
}

pub fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}
