//! Splitting large nodes: for each column the sums of the rows of each code. They are counted for
//! the smaller child of a split and subtracted for the larger, so a level costs at most half its
//! rows × columns.

use rayon::prelude::*;

use super::gain::{Candidate, RowSums, Scales, Totals};
use super::lanes::{Block, Lanes, Many, Run, Sums, add};
use super::samples::{Layout, Row};
use super::subtree::Fit;

/// Rows that are counted for one column after the other: their sums' entries stay in the cache.
const CHUNK: usize = 256;
/// Columns that are counted at the same time: a sum of few bins would wait for its own last value.
const TOGETHER: usize = 4;
/// Below this many rows × columns one thread is faster.
const PARALLEL: usize = 50_000;

/// The sums of one column's codes.
struct Histogram {
    /// By code: blocks of targets, then of the costs' differences from what is common.
    lanes: Vec<Block>,
    bins: Vec<Bin>,
}

/// What a bin holds beside its lanes.
#[derive(Clone, Copy, Default)]
struct Bin {
    rows: u32,
    /// 0 where every row counts once.
    count: u32,
    common: i32,
}

/// The sums of all columns of a node.
pub(super) struct Histograms {
    columns: Vec<Histogram>,
    layout: Layout,
}

impl Histograms {
    /// Counts these rows.
    pub(super) fn new(fit: &Fit<'_>, rows: &[u32]) -> Self {
        let layout = fit.samples.layout;
        let empty = |column: &crate::data::Column| Histogram {
            lanes: vec![[0; 8]; column.levels() * layout.blocks()],
            bins: vec![Bin::default(); column.levels()],
        };
        let mut columns: Vec<Histogram> = fit.columns.iter().map(empty).collect();
        let group = group(rows.len(), columns.len());
        let count = |(at, group_of): (usize, &mut [Histogram])| {
            fit.processor.run(Counting { fit, rows, first: at * group, histograms: group_of });
        };
        if group < columns.len() {
            columns.par_chunks_mut(group).enumerate().for_each(count);
        } else {
            columns.chunks_mut(group).enumerate().for_each(count);
        }
        Self { columns, layout }
    }

    /// Takes another node's rows out.
    pub(super) fn subtract(&mut self, other: &Self) {
        let subtract = |(all, part): (&mut Histogram, &Histogram)| {
            for (all, part) in all.lanes.as_flattened_mut().iter_mut().zip(part.lanes.as_flattened()) {
                *all -= part;
            }
            for (all, part) in all.bins.iter_mut().zip(&part.bins) {
                all.rows -= part.rows;
                all.count -= part.count;
                all.common -= part.common;
            }
        };
        self.columns.par_iter_mut().zip(&other.columns).for_each(subtract);
    }

    /// The best split of the node that these are of, where one gains enough.
    pub(super) fn best_split(&mut self, fit: &Fit<'_>, rows: &[u32]) -> Option<Candidate> {
        let totals = self.totals(fit, rows)?;
        if totals.is_pure() {
            return None;
        }
        let scales = totals.scales(fit.soft.alpha, fit.samples.one);
        let scan = |(column, histogram): (usize, &Histogram)| {
            fit.processor.run(Scan {
                histogram,
                fit,
                totals: &totals,
                scales: &scales,
                layout: self.layout,
                column,
            })
        };
        let found: Vec<Option<Candidate>> = self.columns.par_iter().enumerate().map(scan).collect();
        // Of equal gains the first column's.
        found.into_iter().flatten().reduce(|a, b| if b.gain > a.gain { b } else { a })
    }

    fn totals(&self, fit: &Fit<'_>, rows: &[u32]) -> Option<Totals> {
        let first = self.columns.first()?;
        let blocks = self.layout.blocks();
        let mut lanes = vec![[0; 8]; blocks];
        let mut common = 0;
        for (bin, of_bin) in first.bins.iter().zip(first.lanes.chunks_exact(blocks.max(1))) {
            add(&mut lanes, of_bin);
            common += bin.common;
        }
        whole(self.layout, &mut lanes, common);
        let (samples, mut sums) = (&fit.samples, RowSums::default());
        for &row in rows {
            sums.add(samples, row);
        }
        Some(Totals::new(lanes, self.layout.targets(), sums))
    }
}

