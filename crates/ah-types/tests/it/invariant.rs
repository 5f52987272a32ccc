//! A heuristic never picks a choice that was not measured. Tests the rule of [`pick`] on every ranking, and
//! the check that refuses a model whose leaves break it.

use ah_types::{ChoiceId, Leaf, Ranked, RankedChoice, pick, pick_sorted};
use proptest::prelude::*;

const CHOICES: u32 = 6;

/// Whether a choice is in the ranking, allowed and offered, and its score.
type Flags = (bool, bool, bool, u8);

/// A ranking in any order, and by choice whether it is offered.
fn ranking() -> impl Strategy<Value = (Vec<Ranked>, Vec<bool>)> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), 0..4_u8);
    (Just((0..CHOICES).collect::<Vec<u32>>()).prop_shuffle(), prop::collection::vec(flags, CHOICES as usize))
        .prop_map(|(order, flags)| {
            let ranked = |id: &u32| {
                let (_, allowed, _, score): Flags = flags[*id as usize];
                Ranked { choice: ChoiceId(*id), score: f64::from(score), allowed }
            };
            let ranked = order.iter().filter(|id| flags[**id as usize].0).map(ranked).collect();
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
        // The order of the ranking: of equal scores the first.
        let mut ranking = ranking;
        ranking.sort_by(|a, b| a.score.total_cmp(&b.score));
        prop_assert_eq!(pick_sorted(ranking.iter().copied(), fallback, is_offered), picked);
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
        let leaf = Leaf { samples: 40, ranking, ..Leaf::default() };
        if let Some(ranked) = leaf.choose(Some(ChoiceId(fallback))) {
            prop_assert!(ranked.allowed);
            prop_assert!(ranked.expected || ranked.choice == ChoiceId(fallback));
        }
    }
}
