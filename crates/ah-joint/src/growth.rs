//! Growth of one tree: the engine of all learners.
//!
//! A row has a code in each column, a weight, and one or more numbers. A split sends the codes up to a limit to the left. The best
//! one lowers the variance of the numbers most (Breiman and others, "Classification and Regression Trees", 1984):
//!
//! `gain = |qL|²/nL + |qR|²/nR − |q|²/n`
//!
//! q is the sum of the numbers of a node's rows and n the sum of their weights. The leaf whose split gains most is split next (Shi, "Best-first decision tree learning", 2007).
//!
//! Sums are whole numbers, so they depend neither on the order of the rows nor on the threads, and equal partitions have equal gains
//! in every column.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use ah_types::random;
use rayon::prelude::*;

/// Sums of numbers stay below 2^31.
const SUM_BITS: u32 = 31;
/// Most bits of the greatest number. Each doubling of the rows beyond 32,767 takes one bit away; the sums lose nothing, as twice as
/// many rounding errors even out.
const NUMBER_BITS: u32 = 16;
/// The weights of all rows add up to at most 2^24; beyond that they are rounded.
const WEIGHT_BITS: u32 = 24;
/// The numbers of a row are padded to a multiple of this, so that loops over them use the registers of every processor.
const LANES: usize = 4;
/// A split must gain more than this share of its node's variance.
const LEAST_GAIN: f64 = 1e-4;
/// A thread searches columns of at least this many rows × columns at once: splitting less takes longer than it saves.
const LEAST_AT_ONCE: usize = 25_000;

/// A column: the codes of all inputs, each below `levels`.
#[derive(Clone, Copy, Debug)]
pub struct Codes<'a> {
    /// By input.
    pub codes: &'a [u16],
    /// The number of codes.
    pub levels: usize,
    /// What a gain by this column counts where columns compete for a split.
    pub worth: f64,
}

/// The rows to grow from: for each its numbers, times its weight, as whole numbers.
#[derive(Clone, Debug)]
pub struct Sample {
    /// What a whole number of 1 is worth.
    unit: f64,
    /// Whole numbers of a row.
    width: usize,
    numbers: Vec<i32>,
    weights: Vec<u32>,
}

/// What limits a tree.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Most splits on a path.
    pub depth: usize,
    /// Most leaves.
    pub leaves: usize,
    /// Fewest rows in a leaf.
    pub rows: usize,
}

/// The splits of a tree. The root comes first, children come behind their parent, and a right child follows its left one.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    /// The nodes.
    pub nodes: Vec<Node>,
}

/// A node of a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Node {
    /// The position of the parent; the root is its own.
    pub parent: u32,
    /// The position of the left child; 0 in a leaf.
    pub left: u32,
    /// The position of the column.
    pub column: u32,
    /// The greatest code that goes left.
    pub limit: u16,
    /// The least code of the node's rows that goes right.
    pub next: u16,
    /// How much the split lowers the squared deviations.
    pub gain: f64,
}

/// One leaf.
impl Default for Tree {
    fn default() -> Self {
        Self { nodes: vec![Node::default()] }
    }
}

impl Tree {
    /// Splits a leaf as this node says. Returns the left child.
    pub fn split(&mut self, at: usize, split: Node) -> usize {
        let left = self.nodes.len();
        self.nodes[at] = Node { parent: self.nodes[at].parent, left: left as u32, ..split };
        self.nodes.extend([Node { parent: at as u32, ..Node::default() }; 2]);
        left
    }

    /// The children of a node, unless it is a leaf.
    pub fn children(&self, at: usize) -> Option<[usize; 2]> {
        let left = self.nodes[at].left as usize;
        (left > 0).then_some([left, left + 1])
    }

    /// The number of leaves.
    pub fn leaves(&self) -> usize {
        self.nodes.len() / 2 + 1
    }

    /// The tree with only the splits that `keep` keeps, from the root down, and the old position of each of its nodes.
    pub fn part(&self, keep: impl Fn(usize) -> bool) -> (Self, Vec<usize>) {
        let mut tree = Self::default();
        let mut old = vec![0];
        let mut at = 0;
        while at < old.len() {
            if let Some(children) = self.children(old[at]).filter(|_| keep(old[at])) {
                tree.split(at, self.nodes[old[at]]);
                old.extend(children);
            }
            at += 1;
        }
        (tree, old)
    }

