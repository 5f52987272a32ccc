//! A small tree over what a cost formula leaves: one that people read, whose leaves have a factor for each choice.

use ah_joint::Errors;
use ah_joint::growth::Limits;

use super::{Learner, Residuals};
use crate::data::{Costs, FitRows};
use crate::tree::{FittedEnsemble, Scores};

/// The parameters of the learner.
#[derive(Clone, Debug)]
pub struct ResidualTree {
    /// Most leaves. With 1 the formula stands alone.
    pub max_leaves: usize,
    /// Fewest inputs in a leaf.
    pub min_samples_leaf: usize,
    /// The residuals of a leaf are drawn towards 0 as by this many further inputs.
    pub shrinkage: f64,
}

impl ResidualTree {
    /// The parameters of a tree of at most this many leaves.
    pub fn new(max_leaves: usize, min_samples_leaf: usize) -> Self {
        Self { max_leaves, min_samples_leaf: min_samples_leaf.max(3), shrinkage: 1.0 }
    }
}

impl Learner for ResidualTree {
    fn fit(&self, rows: &FitRows<'_>, targets: &Costs, residuals: Option<&Residuals>) -> FittedEnsemble {
        // Without a formula nothing is left of one.
        let none = || vec![Vec::new(); rows.inputs.len()];
        let residuals = residuals.cloned().unwrap_or_else(none);
        let weights: Vec<u32> = rows.inputs.iter().map(|&input| targets.weight(input)).collect();
        let errors = Errors::new(targets.choices, residuals.into_iter(), weights);
        let all: Vec<u32> = (0..rows.inputs.len() as u32).collect();
        let limits = Limits { depth: self.max_leaves, leaves: self.max_leaves, rows: self.min_samples_leaf };
        let tree = rows.grow(&errors.sample(&all), &limits);
        let leaves: Vec<usize> = rows.inputs.iter().map(|&input| rows.columns.leaf(&tree, input)).collect();
        let means = errors.means(&leaves, tree.nodes.len(), self.shrinkage);
        let scores = Scores::factors(targets.choices, means);
        FittedEnsemble::new(tree, scores)
    }

    /// With 3, as for boosted trees, seven processors lose 1.24 instead of 1.14 %: few leaves are for the choices near the best.
    fn steepness(&self) -> f64 {
        10.0
    }
}
