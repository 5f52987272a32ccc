//! The risks in the rows of boosters: where a choice must save more than elsewhere.
//!
//! A choice must save `margin * risk` to be allowed. The margin is calibrated; the risk of an input follows from how often
//! inputs like it were slower than the fallback, out of fold. It is halfway between 1 and their share over the mean share:
//!
//! `risk = (1 + share / mean share) / 2`
//!
//! What a choice saves says much about its risk by itself, so the share alone would count it twice. The risk is learned by
//! boosting in the trees that there are: each node has the mean of what the trees before left of it, drawn towards its
//! parent's mean. With a promise of 1 %, the convolutions lose 1.0603 1.0186 1.0344 instead of 1.0667 1.0190 1.0345 (mean of
//! four seeds), at the same share of slow inputs. docs/laboratory.md has what was tried instead.

use ah_types::{ChoiceId, RISK_UNIT};

use crate::data::{Columns, Table, Targets};
use crate::tree::{Boosters, CompactTree, FittedEnsemble, nearest};

/// The share of a node's mean that its row takes.
const RATE: f64 = 0.1;
/// The parent's mean weighs as much as this many inputs. Between 10 and 80 forward convolutions lose the same.
const KAPPA: f64 = 40.0;

/// What an ensemble takes on an input that it was not learned from, where it is not the fallback.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    input: u32,
    /// True if it is slower than the fallback by more than the limit.
    is_slow: bool,
}

/// Returns what always deciding takes on these inputs.
pub fn taken(
    fitted: &FittedEnsemble,
    columns: &Columns,
    table: &Table,
    targets: &Targets,
    inputs: &[u32],
    fallback: ChoiceId,
    limit: f64,
) -> Vec<Taken> {
    let mut ranking = Vec::new();
    let mut taken = |&input: &u32| {
        let base = table.usable(input, fallback)?;
        fitted.rank(columns, targets, input, &mut ranking);
        let choice = ranking.first()?.choice;
        let cell = table.cell(input, choice).filter(|_| choice != fallback)?;
        Some(Taken { input, is_slow: cell.is_slower(base, limit) })
    };
    inputs.iter().filter_map(&mut taken).collect()
}

/// Learns the risks of boosters.
pub fn learn<'a>(boosters: &mut Boosters, columns: &Columns, taken: impl Iterator<Item = &'a Taken>) {
    let taken: Vec<Taken> = taken.copied().collect();
    let mean = taken.iter().filter(|taken| taken.is_slow).count() as f64 / taken.len() as f64;
    // Without slow inputs there is nothing to learn.
    if mean.is_nan() || mean == 0.0 {
        return;
    }
    let inputs: Vec<u32> = taken.iter().map(|taken| taken.input).collect();
    let codes = columns.by_row(&inputs);
    let risk = |taken: &Taken| f64::from(u8::from(taken.is_slow)) / mean;
    let mut left: Vec<f64> = taken.iter().map(|taken| (1.0 + risk(taken)) / 2.0 - 1.0).collect();
    for tree in &mut boosters.trees {
        let leaves = tree.splits.leaves(&codes, columns.all().len());
        let means = means(&tree.splits, &leaves, &left);
        for (row, mean) in tree.rows.chunks_exact_mut(boosters.row_length).zip(means) {
            row[boosters.row_length - 1] = nearest(mean * RATE, RISK_UNIT);
        }
        for (left, leaf) in left.iter_mut().zip(leaves) {
            *left -= f64::from(tree.rows[(leaf + 1) * boosters.row_length - 1]) * RISK_UNIT;
        }
    }
}

/// Returns the mean value of each node, drawn towards its parent's; the root's is drawn towards 0.
fn means(tree: &CompactTree, leaves: &[usize], values: &[f64]) -> Vec<f64> {
    let mut sums = vec![(0.0, 0.0); tree.nodes()];
    for (&leaf, value) in leaves.iter().zip(values) {
        sums[leaf].0 += value;
        sums[leaf].1 += 1.0;
    }
    // Children come behind their parents.
    let splits: Vec<(usize, usize)> =
        (0..tree.nodes()).filter_map(|node| tree.split(node).map(|(_, _, left)| (node, left))).collect();
    for &(node, left) in splits.iter().rev() {
        sums[node] = (sums[left].0 + sums[left + 1].0, sums[left].1 + sums[left + 1].1);
    }
    let drawn = |(sum, count): (f64, f64), to: f64| (sum + KAPPA * to) / (count + KAPPA);
    let mut means = vec![0.0; tree.nodes()];
    means[0] = drawn(sums[0], 0.0);
    for (node, left) in splits {
        for child in [left, left + 1] {
            means[child] = drawn(sums[child], means[node]);
        }
    }
    means
}
