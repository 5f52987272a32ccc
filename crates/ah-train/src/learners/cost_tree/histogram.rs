//! The best split of a large node. Each column has a histogram: the sums of the rows of each code.
//! Histograms are counted for the smaller child of a split and subtracted for the larger, so a
//! level costs at most half its rows × columns.

use rayon::prelude::*;

use super::fit_data::FitData;
use super::gain::{Candidate, RowSums, Scales, Totals};
use super::lanes::{Block, Lanes, Run, SliceSums, Sums, add};
use super::samples::{Layout, Row};
use crate::data::Column;

/// Rows counted for one column after the other: the entries of their codes stay in the cache.
const CHUNK: usize = 256;
/// Columns counted at the same time: in a column of few bins, a sum would wait for its own last value.
const TOGETHER: usize = 4;
/// Below this number of rows × columns one thread is faster.
const PARALLEL: usize = 50_000;

/// The sums of one column's codes.
struct Histogram {
    /// By code: blocks of targets, then blocks of the costs' differences from the base cost.
    lanes: Vec<Block>,
    bins: Vec<Bin>,
}

/// The numbers of a code beside its lanes.
#[derive(Clone, Copy, Default)]
struct Bin {
    rows: u32,
    /// Sum of weights; 0 if every row has the weight 1.
    count: u32,
    base_cost: i32,
}

/// The histograms of all columns in a node.
pub(super) struct Histograms {
    columns: Vec<Histogram>,
    layout: Layout,
}

impl Histograms {
    /// Counts these rows.
    pub(super) fn new(fit: &FitData<'_>, rows: &[u32]) -> Self {
        let layout = fit.samples.layout;
        let empty = |column: &Column| Histogram {
            lanes: vec![[0; 8]; column.levels() * layout.blocks()],
            bins: vec![Bin::default(); column.levels()],
        };
        let mut columns: Vec<Histogram> = fit.columns.iter().map(empty).collect();
        let group = columns_per_thread(rows.len(), columns.len());
        let count = |(at, histograms): (usize, &mut [Histogram])| {
            fit.processor.run(RowCounter { fit, rows, first: at * group, histograms });
        };
        if group < columns.len() {
            columns.par_chunks_mut(group).enumerate().for_each(count);
        } else {
            columns.chunks_mut(group).enumerate().for_each(count);
        }
        Self { columns, layout }
    }

    /// Subtracts the rows of another node.
    pub(super) fn subtract(&mut self, other: &Self) {
        let subtract = |(all, part): (&mut Histogram, &Histogram)| {
            for (all, part) in all.lanes.as_flattened_mut().iter_mut().zip(part.lanes.as_flattened()) {
                *all -= part;
            }
            for (all, part) in all.bins.iter_mut().zip(&part.bins) {
                all.rows -= part.rows;
                all.count -= part.count;
                all.base_cost -= part.base_cost;
            }
        };
        self.columns.par_iter_mut().zip(&other.columns).for_each(subtract);
    }

    /// Returns the best split of the node that holds these rows, if one gains enough.
    pub(super) fn best_split(&self, fit: &FitData<'_>, rows: &[u32]) -> Option<Candidate> {
        let totals = self.totals(fit, rows)?;
        if totals.is_pure() {
            return None;
        }
        let scales = totals.scales(fit.parameters.alpha, fit.samples.one);
        let scan = |(column, histogram): (usize, &Histogram)| {
            let (totals, scales) = (&totals, &scales);
            fit.processor.run(HistogramScan { fit, histogram, totals, scales, layout: self.layout, column })
        };
        let found: Vec<Option<Candidate>> = self.columns.par_iter().enumerate().map(scan).collect();
        // If gains are equal, the split of the first column is taken.
        found.into_iter().flatten().reduce(|a, b| if b.gain > a.gain { b } else { a })
    }

    fn totals(&self, fit: &FitData<'_>, rows: &[u32]) -> Option<Totals> {
        let first = self.columns.first()?;
        let blocks = self.layout.blocks();
        let mut lanes = vec![[0; 8]; blocks];
        let mut base_cost = 0;
        for (bin, lanes_of_bin) in first.bins.iter().zip(first.lanes.chunks_exact(blocks.max(1))) {
            add(&mut lanes, lanes_of_bin);
            base_cost += bin.base_cost;
        }
        self.layout.complete_costs(&mut lanes, base_cost);
        let mut sums = RowSums::default();
        for &row in rows {
            sums.add(&fit.samples, row);
        }
        Some(Totals::new(lanes, self.layout.target_blocks(), sums))
    }
}

/// Counts rows in the histograms of some columns, from the column `first` on.
struct RowCounter<'a> {
    fit: &'a FitData<'a>,
    rows: &'a [u32],
    first: usize,
    histograms: &'a mut [Histogram],
}

impl Run for RowCounter<'_> {
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
                        bin.base_cost += facts.base_cost;
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

/// The search for the best split of one column in its histogram.
struct HistogramScan<'a> {
    fit: &'a FitData<'a>,
    histogram: &'a Histogram,
    totals: &'a Totals,
    scales: &'a Scales,
    layout: Layout,
    column: usize,
}

impl Run for HistogramScan<'_> {
    type Output = Option<Candidate>;

    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) -> Option<Candidate> {
        let (judge, blocks) = (self.totals.judge(self.scales, lanes), self.layout.blocks());
        let unweighted = self.fit.samples.unweighted;
        let all: u32 = self.histogram.bins.iter().map(|b| b.rows).sum();
        let least = self.fit.parameters.min_samples_leaf.max(1) as u32;
        let above = self.fit.parameters.min_gain.next_down();
        let mut best = Candidate { gain: above, column: self.column as u32, codes: (0, 0) };
        let (mut left, mut completed) = (vec![[0; 8]; blocks], vec![[0; 8]; blocks]);
        let mut left = SliceSums(&mut left, self.layout.target_blocks());
        let (mut rows, mut count) = (0, 0_u64);
        let (mut last, mut promising): (Option<u16>, _) = (None, judge.wait(above, 0.0));
        let bins = self.histogram.bins.iter().zip(self.histogram.lanes.chunks_exact(blocks.max(1)));
        for (code, (bin, lanes)) in (0_u16..=u16::MAX).zip(bins).filter(|(_, (bin, _))| bin.rows > 0) {
            if let Some(last) = last
                && rows >= least
                && all - rows >= least
                && count >= promising
            {
                let (gain, wait) = judge.gain_above(best.gain, &left, count);
                promising = count + wait;
                if let Some(gain) = gain {
                    best = Candidate { gain, codes: (last, code), ..best };
                }
            }
            completed.copy_from_slice(lanes);
            self.layout.complete_costs(&mut completed, bin.base_cost);
            left.add(&completed);
            rows += bin.rows;
            count += u64::from(if unweighted { bin.rows } else { bin.count });
            last = Some(code);
        }
        (best.gain > above).then_some(best)
    }
}

/// Returns the number of columns that a thread counts at a time. Rows are read once for each group,
/// so a single thread counts all columns together.
fn columns_per_thread(rows: usize, columns: usize) -> usize {
    let single = rayon::current_num_threads() == 1 || rows * columns < PARALLEL;
    if single {
        columns.max(1)
    } else {
        columns.div_ceil(rayon::current_num_threads()).next_multiple_of(TOGETHER)
    }
}
