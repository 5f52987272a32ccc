//! Which choice is picked, by [`ah_decide::pick`]: models decide by it, the calibration of a promise picks by it at many
//! thresholds, and generated code follows it.

pub use ah_decide::{BLOCK, LANES, Ranked};

use crate::choice::ChoiceId;

/// Returns the choice to take: the best one that is allowed and offered; of equal ones the first. The fallback always counts as
/// offered. The ranking can have any order.
///
/// `None` declines: nothing is allowed, or only the fallback and an offered choice that is not allowed is better.
pub fn pick(
    ranking: impl IntoIterator<Item = Ranked>,
    fallback: Option<ChoiceId>,
    mut offered: impl FnMut(ChoiceId) -> bool,
) -> Option<ChoiceId> {
    let mut ranking = Vec::from_iter(ranking);
    ranking.sort_by(|a, b| a.score.total_cmp(&b.score));
    ah_decide::pick(ranking, fallback.map(|id| id.0), |choice| offered(ChoiceId(choice))).map(ChoiceId)
}
