//! Whether the machine became slower or faster while it measured.
//!
//! Inputs differ, so times cannot be compared directly. Each input is compared with the most similar input of
//! another tenth of the run: the mean log ratio of the times of their common choices. Inputs are drawn in random
//! order, so differences between neighbours cancel, and a slow tenth remains.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use ah_types::Value;
use ah_types::log::Log;
use serde::Serialize;

use super::podium::{Medians, medians};

/// The parts of a run.
const PARTS: usize = 10;
/// The most inputs to compare: each looks at all others. More are thinned evenly.
const MOST: usize = 2000;
/// The least number of inputs in a part; below it no drift is computed.
const FEWEST: usize = 5;

/// Half of an interval, in standard errors of a count of signs. The intervals of all ten tenths are right at once in
/// 95 % of the runs (Bonferroni: each in 99.5 %).
const CONFIDENCE: f64 = 2.81;
/// The interval of a tenth that drifts excludes 0 by this. Less does no harm, and comes also from neighbours in a tenth
/// that drifts.
const LEAST_DRIFT: f64 = 1e-3;

/// A tenth of a run, compared with similar inputs of the others. Times are shares: 0.1 is 10 % longer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PartOfRun {
    /// Its place in the run, from 0 to 9.
    pub place: usize,
    /// How much longer choices took: the median.
    pub longer: f64,
    /// The interval of `longer`; `None` if the tenth has too few inputs.
    pub interval: Option<[f64; 2]>,
    /// Whether the interval excludes 0, by 0.1 %: chance does not explain the difference.
    pub drifts: bool,
    /// How far the signs of the log ratios are from balanced, in standard errors.
    #[serde(skip)]
    significance: f64,
}

/// Returns the sentence about the tenth that differs most significantly; nothing without tenths.
pub fn sentence(parts: &[PartOfRun]) -> Option<String> {
    let order = |part: &&PartOfRun| (part.drifts, part.significance, part.longer.ln_1p().abs());
    let most = parts.iter().max_by(|a, b| order(a).partial_cmp(&order(b)).unwrap_or(Ordering::Equal))?;
    let percent = |share: f64| format!("{:.2} %", share * 100.0);
    let word = if most.longer < 0.0 { "shorter" } else { "longer" };
    let interval = most.interval.map_or("too few inputs for an interval".to_owned(), |interval| {
        let mut ends = interval.map(|share| share * most.longer.signum());
        ends.sort_by(f64::total_cmp);
        ends.map(percent).join(" to ")
    });
    let found = format!(
        "{} to {} % of the run took {} {word} than similar inputs elsewhere in it ({interval})",
        most.place * 10,
        most.place * 10 + 10,
        percent(most.longer.abs()),
    );
    Some(match parts.iter().filter(|part| part.drifts).count() {
        0 => format!("no tenth of the run differs surely from the others. The most significant: {found}."),
        count => format!(
            "the machine drifted in {count} of 10 tenths of the run. {found}. Measure that part again, and look for a \
             hot machine or a neighbour."
        ),
    })
}

/// Returns the tenths of the run, in the order of the log; nothing for fewer than 50 inputs.
pub fn drift(log: &Log) -> Vec<PartOfRun> {
    let times = medians(log);
    let step = log.inputs.len().div_ceil(MOST).max(1);
    let sampled: Vec<usize> = (0..log.inputs.len()).step_by(step).collect();
    if sampled.len() < PARTS * FEWEST {
        return Vec::new();
    }
    let places = places(log, &sampled);
    let part = |at: usize| at * PARTS / sampled.len();
    // By the neighbour: inputs of a tenth that share one count as one, because their ratios are not independent.
    let mut ratios: Vec<BTreeMap<usize, Vec<f64>>> = vec![BTreeMap::new(); PARTS];
    for at in 0..sampled.len() {
        let distance = |other: &usize| -> f64 {
            places.iter().map(|feature| (feature[at] - feature[*other]).abs()).sum()
        };
        let others = (0..sampled.len()).filter(|other| part(*other) != part(at));
        let nearest = others.min_by(|a, b| distance(a).total_cmp(&distance(b)));
        if let Some(other) = nearest
            && let Some(ratio) = log_ratio(&times[sampled[at]], &times[sampled[other]])
        {
            ratios[part(at)].entry(other).or_default().push(ratio);
        }
    }
    let means = |ratios: &BTreeMap<usize, Vec<f64>>| ratios.values().map(|shared| mean(shared)).collect();
    ratios.iter().enumerate().map(|(place, ratios)| part_of_run(place, means(ratios))).collect()
}

