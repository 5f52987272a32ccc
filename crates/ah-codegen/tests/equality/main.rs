//! All targets of one model: their decisions are compared with the model's own, bit by bit.

mod c;
mod cases;
#[path = "../models/mod.rs"]
mod models;
mod python;
mod rust;

use ah_codegen::{Detail, simplify};
use ah_types::{Model, RankedChoice, Unsure};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

/// The code's part of a model decides like the whole model, if that reaches a leaf.
#[test]
fn simplified_models_decide_alike() {
    let mut rng = Pcg64::seed_from_u64(11);
    let (mut leaves, mut decided, mut deep, mut boosted) = ([0, 0], 0, [0, 0], 0);
    let count = |model: &Model| model.trees.iter().map(|tree| tree.leaves().count()).sum::<usize>();
    for i in 0..300 {
        let model = models::model(&mut rng, "Random", i % 18, 200);
        // Code has a table of these.
        deep[model.trees.len().min(2) - 1] += usize::from(model.trees.iter().any(|tree| tree.depth() > 12));
        boosted += usize::from(model.boosted.is_some());
        let detail = Detail {
            all_leaves: rng.random_bool(0.2),
            ranking: rng.random_range(0..12),
            explain: rng.random_bool(0.5),
        };
        let simple = simplify(&model, detail);
        simple.validate().unwrap();
        leaves = [leaves[0] + count(&model), leaves[1] + count(&simple)];
        for values in models::contexts(&mut rng, &model, 100) {
            if model.leaf(&values).is_ok() {
                let choice = |decision: Result<&RankedChoice, Unsure>| decision.map(|ranked| ranked.choice);
                let expected = choice(model.choose(&values));
                assert_eq!(choice(simple.choose(&values)), expected, "{detail:?}\n{}", model.to_json());
                decided += 1;
            }
        }
    }
    assert!(leaves[1] < leaves[0] && decided > 10_000, "{leaves:?}, {decided}");
    assert!(deep.iter().all(|&count| count > 5), "{deep:?} deep models of one tree and of several");
    assert!(boosted > 50, "{boosted} models with boosted trees");
    println!("{} leaves of {}, {decided} decisions", leaves[1], leaves[0]);
}
