//! The model of a learned heuristic.

use std::collections::BTreeSet;

use ah_types::{ChoiceId, DerivedFeature, Features, Model, Node, Test, Tree};

use crate::promise::{Heuristic, Recipe};

/// Returns the model of a learned heuristic, without its record.
pub fn model(recipe: &Recipe<'_>, heuristic: &Heuristic) -> Model {
    let task = recipe.task;
    let model = Model {
        heuristic: recipe.params.heuristic_name.clone(),
        optimization: task.optimization.name.clone(),
        features: task.features.clone(),
        categories: recipe.features.categories.clone(),
        precondition: task.precondition.clone(),
        eligible: task.eligible.clone(),
        device: task.device().cloned(),
        shared_memory: task.metadata.shared_memory,
        device_capa: task.metadata.device_capa,
        choices: task.table.choices.clone(),
        fallback: Some(heuristic.fallback),
        promise: heuristic.promise.clone(),
        ..Model::default()
    };
    recipe.with_trees(heuristic, heuristic.threshold, model)
}

/// Drops the derived features that no split tests. They must not use one another.
pub fn drop_unused(model: &mut Model) {
    let logged = model.features.base().len();
    let tests = model.tree.tests().chain(model.boosters.iter().flat_map(Tree::tests));
    let used: BTreeSet<usize> = (0..logged).chain(tests.map(Test::slot)).collect();
    let kept = model.features.derived().iter().enumerate().filter(|(at, _)| used.contains(&(logged + at)));
    let kept: Vec<DerivedFeature> = kept.map(|(_, (derived, _))| derived.clone()).collect();
    let Ok(features) = Features::new(model.features.base().clone(), &kept) else { return };
    model.features = features;
    model.categories = used.iter().map(|&slot| std::mem::take(&mut model.categories[slot])).collect();
    let renumber = |slot: &mut usize| *slot = used.range(..*slot).count();
    renumber_tests(&mut model.tree, renumber);
    model.boosters.iter_mut().for_each(|tree| renumber_tests(tree, renumber));
}

/// Drops the choices that are not kept: no leaf may rank one of them. `kept` is ascending.
pub fn keep_choices(model: &mut Model, kept: &[ChoiceId]) {
    let new = |choice: ChoiceId| kept.binary_search(&choice).ok().map(|at| ChoiceId(at as u32));
    model.choices = kept.iter().map(|choice| model.choices[choice.index()].clone()).collect();
    model.fallback = model.fallback.and_then(new);
    let eligible = std::mem::take(&mut model.eligible);
    model.eligible = eligible.into_iter().filter_map(|(choice, at)| Some((new(choice)?, at))).collect();
    for node in &mut model.tree.nodes {
        if let Node::Leaf(leaf) = node {
            leaf.ranking.retain_mut(|ranked| {
                new(ranked.choice).map(|choice| ranked.choice = choice).is_some()
            });
        }
    }
    for node in model.boosters.iter_mut().flat_map(|tree| &mut tree.nodes) {
        if let Node::Leaf(row) = node {
            // Behind the choices, a row has the number of the risk.
            let scores = kept.iter().map(|choice| row[choice.index()]);
            *row = scores.chain(row.last().copied()).collect();
        }
    }
}

fn renumber_tests<L>(tree: &mut Tree<L>, renumber: impl Fn(&mut usize)) {
    for node in &mut tree.nodes {
        if let Node::Split { test: Test::Numerical { slot, .. } | Test::Categorical { slot, .. }, .. } = node
        {
            renumber(slot);
        }
    }
}
