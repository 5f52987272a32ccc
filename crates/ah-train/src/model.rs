//! The model of a learned heuristic.

use std::collections::BTreeSet;

use ah_types::{ChoiceId, DerivedFeature, Features, Model, Node, Test, Tree};

use crate::promise::{Heuristic, Trainer};

/// Returns the model of a learned heuristic, without its record.
pub fn model(trainer: &Trainer<'_>, heuristic: &Heuristic) -> Model {
    let dataset = trainer.dataset;
    let model = Model {
        heuristic: trainer.plan.heuristic_name.clone(),
        optimization: dataset.optimization.name.clone(),
        features: dataset.features.clone(),
        categories: trainer.features.categories.clone(),
        missing: trainer.features.missing.clone(),
        precondition: dataset.precondition.clone(),
        eligible: trainer.ranking.eligible.clone(),
        device: dataset.device().cloned(),
        shared_memory: dataset.metadata.shared_memory,
        device_capa: dataset.metadata.device_capa,
        choices: dataset.table.choices.clone(),
        fallback: Some(heuristic.fallback),
        promise: heuristic.promise.clone(),
        ..Model::default()
    };
    let mut model = trainer.with_trees(heuristic, heuristic.threshold, model);
    // A program that names its choices knows which of them can run. Without names, only expected choices are picked.
    let leaves = model.tree.leaves().flat_map(|(_, leaf)| &leaf.ranking);
    let expected: BTreeSet<ChoiceId> =
        leaves.filter(|ranked| ranked.expected).map(|ranked| ranked.choice).collect();
    model.eligible.retain(|choice, _| dataset.eligible.contains_key(choice) || expected.contains(choice));
    model
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
    let missing = model.missing.intersection(&used);
    model.missing = missing.map(|slot| used.range(..*slot).count()).collect();
    renumber_tests(&mut model.tree, renumber);
    model.boosters.iter_mut().for_each(|tree| renumber_tests(tree, renumber));
}

fn renumber_tests<L>(tree: &mut Tree<L>, renumber: impl Fn(&mut usize)) {
    for node in &mut tree.nodes {
        if let Node::Split { test: Test::Numerical { slot, .. } | Test::Categorical { slot, .. }, .. } = node
        {
            renumber(slot);
        }
    }
}
