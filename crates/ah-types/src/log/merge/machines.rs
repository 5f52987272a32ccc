//! Whether machines agree: their times of the same choices on the same inputs.
//!
//! The reference is the machine nearest to the median of all. Every other machine is compared with it in bands of
//! time, because short kernels show a slower driver or clock, and long ones a slower memory. In each band, an input
//! counts once with the median ratio of its choices; the machine's ratio is the median over inputs.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use rustc_hash::FxHashMap;

use crate::choice::{ChoiceId, median};

/// One choice on one input of the sample.
pub(super) type Trial = (u32, ChoiceId);

/// The median times of one machine in milliseconds, sorted by trial. Failures are left out.
pub(super) type MachineSample = Vec<(Trial, f64)>;

/// A band with fewer inputs shows nothing: below six, the 95 % interval of a median is wider than all values.
const MIN_INPUTS: usize = 6;
/// The upper ends of the bands in milliseconds, with their names.
const BANDS: [(f64, &str); 5] = [
    (0.01, "under 10 µs"),
    (0.1, "from 10 to 100 µs"),
    (1.0, "from 0.1 to 1 ms"),
    (10.0, "from 1 to 10 ms"),
    (f64::INFINITY, "over 10 ms"),
];

/// The comparison of all machines; a machine is the position of its log.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct MachineComparison {
    /// The machine that the others are compared with; `None` if no input was measured by two.
    pub reference: Option<usize>,
    /// Inputs of the sample.
    pub inputs: usize,
    /// The machines that share trials with the reference, without itself.
    pub machines: Vec<Machine>,
    /// The machines that share none.
    pub apart: Vec<usize>,
    /// Machines agree up to this relative difference.
    pub tolerance: f64,
}

/// One machine beside the reference.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Machine {
    /// The position of its log.
    pub log: usize,
    /// From short to long times; bands without inputs are left out.
    pub bands: Vec<Band>,
}

/// The ratio of a machine's times to the reference's in one band of time.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Band {
    /// For example `under 10 µs`.
    pub name: &'static str,
    /// Above 1: the machine is slower.
    pub ratio: f64,
    /// The 95 % interval of the ratio.
    pub interval: (f64, f64),
    /// Inputs compared.
    pub inputs: usize,
    /// The logarithm of the machine's typical time in the band.
    #[serde(skip)]
    centre: f64,
}

impl Band {
    /// Returns true if the machine differs by more than `tolerance`, and surely differs at all.
    pub fn disagrees(&self, tolerance: f64) -> bool {
        let (low, high) = self.interval;
        self.is_known() && self.ratio.ln().abs() > tolerance.ln_1p() && (low > 1.0 || high < 1.0)
    }

    fn is_known(&self) -> bool {
        self.inputs >= MIN_INPUTS
    }
}

/// `4.1 % slower on kernels under 10 µs (95 % interval 3.8 to 4.4 %, 27 inputs)`.
impl fmt::Display for Band {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |ratio: f64| 100.0 * (ratio - 1.0).abs();
        let (low, high) = self.interval;
        let (word, least, most) =
            if self.ratio > 1.0 { ("slower", low, high) } else { ("faster", high, low) };
        write!(
            f,
            "{:.1} % {word} on kernels {} (95 % interval {:.1} to {:.1} %, {} inputs)",
            percent(self.ratio),
            self.name,
            percent(least),
            percent(most),
            self.inputs
        )
    }
}

impl MachineComparison {
    pub(super) fn of(samples: &[MachineSample], tolerance: f64) -> Self {
        let reference = reference(samples);
        let mut comparison =
            Self { reference, inputs: 0, machines: Vec::new(), apart: Vec::new(), tolerance };
        let Some(reference) = reference else {
            comparison.apart = (0..samples.len()).collect();
            return comparison;
        };
        let times: FxHashMap<Trial, f64> = samples[reference].iter().copied().collect();
        let mut inputs: Vec<u32> = times.keys().map(|trial| trial.0).collect();
        inputs.sort_unstable();
        inputs.dedup();
        comparison.inputs = inputs.len();
        for (log, sample) in samples.iter().enumerate().filter(|(log, _)| *log != reference) {
            let bands = bands(sample, &times);
            if bands.is_empty() {
                comparison.apart.push(log);
            } else {
                comparison.machines.push(Machine { log, bands });
            }
        }
        comparison
    }

    /// Returns the machines that disagree with the reference, each with the bands in which it does.
    pub fn disagreeing(&self) -> impl Iterator<Item = (&Machine, Vec<&Band>)> {
        self.machines.iter().filter_map(|machine| {
            let bands: Vec<_> = machine.bands.iter().filter(|b| b.disagrees(self.tolerance)).collect();
            (!bands.is_empty()).then_some((machine, bands))
        })
    }

    /// Returns a sentence for each band in which a machine disagrees; `paths` are the logs by machine.
    pub(super) fn sentences(&self, paths: &[PathBuf]) -> Vec<String> {
        let sentences = |(machine, bands): (&Machine, Vec<&Band>)| {
            let path = paths.get(machine.log).map(|path| path.display().to_string()).unwrap_or_default();
            bands.into_iter().map(move |band| format!("{path} is {band}")).collect::<Vec<_>>()
        };
        self.disagreeing().flat_map(sentences).collect()
    }

    /// Returns the correction of each machine that disagrees.
    pub(super) fn scales(&self) -> Vec<Scale> {
        let scale = |machine: &Machine| {
            let known = machine.bands.iter().filter(|band| band.is_known());
            Scale { log: machine.log, knots: known.map(|b| (b.centre, b.ratio.ln())).collect() }
        };
        self.disagreeing().map(|(machine, _)| scale(machine)).collect()
    }
}

