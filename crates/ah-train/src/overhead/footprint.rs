//! The parts of a model that the path of each leaf visits, and the logged features that the model reads.

use std::collections::BTreeSet;

use ah_model::{BLOCK, Costs, Features, LANES, Model, Node};

use super::decision_time::VisitedParts;
use crate::data::FitRows;
use crate::tree::{Boosters, FittedEnsemble};

/// What a program needs to ask a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Footprint {
    /// The parts that a decision visits: the mean over the inputs that the tree was learned from.
    pub parts: VisitedParts,
    /// The parts that the path to each node of the readable tree visits, by node.
    pub paths: Vec<VisitedParts>,
    /// The slots of the logged features that the model reads, directly or in derived ones.
    pub logged: BTreeSet<usize>,
}

impl Footprint {
    /// The use of a finished model.
    pub fn of_model(model: &Model) -> Self {
        let node = |at: usize| match &model.tree.nodes[at] {
            Node::Split { test, right } => Visited::Split(test.column.slot, [at + 1, *right as usize]),
            Node::Leaf(leaf) => Visited::Leaf(leaf.samples as f64),
        };
        let boosters = Boosted {
            trees: model.boosters.len(),
            row_length: model.choices.len(),
            slots: model.booster_columns().iter().map(|column| column.slot).collect(),
            formula: model.costs.as_ref(),
        };
        Self::new(&model.features, model.tree.nodes.len(), node, &boosters)
    }

    /// The use of an ensemble that was learned from these rows.
    pub fn of_fitted(fitted: &FittedEnsemble, features: &Features, rows: &FitRows<'_>) -> Self {
        let Boosters { trees, row_length, .. } = &fitted.boosters;
        let nodes = trees.iter().flat_map(|booster| &booster.splits.nodes);
        let columns: BTreeSet<u32> = nodes.filter(|node| node.left > 0).map(|node| node.column).collect();
        let slots = columns.iter().map(|&column| rows.columns.all[column as usize].slot).collect();
        let formula = fitted.formula.as_deref();
        let boosters = Boosted { trees: trees.len(), row_length: *row_length, slots, formula };
        let tree = &fitted.tree;
        let mut inputs = vec![0.0; tree.nodes.len()];
        rows.inputs.iter().for_each(|&input| inputs[rows.columns.leaf(tree, input)] += 1.0);
        let slot = |at: usize| rows.columns.all[tree.nodes[at].column as usize].slot;
        let node = |at: usize| match tree.children(at) {
            Some(children) => Visited::Split(slot(at), children),
            None => Visited::Leaf(inputs[at]),
        };
        Self::new(features, tree.nodes.len(), node, &boosters)
    }

    fn new(
        features: &Features,
        nodes: usize,
        node: impl Fn(usize) -> Visited,
        boosters: &Boosted<'_>,
    ) -> Self {
        let mut logged = BTreeSet::new();
        // With boosted trees, code computes every column before it walks the trees.
        let mut always = BTreeSet::new();
        boosters.slots.iter().for_each(|&slot| read(features, slot, &mut logged, &mut always));
        logged.extend(boosters.formula.iter().flat_map(|costs| costs.reads(features.base().len())));
        let of_class = boosters.formula.and_then(|costs| costs.classes.first());
        let costs = of_class.map_or(0, |class| class.rows.len());
        let of_boosters = VisitedParts {
            columns: (boosters.slots.len() * boosters.trees.div_ceil(BLOCK)) as f64,
            rows: (boosters.trees * boosters.row_length.div_ceil(LANES)) as f64,
            terms: boosters.formula.map_or(0, |formula| costs * formula.terms.len()) as f64,
            logarithms: if boosters.trees > 0 { costs as f64 } else { 0.0 },
            ..VisitedParts::default()
        };
        let mut paths = vec![of_boosters; nodes];
        let mut splits = 0.0;
        let mut derived = 0.0;
        let mut inputs = 0.0;
        let mut open = vec![(0, 0_u32, always)];
        while let Some((at, depth, computed)) = open.pop() {
            let path = &mut paths[at];
            (path.splits, path.derived) = (f64::from(depth), computed.len() as f64);
            match node(at) {
                Visited::Split(slot, [left, right]) => {
                    let mut computed = computed;
                    read(features, slot, &mut logged, &mut computed);
                    open.push((left, depth + 1, computed.clone()));
                    open.push((right, depth + 1, computed));
                }
                Visited::Leaf(here) => {
                    splits += here * path.splits;
                    derived += here * path.derived;
                    inputs += here;
                }
            }
        }
        let inputs = f64::max(inputs, 1.0);
        let parts = VisitedParts { splits: splits / inputs, derived: derived / inputs, ..of_boosters };
        Self { parts, paths, logged }
    }
}

/// The boosted trees of an ensemble, and the formula under them.
struct Boosted<'m> {
    trees: usize,
    row_length: usize,
    /// By column that they test, its slot.
    slots: Vec<usize>,
    formula: Option<&'m Costs>,
}

/// A node of any tree.
enum Visited {
    /// The tested slot and the children.
    Split(usize, [usize; 2]),
    /// The number of inputs that end there.
    Leaf(f64),
}

/// Adds a feature to those that are read: a logged one, or a derived one with those that it uses.
fn read(features: &Features, slot: usize, logged: &mut BTreeSet<usize>, derived: &mut BTreeSet<usize>) {
    let Some(at) = slot.checked_sub(features.base().len()) else {
        logged.insert(slot);
        return;
    };
    if derived.insert(slot) {
        let expression = &features.derived()[at].1;
        expression.for_each_feature(&mut |used| read(features, used.index, logged, derived));
    }
}
