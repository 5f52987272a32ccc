//! A finished model without what it does not use.

use std::collections::BTreeSet;

use ah_model::{DerivedFeature, Features, Model, Node, Tree};

/// Drops the derived features that no split tests. They must not use one another.
pub fn drop_unused(model: &mut Model) {
    let logged = model.features.base().len();
    let used: BTreeSet<usize> = (0..logged).chain(model.tests().map(|test| test.column.slot)).collect();
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
        if let Node::Split { test, .. } = node {
            renumber(&mut test.column.slot);
        }
    }
}
