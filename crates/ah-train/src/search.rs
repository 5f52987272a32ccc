//! Choosing parameters by the slowdown on held-out folds of the training part.
//!
//! One growth serves all depths: the tree is grown to the greatest depth and cut back.

use linfa::dataset::DatasetBase;
use rayon::prelude::*;
use serde::Serialize;

use crate::columns::Columns;
use crate::error::TrainError;
use crate::grown::Grown;
use crate::learners::{Criterion, Kind, Learner, LinfaTrees, Preset, Rows, Soft};
use crate::scores::Scores;
use crate::split;
use crate::targets::{COST_ONE, Targets};

/// A learner with all its parameters.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase", tag = "learner")]
pub enum Configuration {
    /// Soft targets.
    Soft(Soft),
    /// linfa-trees.
    Linfa(LinfaTrees),
}

/// How many inputs' worth the leaves of a classifier are drawn towards their parents'.
const CLASSIFIER_KAPPA: f64 = 1.0;

impl Configuration {
    /// The learner's name.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Soft(_) => "soft".to_owned(),
            Self::Linfa(l) => {
                format!("linfa ({})", if l.criterion == Criterion::Gini { "gini" } else { "entropy" })
            }
        }
    }

    /// The depth limit.
    #[must_use]
    pub fn max_depth(&self) -> usize {
        match self {
            Self::Soft(s) => s.max_depth,
            Self::Linfa(l) => l.max_depth,
        }
    }

    /// The least number of inputs in a leaf.
    #[must_use]
    pub fn min_samples_leaf(&self) -> usize {
        match self {
            Self::Soft(s) => s.min_samples_leaf,
            Self::Linfa(l) => l.min_samples_leaf,
        }
    }

    fn with_depth(&self, depth: usize) -> Self {
        let mut other = self.clone();
        match &mut other {
            Self::Soft(s) => s.max_depth = depth,
            Self::Linfa(l) => l.max_depth = depth,
        }
        other
    }

    fn grow(&self, rows: &Rows<'_>, targets: &Targets) -> Result<Grown, TrainError> {
        let dataset = DatasetBase::new(*rows, targets);
        match self {
            Self::Soft(s) => Learner::grow(s, &dataset),
            Self::Linfa(l) => Learner::grow(l, &dataset),
        }
    }

    /// The tree cut back to this configuration's depth and finished, with its scores.
    fn finish(&self, grown: &Grown, rows: &Rows<'_>, targets: &Targets) -> (Grown, Scores) {
        let tree = grown.truncated(self.max_depth());
        match self {
            Self::Soft(s) => {
                let tree = s.polish(tree, rows, targets);
                let scores = s.scores(&tree, rows, targets);
                (tree, scores)
            }
            Self::Linfa(_) => {
                let scores = Scores::new(&tree, rows, targets, CLASSIFIER_KAPPA);
                (tree, scores)
            }
        }
    }

    /// Learns from these rows.
    ///
    /// # Errors
    /// Those of the learner.
    pub fn fit(&self, rows: &Rows<'_>, targets: &Targets) -> Result<(Grown, Scores), TrainError> {
        let grown = self.grow(rows, targets)?;
        Ok(self.finish(&grown, rows, targets))
    }
}

/// What to search.
pub struct Grid {
    /// Configurations at their greatest depth.
    pub growths: Vec<Configuration>,
    /// Depths, ascending; the last is the growths' depth.
    pub depths: Vec<usize>,
}

impl Grid {
    /// The configurations of a learner over these depths and leaf sizes.
    #[must_use]
    pub fn new(kind: Kind, depths: &[usize], leaves: &[usize]) -> Self {
        let mut depths = depths.to_vec();
        depths.sort_unstable();
        depths.dedup();
        let deepest = depths.last().copied().unwrap_or(1);
        let growths = leaves.iter().flat_map(|&min_samples_leaf| match kind {
            Kind::Auto | Kind::Soft => {
                vec![Configuration::Soft(Soft::preset(Preset::A, deepest, min_samples_leaf))]
            }
            Kind::Linfa => [Criterion::Gini, Criterion::Entropy]
                .map(|criterion| {
                    Configuration::Linfa(LinfaTrees { criterion, max_depth: deepest, min_samples_leaf })
                })
                .to_vec(),
        });
        Self { growths: growths.collect(), depths }
    }
}

/// A configuration and its mean log slowdown on held-out folds.
#[derive(Clone, Debug, Serialize)]
pub struct Scored {
    /// The configuration.
    pub configuration: Configuration,
    /// Its mean log slowdown.
    pub cost: f64,
}

/// All configurations of the grid, with their cost on the folds.
///
/// # Errors
/// Those of the learners.
pub fn cross_validate(
    grid: &Grid,
    columns: &Columns,
    inputs: &[u32],
    keys: &[String],
    targets: &Targets,
    folds: usize,
    seed: u64,
) -> Result<Vec<Scored>, TrainError> {
    let fold_of = split::folds(keys, folds, seed);
    let tasks: Vec<(usize, usize)> =
        (0..grid.growths.len()).flat_map(|g| (0..folds).map(move |f| (g, f))).collect();
    let costs = tasks
        .into_par_iter()
        .map(|(g, fold)| {
            let part = |inside: bool| -> Vec<u32> {
                let chosen = inputs.iter().zip(&fold_of).filter(|(_, f)| (**f == fold) == inside);
                chosen.map(|(i, _)| *i).collect()
            };
            let (train, held_out) = (part(false), part(true));
            let rows = Rows { columns, inputs: &train };
            let grown = grid.growths[g].grow(&rows, targets)?;
            let cost = |depth: &usize| {
                let (tree, scores) = grid.growths[g].with_depth(*depth).finish(&grown, &rows, targets);
                let cost =
                    |&input: &u32| i64::from(scores.cost(tree.leaf_of(columns, input), targets, input));
                held_out.iter().map(cost).sum::<i64>()
            };
            Ok((g, grid.depths.iter().map(cost).collect::<Vec<_>>()))
        })
        .collect::<Result<Vec<_>, TrainError>>()?;
    let mut totals = vec![vec![0_i64; grid.depths.len()]; grid.growths.len()];
    for (g, by_depth) in costs {
        for (total, cost) in totals[g].iter_mut().zip(by_depth) {
            *total += cost;
        }
    }
    let scored = grid.growths.iter().zip(totals).flat_map(|(growth, totals)| {
        grid.depths.iter().zip(totals).map(|(&depth, total)| Scored {
            configuration: growth.with_depth(depth),
            cost: total as f64 / COST_ONE / inputs.len() as f64,
        })
    });
    Ok(scored.collect())
}

/// The cheapest; of equals the first, which has the smaller tree.
#[must_use]
pub fn best(scored: &[Scored]) -> Option<&Scored> {
    scored.iter().min_by(|a, b| a.cost.total_cmp(&b.cost))
}
