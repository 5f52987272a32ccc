//! The search for the best split of one column of a subtree's node.

use super::gain::{Candidate, Scales, Totals};
use super::lanes::{Block, Few, Lanes, Many, Run, Sums};
use super::subtree::{Fit, Subtree, code, row};

/// The search for the best split of one column, where it gains more than `above`.
#[derive(Clone, Copy)]
pub(super) struct Scan<'a> {
    pub(super) fit: &'a Fit<'a>,
    pub(super) subtree: &'a Subtree,
    pub(super) totals: &'a Totals,
    pub(super) scales: &'a Scales,
    pub(super) column: u32,
    pub(super) order: &'a [u32],
    pub(super) above: f64,
}

impl Scan<'_> {
    pub(super) fn best(self, buffer: &mut [Block]) -> Option<Candidate> {
        let least_rows = self.fit.soft.min_samples_leaf.max(1);
        if self.order.len() < 2 * least_rows {
            return None;
        }
        macro_rules! few {
            ($($targets:literal + $costs:literal),*) => {
                match (self.subtree.targets, self.subtree.width - self.subtree.targets) {
                    $(($targets, $costs) => self.with(Few::<$targets, $costs>(
                        [[0; 8]; $targets],
                        [[0; 8]; $costs],
                    )),)*
                    (targets, _) => {
                        buffer.fill([0; 8]);
                        self.with(Many(buffer, targets))
                    }
                }
            };
        }
        few!(1 + 0, 2 + 0, 3 + 0, 1 + 1, 1 + 2, 2 + 2, 1 + 3, 2 + 3, 3 + 3, 2 + 4, 3 + 4, 4 + 4)
    }

    fn with<S: Sums>(self, left: S) -> Option<Candidate> {
        self.fit.processor.run(Moving(self, left))
    }
}

/// Moves rows from right to left in the order of their codes.
struct Moving<'a, S>(Scan<'a>, S);

impl<S: Sums> Run for Moving<'_, S> {
    type Output = Option<Candidate>;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Option<Candidate> {
        let Self(Scan { fit, subtree, totals, scales, column, order, above }, mut left) = self;
        let least_rows = fit.soft.min_samples_leaf.max(1);
        let judge = totals.judge(scales, lanes);
        let mut best = Candidate { gain: above, column, codes: (0, 0) };
        let unweighted = fit.samples.unweighted;
        let (mut count, mut promising) = (0, judge.wait(above, 0.0));
        let mut here = order[0];
        for (rows, &next) in (1..).zip(&order[1..=order.len() - least_rows]) {
            left.add(subtree.lanes_of(here));
            count += if unweighted { 1 } else { u64::from(fit.samples.facts(subtree.rows[row(here)]).count) };
            let codes = (code(here), code(next));
            here = next;
            if codes.0 == codes.1 || rows < least_rows || count < promising {
                continue;
            }
            let (gain, wait) = judge.above(best.gain, &left, count);
            promising = count + wait;
            if let Some(gain) = gain {
                best = Candidate { gain, column, codes };
            }
        }
        (best.gain > above).then_some(best)
    }
}
