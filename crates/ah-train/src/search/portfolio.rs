//! The portfolio: the N choices that lose least by the objective where the best of them is always taken. `--max-choices` sets N; for a log of
//! many choices that no optimization declares, the curve of size against loss sets it.
//! The portfolio is a greedy [`cover`](crate::tree::cover).

use ah_types::ChoiceId;

use crate::data::{Dataset, Table};
use crate::joint;
use crate::tree::cover::Cover;

/// Sizes that compete where nobody asks for one.
const SIZES: [usize; 7] = [8, 12, 16, 24, 32, 48, 64];
/// The smallest size is taken that loses at most this much more than the greatest.
const WITHIN: f64 = 0.01;

/// The choices to keep.
#[derive(Clone, Debug, PartialEq)]
pub struct Portfolio {
    /// The choices' names, sorted; the fallback is always among them.
    pub choices: Vec<String>,
    /// The slowdown where the best of them is always taken, by the mean of the objective.
    pub slowdown: f64,
    /// The same slowdown for other numbers of choices; empty if one was asked for.
    pub curve: Vec<(usize, f64)>,
}

/// Chooses the choices to keep on these inputs: `asked` ones, else as many as are worth it where a log is of
/// [many choices](joint::is_of_many). `None`: all of them.
pub fn choose(dataset: &Dataset, inputs: &[u32], asked: Option<usize>) -> Option<Portfolio> {
    let table = &dataset.table;
    if asked.is_none() && !(dataset.ad_hoc && joint::is_of_many(table, inputs)) {
        return None;
    }
    let most = asked.unwrap_or(SIZES[SIZES.len() - 1]);
    let (mut chosen, slowdowns) = greedy(table, inputs, dataset.fallback(inputs), most);
    let mut curve = Vec::new();
    if asked.is_none() {
        let sizes = SIZES.into_iter().filter(|size| *size < chosen.len()).chain([chosen.len()]);
        curve.extend(sizes.map(|size| (size, slowdowns[size - 1])));
        let least = slowdowns[chosen.len() - 1];
        let is_near = |(_, slowdown): &&(usize, f64)| *slowdown <= least + WITHIN;
        chosen.truncate(curve.iter().find(is_near).map_or(chosen.len(), |(size, _)| *size));
    }
    let mut choices: Vec<String> = chosen.iter().map(|id| table.choices[id.index()].clone()).collect();
    choices.sort_unstable();
    Some(Portfolio { slowdown: slowdowns[choices.len() - 1], choices, curve })
}

/// Returns the choices in the order in which they are added, and the slowdown with each.
fn greedy(table: &Table, inputs: &[u32], fallback: ChoiceId, count: usize) -> (Vec<ChoiceId>, Vec<f64>) {
    // A choice without a time costs what the fallback costs.
    let row = |&input: &u32| (input, table.cost_weight(input), table.cost(input, fallback, fallback));
    let mut cover = Cover::new(table, inputs.iter().map(row));
    let (mut chosen, mut slowdowns) = (vec![fallback], vec![table.over_best(cover.mean_cost())]);
    while chosen.len() < count {
        let gains = cover.gains();
        let gain = |id: &ChoiceId| gains[id.index()];
        let ids = (0..table.choices.len() as u32).map(ChoiceId).rev();
        let others = ids.filter(|id| !table.is_rare(*id) && !chosen.contains(id));
        // The first of equals.
        let Some(next) = others.max_by(|a, b| gain(a).total_cmp(&gain(b))) else { break };
        cover.add(next);
        chosen.push(next);
        slowdowns.push(table.over_best(cover.mean_cost()));
    }
    (chosen, slowdowns)
}
