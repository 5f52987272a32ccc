//! A heuristic never picks a choice that was not measured. Tests the rule of [`ah_decide::pick`] on every ranking, and
//! the check that refuses a model whose leaves break it.

use ah_model::{ChoiceId, Leaf, Ranked, RankedChoice};
use proptest::prelude::*;

const CHOICES: u32 = 6;

/// Whether a choice is in the ranking, allowed and offered, and its score.
type Flags = (bool, bool, bool, u8);

/// A ranking, best first, and by choice whether it is offered.
fn ranking() -> impl Strategy<Value = (Vec<Ranked>, Vec<bool>)> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), 0..4_u8);
    (Just((0..CHOICES).collect::<Vec<u32>>()).prop_shuffle(), prop::collection::vec(flags, CHOICES as usize))
        .prop_map(|(order, flags)| {
            let ranked = |id: &u32| {
                let (_, allowed, _, score): Flags = flags[*id as usize];
                Ranked { choice: *id, score: f64::from(score), allowed, expected: true }
            };
            let mut ranked: Vec<Ranked> =
                order.iter().filter(|id| flags[**id as usize].0).map(ranked).collect();
            ranked.sort_by(|a, b| a.score.total_cmp(&b.score));
            (ranked, flags.iter().map(|f| f.2).collect())
        })
}

proptest! {
    #[test]
    fn the_pick_is_offered_and_allowed(
        (ranking, offered) in ranking(),
        fallback in prop::option::of(0..CHOICES),
    ) {
        // The fallback counts as offered.
        let is_offered = |choice: u32| Some(choice) == fallback || offered[choice as usize];
        let picked = ah_decide::pick(ranking.iter().copied(), fallback, |choice| offered[choice as usize]);
        let first_offered = ranking.iter().find(|p| is_offered(p.choice));
        let first_allowed = ranking.iter().find(|p| p.allowed && is_offered(p.choice));
        match (picked, first_allowed) {
            (Some(choice), Some(first)) => {
                prop_assert_eq!(choice, first.choice, "the best allowed one that is offered");
                prop_assert!(Some(choice) != fallback || first_offered == first_allowed, "nothing better is offered");
            }
            (Some(choice), None) => prop_assert!(false, "{choice:?} is not allowed"),
            (None, first) => prop_assert!(first.is_none_or(|p| Some(p.choice) == fallback)),
        }
    }

    #[test]
    fn the_plain_choice_was_measured_nearly_everywhere_in_the_leaf(
        counts in prop::collection::vec((1_u64..=40, any::<bool>()), CHOICES as usize),
        fallback in 0..CHOICES,
    ) {
        let ranking: Vec<RankedChoice> = (0..).zip(&counts).map(|(id, (measured, allowed))| RankedChoice {
            choice: ChoiceId(id),
            score: 0.0,
            probability: 0.0,
            measured: *measured,
            expected: *measured == 40,
            slowdown: 1.0,
            worst: 1.0,
            worst_over_fallback: 1.0,
            allowed: *allowed,
        }).collect();
        let leaf = Leaf { samples: 40, ranking };
        if let Some(ranked) = leaf.choose(Some(ChoiceId(fallback)), |_| true) {
            prop_assert!(ranked.allowed && ranked.expected || ranked.choice == ChoiceId(fallback));
        }
    }
}
