//! The choices of a model and of a log in one list.

use std::collections::BTreeMap;

use ah_types::{ChoiceId, Model, Node};

use crate::data::Table;

/// Returns the model with the learned choices of the table too, which no leaf ranks yet.
pub fn with_choices_of(model: &Model, table: &Table) -> Model {
    let ids = (0_u32..).map(ChoiceId).take(table.choices.len());
    let learned = ids.filter(|&id| !table.is_rare(id)).map(|id| table.choices[id.index()].clone());
    let mut choices: Vec<String> = model.choices.iter().cloned().chain(learned).collect();
    choices.sort_unstable();
    choices.dedup();
    let mut new = Model { choices, ..model.clone() };
    // Every choice of the model is in the list.
    let moved = |old: ChoiceId| new.choice_id(model.choice_name(old)).unwrap_or(old);
    let fallback = model.fallback.map(moved);
    let eligible: BTreeMap<_, _> = model.eligible.iter().map(|(&id, p)| (moved(id), p.clone())).collect();
    let mut tree = model.tree.clone();
    for node in &mut tree.nodes {
        if let Node::Leaf(leaf) = node {
            leaf.ranking.iter_mut().for_each(|ranked| ranked.choice = moved(ranked.choice));
        }
    }
    // Boosters say nothing of a choice that they do not know.
    let from: Vec<Option<usize>> =
        new.choices.iter().map(|name| model.choice_id(name).map(ChoiceId::index)).collect();
    for node in new.boosters.iter_mut().flat_map(|tree| &mut tree.nodes) {
        if let Node::Leaf(row) = node {
            let numbers = from.iter().map(|at| at.map_or(0, |at| row[at]));
            *row = numbers.chain(row.last().copied()).collect();
        }
    }
    (new.fallback, new.eligible, new.tree) = (fallback, eligible, tree);
    new
}

/// Returns the model's id of each choice of the table; `None` for a rare choice that the model does not know.
pub fn ids(model: &Model, table: &Table) -> Vec<Option<ChoiceId>> {
    table.choices.iter().map(|name| model.choice_id(name)).collect()
}
