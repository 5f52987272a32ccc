//! The model of a learned heuristic.

use std::collections::BTreeSet;

use ah_types::{DerivedFeature, Features, Model, Node, Provenance, Test};

use crate::promise::{Heuristic, Recipe};

/// Returns the model of a heuristic, without its record.
pub fn model(recipe: &Recipe<'_>, heuristic: &Heuristic) -> Model {
    let task = recipe.task;
    Model {
        heuristic: recipe.params.heuristic_name.clone(),
        optimization: task.optimization.name.clone(),
        features: task.features.clone(),
        categories: recipe.features.categories.clone(),
        precondition: task.precondition.clone(),
        eligible: task.eligible.clone(),
        outside: recipe.outside(),
        device: task.device().cloned(),
        shared_memory: task.metadata.shared_memory,
        device_capa: task.metadata.device_capa,
        choices: task.table.choices.clone(),
        fallback: Some(heuristic.fallback),
        trees: recipe.trees(heuristic, heuristic.threshold),
        boosted: recipe.boosted(heuristic, heuristic.threshold),
        promise: heuristic.promise.clone(),
        provenance: Provenance::default(),
    }
}

/// Drops the derived features that no split tests. They must not use one another.
pub fn drop_unused(model: &mut Model) {
    let logged = model.features.base().len();
    let tests = model.trees.iter().flat_map(|tree| &tree.nodes).filter_map(|node| match node {
        Node::Split { test, .. } => Some(test.slot()),
        Node::Leaf(_) => None,
    });
    let columns = model.boosted.iter().flat_map(|boosted| &boosted.columns).map(|column| column.slot);
    let used: BTreeSet<usize> = (0..logged).chain(tests).chain(columns).collect();
    let kept = model.features.derived().iter().enumerate().filter(|(at, _)| used.contains(&(logged + at)));
    let kept: Vec<DerivedFeature> = kept.map(|(_, (derived, _))| derived.clone()).collect();
    let Ok(features) = Features::new(model.features.base().clone(), &kept) else { return };
    model.features = features;
    model.categories = used.iter().map(|&slot| std::mem::take(&mut model.categories[slot])).collect();
    let renumber = |slot: &mut usize| *slot = used.range(..*slot).count();
    for node in model.trees.iter_mut().flat_map(|tree| &mut tree.nodes) {
        if let Node::Split { test: Test::Numerical { slot, .. } | Test::Categorical { slot, .. }, .. } = node
        {
            renumber(slot);
        }
    }
    let columns = model.boosted.iter_mut().flat_map(|boosted| &mut boosted.columns);
    columns.for_each(|column| renumber(&mut column.slot));
}
