//! `cost_tree`: a tree over soft targets.
//!
//! Each choice of an input gets the weight `exp(-cost / temperature)`. Near ties thus count as ties, and a bad choice counts by how
//! bad it is. A split minimises the multi-output variance of these weights, the criterion of scikit-learn's multi-output regression
//! trees ([`ah_joint::growth`]).

use ah_joint::growth::{Limits, Sample, Tree};
use rayon::prelude::*;

use super::{Learner, Residuals};
use crate::data::{Costs, FitRows};
use crate::tree::FittedEnsemble;

/// The parameters of the learner.
#[derive(Clone, Debug)]
pub struct CostTree {
    /// Most splits on a path.
    pub max_depth: usize,
    /// Fewest inputs in a leaf.
    pub min_samples_leaf: usize,
}

impl CostTree {
    /// A leaf's scores are drawn towards its parent's as if the parent's were measured on this many further inputs.
    pub const SHRINKAGE: f64 = 3.0;

    /// Grows a tree from these rows.
    pub fn grow(&self, rows: &FitRows<'_>, targets: &Costs) -> Tree {
        let soft = |&input: &u32| targets.of(input).iter().map(|cost| (cost.choice.0, cost.soft_target()));
        let weights: Vec<u32> = rows.inputs.iter().map(|&input| targets.weight(input)).collect();
        let sample = Sample::of_choices(rows.inputs.par_iter().map(soft), targets.choices, &weights);
        rows.grow(&sample, &Limits { depth: self.max_depth, leaves: usize::MAX, rows: self.min_samples_leaf })
    }
}

impl Learner for CostTree {
    fn fit(&self, rows: &FitRows<'_>, targets: &Costs, _: Option<&Residuals>) -> FittedEnsemble {
        self.with_scores(self.grow(rows, targets), rows, targets)
    }

    fn shrinkage(&self) -> f64 {
        Self::SHRINKAGE
    }
}

/// The same tree with scores that a few inputs decide: on 60 inputs of which 4 want another choice, [`CostTree`] draws the scores of
/// their leaf to those of all others. Noise decides such a leaf too, so its tree is taken only where it loses next to nothing.
#[derive(Clone, Debug)]
pub struct SharpTree(pub CostTree);

impl Learner for SharpTree {
    fn fit(&self, rows: &FitRows<'_>, targets: &Costs, _: Option<&Residuals>) -> FittedEnsemble {
        self.with_scores(self.0.grow(rows, targets), rows, targets)
    }
}
