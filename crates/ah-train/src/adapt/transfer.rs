//! The new inputs in the old tree.

use ah_types::{ChoiceId, Ensemble, Feature, Model, Node, Objective, Ranked, Tree, Value};

use super::union;
use crate::data::{Dataset, Table};
use crate::judge::decisions;

/// What a log shows about a model that has all its choices ([`union`]).
pub struct Transfer<'a> {
    /// The model.
    pub model: Model,
    /// The times.
    pub table: &'a Table,
    /// The fallback, as a choice of the model.
    pub fallback: ChoiceId,
    /// The same as a choice of the table.
    pub table_fallback: ChoiceId,
    /// The new inputs, in the order of the table.
    pub inputs: Vec<NewInput>,
    /// By choice: true if a leaf of the model ranks it.
    pub ranked: Vec<bool>,
    /// By node: the parent; the root is its own.
    parents: Vec<u32>,
}

/// A new input.
pub struct NewInput {
    /// Its row in the table.
    pub row: u32,
    /// The values of the model's logged features.
    pub values: Vec<Value>,
    /// The choices with a time there.
    pub cells: Vec<TimedChoice>,
    /// Where it ends; `None` if the model has no answer there, for example for an unknown category.
    pub reached: Option<Reached>,
}

impl NewInput {
    /// Returns true if a choice of the model has a time there.
    pub fn measures(&self, choice: ChoiceId) -> bool {
        self.cells.iter().any(|cell| cell.choice == choice)
    }
}

/// A choice with a time on an input.
#[derive(Clone, Copy)]
pub struct TimedChoice {
    /// The choice of the model.
    pub choice: ChoiceId,
    /// The same in the table.
    pub in_table: ChoiceId,
    /// The logarithm of its time over the best time.
    pub log_slowdown: f64,
}

/// The end of an input's path in the tree.
pub struct Reached {
    /// The node.
    pub leaf: u32,
    /// The sum of the rows that it reaches in the boosters; empty without boosters.
    pub sums: Vec<i32>,
    /// By cell, the old score, with that of the boosters; `None` where the leaf does not rank the choice.
    pub scores: Vec<Option<f64>>,
}

impl<'a> Transfer<'a> {
    /// Looks up these inputs of the dataset's table.
    pub fn new(model: Model, dataset: &'a Dataset, table_fallback: ChoiceId, rows: &[u32]) -> Self {
        let table = &dataset.table;
        let ids = union::ids(&model, table);
        let slots = slots(&model, dataset);
        let ensemble = Ensemble::new(&model);
        let input = |&row: &u32| {
            let values = decisions::values(&model, table, row, &slots);
            let finite = table.cells(row).iter().filter(|cell| cell.time.is_finite());
            let cell = |cell: &crate::data::table::Cell| {
                let (in_table, log_slowdown) = (cell.choice, cell.log_slowdown);
                Some(TimedChoice { choice: ids[in_table.index()]?, in_table, log_slowdown })
            };
            let cells: Vec<TimedChoice> = finite.filter_map(cell).collect();
            let reached = reached(&model, &ensemble, &values, &cells);
            NewInput { row, values, cells, reached }
        };
        let fallback = ids[table_fallback.index()].unwrap_or(ChoiceId(u32::MAX));
        let inputs = rows.iter().map(input).collect();
        let parents = parents(&model.tree);
        let mut ranked = vec![false; model.choices.len()];
        for (_, leaf) in model.tree.leaves() {
            leaf.ranking.iter().for_each(|place| ranked[place.choice.index()] = true);
        }
        Self { model, table, fallback, table_fallback, inputs, ranked, parents }
    }

    /// Returns a log slowdown in the unit of the model's scores.
    pub fn in_scores(&self, log_slowdown: f64) -> f64 {
        if self.model.boosters.is_empty() { log_slowdown } else { Objective::Geomean.saturate(log_slowdown) }
    }

    /// Returns the node above; `None` for the root.
    pub fn parent(&self, node: u32) -> Option<u32> {
        (node > 0).then(|| self.parents[node as usize])
    }
}

/// Returns the table's slots of the model's features.
pub fn slots(model: &Model, dataset: &Dataset) -> Vec<Option<usize>> {
    let logged = dataset.features.base();
    let slot = |f: &Feature| logged.slot(&f.name).filter(|&s| logged.features()[s].kind == f.kind);
    model.features.base().features().iter().map(slot).collect()
}

/// Returns where an input ends; `None` if the model has no answer.
fn reached(model: &Model, ensemble: &Ensemble, values: &[Value], cells: &[TimedChoice]) -> Option<Reached> {
    let (leaf, sums) = ensemble.reach_row(model, values).ok()?;
    let ranked: Vec<Ranked> = ensemble.reached(leaf, &sums).ranked().collect();
    let (leaf, _) = model.tree.leaves().nth(leaf)?;
    let score = |cell: &TimedChoice| ranked.iter().find(|r| r.choice == cell.choice).map(|r| r.score);
    let scores = cells.iter().map(score).collect();
    Some(Reached { leaf: leaf as u32, sums: sums.to_vec(), scores })
}

fn parents(tree: &Tree) -> Vec<u32> {
    let mut parents = vec![0; tree.nodes.len()];
    for (id, node) in (0_u32..).zip(&tree.nodes) {
        if let Node::Split { left, right, .. } = node {
            parents[*left as usize] = id;
            parents[*right as usize] = id;
        }
    }
    parents
}
