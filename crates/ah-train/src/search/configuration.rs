//! What to learn with: a learner, boosted trees, and a cost formula under both.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::learners::{Boost, Learner};
use crate::plan::TrainPlan;

/// What to learn with.
#[derive(Clone, Debug)]
pub struct Configuration {
    /// Grows the tree that people read.
    pub learner: Arc<dyn Learner>,
    /// The boosted trees beside it.
    pub boost: Option<Boost>,
    /// Whether they stand on a cost formula.
    pub on_formula: bool,
}

impl Configuration {
    /// The configuration of a plan, without boosted trees.
    pub fn new(plan: &TrainPlan) -> Self {
        Self::of((plan.learner.row().new)(plan.max_depth, plan.min_samples_leaf))
    }

    /// A learner by itself.
    pub fn of(learner: Arc<dyn Learner>) -> Self {
        Self { learner, boost: None, on_formula: false }
    }

    /// The same on a cost formula.
    pub fn on_formula(self) -> Self {
        Self { on_formula: true, ..self }
    }

    /// The record of all parameters.
    pub fn record(&self) -> Value {
        json!({ "learner": format!("{:?}", self.learner), "boost": self.boost, "on_formula": self.on_formula })
    }
}
