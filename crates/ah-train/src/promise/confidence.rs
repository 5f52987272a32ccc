//! PyTorch's rule for low confidence, where a policy asks for it: a leaf whose best choice is not
//! confident enough declines.
//!
//! A classifier's confidence is the best choice's probability in the leaf; a regression's is the ratio
//! of the two best predicted times. The threshold is compared unrounded, in training and in the
//! model. PyTorch prints probabilities with three digits and compares them with an unrounded
//! threshold, so its leaves at the threshold decide although training counted them as unsure.

use ah_types::{ChoiceId, Leaf, LeafUnsure, Node, Tree};

use super::recipe::Recipe;
use crate::data::Rows;
use crate::data::split;
use crate::error::TrainError;
use crate::params::SplitBy;
use crate::search::{Configuration, fit_all};
use crate::tree::leaves;

/// The folds that the threshold is chosen on.
const FOLDS: usize = 5;

fn confidence(leaf: &Leaf, configuration: &Configuration) -> f64 {
    match &leaf.ranking[..] {
        [first, second, ..] if configuration.is_regression() => (second.score - first.score).exp(),
        [first, ..] if configuration.is_regression() => (-first.score).exp(),
        [first, ..] => first.probability,
        [] => 0.0,
    }
}

/// Returns the least confidence with which at most `share` of the inputs is decided wrongly. Each input is
/// judged by trees that it did not grow; a decision is wrong where its choice does not tie the winner.
///
/// # Errors
/// Those of the learners.
pub fn threshold(
    recipe: &Recipe<'_>,
    fallback: ChoiceId,
    inputs: &[u32],
    share: f64,
) -> Result<f64, TrainError> {
    let task = recipe.task;
    let configuration = &recipe.configurations[..1];
    let targets = task.targets(&recipe.ranking.portfolio);
    let keys = task.keys(SplitBy::Input, inputs);
    let mut wrong = Vec::new();
    for part in split::partitions(&task.table, inputs, &keys, FOLDS, recipe.params.seed) {
        let rows = Rows { columns: &recipe.features.columns, inputs: &part.training };
        let fitted = fit_all(configuration, &rows, &targets)?;
        let trees = leaves::trees(&fitted, &task.table, &rows, fallback, f64::INFINITY, recipe.ranking);
        for input in part.held_out {
            let id = fitted.trees[0].tree.leaf_of(&recipe.features.columns, input) as usize;
            let Some(leaf) = trees[0].leaf(id) else { continue };
            let cell = |choice| task.table.cell(input, choice);
            let picked = leaf.pick(Some(fallback), false, |c| cell(c).is_some());
            if picked.and_then(|r| cell(r.choice)).is_some_and(|c| !c.ties_winner) {
                wrong.push(confidence(leaf, &configuration[0]));
            }
        }
    }
    wrong.sort_unstable_by(|a, b| b.total_cmp(a));
    let allowed = (share * inputs.len() as f64).floor() as usize;
    // The most confident wrong decision that is too many must be below the threshold.
    Ok(wrong.get(allowed).map_or(0.0, |c| c.next_up()))
}

/// Makes every leaf below this confidence decline.
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
