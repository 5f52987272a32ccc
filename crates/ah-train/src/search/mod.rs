//! Choosing parameters by the slowdown on held-out folds of the training part.
//!
//! One growth serves all depths: the tree is grown to the greatest depth and cut back.

pub mod portfolio;

use linfa::dataset::DatasetBase;
use rayon::prelude::*;
use serde::Serialize;

use crate::data::Columns;
use crate::data::Rows;
use crate::data::Table;
use crate::data::split;
use crate::data::targets::{COST_ONE, Targets};
use crate::error::TrainError;
use crate::learners::{Learner, LinfaTrees, Preset, Soft};
use crate::policy::{Criterion, LearnerKind};
use crate::tree::FittedTrees;
use crate::tree::GrownTree;
use crate::tree::Scores;

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
            Self::Soft(s) => if s.temperatures.is_empty() { "regression" } else { "soft" }.to_owned(),
            Self::Linfa(l) => {
                format!("linfa ({})", if l.criterion == Criterion::Gini { "gini" } else { "entropy" })
            }
        }
    }

    /// True where leaves predict scores instead of winners.
    #[must_use]
    pub fn is_regression(&self) -> bool {
        matches!(self, Self::Soft(s) if s.temperatures.is_empty())
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

    fn grow(&self, rows: &Rows<'_>, targets: &Targets) -> Result<GrownTree, TrainError> {
        let dataset = DatasetBase::new(*rows, targets);
        match self {
            Self::Soft(s) => Learner::grow(s, &dataset),
            Self::Linfa(l) => Learner::grow(l, &dataset),
        }
    }

    /// The tree cut back to this configuration's depth and finished, with its scores.
    fn finish(&self, grown: &GrownTree, rows: &Rows<'_>, targets: &Targets) -> (GrownTree, Scores) {
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
    pub fn fit(&self, rows: &Rows<'_>, targets: &Targets) -> Result<(GrownTree, Scores), TrainError> {
        let grown = self.grow(rows, targets)?;
        Ok(self.finish(&grown, rows, targets))
    }

    /// The configurations of `trees` trees that vote: itself, then presets that err differently.
    #[must_use]
    pub fn committee(&self, trees: usize) -> Vec<Self> {
        let others = Preset::COMMITTEE
            .iter()
            .cycle()
            .skip(1)
            .map(|&preset| Self::Soft(Soft::preset(preset, self.max_depth(), self.min_samples_leaf())));
        std::iter::once(self.clone()).chain(others).take(trees).collect()
    }
}

/// Learns one tree for each configuration.
///
/// # Errors
/// Those of the learners.
pub fn fit_all(
    configurations: &[Configuration],
    rows: &Rows<'_>,
    targets: &Targets,
) -> Result<FittedTrees, TrainError> {
    let trees = configurations.par_iter().map(|c| c.fit(rows, targets)).collect::<Result<_, _>>()?;
    Ok(FittedTrees::new(trees))
}

/// What to search.
pub struct Grid {
    /// Configurations at their greatest depth.
    pub growths: Vec<Configuration>,
    /// Depths, ascending; the last is the growths' depth.
    pub depths: Vec<usize>,
}

/// [`Preset::Thorough`] takes twice as long as [`Preset::LookAhead`]: it is tried where inputs ×
/// columns are at most this.
const MAX_FOR_THOROUGH: usize = 40_000;

impl Grid {
    /// The configurations of a learner over these depths and leaf sizes, the preferred first.
    #[must_use]
    pub fn new(
        kind: LearnerKind,
        criteria: &[Criterion],
        depths: &[usize],
        leaves: &[usize],
        inputs: usize,
        columns: usize,
    ) -> Self {
        let mut depths = depths.to_vec();
        depths.sort_unstable();
        depths.dedup();
        let deepest = depths.last().copied().unwrap_or(1);
        let growths = leaves.iter().flat_map(|&min_samples_leaf| {
            let soft = |preset| Configuration::Soft(Soft::preset(preset, deepest, min_samples_leaf));
            let linfa = |criterion| {
                Configuration::Linfa(LinfaTrees { criterion, max_depth: deepest, min_samples_leaf })
            };
            match kind {
                LearnerKind::Soft => vec![soft(Preset::LookAhead)],
                LearnerKind::Auto if inputs * columns <= MAX_FOR_THOROUGH => {
                    [Preset::LookAhead, Preset::Variance, Preset::Thorough].map(soft).to_vec()
                }
                LearnerKind::Auto => [Preset::LookAhead, Preset::Variance].map(soft).to_vec(),
                LearnerKind::Regression => vec![soft(Preset::Regression)],
                LearnerKind::Linfa => criteria.iter().copied().map(linfa).collect(),
            }
        });
        Self { growths: growths.collect(), depths }
    }
}

/// A configuration and what it costs on held-out folds.
#[derive(Clone, Debug, Serialize)]
pub struct ScoredConfiguration {
    /// The configuration.
    pub configuration: Configuration,
    /// The mean log slowdown.
    pub cost: f64,
    /// The standard error of the difference from the first configuration.
    pub error: f64,
}

/// All configurations of the grid, learned from `targets`, with what they cost by `costs` on the folds.
///
/// # Errors
/// Those of the learners.
pub fn cross_validate(
    grid: &Grid,
    columns: &Columns,
    folds: &Folds,
    targets: &Targets,
    costs: &Targets,
) -> Result<Vec<ScoredConfiguration>, TrainError> {
    let tasks: Vec<(usize, usize)> =
        (0..grid.growths.len()).flat_map(|g| (0..folds.parts.len()).map(move |f| (g, f))).collect();
    // By growth and fold: for each depth the cost of each held-out input.
    let by_task = tasks
        .into_par_iter()
        .map(|(g, fold)| {
            let (train, held_out) = &folds.parts[fold];
            let rows = Rows { columns, inputs: train };
            let grown = grid.growths[g].grow(&rows, targets)?;
            let by_depth = |depth: &usize| {
                let (tree, scores) = grid.growths[g].with_depth(*depth).finish(&grown, &rows, targets);
                let cost = |&input: &u32| scores.cost(tree.leaf_of(columns, input), costs, input);
                held_out.iter().map(cost).collect::<Vec<u32>>()
            };
            Ok(grid.depths.iter().map(by_depth).collect::<Vec<_>>())
        })
        .collect::<Result<Vec<_>, TrainError>>()?;
    let of = |g: usize, depth: usize| {
        let folds = &by_task[g * folds.parts.len()..(g + 1) * folds.parts.len()];
        folds.iter().flat_map(move |f| f[depth].iter().map(|&c| f64::from(c) / COST_ONE))
    };
    let weights: Vec<f64> = folds
        .parts
        .iter()
        .flat_map(|(_, held_out)| held_out)
        .map(|&i| f64::from(targets.weight(i)))
        .collect();
    let total: f64 = weights.iter().sum();
    let deepest = grid.depths.len() - 1;
    let score = |g: usize, depth: usize| {
        let cost = of(g, depth).zip(&weights).map(|(c, w)| c * w).sum::<f64>() / total;
        let first = of(0, deepest).zip(&weights).map(|(c, w)| c * w).sum::<f64>() / total;
        let pairs = of(g, depth).zip(of(0, deepest)).zip(&weights);
        let squares: f64 = pairs.map(|((a, b), w)| (w * (a - b - (cost - first))).powi(2)).sum();
        ScoredConfiguration {
            configuration: grid.growths[g].with_depth(grid.depths[depth]),
            cost,
            error: squares.sqrt() / total,
        }
    };
    let configurations = (0..grid.growths.len()).flat_map(|g| (0..grid.depths.len()).map(move |d| (g, d)));
    Ok(configurations.map(|(g, d)| score(g, d)).collect())
}

/// The first configuration at its greatest depth, unless another is better by 1.96 standard
/// errors. The cheapest alone would follow the noise of the folds.
#[must_use]
pub fn best(scored: &[ScoredConfiguration]) -> Option<&ScoredConfiguration> {
    // Against itself the first has no error.
    let first = scored.iter().find(|s| s.error == 0.0)?;
    let better = |s: &&ScoredConfiguration| s.cost + 1.96 * s.error < first.cost;
    Some(scored.iter().filter(better).min_by(|a, b| a.cost.total_cmp(&b.cost)).unwrap_or(first))
}

/// Training inputs cut into folds: (the others, the fold).
pub struct Folds {
    /// Each part ascending.
    pub parts: Vec<(Vec<u32>, Vec<u32>)>,
}

impl Folds {
    /// `count` folds of `inputs` by their keys; what stands in a further log alone is in no fold,
    /// and so always learned from.
    #[must_use]
    pub fn new(table: &Table, inputs: &[u32], keys: &[String], count: usize, seed: u64) -> Self {
        let fold_of = split::folds(keys, count, seed);
        let part = |fold: usize| {
            let (mut others, mut held_out) = (Vec::new(), Vec::new());
            for (&input, &of) in inputs.iter().zip(&fold_of) {
                let inside = of == fold && !table.inputs[input as usize].further;
                if inside { held_out.push(input) } else { others.push(input) }
            }
            (others, held_out)
        };
        Self { parts: (0..count).map(part).collect() }
    }
}
