//! The price of a leaf's choice: how much it risks for what it saves.
//!
//! The *risk* is the share of inputs on which the choice is slower than the fallback by more than the
//! limit, shrunk towards the parent's like the scores ([`super::scores`]):
//!
//! `risk[node][c] = (slow inputs in node + kappa * risk[parent][c]) / (inputs in node + kappa)`
//!
//! The *price* is `risk / (score[fallback] - score[c])`; a promise allows choices up to a price.
//! Declining costs what the choice would have saved. So of all rules that leave the same share of slow
//! inputs, a limit on the price costs least (a Lagrange multiplier; the lemma of Neyman and Pearson).
//! A limit on the risk alone declines as readily where padding saves a third as where it saves a
//! hundredth.
//!
//! Slowdown with a promise of 1 %, over twenty random partitions of PyTorch's logs (the penalty is
//! that of `promise::recipe`):
//!
//! | | pad_mm A100 | mm A100 |
//! | --- | --- | --- |
//! | a limit on the risk | 1.0101 | 1.0166 |
//! | a limit on the price, penalty 0.5 | 1.0064 | 1.0124 |
//! | a limit on the price, penalty 0.2 | 1.0069 | 1.0129 |
//! | that with the Student-t tail of `ln(t_choice / t_fallback)` as the risk | 1.0078 | 1.0138 |

use ah_types::ChoiceId;

use super::grown::GrownTree;
use super::scores::Scores;
use crate::data::{Rows, Table};

/// The parent's risk weighs as much as this many inputs. Slow inputs are rare, so a leaf alone shows
/// little: of 6, 10, 20 and 40 the last loses least on mm A100, and no more than others on pad_mm.
const KAPPA: f64 = 40.0;
/// A choice that was measured on fewer inputs has a risk of 1.
const MIN_INPUTS: f64 = 3.0;

/// The price of each choice in each node, at least 0.
#[derive(Clone, Debug, Default)]
pub struct Prices {
    choices: usize,
    prices: Vec<f32>,
}

/// Counts of inputs for one choice in one node.
#[derive(Clone, Copy, Default)]
struct SlowCount {
    /// Inputs where both the choice and the fallback have a time.
    inputs: f64,
    /// Those where the choice is slower than the limit.
    slow: f64,
}

impl Prices {
    /// Returns the prices of all nodes, from the rows that reach them.
    pub fn new(
        tree: &GrownTree,
        scores: &Scores,
        table: &Table,
        rows: &Rows<'_>,
        fallback: ChoiceId,
        limit: f64,
    ) -> Self {
        let choices = table.choices.len();
        let counts = count(tree, table, rows, fallback, limit);
        let mut risks = vec![0.0; counts.len()];
        for (node, grown) in tree.nodes.iter().enumerate() {
            for choice in 0..choices {
                let at = node * choices + choice;
                let SlowCount { inputs, slow } = counts[at];
                risks[at] = if node == 0 {
                    slow / inputs.max(1.0)
                } else {
                    (slow + KAPPA * risks[grown.parent as usize * choices + choice]) / (inputs + KAPPA)
                };
            }
        }
        let price = |(at, (risk, count)): (usize, (&f64, &SlowCount))| {
            let scores = scores.node((at / choices) as u32);
            let saved = scores[fallback.index()] - scores[at % choices];
            if at % choices == fallback.index() {
                0.0
            } else if saved <= 0.0 {
                f32::INFINITY
            } else {
                let risk = if count.inputs >= MIN_INPUTS { *risk } else { 1.0 };
                (risk / saved) as f32
            }
        };
        Self { choices, prices: risks.iter().zip(&counts).enumerate().map(price).collect() }
    }

    /// Returns the price of a choice in a leaf; 0 if none was computed.
    pub fn of(&self, leaf: u32, choice: ChoiceId) -> f64 {
        self.prices.get(leaf as usize * self.choices + choice.index()).map_or(0.0, |&r| f64::from(r))
    }
}

fn count(tree: &GrownTree, table: &Table, rows: &Rows<'_>, fallback: ChoiceId, limit: f64) -> Vec<SlowCount> {
    let choices = table.choices.len();
    let mut counts = vec![SlowCount::default(); tree.nodes.len() * choices];
    for &input in rows.inputs {
        let Some(base) = table.usable(input, fallback) else { continue };
        let leaf = tree.leaf_of(rows.columns, input) as usize;
        for cell in table.cells(input) {
            let count = &mut counts[leaf * choices + cell.choice.index()];
            count.inputs += 1.0;
            count.slow += f64::from(u8::from(cell.is_slower(base, limit)));
        }
    }
    tree.add_up(&mut counts, choices, |up, down| {
        up.inputs += down.inputs;
        up.slow += down.slow;
    });
    counts
}