/// Returns each feature's place of each input: a number's rank, from 0 to 1; a category's number, so that two
/// categories are at least 1 apart.
fn places(log: &Log, sampled: &[usize]) -> Vec<Vec<f64>> {
    let feature = |slot: usize| {
        let values: Vec<&Value> = sampled.iter().map(|&input| &log.inputs[input].values[slot]).collect();
        let mut distinct: Vec<&Value> = values.clone();
        let number = |value: &Value| match value {
            Value::Number(x) => Some(*x),
            Value::Category(_) => None,
        };
        let compare = |a: &&Value, b: &&Value| match (number(a), number(b)) {
            (Some(a), Some(b)) => a.total_cmp(&b),
            _ => a.to_string().cmp(&b.to_string()),
        };
        distinct.sort_by(compare);
        distinct.dedup_by(|a, b| compare(a, b).is_eq());
        let scale = match distinct.first().copied().and_then(number) {
            Some(_) => 1.0 / (distinct.len().max(2) - 1) as f64,
            None => 1.0,
        };
        let place = |value| distinct.binary_search_by(|other| compare(other, &value)).unwrap_or(0);
        values.into_iter().map(|value| place(value) as f64 * scale).collect()
    };
    (0..log.schema.len()).map(feature).collect()
}

/// Returns the mean log ratio of the times of common choices.
fn log_ratio(times: &Medians, others: &Medians) -> Option<f64> {
    let ratio = |(choice, ms): (&u32, &f64)| Some((ms / others.get(choice)?).ln()).filter(|x| x.is_finite());
    let ratios: Vec<f64> = times.iter().filter_map(ratio).collect();
    (!ratios.is_empty()).then(|| mean(&ratios))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Compares the median of these log ratios with 0. The interval is one of ranks, which holds for any distribution:
/// of 440 runs in a shuffled order (four logs, 100 to 2000 inputs), 8 seem to drift. With 2.81 standard errors from the
/// median absolute deviation, 6 to 52 % did at 200 inputs. A tenth with fewer than 12 ratios has no interval.
fn part_of_run(place: usize, mut ratios: Vec<f64>) -> PartOfRun {
    ratios.sort_by(f64::total_cmp);
    let count = ratios.len() as f64;
    let beyond = ((count - CONFIDENCE * count.sqrt()) / 2.0).floor();
    let interval = (beyond >= 1.0).then(|| {
        let rank = beyond as usize;
        [ratios[rank - 1].exp_m1(), ratios[ratios.len() - rank].exp_m1()]
    });
    let drifts = interval.is_some_and(|[least, greatest]| least >= LEAST_DRIFT || greatest <= -LEAST_DRIFT);
    let signs: f64 = ratios.iter().filter(|ratio| **ratio != 0.0).map(|ratio| ratio.signum()).sum();
    let significance = signs.abs() / count.max(1.0).sqrt();
    let longer = ah_types::median(&ratios).unwrap_or(0.0).exp_m1();
    PartOfRun { place, longer, interval, drifts, significance }
}

#[cfg(test)]
mod tests {
    use ah_measure::sampling;
    use rand::Rng as _;

    use super::*;

    /// A log of 400 inputs with random sizes; times grow with the size, and by a factor for each input.
    fn log(factor: impl Fn(u32) -> f64) -> Log {
        let head =
            r#"{"name":"x","device_capa":[0,0],"numerical_features":["size"],"categorical_features":[]}"#;
        let row = |i: u32| {
            let size: u32 = sampling::Seed(1, u64::from(i)).rng().random_range(1..=1_000_000);
            let time = f64::from(size) * factor(i);
            format!("{size},a,{time}\n{size},b,{}\n", 2.0 * time)
        };
        let rows: String = (0..400).map(row).collect();
        let text = format!("{head}\nsize,choice,feedback\n{rows}");
        ah_types::log::read_bytes("x".as_ref(), text.as_bytes(), ah_types::log::ReadOptions::default())
            .unwrap()
    }

    #[test]
    fn a_machine_that_becomes_slower_is_seen() {
        let steady = drift(&log(|_| 1.0));
        assert_eq!(steady.len(), PARTS);
        assert!(steady.iter().all(|part| part.longer.abs() < 0.03), "{steady:?}");
        let slowing = drift(&log(|i| if i < 200 { 1.0 } else { 1.2 }));
        let halves: (f64, f64) =
            (slowing[..5].iter().map(|p| p.longer).sum(), slowing[5..].iter().map(|p| p.longer).sum());
        assert!(halves.1 - halves.0 > 0.3, "{slowing:?}");
    }

    #[test]
    fn the_sentence_has_the_size_and_the_sign_and_warns() {
        for (factor, expected) in [(2.0, "% longer"), (10.0, "% longer"), (0.5, "% shorter")] {
            let parts = drift(&log(|i| if (40..80).contains(&i) { factor } else { 1.0 }));
            let drifting: Vec<usize> =
                parts.iter().filter(|part| part.drifts).map(|part| part.place).collect();
            assert_eq!(drifting, [1], "{parts:?}");
            let (longer, [least, greatest]) = (parts[1].longer, parts[1].interval.unwrap());
            assert!((longer - (factor - 1.0)).abs() < 0.02 * factor, "{longer}");
            assert!(least <= longer && longer <= greatest, "{parts:?}");
            let sentence = sentence(&parts).unwrap();
            assert!(sentence.starts_with("the machine drifted in 1 of 10 tenths of the run. 10 to 20 %"));
            assert!(sentence.contains(expected), "{sentence}");
        }
        let steady = sentence(&drift(&log(|_| 1.0))).unwrap();
        assert!(steady.starts_with("no tenth of the run differs surely"), "{steady}");
    }
}
