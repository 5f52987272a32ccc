//! The times of each input by choice, their medians, and the two fastest choices.

use std::collections::BTreeMap;

use ah_types::log::Log;
use ah_types::median;

/// A gap between winner and second above which the winner should be the same in every repeat.
pub const CLEAR_GAP: f64 = 1.03;

/// The times of one input, by choice.
pub type Times = BTreeMap<u32, Vec<f64>>;

/// The median feedback of one input, by choice.
pub type Medians = BTreeMap<u32, f64>;

/// Returns the times of each input.
pub fn times(log: &Log) -> Vec<Times> {
    let mut times = vec![Times::new(); log.inputs.len()];
    for sample in &log.samples {
        times[sample.input as usize].entry(sample.choice.0).or_default().push(sample.feedback);
    }
    times
}

/// Returns the medians of each input.
pub fn medians(log: &Log) -> Vec<Medians> {
    let of_input = |times: Times| {
        times.into_iter().filter_map(|(choice, times)| Some((choice, median(&times)?))).collect()
    };
    times(log).into_iter().map(of_input).collect()
}

/// The two fastest choices of an input.
pub struct Podium {
    pub winner: u32,
    pub winner_ms: f64,
    /// Infinite if no second choice has a time.
    pub second_ms: f64,
}

impl Podium {
    /// Returns the two fastest choices; `None` if every choice failed.
    pub fn of(medians: &Medians) -> Option<Self> {
        let mut times: Vec<_> =
            medians.iter().filter(|(_, ms)| ms.is_finite()).map(|(choice, ms)| (*ms, *choice)).collect();
        times.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let (winner_ms, winner) = *times.first()?;
        Some(Self { winner, winner_ms, second_ms: times.get(1).map_or(f64::INFINITY, |t| t.0) })
    }
}

pub fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}
