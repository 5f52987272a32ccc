//! A training judged on its test part.

use ah_types::Model;

use super::by_device::DeviceReport;
use super::comparison::BaselineComparison;
use super::metrics::Metrics;
use crate::decisions::{self, JudgedInput};
use crate::params::SplitBy;
use crate::prepared::Prepared;
use crate::promise::{Heuristic, Recipe};

/// A heuristic that was learned from the training part, judged on the test part.
pub struct TestReport {
    /// The number of inputs in the training part.
    pub train_inputs: usize,
    /// What is held out together.
    pub split: SplitBy,
    /// The heuristic, declining where its promise wants it, beside always taking one
    /// choice.
    pub comparison: BaselineComparison,
    /// The same heuristic, always deciding.
    pub always: Metrics,
    /// Where inputs are held out together: the same parameters under the easier split by input, always deciding.
    pub by_input: Option<Metrics>,
    /// Each device as if it had never been measured; empty without `--test-split device`.
    pub by_device: Vec<DeviceReport>,
    /// The decision for each input of the test part.
    pub judged: Vec<JudgedInput>,
}

impl TestReport {
    /// Judges `heuristic`, which was learned by `recipe` from the training part.
    pub fn new(recipe: &Recipe<'_>, heuristic: &Heuristic, prepared: &Prepared) -> Self {
        let (dataset, plan, parts) = (recipe.dataset, recipe.plan, &prepared.parts);
        let (table, fallback) = (&prepared.judging, prepared.judging_fallback(&heuristic.model));
        let judge = |model: &Model, test: &[u32]| {
            decisions::decide(model, dataset.features.base(), table, test, &plan.asking)
        };
        let metrics = |judged: &[JudgedInput]| Metrics::new(table, judged, fallback, plan.max_slowdown);
        let by_input = match plan.test_split {
            SplitBy::Input | SplitBy::Neighbours | SplitBy::Device => None,
            SplitBy::Dims => dataset.hold_out(SplitBy::Input, plan.test_share, plan.seed).ok().map(|parts| {
                let model = recipe.learn_without_promise(&parts.training);
                metrics(&judge(&model, &parts.held_out))
            }),
        };
        let single = table.best_single(&parts.training);
        let judged = judge(&heuristic.model, &parts.held_out);
        let comparison = BaselineComparison::new(table, &judged, fallback, single, plan.max_slowdown);
        Self {
            train_inputs: parts.training.len(),
            split: plan.test_split,
            comparison,
            always: metrics(&judge(&heuristic.always, &parts.held_out)),
            by_input,
            by_device: match plan.test_split {
                SplitBy::Input | SplitBy::Neighbours | SplitBy::Dims => Vec::new(),
                SplitBy::Device => DeviceReport::all(recipe, prepared),
            },
            judged,
        }
    }
}
