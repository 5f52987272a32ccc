//! Which choice is picked. This file is the only definition: models decide by it, the calibration of a promise picks by it
//! at many thresholds, and generated code follows it.

use crate::choice::ChoiceId;

/// A choice with its score for one input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranked {
    /// The choice.
    pub choice: ChoiceId,
    /// The least is best; of equal ones the first.
    pub score: f64,
    /// False if the promise does not allow it: it is skipped.
    pub allowed: bool,
}

/// Returns the choice to take: the best one that is offered and allowed.
///
/// `None` declines: no offered choice is allowed, or an offered choice that is not allowed is better than the fallback (so
/// the heuristic knows nothing better than the fallback). If there is a fallback but it is not offered, declining is
/// impossible, and the best offered choice is taken.
///
/// The choices can have any order. `offered` is asked only for a choice that may change the answer.
pub fn pick(
    choices: impl IntoIterator<Item = Ranked>,
    fallback: Option<ChoiceId>,
    mut offered: impl FnMut(ChoiceId) -> bool,
) -> Option<ChoiceId> {
    let is_fallback = |ranked: &Ranked| Some(ranked.choice) == fallback;
    let (mut allowed, mut other): (Option<Ranked>, Option<Ranked>) = (None, None);
    // Of two equal ones, the first is better.
    let mut other_is_better = false;
    for ranked in choices {
        let beats = |best: Option<Ranked>| best.is_none_or(|best| ranked.score < best.score);
        if ranked.allowed && beats(allowed) && offered(ranked.choice) {
            other_is_better = !beats(other);
            allowed = Some(ranked);
        } else if !ranked.allowed && beats(other) && beats(allowed) && offered(ranked.choice) {
            other_is_better = true;
            other = Some(ranked);
        }
    }
    match allowed {
        Some(allowed) if is_fallback(&allowed) && other_is_better => None,
        Some(allowed) => Some(allowed.choice),
        None => {
            let cannot_decline = fallback.is_some_and(|fallback| !offered(fallback));
            other.filter(|_| cannot_decline).map(|other| other.choice)
        }
    }
}

/// Returns the same as [`pick`] for choices in the order of their scores: none behind the first allowed one is better.
pub fn pick_sorted(
    choices: impl IntoIterator<Item = Ranked>,
    fallback: Option<ChoiceId>,
    mut offered: impl FnMut(ChoiceId) -> bool,
) -> Option<ChoiceId> {
    // The first offered choice that is not allowed.
    let mut other = None;
    for Ranked { choice, allowed, .. } in choices {
        if (allowed || other.is_none()) && offered(choice) {
            if allowed {
                return Some(choice).filter(|_| other.is_none() || Some(choice) != fallback);
            }
            other = Some(choice);
        }
    }
    other.filter(|_| fallback.is_some_and(|fallback| !offered(fallback)))
}
