//! A training judged on its test part.

use super::evaluation::Evaluation;
use super::metrics::Metrics;
use crate::params::SplitBy;
use crate::prepared::Prepared;
use crate::promise::{ALWAYS, Recipe, SizeChoice};

/// A heuristic that was learned from the training part, judged on the test part.
pub struct TestReport {
    /// The number of inputs in the training part.
    pub train_inputs: usize,
    /// The heuristic, declining where its promise wants it, on each input of the test part.
    pub evaluation: Evaluation,
    /// The same heuristic, always deciding.
    pub always: Metrics,
    /// Where inputs are held out together: the same parameters under the easier split by input, always deciding.
    pub by_input: Option<Metrics>,
}

impl TestReport {
    /// Judges `chosen`, which was learned by `recipe` from the training part.
    pub fn new(recipe: &Recipe<'_>, chosen: &SizeChoice, prepared: &Prepared) -> Self {
        let (plan, parts) = (recipe.plan, &prepared.parts);
        let alone = match plan.test_split {
            SplitBy::Input => None,
            SplitBy::Dims => Some(recipe.dataset.hold_out(SplitBy::Input, plan.seed)),
        };
        let by_input = alone.map(|parts| {
            let model = recipe.learn_without_promise(&parts.training, ALWAYS);
            Metrics::of_model(prepared, &model, &parts.held_out)
        });
        Self {
            train_inputs: parts.training.len(),
            evaluation: Evaluation::of_test_part(prepared, &chosen.model),
            always: Metrics::of_model(prepared, &chosen.always, &parts.held_out),
            by_input,
        }
    }
}
