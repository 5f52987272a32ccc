//! A loaded model decides like the model that it was made from, with one tree, with several that vote, and with boosted
//! trees.

mod common;

use std::cell::Cell;

use ah_runtime::{Heuristic, LoadedModel};
use ah_types::{
    BoostedColumn, BoostedNode, BoostedTrees, ChoiceId, FeatureKind, Model, Node, OutsidePolicy,
    Precondition, RankedChoice, Value, expr,
};
use proptest::prelude::*;

/// Gives every leaf the range m <= 100 and the reverse ranking beyond, a few unusual choices, and one choice
/// that can run on small products only.
fn watch(model: &mut Model) {
    let features = model.features.base().len();
    for node in model.trees.iter_mut().flat_map(|tree| &mut tree.nodes) {
        if let Node::Leaf(leaf) = node {
            leaf.ranges = vec![None; features];
            leaf.ranges[0] = Some((1.0, 100.0));
            leaf.outside = leaf.ranking.iter().rev().map(RankedChoice::place).collect();
            leaf.ranking.iter_mut().for_each(|ranked| ranked.expected = ranked.choice.0 % 3 > 0);
        }
    }
    let parsed = expr::parse("m * n <= 100000").unwrap();
    let typed = parsed.resolve_bool(model.features.base()).unwrap();
    model.eligible.insert(ChoiceId(1), Precondition { expression: parsed.to_string(), typed });
    model.validate().unwrap();
}

/// Adds eight trees that test every number, and whether the last feature is true. They decide what saves 1/64 over the
/// fallback, times the caution.
fn boost(model: &mut Model) {
    let features = model.features.all().features();
    let is_number = |slot: &usize| features[*slot].kind == FeatureKind::Numerical;
    let columns = (0..features.len()).filter(is_number).map(|slot| BoostedColumn { slot, category: None });
    let mut columns: Vec<BoostedColumn> = columns.collect();
    let last = BoostedColumn { slot: features.len() - 1, category: Some("True".to_owned()) };
    let logged = BoostedColumn { slot: 7, category: Some("torch.float16".to_owned()) };
    columns.extend([last, logged].into_iter().filter(|column| !is_number(&column.slot)));
    columns.sort_unstable();
    let count = columns.len();
    let tree = |tree: usize| {
        let split = |at: usize, right: u32| {
            let column = (tree * 7 + at * 3) % count;
            let threshold =
                if columns[column].category.is_some() { 0.0 } else { 2.0_f64.powi((tree + at) as i32 * 2) };
            BoostedNode::Split { column: column as u16, threshold, right }
        };
        let leaf = |at: usize| BoostedNode::Leaf((tree * 3 + at) as u32);
        vec![split(0, 4), split(1, 3), leaf(0), leaf(1), leaf(2)]
    };
    let trees: Vec<Vec<BoostedNode>> = (0..8).map(tree).collect();
    let scores = (0..8 * 3 * (model.choices.len() + 1)).map(|at| (at * at % 57) as i8 - 29).collect();
    model.boosted = Some(BoostedTrees {
        columns,
        trees,
        scores,
        unit: 1.0 / 128.0,
        margin: Some(0.015_625),
        caution_unit: Some(0.25),
    });
    model.validate().unwrap();
}

#[test]
fn decides_like_the_model() {
    let policies = [OutsidePolicy::Decide, OutsidePolicy::Safe, OutsidePolicy::Decline];
    let kinds = [(1, false), (2, false), (3, false), (10, false), (1, true)];
    for ((trees, boosted), outside) in kinds.into_iter().flat_map(|kind| policies.map(|p| (kind, p))) {
        let mut model = common::mixed_mm(trees);
        model.outside = outside;
        watch(&mut model);
        if boosted {
            boost(&mut model);
        }
        let loaded = LoadedModel::from(model);
        let (decided, declined) = (Cell::new(0), Cell::new(0));
        let dimension = prop_oneof![1.0..200.0_f64, 1000.0..20_000.0, Just(f64::NAN), Just(4096.0)];
        let inputs = (1.0..140.0_f64, dimension.clone(), dimension, any::<u64>(), 0..20_u8);
        let config = ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() };
        let mut runner = proptest::test_runner::TestRunner::new(config);
        runner
            .run(&inputs, |(m, k, n, offered, dtype)| {
                let mut row = common::mixed_mm_values(m.floor(), k.floor(), n.floor());
                if dtype == 0 {
                    row[9] = "neither".into();
                }
                let owned: Vec<Value> = row.iter().map(|scalar| scalar.to_value()).collect();
                let offered = |choice: usize| offered >> (choice % 64) & 1 == 1;
                let found = loaded.decide(&row, &offered);
                let expected = loaded.model().decide(&owned, |choice| offered(choice.index()));
                prop_assert_eq!(found, expected.map(|ranked| ranked.choice.index()));
                let plain = loaded.model().choose(&owned).map(|ranked| ranked.choice.index());
                prop_assert_eq!(loaded.choose(&row), plain);
                if let Ok(ranking) = loaded.model().ranking(&owned) {
                    let mut ranked = Vec::new();
                    loaded.ranked(&row, &mut |choice| ranked.push(choice)).unwrap();
                    prop_assert_eq!(
                        ranked,
                        ranking.iter().map(|place| place.choice.index()).collect::<Vec<_>>()
                    );
                }
                let count = if found.is_ok() { &decided } else { &declined };
                count.set(count.get() + 1);
                Ok(())
            })
            .unwrap();
        let (decided, declined) = (decided.get(), declined.get());
        assert!(decided > 200 && declined > 200, "{trees} trees: {decided} decided, {declined} declined");
    }
}
