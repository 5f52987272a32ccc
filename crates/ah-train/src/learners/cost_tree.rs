//! `cost_tree`: a tree over soft targets.
//!
//! Each choice of an input gets the weight `exp(-cost / temperature)`. Near ties thus count as ties, and a bad choice counts by how
//! bad it is. A split minimises the multi-output variance of these weights, the criterion of scikit-learn's multi-output regression
//! trees ([`ah_joint::growth`]).

use std::sync::Arc;

use ah_joint::growth::{Limits, Sample, Tree, grow};
use rayon::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};

use super::{Learner, Residuals};
use crate::data::costs::TEMPERATURE;
use crate::data::{Costs, FitRows};
use crate::tree::FittedEnsemble;

/// The parameters of the learner.
#[derive(Clone, Debug, Serialize)]
pub struct CostTree {
    /// Most splits on a path.
    pub max_depth: usize,
    /// Fewest inputs in a leaf.
    pub min_samples_leaf: usize,
    /// The soft target of a choice is `exp(-log slowdown / temperature)`.
    pub temperature: f64,
    /// A split must gain at least this share of its node's variance.
    pub min_gain: f64,
    /// Shrinkage: a leaf's scores are drawn towards its parent's as if the parent's were measured
    /// on this many further inputs.
    pub shrinkage: f64,
}

impl CostTree {
    /// Returns the parameters of every tree that people read.
    pub fn new(max_depth: usize, min_samples_leaf: usize) -> Self {
        Self { max_depth, min_samples_leaf, temperature: TEMPERATURE, min_gain: 1e-4, shrinkage: 3.0 }
    }

    /// Returns the learner with these limits.
    pub fn learner(max_depth: usize, min_samples_leaf: usize) -> Arc<dyn Learner> {
        Arc::new(Self::new(max_depth, min_samples_leaf))
    }

    /// Grows a tree from these rows.
    pub fn grow(&self, rows: &FitRows<'_>, targets: &Costs) -> Tree {
        let soft = |&input: &u32| {
            targets.of(input).iter().map(|cost| (cost.choice.0, cost.soft_target(self.temperature)))
        };
        let weights: Vec<u32> = rows.inputs.iter().map(|&input| targets.weight(input)).collect();
        let sample = Sample::of_choices(rows.inputs.par_iter().map(soft), targets.choices, &weights);
        let limits = Limits {
            depth: self.max_depth,
            leaves: usize::MAX,
            rows: self.min_samples_leaf,
            gain: self.min_gain,
            shrinkage: 0.0,
        };
        let codes = rows.columns.codes();
        let all = (0..codes.len() as u32).collect();
        let mut tree = grow(&codes, all, rows.inputs, &sample, &limits);
        for node in tree.nodes.iter_mut().filter(|node| node.left > 0) {
            node.limit = rows.columns.all[node.column as usize].limit(node.limit, node.next);
        }
        tree
    }
}

impl Learner for CostTree {
    fn fit(&self, rows: &FitRows<'_>, targets: &Costs, _: Option<&Residuals>) -> FittedEnsemble {
        self.with_scores(self.grow(rows, targets), rows, targets)
    }

    fn shrinkage(&self) -> f64 {
        self.shrinkage
    }

    fn min_samples_leaf(&self) -> usize {
        self.min_samples_leaf
    }

    fn with_depth(&self, max_depth: usize) -> Arc<dyn Learner> {
        Arc::new(Self { max_depth, ..self.clone() })
    }

    fn parameters(&self) -> Value {
        json!({ "cost_tree": self })
    }
}
