//! The times of each input by choice, and how well they repeat: their spread, and winners that change, between the repetitions of a log.

use std::collections::BTreeMap;
use std::fmt;

use ah_types::log::Log;
use ah_types::median;

/// A gap between winner and second above which the winner should be the same in every repeat.
const CLEAR_GAP: f64 = 1.03;

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

/// How well the repetitions of a log agree.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeats {
    /// The spread over all times, then over times of one magnitude, ascending.
    pub spreads: Vec<Spread>,
    /// The winners of the first and of the second half of the repetitions.
    pub flips: Flips,
}

/// The spread of times: greatest over least time of a choice on an input, less 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    /// Which times: a text for people.
    pub times: String,
    /// Choices on inputs that are compared.
    pub cells: usize,
    /// The median.
    pub median: f64,
    /// The 95th percentile.
    pub p95: f64,
}

/// Winners that differ between two sets of times of the same inputs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flips {
    /// Inputs with at least two choices in both.
    pub inputs: usize,
    /// The share of them whose winner changes.
    pub changed: f64,
    /// Inputs on which the first winner is ahead by more than 3 %.
    pub clear: usize,
    /// The share of these whose winner changes.
    pub clear_changed: f64,
    /// What taking the first winner loses by the second times: geometric-mean slowdown, less 1.
    pub loss: f64,
}

impl Repeats {
    /// Returns how well the repetitions of `log` agree.
    pub fn of(log: &Log) -> Self {
        let inputs = times(log);
        // By the power of ten of the least time in milliseconds. Equal times are copies of one measurement.
        let mut by_magnitude: BTreeMap<i32, Vec<f64>> = BTreeMap::new();
        for times in inputs.iter().flat_map(BTreeMap::values) {
            let least = times.iter().copied().fold(f64::INFINITY, f64::min);
            let greatest = times.iter().copied().fold(0.0, f64::max);
            if greatest.is_finite() && greatest > least {
                by_magnitude.entry(least.log10().floor() as i32).or_default().push(greatest / least - 1.0);
            }
        }
        let all = Spread::of("all".to_owned(), by_magnitude.values().flatten().copied().collect());
        let parts = by_magnitude.into_iter().filter_map(|(power, of)| {
            Spread::of(format!("{} to {}", duration(power), duration(power + 1)), of)
        });
        let halves = inputs.iter().map(|input: &Times| {
            let parts = || input.iter().map(|(choice, times)| (choice, times.split_at(times.len() / 2)));
            let parts = || parts().filter(|(_, (first, _))| !first.is_empty());
            let first = ranked(parts().map(|(choice, (first, _))| (choice, first)));
            (first, ranked(parts().map(|(choice, (_, second))| (choice, second))))
        });
        Self { spreads: all.into_iter().chain(parts).collect(), flips: Flips::between(halves) }
    }
}

impl Spread {
    fn of(times: String, mut deviations: Vec<f64>) -> Option<Self> {
        deviations.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| deviations[((deviations.len() - 1) as f64 * share).round() as usize];
        (!deviations.is_empty()).then(|| Self {
            times,
            cells: deviations.len(),
            median: at(0.5),
            p95: at(0.95),
        })
    }
}

impl Flips {
    fn between(inputs: impl Iterator<Item = (Vec<(f64, u32)>, Vec<(f64, u32)>)>) -> Self {
        let mut flips = Self::default();
        let mut changed = 0;
        let mut clear_changed = 0;
        let mut loss = 0.0;
        for (first, second) in inputs {
            let (&[(best_ms, before), (second_ms, _), ..], &[(after_ms, after), ..]) =
                (&first[..], &second[..])
            else {
                continue;
            };
            flips.inputs += 1;
            changed += usize::from(before != after);
            if second_ms / best_ms > CLEAR_GAP {
                flips.clear += 1;
                clear_changed += usize::from(before != after);
            }
            let again = second.iter().find(|(_, choice)| *choice == before);
            loss += again.map_or(0.0, |(ms, _)| (ms / after_ms).ln());
        }
        flips.changed = share(changed, flips.inputs);
        flips.clear_changed = share(clear_changed, flips.clear);
        flips.loss = (loss * share(1, flips.inputs)).exp_m1();
        flips
    }
}

/// Ten to this power, of milliseconds, as a text.
fn duration(power: i32) -> String {
    let (unit, digits) = match power {
        3.. => ("s", power - 3),
        0.. => ("ms", power),
        -3.. => ("µs", power + 3),
        _ => ("ns", power + 6),
    };
    format!("{} {unit}", 10_f64.powi(digits))
}

impl fmt::Display for Repeats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Spread { times, cells, median, p95 } in &self.spreads {
            let (median, p95) = (100.0 * median, 100.0 * p95);
            writeln!(
                f,
                "noise, {times} times: {median:.2} % in the median, {p95:.2} % in the worst twentieth of {cells}"
            )?;
        }
        let Flips { inputs, changed, clear, clear_changed, loss } = &self.flips;
        if *inputs == 0 {
            return f
                .write_str("one time for each choice and input, so nothing shows how often winners change");
        }
        let [changed, clear_changed, loss] = [changed, clear_changed, loss].map(|share| 100.0 * share);
        write!(
            f,
            "flips: the halves of the repetitions have different winners on {changed:.1} % of {inputs} inputs, and on \
             {clear_changed:.1} % of the {clear} with a lead above 3 %; taking the other half's winner loses {loss:.2} %"
        )
    }
}
