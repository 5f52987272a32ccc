//! A heuristic never picks a choice that was not measured. Tests the rule of [`pick`] on every ranking, and
//! the check that refuses a model whose leaves break it.

use ah_types::{ChoiceId, Leaf, Place, RankedChoice, pick};
use proptest::prelude::*;

const CHOICES: u32 = 6;

/// Whether a choice is in the ranking, allowed and offered.
type Flags = (bool, bool, bool);

fn ranking() -> impl Strategy<Value = (Vec<Place>, Vec<bool>)> {
    let flags = any::<Flags>();
    (Just((0..CHOICES).collect::<Vec<u32>>()).prop_shuffle(), prop::collection::vec(flags, CHOICES as usize))
        .prop_map(|(order, flags)| {
            let place =
                |id: &u32| Place { choice: ChoiceId(*id), score: 0.0, allowed: flags[*id as usize].1 };
            let ranked = order.iter().filter(|id| flags[**id as usize].0).map(place).collect();
            (ranked, flags.iter().map(|f| f.2).collect())
        })
}

proptest! {
    #[test]
    fn the_pick_is_offered_and_allowed_unless_nothing_else_is_left(
        (ranking, offered) in ranking(),
        fallback in prop::option::of(0..CHOICES),
    ) {
        let fallback = fallback.map(ChoiceId);
        let is_offered = |choice: ChoiceId| offered[choice.index()];
        let picked = pick(ranking.iter().copied(), fallback, is_offered);
        let place = |choice: ChoiceId| ranking.iter().position(|p| p.choice == choice);
        let allowed_offered = ranking.iter().any(|p| p.allowed && is_offered(p.choice));
        match picked {
            Some(choice) => {
                prop_assert!(is_offered(choice));
                let at = place(choice).expect("a pick is ranked");
                if !ranking[at].allowed {
                    // Only if declining is impossible and no allowed choice is offered.
                    prop_assert!(fallback.is_some_and(|f| !is_offered(f)) && !allowed_offered);
                }
                let earlier = ranking[..at].iter().any(|p| is_offered(p.choice) && (p.allowed || !ranking[at].allowed));
                prop_assert!(!earlier, "an earlier choice of the same standing was offered");
                prop_assert!(Some(choice) != fallback || !ranking[..at].iter().any(|p| is_offered(p.choice)));
            }
            None => {
                let first = ranking.iter().find(|p| p.allowed && is_offered(p.choice));
                prop_assert!(first.is_none_or(|p| Some(p.choice) == fallback));
                prop_assert!(
                    fallback.is_none_or(is_offered) || !ranking.iter().any(|p| is_offered(p.choice)),
                    "without an offered fallback something offered is taken"
                );
            }
        }
    }

    #[test]
    fn the_plain_choice_was_measured_nearly_everywhere_in_the_leaf(
        counts in prop::collection::vec((0_u64..=40, any::<bool>()), CHOICES as usize),
        fallback in 0..CHOICES,
    ) {
        let mut ranking: Vec<RankedChoice> = (0..).zip(&counts).map(|(id, (measured, allowed))| RankedChoice {
            choice: ChoiceId(id),
            score: 0.0,
            probability: 0.0,
            measured: *measured,
            usual: *measured == 40,
            slowdown: 1.0,
            worst: 1.0,
            worst_over_fallback: 1.0,
            allowed: *measured > 0 && *allowed,
        }).collect();
        ranking.sort_by_key(|r| r.measured == 0);
        let leaf = Leaf { samples: 40, ranking, ..Leaf::default() };
        if let Some(ranked) = leaf.choose(Some(ChoiceId(fallback)), false) {
            prop_assert!(ranked.measured > 0 && ranked.allowed);
            prop_assert!(ranked.usual || ranked.choice == ChoiceId(fallback));
        }
    }
}