    /// The leaf that a row reaches whose code in each column `code` returns.
    #[inline]
    pub fn leaf(&self, code: impl Fn(usize) -> u16) -> usize {
        let mut at = 0;
        loop {
            let node = &self.nodes[at];
            if node.left == 0 {
                return at;
            }
            at = node.left as usize + usize::from(code(node.column as usize) > node.limit);
        }
    }
}

impl Sample {
    /// The rows with these numbers, `outputs` for each, and these weights. The greatest number sets the unit.
    pub fn new(outputs: usize, numbers: &[f32], weights: &[u32]) -> Self {
        let total: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
        let shift = bits(total).saturating_sub(WEIGHT_BITS);
        let weights: Vec<u32> = weights.iter().map(|&weight| (weight >> shift).max(1)).collect();
        let total: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
        let greatest = numbers.iter().fold(f32::MIN_POSITIVE, |a, b| a.max(b.abs()));
        let one = f64::from(1_u32 << NUMBER_BITS.min(SUM_BITS.saturating_sub(bits(total))));
        let factor = one / f64::from(greatest);
        let width = outputs.max(1).next_multiple_of(LANES);
        let mut whole = vec![0; weights.len() * width];
        let rows = whole.par_chunks_exact_mut(width).zip(numbers.par_chunks_exact(outputs.max(1)));
        rows.zip(&weights).with_min_len(1024).for_each(|((whole, numbers), &weight)| {
            for (whole, &number) in whole.iter_mut().zip(numbers) {
                *whole = (f64::from(number) * factor).round() as i32 * weight as i32;
            }
        });
        Self { unit: 1.0 / factor, width, numbers: whole, weights }
    }

    /// Rows of (choice, number). A choice without a number has 0.
    ///
    /// 64 random projections of more choices (SketchBoost, 2022) save a tenth of the time, and PyTorch's mm for Hugging Face, of 132
    /// choices, loses 0.47 points more (eight seeds).
    pub fn of_choices<R: IntoIterator<Item = (u32, f64)>>(
        rows: impl IndexedParallelIterator<Item = R>,
        choices: usize,
        weights: &[u32],
    ) -> Self {
        let mut numbers = vec![0.0; rows.len() * choices];
        numbers.par_chunks_exact_mut(choices.max(1)).zip(rows).for_each(|(numbers, row)| {
            row.into_iter().for_each(|(choice, number)| numbers[choice as usize] = number as f32);
        });
        Self::new(choices, &numbers, weights)
    }

    fn row(&self, row: u32) -> &[i32] {
        &self.numbers[row as usize * self.width..][..self.width]
    }

    fn totals(&self, rows: &[u32]) -> Totals {
        let mut totals = Totals { sums: vec![0; self.width], weight: 0, whole: 0.0, deviation: 0.0 };
        let mut squares = 0.0;
        for &row in rows {
            let weight = self.weights[row as usize];
            add(&mut totals.sums, self.row(row));
            totals.weight += u64::from(weight);
            squares += square(self.row(row)) / f64::from(weight);
        }
        totals.whole = square(&totals.sums);
        totals.deviation = squares - totals.whole / totals.weight as f64;
        totals
    }
}

/// Draws this share of the numbers below `count`, ascending; all where none is drawn.
pub fn part(count: usize, share: f64, seed: u64) -> Vec<u32> {
    let all = 0..count as u32;
    let drawn: Vec<u32> = all.clone().filter(|&at| random::fraction(seed, u64::from(at)) < share).collect();
    if drawn.is_empty() { all.collect() } else { drawn }
}

