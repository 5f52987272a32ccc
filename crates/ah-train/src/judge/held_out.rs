//! A training judged on its test part.

use ah_types::Model;

use super::by_device::DeviceReport;
use super::by_form::FormReport;
use super::comparison::BaselineComparison;
use super::decisions::{self, JudgedInput};
use super::metrics::Metrics;
use crate::data::split::Partition;
use crate::error::TrainError;
use crate::model::model;
use crate::overhead::{ModelUse, Overhead};
use crate::params::SplitBy;
use crate::promise::{Heuristic, Trainer};

/// A heuristic that was learned from the training part, judged on the test part.
pub struct TestReport {
    /// The number of inputs in the training part.
    pub train_inputs: usize,
    /// The heuristic's leaves.
    pub leaves: usize,
    /// The depth of its tree.
    pub depth: usize,
    /// What is held out together.
    pub split: SplitBy,
    /// The heuristic, declining where its promise wants it, beside always taking one
    /// choice.
    pub comparison: BaselineComparison,
    /// The same heuristic, always deciding.
    pub always: Metrics,
    /// Where whole dimensions are held out: the same parameters under the easier split by input,
    /// always deciding.
    pub by_input: Option<Metrics>,
    /// The heuristic in each form in which programs ask it.
    pub by_form: Vec<FormReport>,
    /// Each device as if it had never been measured; empty without `--test-split device`.
    pub by_device: Vec<DeviceReport>,
    /// The decision for each input of the test part.
    pub judged: Vec<JudgedInput>,
}

impl TestReport {
    /// Judges `heuristic`, which was learned by `trainer` from the training part.
    ///
    /// # Errors
    /// Those of the learners.
    pub fn new(trainer: &Trainer<'_>, heuristic: &Heuristic, parts: &Partition) -> Result<Self, TrainError> {
        let (dataset, plan) = (trainer.dataset, trainer.plan);
        let (table, fallback) = dataset.judging(heuristic.fallback);
        let logged = dataset.features.base();
        let judge = |model: &Model, test: &[u32]| decisions::decide(model, logged, table, test);
        let metrics = |model: &Model, test: &[u32]| {
            let overhead = plan.asking.overhead(&ModelUse::of_model(model));
            Metrics::new(table, &judge(model, test), fallback, plan.max_slowdown, &overhead)
        };
        let declining = model(trainer, heuristic);
        let deciding = trainer.always_deciding(heuristic, declining.clone());
        let by_input = match plan.test_split {
            SplitBy::Input | SplitBy::Device => None,
            SplitBy::Dims => {
                let parts = dataset.hold_out(SplitBy::Input, plan.test_share, plan.seed)?;
                let features = dataset.ranked(&parts.training);
                let trainer = Trainer { features: &features, ..*trainer };
                let heuristic = trainer.learn_without_promise(&parts.training)?;
                Some(metrics(&trainer.always_deciding(&heuristic, declining.clone()), &parts.held_out))
            }
        };
        let single = table.best_single(&parts.training);
        let judged = judge(&declining, &parts.held_out);
        let used = ModelUse::of_model(&declining);
        let overhead = plan.asking.overhead(&used);
        let asked = |overhead: &Overhead| Metrics::new(table, &judged, fallback, plan.max_slowdown, overhead);
        Ok(Self {
            train_inputs: parts.training.len(),
            leaves: deciding.leaf_count(),
            depth: deciding.tree.depth(),
            split: plan.test_split,
            comparison: BaselineComparison::new(
                table,
                &judged,
                fallback,
                single,
                plan.max_slowdown,
                &overhead,
            ),
            by_form: FormReport::all(&plan.asking, &used, asked),
            always: metrics(&deciding, &parts.held_out),
            by_input,
            by_device: match plan.test_split {
                SplitBy::Input | SplitBy::Dims => Vec::new(),
                SplitBy::Device => DeviceReport::all(trainer, parts)?,
            },
            judged,
        })
    }
}
