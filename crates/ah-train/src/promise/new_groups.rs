//! What a heuristic loses on groups that it never saw.

use std::collections::BTreeSet;

use serde::Serialize;

use super::calibrate::{ALWAYS, NEVER};
use super::priced::Priced;
use crate::bootstrap::{Range, Term, range, sums};
use crate::data::{Dataset, Shared};
use crate::decisions::JudgedInput;
use crate::search::cross_validation::mean;

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
    /// That of always taking the best single choice.
    pub single: f64,
    /// The least one that these groups do not rule out.
    pub low: f64,
    /// The greatest one.
    pub high: f64,
}

fn as_words<S: serde::Serializer>(shared: &Shared, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&shared.new_ones())
}

/// The quantiles of a loss.
const TAILS: [f64; 2] = [0.025, 0.975];

impl NewGroups {
    /// The loss at this margin, by decisions on inputs of which folds hold out whole groups; `None` without groups.
    pub fn new(priced: &Priced<'_>, margin: f64) -> Option<Self> {
        let Priced { dataset, judged, fallback, weights, .. } = priced;
        let Dataset { table, groups, usable, .. } = dataset;
        let inputs: Vec<u32> = judged.iter().map(|judged| judged.input).collect();
        let keys = dataset.group_of(&inputs)?;
        let [costs, of_fallback] = [margin, NEVER].map(|margin| priced.costs(margin));
        let Range { low, high } = interval(&costs, &of_fallback, weights, &keys);
        let over_best = |cost| table.objective.over_best(cost);
        let single = JudgedInput::of_single(table.best_single(&inputs), table, &inputs);
        let all: BTreeSet<u64> = dataset.group_of(usable)?.into_iter().collect();
        Some(Self {
            shared: groups.as_ref()?.shared.clone(),
            groups: all.len(),
            mean: over_best(mean(&costs, weights)),
            single: Priced::new(dataset, &single, *fallback).slowdown(ALWAYS),
            low: over_best(low),
            high: over_best(high),
        })
    }
}

/// The range of the weighted mean cost over draws of as many groups. The upper end draws from one group more, on which the
/// heuristic errs as much as it or the fallback errs on any: where 5 % of all files are slow, the 24 of a log are all quick in 3 of 10 logs.
fn interval(costs: &[f64], of_fallback: &[f64], weights: &[f64], groups: &[u64]) -> Range {
    let terms = |costs: &[f64]| -> Vec<Term> {
        let terms = costs.iter().zip(weights);
        terms.map(|(&over, &weight)| Term { over, under: 1.0 }.weighted(weight)).collect()
    };
    let own = terms(costs);
    let of_groups = sums(&own, groups);
    let under = weights.iter().sum::<f64>() / of_groups.len() as f64;
    let all = of_groups.into_iter().chain(sums(&terms(of_fallback), groups));
    let worst = all.map(|group| group.over / group.under).fold(0.0, f64::max);
    let further = Term { over: under * worst, under };
    range(&own, groups, TAILS, [None, Some(further)])
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
        let Range { low, high } = by(50);
        let alone = by(1);
        assert!(low == 0.0 && high > 0.09, "{low} {high}");
        assert!(alone.low > 0.03 && alone.high < 0.05, "{alone:?}");
    }
}