/// Grows a tree from the rows of a sample by the columns at the positions `kept`, ascending; row i has the codes of `inputs[i]`.
pub fn grow(columns: &[Codes<'_>], kept: Vec<u32>, inputs: &[u32], sample: &Sample, limits: &Limits) -> Tree {
    let codes = |(at, column): (usize, &Codes<'_>)| match kept.binary_search(&(at as u32)) {
        Ok(_) => inputs.iter().map(|&input| column.codes[input as usize]).collect(),
        Err(_) => Vec::new(),
    };
    let codes = columns.par_iter().enumerate().map(codes).collect();
    let growth = Growth { columns, codes, sample, limits };
    let mut tree = Tree::default();
    // Gains are positive, so their bits are in their order. Of equal gains, the first leaf is the greatest.
    let by_gain = |leaf: OpenLeaf| ((leaf.best.gain.to_bits(), Reverse(leaf.node)), leaf);
    let mut open = BTreeMap::new();
    open.extend(growth.open(0, 0, (0..inputs.len() as u32).collect(), kept).map(by_gain));
    for _ in 1..limits.leaves {
        let Some((_, OpenLeaf { best, node, depth, rows, columns })) = open.pop_last() else { break };
        let left = tree.split(node, Node { gain: best.gain * sample.unit.powi(2), ..best });
        let codes = &growth.codes[best.column as usize];
        let (on_left, on_right): (Vec<u32>, Vec<u32>) =
            rows.into_iter().partition(|&row| codes[row as usize] <= best.limit);
        open.extend(growth.open(left, depth + 1, on_left, columns.clone()).map(by_gain));
        open.extend(growth.open(left + 1, depth + 1, on_right, columns).map(by_gain));
    }
    tree
}

/// The data of one growth.
struct Growth<'a> {
    columns: &'a [Codes<'a>],
    /// By column, the code of each row.
    codes: Vec<Vec<u16>>,
    sample: &'a Sample,
    limits: &'a Limits,
}

/// A leaf with its best split.
struct OpenLeaf {
    best: Node,
    node: usize,
    depth: usize,
    rows: Vec<u32>,
    /// The columns that vary in it.
    columns: Vec<u32>,
}

/// The sums of a node's rows.
struct Totals {
    sums: Vec<i32>,
    weight: u64,
    /// `|q|²`
    whole: f64,
    /// The sum of the squared deviations from the mean.
    deviation: f64,
}

impl Growth<'_> {
    /// A leaf of these rows if it may be split. `columns` vary in its parent.
    fn open(&self, node: usize, depth: usize, rows: Vec<u32>, columns: Vec<u32>) -> Option<OpenLeaf> {
        if depth >= self.limits.depth || rows.len() < 2 * self.limits.rows.max(1) {
            return None;
        }
        let totals = self.sample.totals(&rows);
        if totals.deviation <= 0.0 {
            return None;
        }
        let search = |bins: &mut Bins, &column: &u32| self.best_of_column(column, &rows, &totals, bins);
        let at_once = LEAST_AT_ONCE.div_ceil(rows.len());
        let found: Vec<Option<Node>> =
            columns.par_iter().with_min_len(at_once).map_init(Bins::default, search).collect();
        let worth = |node: &Node| node.gain * self.columns[node.column as usize].worth;
        let best =
            found.iter().flatten().copied().reduce(|a, b| if worth(&b) > worth(&a) { b } else { a })?;
        let columns = columns.into_iter().zip(&found).filter(|(_, found)| found.is_some());
        let columns = columns.map(|(column, _)| column).collect();
        let is_enough = best.gain > LEAST_GAIN * totals.deviation && best.gain > 0.0;
        is_enough.then_some(OpenLeaf { best, node, depth, rows, columns })
    }

    /// The best split of a column, however little it gains; `None` if the column does not vary.
    fn best_of_column(&self, column: u32, rows: &[u32], totals: &Totals, bins: &mut Bins) -> Option<Node> {
        let width = self.sample.width;
        let codes = &self.codes[column as usize][..];
        let levels = self.columns[column as usize].levels;
        bins.resize(levels, width);
        let Bins { sums, counts, met } = bins;
        for &row in rows {
            let code = usize::from(codes[row as usize]);
            let count = &mut counts[code];
            count.weight += u64::from(self.sample.weights[row as usize]);
            count.rows += 1;
            met[code / 64] |= 1 << (code % 64);
            add(&mut sums[code * width..][..width], self.sample.row(row));
        }
        let least = self.limits.rows.max(1);
        let share = |square: f64, weight: u64| square / weight as f64;
        let whole = share(totals.whole, totals.weight);
        let mut best = Node { column, gain: f64::NEG_INFINITY, ..Node::default() };
        // The rows move from right to left, code by code.
        let mut left = vec![0; width];
        let mut weight = 0;
        let mut on_left = 0;
        let mut last = None;
        let mut codes_met = 0;
        for (word, met) in met.iter_mut().enumerate() {
            while *met != 0 {
                let code = word * 64 + met.trailing_zeros() as usize;
                *met &= *met - 1;
                if let Some(limit) = last
                    && on_left >= least
                    && rows.len() - on_left >= least
                {
                    let (of_left, of_right) = squares(&left, &totals.sums);
                    let gain = share(of_left, weight) + share(of_right, totals.weight - weight) - whole;
                    if gain > best.gain {
                        best = Node { limit, next: code as u16, gain, ..best };
                    }
                }
                let of_code = std::mem::take(&mut counts[code]);
                let sums = &mut sums[code * width..][..width];
                add(&mut left, sums);
                sums.fill(0);
                weight += of_code.weight;
                on_left += of_code.rows;
                last = Some(code as u16);
                codes_met += 1;
            }
        }
        (codes_met > 1).then_some(best)
    }
}

