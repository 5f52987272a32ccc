//! What a heuristic loses on groups that it never saw.

use std::collections::BTreeMap;

use ah_types::random::fraction;
use serde::Serialize;

use crate::data::Shared;

/// What a heuristic loses on groups that it never saw, such as files that the log does not have.
#[derive(Clone, Debug, Serialize)]
pub struct NewGroups {
    /// What the inputs of a group share.
    #[serde(rename = "on", serialize_with = "as_words")]
    pub shared: Shared,
    /// The groups of the log.
    pub groups: usize,
    /// The time over the best choices, by the objective.
    pub mean: f64,
    /// The least one that these groups do not rule out.
    pub low: f64,
    /// The greatest one.
    pub high: f64,
}

fn as_words<S: serde::Serializer>(shared: &Shared, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&shared.new_ones())
}

/// Draws of whole groups.
const DRAWS: u64 = 1000;

/// Returns the 2.5th and the 97.5th percentile of the weighted mean cost, if as many groups are drawn anew (bootstrap). The upper end
/// draws from one group more, on which the heuristic errs as much as it or the fallback errs on any: of 24 files of which 5 % are
/// slow, all 24 are quick in 3 of 10 logs.
pub fn interval(costs: &[f64], of_fallback: &[f64], weights: &[f64], groups: &[u64]) -> [f64; 2] {
    let mut sums: BTreeMap<u64, [f64; 3]> = BTreeMap::new();
    for (((group, weight), cost), of_fallback) in groups.iter().zip(weights).zip(costs).zip(of_fallback) {
        let sum = sums.entry(*group).or_default();
        *sum = [sum[0] + weight, sum[1] + cost * weight, sum[2] + of_fallback * weight];
    }
    let mut drawn_from: Vec<[f64; 2]> = sums.values().map(|sum| [sum[0], sum[1]]).collect();
    let worst = sums.values().map(|sum| f64::max(sum[1], sum[2]) / sum[0]).fold(0.0, f64::max);
    let weight = weights.iter().sum::<f64>() / sums.len() as f64;
    drawn_from.push([weight, weight * worst]);
    let count = sums.len() as u64;
    let end = |share: f64, groups: u64| {
        let mean = |draw: u64| {
            let at = |at| (fraction(draw, at) * groups as f64) as usize;
            let drawn = (0..count).map(|index| drawn_from[at(index)]);
            let sum = drawn.fold([0.0; 2], |sum, of| [sum[0] + of[0], sum[1] + of[1]]);
            sum[1] / sum[0]
        };
        let mut means: Vec<f64> = (0..DRAWS).map(mean).collect();
        means.sort_by(f64::total_cmp);
        means[(share * DRAWS as f64) as usize]
    };
    [end(0.025, count), end(0.975, count + 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_of_few_groups_is_wide() {
        let costs: Vec<f64> = (0..1000).map(|at| if at / 50 % 10 == 0 { 0.4 } else { 0.0 }).collect();
        let by = |size: u64| {
            let groups: Vec<u64> = (0..1000).map(|at| at / size).collect();
            interval(&costs, &costs, &[1.0; 1000], &groups)
        };
        let ([low, high], [alone_low, alone_high]) = (by(50), by(1));
        assert!(low == 0.0 && high > 0.09, "{low} {high}");
        assert!(alone_low > 0.03 && alone_high < 0.05, "{alone_low} {alone_high}");
    }
}
