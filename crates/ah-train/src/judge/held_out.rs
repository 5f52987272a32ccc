//! A training judged on its test part.

use super::evaluation::Evaluation;
use super::metrics::Metrics;
use crate::decisions::JudgedInput;
use crate::params::SplitBy;
use crate::prepared::Prepared;
use crate::promise::{ALWAYS, Recipe, SizeChoice};

/// A heuristic that was learned from the training part, judged on the test part.
pub struct TestReport {
    /// The number of inputs in the training part.
    pub train_inputs: usize,
    /// The heuristic, declining where its promise wants it, on each input of the test part.
    pub evaluation: Evaluation,
    /// The same decisions, and those of cross-validation on the training part, where no times are estimates.
    pub evidence: Vec<JudgedInput>,
    /// The same heuristic, always deciding.
    pub always: Metrics,
    /// Where inputs are held out together: the same parameters under the easier split by input, always deciding.
    pub by_input: Option<Metrics>,
}

impl TestReport {
    /// Judges `chosen`, which was learned by `recipe` from the training part.
    pub fn new(recipe: &Recipe<'_>, chosen: &SizeChoice, prepared: &Prepared) -> Self {
        let plan = recipe.plan;
        let parts = &prepared.parts;
        let by_input = (plan.test_split == SplitBy::Dims).then(|| {
            let parts = recipe.dataset.hold_out(SplitBy::Input, plan.seed);
            let model = recipe.learn_without_promise(&parts.training, ALWAYS);
            Metrics::of_model(prepared, &model, &parts.held_out)
        });
        let mut evaluation = Evaluation::of_test_part(prepared, &chosen.model);
        let mut evidence = evaluation.judged.clone();
        // The same choices have the same ids in both tables.
        let learning = &prepared.learning.table;
        let judging = &prepared.judging;
        if learning.choices == judging.choices && !learning.has_estimates() {
            evidence.extend(chosen.cross_validated.iter().cloned());
        }
        if evaluation.comparison.loses_nothing() {
            let by_all = Evaluation::compared(prepared, &chosen.model, &evidence).range;
            evaluation.comparison.range.high = evaluation.comparison.range.high.max(by_all.high);
        }
        Self {
            train_inputs: parts.training.len(),
            evaluation,
            evidence,
            always: Metrics::of_model(prepared, &chosen.always, &parts.held_out),
            by_input,
        }
    }
}
