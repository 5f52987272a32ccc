//! Finds derived features for a log whose optimization declares none, on the training part alone.
//!
//! [`Formula`]s are tried in stages: simple ones first, then combinations of those that help. Each
//! stage is a tournament. Trees grow from some of the candidates and 70 % of the inputs. A formula's
//! gain is how much its splits lower the cost on the other 30 %, which its tree did not learn from.
//! A formula of four times as many words must gain twice as much. The worst two thirds drop out. The
//! rest continue with more trees and a larger share of the candidates in each tree, so that only one of
//! several equivalent formulas remains.

use std::collections::BTreeSet;

use ah_model::expr::Expr;
use ah_model::{DerivedFeature, Features, FieldValue, fields};
use ah_types::random;
use rayon::prelude::*;

use crate::data::formula::{Formula, Vocabulary};
use crate::data::values::{FeatureValues, Values};
use crate::data::{COST_ONE, Column, Columns, Costs, Dataset, FitRows, RankedFeatures, Table};
use crate::learners::CostTree;
use crate::plan::LARGE;
use crate::tree::Scores;

/// Most inputs to judge formulas by: pad_mm loses more with 7,000.
const MAX_INPUTS: usize = 3000;
/// The same for logs of [`LARGE`] or more inputs: with 3,000, the convolutions of weights lose 1.0307 instead of 1.0290.
const MAX_INPUTS_OF_LARGE: usize = 12_000;
/// Bins of a column: formulas are compared, not fitted.
const MAX_BINS: usize = 256;
/// Most features that formulas are made of.
const MAX_WHOLE: usize = 16;
/// Sizes of tiles, if no choice is named `KEY=VALUE` with such a value.
const TILE_SIZES: [u32; 4] = [16, 32, 64, 128];
/// Stages: products of three need two. A third one takes a third of the time, and Triton's 640 configurations lose 0.8 points more
/// with it; the mean of 14 other logs is the same (docs/laboratory.md).
const STAGES: u64 = 2;
/// Trees in the first round of a stage.
const TREES: usize = 6;
/// Most formulas that remain of a stage. With 40, boosted trees lose 1.0452 instead of 1.0422 on the forward convolutions.
const PLACES: usize = 80;
/// The share of the candidates in a tree of the first round; it grows by half each round.
const SHARE: f64 = 0.5;

/// Logs with more features than this know their inputs: of formulas over many features, some win by chance.
const MAX_LOGGED: usize = 32;

/// The dataset with the derived features that are found for these inputs, where its optimization declares none.
pub fn with_found(dataset: &Dataset, training: &[u32], seed: u64) -> Option<Dataset> {
    let is_worth_it = dataset.ad_hoc && dataset.features.base().len() <= MAX_LOGGED;
    is_worth_it.then(|| dataset.clone().with_derived(find(dataset, training, seed)))
}

fn find(dataset: &Dataset, training: &[u32], seed: u64) -> Vec<DerivedFeature> {
    let is_large = training.len() >= LARGE;
    let most = if is_large { MAX_INPUTS_OF_LARGE } else { MAX_INPUTS };
    let step = training.len().div_ceil(most).max(1);
    let inputs: Vec<u32> = training.iter().copied().step_by(step).collect();
    let table = dataset.table.part(&inputs);
    let logged = dataset.features.clone();
    let names = logged.all().features().iter().map(|f| Expr::Feature(f.name.clone()).to_string());
    let tournament =
        Tournament { targets: Costs::new(&table, None), names: names.collect(), table: &table, logged, seed };
    let words = tournament.vocabulary();
    let mut best: Vec<Formula> = Vec::new();
    for stage in 0..STAGES {
        let mut candidates = if stage == 0 { words.simple() } else { words.combined(&best) };
        candidates.extend(best);
        candidates.retain(|formula| !tournament.is_logged(formula));
        // Few inputs need quotients (without them pad_mm loses 1.0046 instead of 1.0037). On many inputs quotients win by
        // chance (with them the forward convolutions lose 1.0452 instead of 1.0423).
        let is_quotient =
            |formula: &Formula| matches!(formula, Formula::Ratio(_, under) if !under.is_empty());
        candidates.retain(|formula| !is_large || !is_quotient(formula));
        best = tournament.best(&Vec::from_iter(candidates), stage);
    }
    // The tournament may not have seen the input where a formula divides by zero.
    let derived: Vec<DerivedFeature> =
        best.iter().map(|formula| formula.derived(&tournament.names)).collect();
    let features = tournament.features(&derived);
    let values = FeatureValues::new(&dataset.table, &features);
    let slot = |at: usize| features.all().len() - derived.len() + at;
    let complete = values.complete(training, &tournament.logged);
    let defined = |at: &usize| values.by_slot[slot(*at)].is_defined(&complete);
    (0..derived.len()).filter(defined).map(|at| derived[at].clone()).collect()
}

/// Compares formulas on the inputs of one table.
struct Tournament<'a> {
    table: &'a Table,
    targets: Costs,
    logged: Features,
    /// The features' names, as the expression language writes them.
    names: Vec<String>,
    seed: u64,
}

