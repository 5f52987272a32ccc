//! The correction of the old scores by the new times.
//!
//! The model of a time: `ln t(input, choice) = level(input) + score(leaf, choice) + delta(leaf, choice)`. The level is free,
//! because a score compares choices of one input, and inputs do not offer the same ones. The corrections follow the tree, each
//! shrunk towards the one above:
//!
//! `delta[node][c] = (sum of misses in node + shrinkage * delta[parent][c]) / (inputs in node + shrinkage)`
//!
//! over the new inputs that measured c, where a miss is `ln t - level - score`; above the root is 0, the old score as it is.
//! Most nodes see no new input and have the correction of the node above. Levels and corrections are found in turns.

use ah_types::{ChoiceId, median};

use super::old_model::{NewInput, OldModel, OldScore};

/// Turns of levels and corrections: after three the scores change by less than 0.01.
const TURNS: usize = 5;
/// A single time is not believed beyond this: 1.5 is a factor of 4.5.
const MOST: f64 = 1.5;
/// What the old score of the root weighs, in new inputs.
const ROOT: f64 = 3.0;

/// What the correction of the node above weighs, in new inputs: values to try. A large one is a device where all leaves shift
/// alike; a small one is a device that resembles the old one little.
pub const SHRINKAGES: [f64; 4] = [3.0, 10.0, 30.0, 300.0];

/// The corrections of a model's tree.
pub struct Correction {
    choices: usize,
    /// Node after node, the correction of each choice of the table.
    deltas: Vec<f64>,
}

impl Correction {
    /// Learns from the new inputs in these rows of a table with so many choices.
    pub fn new(old: &OldModel, rows: &[u32], choices: usize, shrinkage: f64) -> Self {
        let nodes = old.parents.len();
        let mut correction = Self { choices, deltas: vec![0.0; nodes * choices] };
        for _ in 0..TURNS {
            let mut sums = vec![(0.0, 0.0); nodes * choices];
            for input in rows.iter().filter_map(|&row| old.input(row)) {
                let level = correction.level(input);
                for scored in &input.choices {
                    let miss = (scored.time - scored.score - level).clamp(-MOST, MOST);
                    for node in old.path(input.leaf) {
                        let (sum, count) = &mut sums[node * choices + scored.choice.index()];
                        *sum += miss;
                        *count += 1.0;
                    }
                }
            }
            for (at, (sum, count)) in sums.into_iter().enumerate() {
                let (node, choice) = (at / choices, at % choices);
                let (above, weight) = match node {
                    0 => (0.0, ROOT),
                    _ => (correction.deltas[old.parents[node] as usize * choices + choice], shrinkage),
                };
                correction.deltas[at] = (sum + weight * above) / (count + weight);
            }
        }
        correction
    }

    /// Returns what to add to the old score of a choice of the table in a node.
    pub fn of(&self, node: u32, choice: ChoiceId) -> f64 {
        self.deltas[node as usize * self.choices + choice.index()]
    }

    /// Returns the level of an input: the median of its misses.
    fn level(&self, input: &NewInput) -> f64 {
        let rests = input.choices.iter().map(|s| s.time - s.score - self.of(input.leaf, s.choice));
        median(&rests.collect::<Vec<f64>>()).unwrap_or(0.0)
    }

    /// Returns the summed squared error of an input's times, but for its level.
    pub fn error(&self, input: &NewInput) -> f64 {
        let level = self.level(input);
        let miss = |s: &OldScore| s.time - s.score - self.of(input.leaf, s.choice) - level;
        let squares = input.choices.iter().map(|scored| miss(scored).clamp(-1.0, 1.0).powi(2));
        squares.sum::<f64>() / input.choices.len().max(1) as f64
    }
}
