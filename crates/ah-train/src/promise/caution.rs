//! Where boosted trees must be more careful than elsewhere.
//!
//! A choice must save `margin * caution` to be allowed. The margin is calibrated; the caution of an input follows from how
//! often inputs like it were slower than the fallback, out of fold. It is halfway between 1 and the risk there over the
//! mean risk:
//!
//! `caution = (1 + risk / mean risk) / 2`
//!
//! What a choice saves says much about its risk by itself, so the risk alone would be too much of it. The risk is learned by
//! boosting in the trees that there are: each node has the mean of what the trees before left of it, drawn towards its
//! parent's mean. With a promise of 1 %, the convolutions lose 1.0603 1.0186 1.0344 instead of 1.0667 1.0190 1.0345 (mean of
//! four seeds), at the same share of slow inputs.
//!
//! Tried instead, on the forward ones (two seeds, where this loses 1.0605): 8 or 24 further trees of 64 or 32 leaves grown for
//! the risk 1.0627 and 1.0607; one of 128 leaves 1.0634; how much slower in the place of how often 1.0607; risks to the powers
//! of 0.5 and 0.33 1.0606 and 1.0608. More in docs/laboratory.md.

use ah_types::ChoiceId;

use crate::data::{Columns, Table, Targets};
use crate::tree::{Boosted, CAUTION_UNIT, FittedTrees, Lookup, nearest_score};

/// The share of a node's mean that its caution takes.
const RATE: f64 = 0.1;
/// The parent's mean weighs as much as this many inputs. Between 10 and 80 forward convolutions lose the same.
const KAPPA: f64 = 40.0;

/// What trees take on an input that did not grow them, where it is not the fallback.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    input: u32,
    /// True if it is slower than the fallback by more than the limit.
    is_slow: bool,
}

/// Returns what always deciding takes on these inputs.
pub fn taken(
    fitted: &FittedTrees,
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
        fitted.rank(columns, table, targets, input, &mut ranking);
        let choice = ranking.first()?.vote.choice;
        let cell = table.cell(input, choice).filter(|_| choice != fallback)?;
        Some(Taken { input, is_slow: cell.is_slower(base, limit) })
    };
    inputs.iter().filter_map(&mut taken).collect()
}

/// Learns the cautions of boosted trees.
pub fn learn<'a>(boosted: &mut Boosted, columns: &Columns, taken: impl Iterator<Item = &'a Taken>) {
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
    for tree in &mut boosted.trees {
        let leaves = tree.splits.leaves(&codes, columns.all().len());
        let caution = |mean: f64| nearest_score(mean * RATE, CAUTION_UNIT);
        tree.cautions = means(&tree.splits, &leaves, &left).into_iter().map(caution).collect();
        for (left, leaf) in left.iter_mut().zip(leaves) {
            *left -= f64::from(tree.cautions[leaf]) * CAUTION_UNIT;
        }
    }
}

/// Returns the mean value of each node, drawn towards its parent's; the root's is drawn towards 0.
fn means(tree: &Lookup, leaves: &[usize], values: &[f64]) -> Vec<f64> {
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
