//! Looking one split ahead: of the best columns that is taken whose split and the best splits of its
//! two children, by the same columns, gain the most together.
//!
//! In the last levels above the depth limit (`Soft::look_levels`), where no later split can make up
//! for a greedy one. There [`Preset::LookAhead`](super::Preset) comes to lose 7 ± 2 1e-4 less on pad_mm and 2 ± 2 on mixed_mm H100
//! and mm; in the first three of eight levels nothing changes but the time. All columns for the
//! children instead of the best eight: as good, three times the time.

use super::Soft;
use super::gain::{Candidate, Scales};
use super::scan::Scan;
use super::subtree::{Buffers, Fit, Node, Subtree, partition};

impl Soft {
    /// True where a node of this depth looks ahead; not where its children cannot be split.
    pub(super) fn looks(&self, depth: usize) -> bool {
        let left = self.max_depth.saturating_sub(depth);
        self.look > 0 && (2..=self.look_levels).contains(&left)
    }
}

/// A node that looks ahead.
pub(super) struct Look<'a> {
    pub(super) fit: &'a Fit<'a>,
    pub(super) subtree: &'a Subtree,
    pub(super) node: &'a Node,
    pub(super) scales: &'a Scales,
}

impl Look<'_> {
    /// The best split by the columns that stand in `buffers` behind the node's: those that vary in it.
    pub(super) fn best_split(&self, buffers: &mut Buffers) -> Option<Candidate> {
        let Self { fit, subtree, node, scales } = *self;
        // The best split of each of the best columns, the best first; of equals the first column's.
        let mut candidates: Vec<Candidate> = Vec::with_capacity(fit.soft.look + 1);
        for &column in &buffers.columns[node.columns.1..] {
            let last = candidates.last().filter(|_| candidates.len() == fit.soft.look);
            let above = last.map_or(fit.soft.min_gain.next_down(), |last| last.gain);
            let order = &subtree.order_of(column)[node.start..node.end];
            let scan = Scan { fit, subtree, totals: &node.totals, scales, column, order, above };
            if let Some(found) = scan.best(&mut buffers.left) {
                candidates.insert(candidates.partition_point(|c| c.gain >= found.gain), found);
                candidates.truncate(fit.soft.look);
            }
        }
        let columns: Vec<u32> = candidates.iter().map(|c| c.column).collect();
        let mut best: Option<(f64, Candidate)> = None;
        for candidate in candidates {
            let above = best.map_or(f64::NEG_INFINITY, |b| b.0);
            if let Some(gain) = self.ahead(&candidate, &columns, above, buffers) {
                best = Some((gain, candidate));
            }
        }
        best.map(|(_, candidate)| candidate)
    }

    /// What a candidate gains with the best splits of its two children by these columns, in the
    /// node's scale, where it is more than `above`.
    fn ahead(
        &self,
        candidate: &Candidate,
        columns: &[u32],
        above: f64,
        buffers: &mut Buffers,
    ) -> Option<f64> {
        let Self { fit, subtree, node, scales } = *self;
        let middle = subtree.mark(node, candidate, &mut buffers.goes_left) - node.start;
        let members = &subtree.order_of(candidate.column)[node.start..node.end];
        let sides = [&members[..middle], &members[middle..]].map(|m| subtree.totals(&fit.samples, m));
        let with = |of_sides: f64| candidate.gain + fit.soft.gamma * of_sides;
        if with(sides.iter().map(|side| side.most(scales)).sum()) <= above {
            return None;
        }
        let mut gains = [0.0_f64; 2];
        let mut parts = vec![0; node.end - node.start];
        for &column in columns {
            parts.copy_from_slice(&subtree.order_of(column)[node.start..node.end]);
            partition(&mut parts, &buffers.goes_left, &mut buffers.order);
            let (left, right) = parts.split_at(middle);
            for (side, order) in [left, right].into_iter().enumerate() {
                let (totals, above) = (&sides[side], gains[side]);
                let scan = Scan { fit, subtree, totals, scales, column, order, above };
                gains[side] = scan.best(&mut buffers.left).map_or(above, |found| found.gain);
            }
        }
        let gain = with(gains[0] + gains[1]);
        (gain > above).then_some(gain)
    }
}
