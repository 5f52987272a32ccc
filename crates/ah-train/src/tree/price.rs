//! What taking a leaf's choice risks, for each unit of time that it saves.
//!
//! The risk is the share of inputs on which the choice is slower than the fallback by more than
//! the limit, drawn towards the parent's as the scores are ([`crate::tree::scores`]):
//!
//! `risk[node][c] = (slow inputs in node + kappa * risk[parent][c]) / (inputs in node + kappa)`
//!
//! Its price is `risk / (score[fallback] - score[c])`, and a promise allows choices up to some
//! price. Declining costs what the choice would have saved, so of all ways to decline that leave
//! the same share of slow inputs this one costs least (a Lagrange multiplier; Neyman and
//! Pearson's lemma). A limit on the risk alone declines as readily where padding saves a third
//! as where it saves a hundredth. Twenty random partitions of PyTorch's logs, promise of 1 %,
//! slowdown: pad_mm A100 1.0101 with a limit on the risk, 1.0064 with one on the price and
//! [`crate::promise::recipe`]'s penalty in learning; mm A100 1.0166 and 1.0124. The Student-t tail of
//! `ln(t_choice / t_fallback)` in place of the counted share: pad_mm 1.0078, mm 1.0138 (both at
//! a penalty of 0.2, where the counted share has 1.0069 and 1.0129).

use ah_types::ChoiceId;

use super::grown::GrownTree;
use super::scores::Scores;
use crate::data::Rows;
use crate::data::Table;

/// How many inputs' worth a node's share is drawn towards its parent's. Slow inputs are rare, so
/// leaves alone say little: of 6, 10, 20 and 40 the last lost least on mm A100, and as little on pad_mm.
const KAPPA: f64 = 40.0;
/// With fewer inputs a choice counts as slow on all of them.
const MIN_INPUTS: u32 = 3;

/// A price, not negative, for each node and choice; nodes that are no leaves have one too.
#[derive(Clone, Debug, Default)]
pub struct Prices {
    choices: usize,
    prices: Vec<f32>,
}

/// Inputs where a choice and the fallback were measured, and those of them where the choice is slow.
#[derive(Clone, Copy, Default)]
struct Count {
    inputs: u32,
    slow: u32,
}

impl Prices {
    /// The prices of all nodes from the rows that reach them.
    #[must_use]
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
                let Count { inputs, slow } = counts[at];
                let (inputs, slow) = (f64::from(inputs), f64::from(slow));
                risks[at] = if node == 0 {
                    slow / inputs.max(1.0)
                } else {
                    (slow + KAPPA * risks[grown.parent as usize * choices + choice]) / (inputs + KAPPA)
                };
            }
        }
        let price = |(at, (risk, count)): (usize, (&f64, &Count))| {
            let scores = scores.node((at / choices) as u32);
            let saved = scores[fallback.index()] - scores[at % choices];
            if at % choices == fallback.index() {
                0.0
            } else if saved <= 0.0 {
                f32::INFINITY
            } else {
                let risk = if count.inputs < MIN_INPUTS { 1.0 } else { *risk };
                (risk / saved) as f32
            }
        };
        Self { choices, prices: risks.iter().zip(&counts).enumerate().map(price).collect() }
    }

    /// The price of a choice in a leaf; 0 before any was assessed.
    #[must_use]
    pub fn of(&self, leaf: u32, choice: ChoiceId) -> f64 {
        self.prices.get(leaf as usize * self.choices + choice.index()).map_or(0.0, |&r| f64::from(r))
    }
}

fn count(tree: &GrownTree, table: &Table, rows: &Rows<'_>, fallback: ChoiceId, limit: f64) -> Vec<Count> {
    let choices = table.choices.len();
    let mut counts = vec![Count::default(); tree.nodes.len() * choices];
    for &input in rows.inputs {
        let Some(base) = table.usable(input as usize, fallback) else { continue };
        let leaf = tree.leaf_of(rows.columns, input) as usize;
        for cell in table.cells(input as usize).iter().filter(|c| c.time.is_finite()) {
            let count = &mut counts[leaf * choices + cell.choice.index()];
            count.inputs += 1;
            count.slow += u32::from(cell.is_slower(base, limit));
        }
    }
    tree.add_up(&mut counts, choices, |up, down| {
        up.inputs += down.inputs;
        up.slow += down.slow;
    });
    counts
}
