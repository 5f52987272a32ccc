//! A greedy cover: the choices whose best one loses least.
//!
//! The choices with the least mean costs are often variants of one another, good and bad on the same inputs. So each place
//! goes to the choice that most lowers the mean cost of the best so far. This greedy rule saves at least 1 − 1/e = 63 % of
//! what the best set saves, as the gain is submodular (Nemhauser, Wolsey and Fisher, 1978).
//!
//! Two things are covers: the first places of a leaf for a program that measures them itself (`--ranking K`), and the
//! portfolio of a log of many choices (`search::portfolio`).

use ah_model::ChoiceId;

use super::scores::PRIOR_COST;
use crate::data::Table;

/// In a leaf, the parent's inputs together weigh as much as this many inputs.
const PARENT_INPUTS: f64 = 10.0;

/// A set of choices that grows.
pub struct Cover<'a> {
    pub table: &'a Table,
    /// The inputs to cover.
    pub rows: Vec<CoveredInput>,
}

/// An input to cover.
pub struct CoveredInput {
    pub input: u32,
    pub weight: f64,
    /// The cost of the best choice so far, at most the greatest that counts.
    pub cost: f64,
}

impl Cover<'_> {
    pub fn add(&mut self, choice: ChoiceId) {
        for row in &mut self.rows {
            if let Some(cell) = self.table.cell(row.input, choice) {
                row.cost = row.cost.min(self.table.learned_cost(row.input, cell));
            }
        }
    }

    /// Of these choices, the one that would lower the total cost most, and by how much; of equals the first.
    pub fn best(&self, among: impl DoubleEndedIterator<Item = ChoiceId>) -> Option<(ChoiceId, f64)> {
        let mut gains = vec![0.0; self.table.choices.len()];
        for CoveredInput { input, weight, cost } in &self.rows {
            for cell in self.table.cells(*input) {
                gains[cell.choice.index()] +=
                    weight * (cost - self.table.learned_cost(*input, cell)).max(0.0);
            }
        }
        let with_gain = among.rev().map(|choice| (choice, gains[choice.index()]));
        with_gain.max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// The mean cost of the best choice so far.
    pub fn mean_cost(&self) -> f64 {
        let total: f64 = self.rows.iter().map(|row| row.weight).sum();
        self.rows.iter().map(|row| row.weight * row.cost).sum::<f64>() / total.max(f64::MIN_POSITIVE)
    }
}

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
    let row = |share: f64| {
        move |&input: &u32| CoveredInput { input, weight: share * table.cost_weight(input), cost: PRIOR_COST }
    };
    let rows = members.iter().map(row(1.0)).chain(parents.iter().map(row(share))).collect();
    let mut cover = Cover { table, rows };
    // Offered choices differ by input, so later places matter too.
    let mut place = 0;
    while place < ranking.len() {
        if place > 0 {
            let best = cover.best(ranking[place..].iter().map(|(choice, _)| *choice));
            let Some((best, _)) = best.filter(|(_, gain)| *gain > 0.0 || place < places) else { break };
            let from = ranking.iter().position(|(choice, _)| *choice == best).unwrap_or(place);
            move_up(ranking, from, place);
        }
        cover.add(ranking[place].0);
        place += 1;
    }
}

/// Moves one choice up. It takes the score of its new neighbour, so that the ranking stays sorted.
pub(crate) fn move_up(ranking: &mut Vec<(ChoiceId, f64)>, from: usize, to: usize) {
    let (choice, score) = ranking.remove(from);
    let score = ranking.get(to).map_or(score, |r| r.1.min(score));
    ranking.insert(to, (choice, score));
}