/// The correction of one machine's times.
pub(super) struct Scale {
    pub(super) log: usize,
    /// (logarithm of the time, logarithm of the ratio), by time.
    knots: Vec<(f64, f64)>,
}

impl Scale {
    /// Returns the time that the reference would have taken. Between two bands the ratio changes gradually: a step could
    /// turn the order of two choices around.
    pub(super) fn apply(&self, ms: f64) -> f64 {
        let at = ms.ln();
        let after = self.knots.partition_point(|(time, _)| *time <= at);
        let log_ratio = match (after.checked_sub(1).and_then(|i| self.knots.get(i)), self.knots.get(after)) {
            (Some((t0, r0)), Some((t1, r1))) => r0 + (r1 - r0) * (at - t0) / (t1 - t0),
            (Some((_, ratio)), None) | (None, Some((_, ratio))) => *ratio,
            (None, None) => 0.0,
        };
        ms / log_ratio.exp()
    }
}

/// Returns the machine nearest to the median of all machines; the first among equals.
fn reference(samples: &[MachineSample]) -> Option<usize> {
    let mut all: FxHashMap<Trial, Vec<f64>> = FxHashMap::default();
    for (trial, ms) in samples.iter().flatten() {
        all.entry(*trial).or_default().push(ms.ln());
    }
    all.retain(|_, times| times.len() > 1);
    let middle: FxHashMap<Trial, f64> =
        all.into_iter().filter_map(|(trial, times)| Some((trial, median(&times)?))).collect();
    let distance = |sample: &MachineSample| {
        let distances = sample.iter().filter_map(|(trial, ms)| Some((ms.ln() - middle.get(trial)?).abs()));
        median(&distances.collect::<Vec<_>>())
    };
    let mut best: Option<(usize, f64)> = None;
    for (log, distance) in samples.iter().enumerate().filter_map(|(i, s)| Some((i, distance(s)?))) {
        // Rounding must not decide between two machines, which are equally far from their middle.
        if best.is_none_or(|(_, least)| distance < least - 1e-9) {
            best = Some((log, distance));
        }
    }
    best.map(|(log, _)| log)
}

/// Returns the ratio to `reference` in each band that has trials.
fn bands(sample: &MachineSample, reference: &FxHashMap<Trial, f64>) -> Vec<Band> {
    // By band and input: (logarithm of the ratio, logarithm of the machine's time) of each choice.
    let mut by_band: BTreeMap<usize, BTreeMap<u32, Vec<(f64, f64)>>> = BTreeMap::new();
    for (trial, ms) in sample {
        let Some(expected) = reference.get(trial) else { continue };
        let band = BANDS.iter().position(|(end, _)| expected < end).unwrap_or(BANDS.len() - 1);
        let pair = ((ms / expected).ln(), ms.ln());
        by_band.entry(band).or_default().entry(trial.0).or_default().push(pair);
    }
    let middle = |values: &[(f64, f64)], of: fn(&(f64, f64)) -> f64| {
        median(&values.iter().map(of).collect::<Vec<_>>()).unwrap_or_default()
    };
    let band = |(band, inputs): (usize, BTreeMap<u32, Vec<(f64, f64)>>)| {
        let mut ratios: Vec<f64> = inputs.values().map(|pairs| middle(pairs, |p| p.0)).collect();
        ratios.sort_by(f64::total_cmp);
        let times: Vec<(f64, f64)> = inputs.into_values().flatten().collect();
        Band {
            name: BANDS[band].1,
            ratio: median(&ratios).unwrap_or_default().exp(),
            interval: interval(&ratios),
            inputs: ratios.len(),
            centre: middle(&times, |p| p.1),
        }
    };
    by_band.into_iter().map(band).collect()
}

/// Returns the 95 % interval of the median of sorted logarithms, by ranks: the number of values below the
/// median is binomial, like the heads in n throws of a coin.
fn interval(sorted: &[f64]) -> (f64, f64) {
    let n = sorted.len() as f64;
    let rank = ((n - 1.96 * n.sqrt()) / 2.0).max(0.0) as usize;
    match (sorted.get(rank), sorted.len().checked_sub(rank + 1).and_then(|i| sorted.get(i))) {
        (Some(low), Some(high)) => (low.exp(), high.exp()),
        _ => (0.0, f64::INFINITY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scaling_follows_the_bands_and_keeps_the_order_of_times() {
        let scale = Scale { log: 0, knots: vec![(0.005_f64.ln(), 1.04_f64.ln()), (0.05_f64.ln(), 0.0)] };
        assert!((scale.apply(0.001) - 0.001 / 1.04).abs() < 1e-12);
        assert!((scale.apply(0.005) - 0.005 / 1.04).abs() < 1e-12);
        assert!((scale.apply(7.0) - 7.0).abs() < 1e-12);
        let times: Vec<f64> = (1..10_000).map(|i| scale.apply(f64::from(i) * 1e-5)).collect();
        assert!(times.is_sorted());
    }

    #[test]
    fn the_interval_of_a_median_is_by_ranks() {
        let sorted: Vec<f64> = (0..100).map(f64::from).collect();
        let (low, high) = interval(&sorted);
        assert_eq!((low.ln().round(), high.ln().round()), (40.0, 59.0));
        assert_eq!(interval(&[]), (0.0, f64::INFINITY));
    }
}