impl Tournament<'_> {
    /// The parts of formulas: the whole features that help most, and the sizes that the
    /// choices' names hold.
    fn vocabulary(&self) -> Vocabulary {
        let (columns, values) = self.columns(&[]);
        let gains = self.gains(&columns, self.logged.all().len(), 1.0, 2 * TREES, 0);
        let distinct: BTreeSet<usize> = columns.all.iter().map(|column| column.slot).collect();
        let is_size = |x: &f64| x.is_nan() || *x >= 0.0 && x.fract() == 0.0 && *x <= 2_f64.powi(53);
        let is_whole = |slot: &usize| match &values.by_slot[*slot] {
            Values::Numbers(x) => x.iter().all(is_size),
            Values::Categories(..) => false,
        };
        let mut whole: Vec<usize> = distinct.into_iter().filter(is_whole).collect();
        whole.sort_by(|&a, &b| gains[b].total_cmp(&gains[a]));
        whole.truncate(MAX_WHOLE);
        whole.sort_unstable();
        let size = |(_, value)| match value {
            FieldValue::Integer(size @ 16..=256) => Some(size as u32),
            _ => None,
        };
        let of_choices = self.table.choices.iter().filter_map(|name| fields(name)).flatten();
        let sizes: BTreeSet<u32> = of_choices.filter_map(size).collect();
        Vocabulary {
            whole: whole.into_iter().map(|slot| slot as u16).collect(),
            sizes: if sizes.is_empty() { TILE_SIZES.to_vec() } else { sizes.into_iter().collect() },
        }
    }

    /// Whether a logged feature has this formula's name: the log computes it already.
    fn is_logged(&self, formula: &Formula) -> bool {
        self.logged.all().slot(&formula.derived(&self.names).name).is_some()
    }

    /// The logged features with these further ones.
    fn features(&self, derived: &[DerivedFeature]) -> Features {
        let given = self.logged.derived().iter().map(|(derived, _)| derived);
        let derived: Vec<DerivedFeature> = given.chain(derived).cloned().collect();
        Features::new(self.logged.base().clone(), &derived)
            .expect("formulas are sound, and their names differ from each other and from logged ones")
    }

    /// The columns and values of the logged features and these formulas.
    fn columns(&self, formulas: &[Formula]) -> (Columns, FeatureValues) {
        let derived: Vec<DerivedFeature> = formulas.iter().map(|f| f.derived(&self.names)).collect();
        let features = self.features(&derived);
        let values = FeatureValues::new(self.table, &features);
        let all: Vec<u32> = (0..self.table.inputs.len() as u32).collect();
        (RankedFeatures::new(&values, &all, MAX_BINS, &self.targets).columns, values)
    }

    /// The best of these formulas that gain anything, the best first.
    fn best(&self, formulas: &[Formula], stage: u64) -> Vec<Formula> {
        let (columns, values) = self.columns(formulas);
        let first = self.logged.all().len();
        let all: Vec<u32> = (0..self.table.inputs.len() as u32).collect();
        let complete = values.complete(&all, &self.logged);
        let defined =
            |column: &Column| column.slot < first || values.by_slot[column.slot].is_defined(&complete);
        let mut columns = columns.part(|_, column| defined(column));
        for round in 0.. {
            let candidates = columns.all.iter().filter(|column| column.slot >= first).count();
            let last = candidates <= PLACES;
            let places = if last { PLACES } else { PLACES.max(candidates / 3) };
            let share = SHARE * 1.5_f64.powi(round);
            let trees = TREES << round.min(2);
            let stream = 100 * (stage + 1) + round as u64;
            let gains = self.gains(&columns, first + formulas.len(), share, trees, stream);
            let mut kept: Vec<usize> = (first..gains.len()).filter(|&slot| gains[slot] > 0.0).collect();
            let worth = |slot: usize| gains[slot] / (formulas[slot - first].words() as f64).sqrt();
            kept.sort_by(|&a, &b| worth(b).total_cmp(&worth(a)));
            kept.truncate(places);
            if last {
                return kept.into_iter().map(|slot| formulas[slot - first].clone()).collect();
            }
            columns = columns.part(|_, column| column.slot < first || kept.contains(&column.slot));
        }
        Vec::new()
    }

    /// The amount, by slot, by which the splits of each feature lower the cost on inputs that did not
    /// grow them, summed over `trees` trees with this share of the columns.
    fn gains(&self, columns: &Columns, slots: usize, share: f64, trees: usize, stream: u64) -> Vec<f64> {
        let gains = |tree: usize| {
            let seed = random::mix(self.seed, random::mix(stream, tree as u64));
            self.gains_of_tree(&columns.part(|at, _| random::fraction(seed, at as u64) < share), slots, seed)
        };
        let each: Vec<Vec<f64>> = (0..trees).into_par_iter().map(gains).collect();
        (0..slots).map(|slot| each.iter().map(|gains| gains[slot]).sum()).collect()
    }

    fn gains_of_tree(&self, columns: &Columns, slots: usize, seed: u64) -> Vec<f64> {
        let all = 0..self.table.inputs.len() as u32;
        let (inputs, others): (Vec<u32>, Vec<u32>) =
            all.partition(|&i| random::fraction(random::mix(seed, 1), u64::from(i)) < 0.7);
        let rows = FitRows { columns, inputs: &inputs };
        let tree = CostTree { max_depth: 8, min_samples_leaf: 3 }.grow(&rows, &self.targets);
        // With the limit of trees that ship, SpMV on MI100 loses 0.34 points more with a promise of 1 %, on a Xeon 0.21 less.
        let scores = Scores::new(&tree, &rows, &self.targets, CostTree::SHRINKAGE, f64::INFINITY);
        let mut gains = vec![0.0; slots];
        for &input in &others {
            let mut node = 0;
            let mut cost = scores.cost(node, &self.targets, input);
            while let Some([left, right]) = tree.children(node) {
                let split = tree.nodes[node];
                let column = &columns.all[split.column as usize];
                node = if column.codes[input as usize] <= split.limit { left } else { right };
                let below = scores.cost(node, &self.targets, input);
                gains[column.slot] += (f64::from(cost) - f64::from(below)) / COST_ONE;
                cost = below;
            }
        }
        gains
    }
}