/// The rows of one code: the sum of their weights, and their number.
#[derive(Clone, Copy, Default)]
struct Count {
    weight: u64,
    rows: usize,
}

/// The rows of a node by their code in one column. All are 0 between two searches.
#[derive(Default)]
struct Bins {
    /// By code, the sums of the numbers.
    sums: Vec<i32>,
    counts: Vec<Count>,
    /// The codes that occur, a bit each.
    met: Vec<u64>,
}

impl Bins {
    fn resize(&mut self, levels: usize, width: usize) {
        if levels > self.counts.len() {
            self.sums.resize(levels * width, 0);
            self.counts.resize(levels, Count::default());
            self.met.resize(levels.div_ceil(64), 0);
        }
    }
}

fn add(sums: &mut [i32], numbers: &[i32]) {
    for (sums, numbers) in sums.chunks_exact_mut(LANES).zip(numbers.chunks_exact(LANES)) {
        sums.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
    }
}

/// `|left|²` and `|all - left|²`.
fn squares(left: &[i32], all: &[i32]) -> (f64, f64) {
    let mut sums = [[0.0; LANES]; 2];
    for (left, all) in left.chunks_exact(LANES).zip(all.chunks_exact(LANES)) {
        for lane in 0..LANES {
            sums[0][lane] += f64::from(left[lane]).powi(2);
            sums[1][lane] += f64::from(all[lane] - left[lane]).powi(2);
        }
    }
    let [left, right] = sums.map(|sums| sums.iter().sum());
    (left, right)
}

fn square(numbers: &[i32]) -> f64 {
    numbers.iter().map(|&number| f64::from(number).powi(2)).sum()
}

