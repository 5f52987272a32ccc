//! PyTorch's rule for low confidence, for those who want it: a leaf whose best choice is not
//! confident enough declines.
//!
//! A classifier's confidence is the best choice's probability in the leaf, a regression's the
//! ratio of the two best predicted scores. The threshold is compared unrounded, in training as
//! in the model: PyTorch prints probabilities with three digits and compares them with an
//! unrounded threshold, so that its leaves at the threshold decide there and were unsure in training.

use ah_types::tree::LeafUnsure;
use ah_types::{ChoiceId, Leaf, Node, Tree};

use super::recipe::Recipe;
use crate::data::Rows;
use crate::data::split::{self, SplitBy};
use crate::error::TrainError;
use crate::search::{Configuration, Folds, fit_all};
use crate::tree::leaves;

/// Folds that the threshold is chosen on.
const FOLDS: usize = 5;

fn confidence(leaf: &Leaf, configuration: &Configuration) -> f64 {
    match &leaf.ranking[..] {
        [first, second, ..] if configuration.is_regression() => (second.score - first.score).exp(),
        [first, ..] if configuration.is_regression() => (-first.score).exp(),
        [first, ..] => first.probability,
        [] => 0.0,
    }
}

/// The least confidence with which at most `share` of the inputs, each judged by trees that have
/// not seen it, is decided and wrong: the decision is not among the winners that noise allows.
///
/// # Errors
/// Those of the learners.
pub fn threshold(
    plan: &Recipe<'_>,
    fallback: ChoiceId,
    inputs: &[u32],
    share: f64,
) -> Result<f64, TrainError> {
    let task = plan.task;
    let targets = task.targets(fallback, &plan.ranking.portfolio);
    let keys = split::keys(&task.table, &task.features, &[], SplitBy::Input, inputs);
    let mut wrong = Vec::new();
    for (train, held_out) in Folds::new(&task.table, inputs, &keys, FOLDS, plan.seed).parts {
        let rows = Rows { columns: &task.columns, inputs: &train };
        let fitted = fit_all(&plan.configurations[..1], &rows, &targets)?;
        let trees = leaves::trees(&fitted, &task.table, &rows, fallback, f64::INFINITY, plan.ranking);
        for input in held_out {
            let id = fitted.trees[0].tree.leaf_of(&task.columns, input) as usize;
            let Some(leaf) = trees[0].leaf(id) else { continue };
            let cell = |choice| task.table.cell(input as usize, choice);
            let picked = leaf.pick(Some(fallback), |c| cell(c).is_some());
            if picked.and_then(|r| cell(r.choice)).is_some_and(|c| !c.ties_winner) {
                wrong.push(confidence(leaf, &plan.configurations[0]));
            }
        }
    }
    wrong.sort_unstable_by(|a, b| b.total_cmp(a));
    let allowed = (share * inputs.len() as f64).floor() as usize;
    // The most confident wrong decision that is not allowed any more must fall below.
    Ok(wrong.get(allowed).map_or(0.0, |c| c.next_up()))
}

/// Lets every leaf below this confidence decline.
pub fn decline(trees: &mut [Tree], configuration: &Configuration, least: f64) {
    for node in trees.iter_mut().flat_map(|t| &mut t.nodes) {
        if let Node::Leaf(leaf) = node
            && leaf.unsure.is_none()
            && confidence(leaf, configuration) < least
        {
            leaf.unsure = Some(LeafUnsure::LowConfidence);
        }
    }
}
