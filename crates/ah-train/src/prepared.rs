//! The table of a log made ready: what to learn from, what to ship from, and what to judge by.

use std::sync::Arc;

use ah_model::{Error, Model};

use crate::data::split::Partition;
use crate::data::{Dataset, Table};
use crate::decisions::{self, JudgedInput};
use crate::joint::{self, Completed};
use crate::params::{Params, SplitBy};
use crate::plan::TrainPlan;
use crate::search::dependence::{self, Dependence};
use crate::search::portfolio::{self, Portfolio};

/// A table made ready.
pub struct Prepared {
    /// All settings.
    pub plan: TrainPlan,
    /// The training part and the test part.
    pub parts: Partition,
    /// What the heuristic that is judged learns from: the choices to keep, completed by the training part alone.
    pub learning: Dataset,
    /// What the heuristic that ships learns from.
    pub shipping: Dataset,
    /// All choices, to judge by.
    pub judging: Arc<Table>,
    /// The choices that were kept, with `--max-choices` or out of many.
    pub portfolio: Option<Portfolio>,
}

impl Prepared {
    /// Holds the test part out, completes a sparse table, resolves all settings and keeps the choices that are worth it.
    ///
    /// # Errors
    /// [`Error`] if the inputs are too few, or settings contradict each other.
    pub fn new(mut dataset: Dataset, params: &Params) -> Result<Self, Error> {
        let seed = dataset.settings.seed.unwrap_or_default();
        let by = dataset.settings.test_split.unwrap_or_default();
        let parts = dataset.hold_out(by, seed);
        let training = &parts.training;
        let completed = joint::complete(&dataset, training, seed)?;
        let timed = completed.as_ref().map(|completed| completed.timed);
        let (learning, shipping) = match completed {
            Some(Completed { learning, shipping, warning, .. }) => {
                dataset.warnings.push(warning);
                (dataset.with_table(learning), dataset.with_table(shipping))
            }
            None => {
                if by == SplitBy::Input && dataset.settings.group.is_empty() {
                    let Dependence { groups, factor } = dependence::find(&dataset, seed);
                    dataset.warnings.extend(factor);
                    dataset.groups = groups;
                }
                dataset.warnings.extend(joint::without_fields(&dataset));
                dataset.warnings.extend(joint::not_estimated(&dataset));
                (dataset.clone(), dataset.clone())
            }
        };
        let mut judging = Table::clone(&dataset.table);
        judging.timed = timed;
        let plan = TrainPlan::resolve(params, &learning, training)?;
        let portfolio = portfolio::choose(&learning, training, plan.settings.max_choices);
        let narrowed = |dataset: Dataset| match &portfolio {
            Some(portfolio) => dataset.narrowed(&portfolio.choices),
            None => dataset,
        };
        let learning = narrowed(learning);
        let shipping = narrowed(shipping).falling_back_to(learning.fallback(&parts.training));
        Ok(Self { plan, parts, learning, shipping, judging: Arc::new(judging), portfolio })
    }

    /// The decisions of a model on these inputs of the table to judge by.
    pub fn judge(&self, model: &Model, inputs: &[u32]) -> Vec<JudgedInput> {
        decisions::decide(model, &self.judging, inputs, &self.plan.call_site)
    }

    /// The groups that hold out several of these inputs together, if any do.
    pub fn keys(&self, inputs: &[u32]) -> Vec<String> {
        match self.plan.test_split {
            SplitBy::Input if self.learning.groups.is_none() => Vec::new(),
            SplitBy::Input => self.learning.evidence_keys(inputs),
            SplitBy::Dims => self.learning.keys(SplitBy::Dims, inputs),
        }
    }
}