/// The number of bits of `x`: `x < 2^bits`.
fn bits(x: u64) -> u32 {
    u64::BITS - x.leading_zeros()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMITS: Limits = Limits { depth: 8, leaves: usize::MAX, rows: 1 };

    /// Rows of numbers with codes: the columns (codes, levels, worth), the numbers row by row, and the weights.
    #[derive(Clone, Debug)]
    struct Data {
        columns: Vec<(Vec<u16>, usize, f64)>,
        outputs: usize,
        numbers: Vec<f32>,
        weights: Vec<u32>,
    }

    impl Data {
        fn grow<'a>(&'a self, limits: &Limits) -> Tree {
            let codes = |(codes, levels, worth): &'a (Vec<u16>, usize, f64)| Codes {
                codes,
                levels: *levels,
                worth: *worth,
            };
            let columns: Vec<Codes<'_>> = self.columns.iter().map(codes).collect();
            let inputs: Vec<u32> = (0..self.weights.len() as u32).collect();
            let kept = (0..columns.len() as u32).collect();
            grow(&columns, kept, &inputs, &Sample::new(self.outputs, &self.numbers, &self.weights), limits)
        }

        /// The summed squared deviations of these rows from their mean: by the definition, from the numbers as the engine
        /// rounds them.
        fn deviation(&self, sample: &Sample, rows: &[usize]) -> f64 {
            let (mut deviation, mut weight) = (0.0, 0.0);
            rows.iter().for_each(|&row| weight += f64::from(sample.weights[row]));
            for output in 0..self.outputs {
                let value =
                    |&row: &usize| f64::from(sample.row(row as u32)[output]) / f64::from(sample.weights[row]);
                let mean =
                    rows.iter().map(|row| value(row) * f64::from(sample.weights[*row])).sum::<f64>() / weight;
                deviation += rows
                    .iter()
                    .map(|row| (value(row) - mean).powi(2) * f64::from(sample.weights[*row]))
                    .sum::<f64>();
            }
            deviation
        }

        /// The greatest gain of a split of these rows, by trying everything: what it counts, and what it is.
        fn best(&self, sample: &Sample, rows: &[usize], least: usize) -> (f64, f64) {
            let mut best = (f64::NEG_INFINITY, f64::NEG_INFINITY);
            for (codes, levels, worth) in &self.columns {
                for limit in 0..*levels as u16 {
                    let (left, right): (Vec<usize>, Vec<usize>) =
                        rows.iter().partition(|&&row| codes[row] <= limit);
                    if left.len().min(right.len()) >= least.max(1) {
                        let sides = self.deviation(sample, &left) + self.deviation(sample, &right);
                        let gain = self.deviation(sample, rows) - sides;
                        if gain * worth > best.0 {
                            best = (gain * worth, gain);
                        }
                    }
                }
            }
            best
        }
    }

    fn data() -> impl Strategy<Value = Data> {
        (2_usize..60, 1_usize..10).prop_flat_map(|(rows, outputs)| {
            let column = prop_oneof![1_u16..10, 100_u16..1000].prop_flat_map(move |levels| {
                let worth = prop_oneof![2 => Just(1.0), 1 => Just(0.4)];
                (prop::collection::vec(0..levels, rows), Just(usize::from(levels)), worth)
            });
            let weight = prop_oneof![4 => Just(1_u32), 1 => 1_u32..50];
            (
                prop::collection::vec(column, 1..6),
                Just(outputs),
                prop::collection::vec(prop_oneof![Just(0.0), 0.0..1.0_f32], rows * outputs),
                prop::collection::vec(weight, rows),
            )
                .prop_map(|(columns, outputs, numbers, weights)| Data {
                    columns,
                    outputs,
                    numbers,
                    weights,
                })
        })
    }

    proptest! {
        #[test]
        fn every_split_gains_the_most(data in data(), rows in 1_usize..4, depth in 1_usize..6) {
            let limits = Limits { depth, rows, ..LIMITS };
            let (tree, sample) = (data.grow(&limits), Sample::new(data.outputs, &data.numbers, &data.weights));
            let mut open = vec![(0_usize, 0, (0..data.weights.len()).collect::<Vec<usize>>())];
            while let Some((at, depth, rows)) = open.pop() {
                let node = tree.nodes[at];
                let ((counts, best), whole) = (data.best(&sample, &rows, limits.rows), data.deviation(&sample, &rows));
                let rounding = 1e-9 * whole.max(1.0);
                if node.left == 0 {
                    prop_assert!(depth == limits.depth || best <= LEAST_GAIN * whole + rounding, "leaf {at}");
                    continue;
                }
                let (codes, _, worth) = &data.columns[node.column as usize];
                let (left, right): (Vec<usize>, Vec<usize>) = rows.iter().partition(|&&row| codes[row] <= node.limit);
                prop_assert_eq!(right.iter().map(|&row| codes[row]).min(), Some(node.next));
                prop_assert_eq!(left.iter().map(|&row| codes[row]).max(), Some(node.limit));
                let gained = whole - data.deviation(&sample, &left) - data.deviation(&sample, &right);
                prop_assert!(gained * worth >= counts - rounding, "node {at} gains {gained} times {worth} of {counts}");
                prop_assert!((node.gain / sample.unit.powi(2) - gained).abs() <= rounding);
                open.extend([(node.left as usize, depth + 1, left), (node.left as usize + 1, depth + 1, right)]);
            }
        }

        #[test]
        fn leaves_are_limited_and_the_greatest_gain_comes_first(data in data(), leaves in 1_usize..8) {
            let (whole, part) = (data.grow(&LIMITS), data.grow(&Limits { leaves, ..LIMITS }));
            prop_assert_eq!(part.leaves(), leaves.min(whole.leaves()));
            // The splits of the part are the first ones of the whole.
            for (part, whole) in part.nodes.iter().zip(&whole.nodes).filter(|(part, _)| part.left > 0) {
                prop_assert_eq!(part, whole);
            }
        }
    }

    #[test]
    fn threads_do_not_matter() {
        let code = |row: usize, column: usize| ((row * 7919 + column * 104_729) % 10_007 / 20) as u16;
        let columns =
            (0..12).map(|column| ((0..9000).map(|row| code(row, column)).collect(), 501, 1.0)).collect();
        let number = |at: usize| (f32::from(code(at / 9, at % 9)) - f32::from(code(at / 9, 0)) / 2.0).abs();
        let numbers = (0..9000 * 9).map(number).collect();
        let data = Data { columns, outputs: 9, numbers, weights: vec![1; 9000] };
        let tree = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| data.grow(&Limits { depth: 12, rows: 3, ..LIMITS }))
        };
        assert_eq!(tree(1), tree(3));
        assert!(tree(1).nodes.len() > 200);
    }
}
