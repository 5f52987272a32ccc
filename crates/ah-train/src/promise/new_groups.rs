//! What a heuristic loses on groups that it never saw.

use std::collections::BTreeMap;

use ah_types::random::fraction;
use serde::Serialize;

use crate::data::Shared;

/// What a heuristic loses on groups that it never saw, such as files that the log does not have.
#[derive(Clone, Debug, Serialize)]
pub struct NewGroups {
    /// What the inputs of a group share.
    #[serde(serialize_with = "as_words")]
    pub shared: Shared,
    /// The groups of the log.
    pub groups: usize,
    /// The least time over the best choices, by the objective, that these groups do not rule out.
    pub low: f64,
    /// The greatest one.
    pub high: f64,
}

fn as_words<S: serde::Serializer>(shared: &Shared, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&shared.words())
}

/// Draws of whole groups.
const DRAWS: u64 = 1000;

/// Returns the 2.5th and the 97.5th percentile of the weighted mean cost, if as many groups are drawn anew (bootstrap).
pub fn interval(costs: &[f64], weights: &[f64], groups: &[u32], seed: u64) -> [f64; 2] {
    let mut sums: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    for ((cost, weight), group) in costs.iter().zip(weights).zip(groups) {
        let (sum, of) = sums.entry(*group).or_default();
        (*sum, *of) = (*sum + cost * weight, *of + weight);
    }
    let sums: Vec<(f64, f64)> = sums.into_values().collect();
    let count = sums.len() as u64;
    let mean = |draw: u64| {
        let drawn = (0..count).map(|at| sums[(fraction(seed, draw * count + at) * count as f64) as usize]);
        let (sum, weight) = drawn.fold((0.0, 0.0), |sums, of| (sums.0 + of.0, sums.1 + of.1));
        sum / f64::max(weight, f64::MIN_POSITIVE)
    };
    let mut means: Vec<f64> = (0..DRAWS).map(mean).collect();
    means.sort_by(f64::total_cmp);
    [0.025, 0.975].map(|share| means[(share * DRAWS as f64) as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_of_few_groups_is_wide() {
        let costs: Vec<f64> = (0..1000).map(|at| if at / 50 % 10 == 0 { 0.4 } else { 0.0 }).collect();
        let by = |size: u32| {
            let groups: Vec<u32> = (0..1000).map(|at| at / size).collect();
            interval(&costs, &[1.0; 1000], &groups, 0)
        };
        let ([low, high], [alone_low, alone_high]) = (by(50), by(1));
        assert!(low == 0.0 && high > 0.09, "{low} {high}");
        assert!(alone_low > 0.03 && alone_high < 0.05, "{alone_low} {alone_high}");
    }
}