/// Makes differences from what is common costs, and copies of the first of what fills the last block up.
#[inline(always)]
fn whole(layout: Layout, lanes: &mut [Block], common: i32) {
    let costs = lanes[layout.targets()..].as_flattened_mut();
    costs.iter_mut().for_each(|c| *c += common);
    if let Some(&copied) = costs.first() {
        costs[layout.costs..].fill(copied);
    }
}

/// Counting rows for some columns, of which `first` is the first.
struct Counting<'a> {
    fit: &'a Fit<'a>,
    rows: &'a [u32],
    first: usize,
    histograms: &'a mut [Histogram],
}

impl Run for Counting<'_> {
    type Output = ();

    #[inline(always)]
    fn run<L: Lanes>(self, _: L) {
        let samples = &self.fit.samples;
        let blocks = samples.layout.blocks();
        for rows in self.rows.chunks(CHUNK) {
            let columns = (self.first..).step_by(TOGETHER);
            for (first, histograms) in columns.zip(self.histograms.chunks_mut(TOGETHER)) {
                for &row in rows {
                    let (lanes, facts) = (samples.row(row), samples.facts(row));
                    let count = if samples.unweighted { 0 } else { facts.count };
                    for (histogram, &code) in histograms.iter_mut().zip(&self.fit.codes(row)[first..]) {
                        let code = usize::from(code);
                        let bin = &mut histogram.bins[code];
                        bin.rows += 1;
                        bin.count += count;
                        bin.common += facts.common;
                        let sums = &mut histogram.lanes[code * blocks..][..blocks];
                        match lanes {
                            Row::Dense(lanes) => add(sums, lanes),
                            Row::Sparse(entries) => {
                                let sums = sums.as_flattened_mut();
                                entries.iter().for_each(|&(lane, value)| sums[lane as usize] += value);
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The best split of one column.
struct Scan<'a> {
    histogram: &'a Histogram,
    fit: &'a Fit<'a>,
    totals: &'a Totals,
    scales: &'a Scales,
    layout: Layout,
    column: usize,
}

impl Run for Scan<'_> {
    type Output = Option<Candidate>;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Option<Candidate> {
        let (judge, blocks) = (self.totals.judge(self.scales, lanes), self.layout.blocks());
        let unweighted = self.fit.samples.unweighted;
        let all: u32 = self.histogram.bins.iter().map(|b| b.rows).sum();
        let least = self.fit.soft.min_samples_leaf.max(1) as u32;
        let above = self.fit.soft.min_gain.next_down();
        let mut best = Candidate { gain: above, column: self.column as u32, codes: (0, 0) };
        let (mut left, mut of_bin) = (vec![[0; 8]; blocks], vec![[0; 8]; blocks]);
        let mut left = Many(&mut left, self.layout.targets());
        let (mut rows, mut count) = (0, 0_u64);
        let (mut last, mut promising): (Option<u16>, _) = (None, judge.wait(above, 0.0));
        let bins = self.histogram.bins.iter().zip(self.histogram.lanes.chunks_exact(blocks.max(1)));
        for (code, (bin, lanes)) in (0_u16..=u16::MAX).zip(bins).filter(|(_, (bin, _))| bin.rows > 0) {
            if let Some(last) = last
                && rows >= least
                && all - rows >= least
                && count >= promising
            {
                let (gain, wait) = judge.above(best.gain, &left, count);
                promising = count + wait;
                if let Some(gain) = gain {
                    best = Candidate { gain, codes: (last, code), ..best };
                }
            }
            of_bin.copy_from_slice(lanes);
            whole(self.layout, &mut of_bin, bin.common);
            left.add(&of_bin);
            rows += bin.rows;
            count += u64::from(if unweighted { bin.rows } else { bin.count });
            last = Some(code);
        }
        (best.gain > above).then_some(best)
    }
}

/// How many columns a thread takes at a time. Rows are read once for each group, so a thread alone
/// takes all.
fn group(rows: usize, columns: usize) -> usize {
    let alone = rayon::current_num_threads() == 1 || rows * columns < PARALLEL;
    if alone {
        columns.max(1)
    } else {
        columns.div_ceil(rayon::current_num_threads()).next_multiple_of(TOGETHER)
    }
}
