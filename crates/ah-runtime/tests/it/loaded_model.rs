//! A loaded model decides like the model that it was made from, with and without boosters.

use crate::{common, reference};

use std::cell::Cell;

use ah_model::{ChoiceId, Model, Node, Precondition, Value, expr};
use ah_runtime::{Heuristic, LoadedModel};
use proptest::prelude::*;

/// Gives every leaf a few unusual choices, and one choice that can run on small products only.
fn restrict(model: &mut Model) {
    for node in &mut model.tree.nodes {
        if let Node::Leaf(leaf) = node {
            leaf.ranking.iter_mut().for_each(|ranked| ranked.expected = ranked.choice.0 % 3 > 0);
        }
    }
    let parsed = expr::parse("m * n <= 100000").unwrap();
    let typed = parsed.resolve_bool(model.features.base()).unwrap();
    model.eligible.insert(ChoiceId(1), Precondition { expression: parsed.to_string(), typed });
    model.validate().unwrap();
}

#[test]
fn decides_like_the_model() {
    for boosted in [false, true] {
        let mut model = common::mixed_mm();
        restrict(&mut model);
        if boosted {
            common::boost(&mut model);
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
                let expected = reference::decide(loaded.model(), &owned, |choice| offered(choice.index()));
                prop_assert_eq!(found, expected.map(ChoiceId::index));
                let plain = reference::choose(loaded.model(), &owned).map(ChoiceId::index);
                prop_assert_eq!(loaded.choose(&row), plain);
                if let Ok(ranking) = reference::ranking(loaded.model(), &owned) {
                    let mut ranked = Vec::new();
                    loaded.ranked(&row, &mut |choice| ranked.push(choice)).unwrap();
                    prop_assert_eq!(
                        ranked,
                        ranking.iter().map(|place| place.choice as usize).collect::<Vec<_>>()
                    );
                }
                let count = if found.is_ok() { &decided } else { &declined };
                count.set(count.get() + 1);
                Ok(())
            })
            .unwrap();
        let (decided, declined) = (decided.get(), declined.get());
        assert!(
            decided > 200 && declined > 200,
            "boosters {boosted}: {decided} decided, {declined} declined"
        );
    }
}
