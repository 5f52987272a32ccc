//! The portfolio: the N choices that lose least by the objective where the best of them is always taken, as a greedy
//! [`cover`](crate::tree::cover). `--max-choices` sets N; a log of many choices that no optimization declares has one of 24.

use ah_model::ChoiceId;

use crate::data::Dataset;
use crate::joint;
use crate::tree::cover::{Cover, CoveredInput};

/// The choices that are kept where nobody says how many. On 640 configurations of Triton (H100, six seeds) 24, 32, 48 and 64 lose 1.0700,
/// 1.0742, 1.0722 and 1.0722, and where each shape times 25 of them 1.0780, 1.0816, 1.0813 and 1.0793 (four seeds).
const USUAL: usize = 24;

/// The choices to keep.
#[derive(Clone, Debug, PartialEq)]
pub struct Portfolio {
    /// The choices' names, sorted; the fallback is always among them.
    pub choices: Vec<String>,
    /// The slowdown where the best of them is always taken, by the mean of the objective.
    pub slowdown: f64,
}

/// Chooses the choices to keep on these inputs: `asked` ones, else the usual number where a log is of
/// [many choices](joint::is_of_many). `None`: all of them.
pub fn choose(dataset: &Dataset, inputs: &[u32], asked: Option<usize>) -> Option<Portfolio> {
    let table = &dataset.table;
    if asked.is_none() && !(dataset.ad_hoc && joint::is_of_many(table, inputs)) {
        return None;
    }
    let fallback = dataset.fallback(inputs);
    let count = asked.unwrap_or(USUAL);
    // A choice without a time costs what the fallback costs.
    let row = |&input: &u32| CoveredInput {
        input,
        weight: table.cost_weight(input),
        cost: table.cost(input, fallback, fallback).min(table.objective.greatest_cost()),
    };
    let mut cover = Cover { table, rows: inputs.iter().map(row).collect() };
    let mut chosen = vec![fallback];
    while chosen.len() < count {
        let ids = (0..table.choices.len() as u32).map(ChoiceId);
        let others = ids.filter(|id| !table.is_rare(*id) && !chosen.contains(id));
        let Some((next, _)) = cover.best(others).filter(|(_, gain)| *gain > 0.0) else { break };
        cover.add(next);
        chosen.push(next);
    }
    let mut choices: Vec<String> = chosen.iter().map(|id| table.choices[id.index()].clone()).collect();
    choices.sort_unstable();
    Some(Portfolio { slowdown: table.objective.over_best(cover.mean_cost()), choices })
}
