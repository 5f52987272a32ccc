//! The promise's one inequality: what a choice saves must be worth what it risks.
//!
//! `saved >= risk / threshold`, where `saved = score[fallback] - score[c]`
//!
//! The *risk ratio* is `risk / saved`; a promise allows choices up to a threshold. Declining costs what the choice would have
//! saved. So of all rules that leave the same share of slow inputs, a limit on the ratio costs least (a Lagrange multiplier;
//! the lemma of Neyman and Pearson). A limit on the risk alone declines as readily where padding saves a third as where it
//! saves a hundredth.
//!
//! Without boosters, the risk is the share of inputs on which the choice is slower than the fallback by more than the limit,
//! shrunk towards the parent's like the scores ([`super::scores`]):
//!
//! `risk[node][c] = (slow inputs in node + shrinkage * risk[parent][c]) / (inputs in node + shrinkage)`
//!
//! With boosters, whose scores are different on every input, it is the risk that their rows add up to ([`ah_types::risk`]),
//! times a constant.
//!
//! Slowdown with a promise of 1 %, over twenty random partitions of PyTorch's logs (the penalty is
//! that of `promise::trainer`):
//!
//! | | pad_mm A100 | mm A100 |
//! | --- | --- | --- |
//! | a limit on the risk | 1.0101 | 1.0166 |
//! | a limit on the ratio, penalty 0.5 | 1.0064 | 1.0124 |
//! | a limit on the ratio, penalty 0.2 | 1.0069 | 1.0129 |
//! | that with the Student-t tail of `ln(t_choice / t_fallback)` as the risk | 1.0078 | 1.0138 |

use ah_types::{ChoiceId, LEAST_RISK, MARGIN_STEP};

use super::grown::GrownTree;
use crate::data::{Subset, Table};

/// The parent's risk weighs as much as this many inputs. Slow inputs are rare, so a leaf alone shows
/// little: of 6, 10, 20 and 40 the last loses least on mm A100, and no more than others on pad_mm.
const SHRINKAGE: f64 = 40.0;
/// A choice that was measured on fewer inputs has a risk of 1.
const MIN_INPUTS: f64 = 3.0;

/// The risk of a choice beside boosters whose rows add up to a risk of 1. With it, the thresholds that calibration tries reach
/// from far above the greatest saving to far below the least that matters.
const RISK_OF_ROWS: f64 = 0.03;

/// Returns what a choice risks for what it saves; infinite if it saves nothing, or nobody knows what (the leaf never measured
/// the fallback).
pub fn risk_ratio(risk: f64, saved: f64) -> f64 {
    if saved > 0.0 && saved.is_finite() { risk / saved } else { f64::INFINITY }
}

/// Returns the risk of a choice beside boosters whose rows have this last sum.
pub fn risk_of_rows(sum: i16) -> f64 {
    RISK_OF_ROWS * ah_types::risk(sum)
}

/// Returns the margin of a model with boosters that allows choices up to this ratio; `None` if it allows all.
pub fn margin(threshold: f64) -> Option<f64> {
    // No choice saves 1, however low the risk.
    let margin = if threshold > 0.0 { RISK_OF_ROWS / threshold } else { 1.0 / LEAST_RISK };
    threshold.is_finite().then(|| (margin / MARGIN_STEP).ceil() * MARGIN_STEP)
}

/// The risks of choices.
#[derive(Clone, Debug)]
pub struct Risks {
    /// The choice that has none.
    pub fallback: ChoiceId,
    choices: usize,
    /// Node after node, the risk of each choice; empty where the boosters' rows have the risk.
    risks: Vec<f32>,
}

/// Counts of inputs for one choice in one node.
#[derive(Clone, Copy, Default)]
struct SlowCount {
    /// Inputs where both the choice and the fallback have a time.
    inputs: f64,
    /// Those where the choice is slower than the limit.
    slow: f64,
}

impl Risks {
    /// Returns the risks beside boosters: their rows have them.
    pub fn of_rows(fallback: ChoiceId) -> Self {
        Self { fallback, choices: 0, risks: Vec::new() }
    }

    /// Returns the risks in all nodes of a tree, from the rows that reach them.
    pub fn of_leaves(
        tree: &GrownTree,
        table: &Table,
        rows: &Subset<'_>,
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
                    (slow + SHRINKAGE * risks[grown.parent as usize * choices + choice])
                        / (inputs + SHRINKAGE)
                };
            }
        }
        let known =
            |(risk, count): (f64, &SlowCount)| if count.inputs >= MIN_INPUTS { risk as f32 } else { 1.0 };
        Self { fallback, choices, risks: risks.into_iter().zip(&counts).map(known).collect() }
    }

    /// Returns the risk of a choice in a leaf, beside boosters whose rows have this sum.
    pub fn of(&self, leaf: u32, choice: ChoiceId, sums: &[i16]) -> f64 {
        match sums.last() {
            Some(sum) => risk_of_rows(*sum),
            None => f64::from(self.risks[leaf as usize * self.choices + choice.index()]),
        }
    }
}

fn count(
    tree: &GrownTree,
    table: &Table,
    rows: &Subset<'_>,
    fallback: ChoiceId,
    limit: f64,
) -> Vec<SlowCount> {
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
