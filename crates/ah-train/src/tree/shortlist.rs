//! Rankings for programs that measure the first choices themselves (`--ranking K`): the best of them
//! counts.
//!
//! The choices with the least mean costs are often variants of one another, good and bad on the same
//! inputs. So behind the first, each place goes to the choice that most lowers the mean cost of the
//! best so far. This greedy rule saves at least 1 − 1/e of what the best set saves, as the gain is
//! submodular (Nemhauser, Wolsey and Fisher, 1978).

use ah_types::ChoiceId;

use super::scores::PRIOR_COST;
use crate::data::Table;

/// In a leaf, the parent's inputs together weigh as much as this many inputs.
const PARENT_INPUTS: f64 = 10.0;

/// Moves choices forward in the ranking of a leaf, so that the first `places` complement one another.
///
/// `members` are the leaf's inputs; a small leaf also learns from `parents`, those of its parent.
pub(crate) fn spread(
    ranking: &mut Vec<(ChoiceId, f64)>,
    places: usize,
    table: &Table,
    members: &[u32],
    parents: &[u32],
) {
    let share = PARENT_INPUTS / parents.len().max(1) as f64;
    let weighted = members.iter().map(|&i| (i, 1.0)).chain(parents.iter().map(|&i| (i, share)));
    let mut rows: Vec<(u32, f64, f64)> =
        weighted.map(|(i, w)| (i, w * table.cost_weight(i), PRIOR_COST)).collect();
    // Offered choices differ by input, so later places matter too.
    let mut gains = vec![0.0; table.choices.len()];
    let mut place = 0;
    while place < ranking.len() {
        if place > 0 {
            gains.fill(0.0);
            for (input, weight, cost) in &rows {
                for cell in table.cells(*input) {
                    gains[cell.choice.index()] += weight * (cost - table.learned_cost(*input, cell)).max(0.0);
                }
            }
            let gain = |at: &usize| gains[ranking[*at].0.index()];
            // The first of equals.
            let best = (place..ranking.len()).rev().max_by(|a, b| gain(a).total_cmp(&gain(b)));
            let Some(best) = best.filter(|at| gain(at) > 0.0 || place < places) else { break };
            move_up(ranking, best, place);
        }
        let taken = ranking[place].0;
        for (input, _, cost) in &mut rows {
            let cell = table.cell(*input, taken);
            *cost = cell.map_or(*cost, |c| cost.min(table.learned_cost(*input, c)));
        }
        place += 1;
    }
}

/// Moves one choice up. It takes the score of its new neighbour, so that the ranking stays sorted.
pub(crate) fn move_up(ranking: &mut Vec<(ChoiceId, f64)>, from: usize, to: usize) {
    let (choice, score) = ranking.remove(from);
    let score = ranking.get(to).map_or(score, |r| r.1.min(score));
    ranking.insert(to, (choice, score));
}
