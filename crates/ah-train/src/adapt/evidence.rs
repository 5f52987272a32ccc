//! The new inputs in the old trees.

use ah_types::{Added, ChoiceId, Feature, Model, Node, OutsidePolicy, Tree, Value, softened, unmarked};

use super::union;
use crate::data::{Table, Task};
use crate::judge::decisions;

/// What a log shows about a model that has all its choices ([`union`]).
pub struct Evidence<'a> {
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
    /// By tree and node: the parent; the root is its own.
    parents: Vec<Vec<u32>>,
}

/// A new input.
pub struct NewInput {
    /// Its row in the table.
    pub row: u32,
    /// The values of the model's logged features.
    pub values: Vec<Value>,
    /// The choices with a time there.
    pub cells: Vec<TimedChoice>,
    /// By tree, where it ends; empty if the model has no answer there, for example for an unknown category.
    pub reached: Vec<Reached>,
    /// What boosted trees say.
    pub added: Added,
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

/// The end of an input's path in one tree.
pub struct Reached {
    /// The node.
    pub leaf: u32,
    /// True if the input is outside the leaf's ranges and the model treats it differently.
    pub outside: bool,
    /// By cell, the old score, with that of boosted trees; `None` where the leaf does not rank the choice.
    pub scores: Vec<Option<f64>>,
}

impl<'a> Evidence<'a> {
    /// Looks up these inputs of the task's table.
    pub fn new(model: Model, task: &'a Task, table_fallback: ChoiceId, rows: &[u32]) -> Self {
        let table = &task.table;
        let ids = union::ids(&model, table);
        let slots = slots(&model, task);
        let input = |&row: &u32| {
            let values = decisions::values(&model, table, row, &slots);
            let finite = table.cells(row).iter().filter(|cell| cell.time.is_finite());
            let cell = |cell: &crate::data::table::Cell| {
                let (in_table, log_slowdown) = (cell.choice, cell.log_slowdown);
                Some(TimedChoice { choice: ids[in_table.index()]?, in_table, log_slowdown })
            };
            let cells: Vec<TimedChoice> = finite.filter_map(cell).collect();
            let (reached, added) = reached(&model, &values, &cells)
                .unwrap_or_else(|| (Vec::new(), Added::nothing(model.choices.len())));
            NewInput { row, values, cells, reached, added }
        };
        let fallback = ids[table_fallback.index()].unwrap_or(ChoiceId(u32::MAX));
        let inputs = rows.iter().map(input).collect();
        let parents = model.trees.iter().map(parents).collect();
        let mut ranked = vec![false; model.choices.len()];
        for (_, leaf) in model.trees.iter().flat_map(Tree::leaves) {
            leaf.ranking.iter().for_each(|place| ranked[place.choice.index()] = true);
        }
        Self { model, table, fallback, table_fallback, inputs, ranked, parents }
    }

    /// Returns a log slowdown in the unit of the model's scores.
    pub fn in_scores(&self, log_slowdown: f64) -> f64 {
        if self.model.boosted.is_some() { softened(log_slowdown) } else { log_slowdown }
    }

    /// Returns the node above; `None` for the root.
    pub fn parent(&self, tree: usize, node: u32) -> Option<u32> {
        (node > 0).then(|| self.parents[tree][node as usize])
    }
}

/// Returns the table's slots of the model's features.
pub fn slots(model: &Model, task: &Task) -> Vec<Option<usize>> {
    let logged = task.features.base();
    let slot = |f: &Feature| logged.slot(&f.name).filter(|&s| logged.features()[s].kind == f.kind);
    model.features.base().features().iter().map(slot).collect()
}

/// Returns where an input ends, and what boosted trees say; `None` if the model has no answer.
fn reached(model: &Model, values: &[Value], cells: &[TimedChoice]) -> Option<(Vec<Reached>, Added)> {
    let logged = model.row(values);
    if model.precondition.as_ref().is_some_and(|p| p.typed.eval(&logged) != Some(true)) {
        return None;
    }
    let row = model.features.row(&logged);
    let known = |slot: usize, category: &str| model.knows(slot, category);
    let added = match &model.boosted {
        None => Added::nothing(model.choices.len()),
        Some(boosted) => boosted.added(model.choices.len(), &row, known).ok()?,
    };
    let in_tree = |tree: &Tree| {
        let node = tree.leaf_index(&row, known).ok()?;
        let leaf = tree.leaf(node)?;
        let outside = model.outside == OutsidePolicy::Safe && leaf.is_outside(values);
        let score = |cell: &TimedChoice| {
            let place = leaf.places(outside).find(|place| place.choice == cell.choice)?;
            Some(unmarked(place.score) + added.scores[cell.choice.index()])
        };
        Some(Reached { leaf: node as u32, outside, scores: cells.iter().map(score).collect() })
    };
    // One tree without an answer leaves the vote without one.
    let reached = model.trees.iter().map(in_tree).collect::<Option<_>>()?;
    Some((reached, added))
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
