//! All targets of one model: their decisions are compared with the model's own, bit by bit.

mod c;
mod cases;
use crate::models;
mod python;
mod rust;

use ah_codegen::{Detail, simplify};
use ah_types::{ChoiceId, RankedChoice, Unsure};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

/// The code's part of a model decides like the whole model, if that reaches a leaf.
#[test]
fn simplified_models_decide_alike() {
    let mut rng = Pcg64::seed_from_u64(11);
    let (mut leaves, mut decided, mut deep, mut boosted) = ([0, 0], 0, 0, 0);
    for i in 0..300 {
        let model = models::model(&mut rng, "Random", i % 18, 200);
        // Code has arrays of these.
        deep += usize::from(model.boosters.is_empty() && model.tree.depth() > 12);
        boosted += usize::from(!model.boosters.is_empty());
        let detail = Detail { all_leaves: rng.random_bool(0.2), max_ranked: rng.random_range(0..12) };
        let simple = simplify(&model, detail);
        simple.validate().unwrap();
        leaves = [leaves[0] + model.tree.leaves().count(), leaves[1] + simple.tree.leaves().count()];
        for values in models::contexts(&mut rng, &model, 100) {
            if model.leaf(&values).is_ok() {
                let choice = |decision: Result<&RankedChoice, Unsure>| decision.map(|ranked| ranked.choice);
                let expected = choice(model.choose(&values));
                assert_eq!(choice(simple.choose(&values)), expected, "{detail:?}\n{}", model.to_json());
                decided += 1;
                // An ensemble keeps the choices of its leaves, so it answers alike whatever is offered.
                if !model.boosters.is_empty() || model.tree.depth() > 12 {
                    let offered = |id: ChoiceId| id.index() % 3 != i % 3;
                    let expected = choice(model.decide(&values, offered));
                    assert_eq!(
                        choice(simple.decide(&values, offered)),
                        expected,
                        "{detail:?}\n{}",
                        model.to_json()
                    );
                }
            }
        }
    }
    assert!(leaves[1] < leaves[0] && decided > 10_000, "{leaves:?}, {decided}");
    assert!(deep > 20, "{deep} deep trees");
    assert!(boosted > 50, "{boosted} models with boosters");
    println!("{} leaves of {}, {decided} decisions", leaves[1], leaves[0]);
}
