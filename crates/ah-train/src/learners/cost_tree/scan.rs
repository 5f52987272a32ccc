//! The best split of one column in a node.

use super::fit_data::FitData;
use super::gain::{Candidate, Scales, Totals};
use super::lanes::{Block, FixedSums, Lanes, Run, SliceSums, Sums};
use super::subtree::Subtree;

/// The search for the best split of one column that gains more than `above`.
#[derive(Clone, Copy)]
pub(super) struct ColumnScan<'a> {
    pub fit: &'a FitData<'a>,
    pub subtree: &'a Subtree,
    pub totals: &'a Totals,
    pub scales: &'a Scales,
    pub column: u32,
    /// The node's rows in the order of the column.
    pub order: &'a [u32],
    pub above: f64,
}

impl ColumnScan<'_> {
    /// Returns the best split, if one gains more than `above`. `buffer` has the blocks of a row.
    pub(super) fn best(self, buffer: &mut [Block]) -> Option<Candidate> {
        let min_rows = self.fit.parameters.min_samples_leaf.max(1);
        if self.order.len() < 2 * min_rows {
            return None;
        }
        let targets = self.subtree.lanes.target_blocks;
        macro_rules! fixed {
            ($($targets:literal + $costs:literal),*) => {
                match (targets, self.subtree.lanes.blocks - targets) {
                    $(($targets, $costs) => self.with(FixedSums::<$targets, $costs>(
                        [[0; 8]; $targets],
                        [[0; 8]; $costs],
                    )),)*
                    _ => {
                        buffer.fill([0; 8]);
                        self.with(SliceSums(buffer, targets))
                    }
                }
            };
        }
        fixed!(1 + 0, 2 + 0, 3 + 0, 1 + 1, 1 + 2, 2 + 2, 1 + 3, 2 + 3, 3 + 3, 2 + 4, 3 + 4, 4 + 4)
    }

    fn with<S: Sums>(self, left: S) -> Option<Candidate> {
        self.fit.processor.run(ScanWithSums(self, left))
    }
}

/// A scan with the sums of the rows on the left, at first none. Rows move from right to left in the
/// order of their codes.
struct ScanWithSums<'a, S>(ColumnScan<'a>, S);

impl<S: Sums> Run for ScanWithSums<'_, S> {
    type Output = Option<Candidate>;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Option<Candidate> {
        let Self(ColumnScan { fit, subtree, totals, scales, column, order, above }, mut left) = self;
        let min_rows = fit.parameters.min_samples_leaf.max(1);
        let judge = totals.judge(scales, lanes);
        let mut best = Candidate { gain: above, column, codes: (0, 0) };
        let (unweighted, entries) = (fit.samples.unweighted, subtree.entries);
        // A split can be better than the best once the weight on the left reaches `promising`.
        let (mut count, mut promising) = (0, judge.wait(above, 0.0));
        let mut here = order[0];
        for (rows, &next) in (1..).zip(&order[1..=order.len() - min_rows]) {
            left.add(subtree.lanes_of(here));
            count += if unweighted {
                1
            } else {
                u64::from(fit.samples.facts(subtree.rows[entries.row(here)]).count)
            };
            let codes = (entries.code(here), entries.code(next));
            here = next;
            if codes.0 == codes.1 || rows < min_rows || count < promising {
                continue;
            }
            let (gain, wait) = judge.gain_above(best.gain, &left, count);
            promising = count + wait;
            if let Some(gain) = gain {
                best = Candidate { gain, column, codes };
            }
        }
        (best.gain > above).then_some(best)
    }
}
