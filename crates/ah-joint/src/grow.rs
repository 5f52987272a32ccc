//! One regression tree: the leaf whose split lowers the squared error most is split next.

use rayon::prelude::*;

/// The rows to learn from.
pub struct Sample<'a> {
    /// The codes, row by row.
    pub codes: &'a [u8],
    /// The number of columns.
    pub width: usize,
    /// The number of codes of each column. Most fields have a handful, and a leaf has bins for no others.
    pub lengths: &'a [usize],
    /// The group of each row, ascending: the model learns differences within a group only.
    pub groups: &'a [u32],
    /// What to predict, in units of 1 / [`ONE`](crate::boost::ONE).
    pub targets: &'a [i32],
    /// How much a row counts, at least 1.
    pub weights: &'a [u32],
}

/// A tree over codes.
#[derive(Clone, Debug)]
pub struct RegressionTree {
    nodes: Vec<Node>,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    column: u32,
    /// Codes up to this one go left.
    limit: u8,
    /// The left child; the right one follows. 0 in a leaf.
    left: u32,
    value: i32,
    /// How much the split lowers the squared error.
    gain: f64,
}

/// The sums of the rows of one code.
#[derive(Clone, Copy, Default)]
struct Bin {
    sum: i64,
    weight: u32,
    rows: u32,
}

/// A leaf's value is drawn towards 0 as by rows of this weight.
const SHRINKAGE: f64 = 5.0;
/// Below this number of rows × columns one thread is faster.
const PARALLEL: usize = 100_000;

/// A leaf that may be split.
struct Open {
    node: u32,
    rows: Vec<u32>,
    bins: Vec<Bin>,
    split: Option<Split>,
}

#[derive(Clone, Copy)]
struct Split {
    gain: f64,
    /// The position among the tree's columns.
    at: usize,
    limit: u8,
}

impl RegressionTree {
    /// Returns the value of the leaf that these codes reach.
    pub fn value(&self, codes: &[u8]) -> i32 {
        let mut node = &self.nodes[0];
        while node.left != 0 {
            let right = u32::from(codes[node.column as usize] > node.limit);
            node = &self.nodes[(node.left + right) as usize];
        }
        node.value
    }

    /// Adds how much the splits on each column lower the squared error.
    pub fn add_gains(&self, gains: &mut [f64]) {
        let splits = self.nodes.iter().filter(|node| node.left != 0);
        splits.for_each(|node| gains[node.column as usize] += node.gain);
    }
}

/// Grows a tree from these rows and columns: at most this many leaves, of at least this many rows, whose values are the
/// rate times their mean residual.
pub fn grow(
    data: &Sample<'_>,
    rows: Vec<u32>,
    columns: &[usize],
    (leaves, min_rows): (usize, u32),
    rate: f64,
) -> RegressionTree {
    let mut nodes = vec![leaf(data, &rows, rate)];
    let mut starts = vec![0];
    starts.extend(columns.iter().scan(0, |end, &column| {
        *end += data.lengths[column];
        Some(*end)
    }));
    let bins = count(data, &rows, columns, &starts);
    let split = best(&bins, &starts, min_rows);
    let mut open = vec![Open { node: 0, rows, bins, split }];
    for _ in 1..leaves {
        let gain = |open: &Open| open.split.map_or(0.0, |split| split.gain);
        // Of equal gains the first leaf is split.
        let Some(next) = (0..open.len()).reduce(|a, b| if gain(&open[b]) > gain(&open[a]) { b } else { a })
        else {
            break;
        };
        let Some(split) = open[next].split else { break };
        let Open { node, rows, bins, .. } = open.swap_remove(next);
        let column = columns[split.at];
        let goes_left = |row: &u32| data.codes[*row as usize * data.width + column] <= split.limit;
        let (left, right): (Vec<u32>, Vec<u32>) = rows.into_iter().partition(goes_left);
        let first = nodes.len() as u32;
        let parent = &mut nodes[node as usize];
        (parent.column, parent.limit, parent.left, parent.gain) =
            (column as u32, split.limit, first, split.gain);
        nodes.push(leaf(data, &left, rate));
        nodes.push(leaf(data, &right, rate));
        // The bins of the smaller child are counted, those of the larger are the rest.
        let is_left_smaller = left.len() <= right.len();
        let smaller = count(data, if is_left_smaller { &left } else { &right }, columns, &starts);
        let mut larger = bins;
        for (bin, other) in larger.iter_mut().zip(&smaller) {
            bin.sum -= other.sum;
            bin.weight -= other.weight;
            bin.rows -= other.rows;
        }
        let (left_bins, right_bins) = if is_left_smaller { (smaller, larger) } else { (larger, smaller) };
        for (at, rows, bins) in [(first, left, left_bins), (first + 1, right, right_bins)] {
            let split = best(&bins, &starts, min_rows);
            open.push(Open { node: at, rows, bins, split });
        }
    }
    RegressionTree { nodes }
}

fn leaf(data: &Sample<'_>, rows: &[u32], rate: f64) -> Node {
    let (mut sum, mut weight) = (0_i64, 0_u64);
    for &row in rows {
        let count = data.weights[row as usize];
        sum += i64::from(data.targets[row as usize]) * i64::from(count);
        weight += u64::from(count);
    }
    let value = (sum as f64 * rate / (weight as f64 + SHRINKAGE)).round() as i32;
    Node { column: 0, limit: 0, left: 0, value, gain: 0.0 }
}

/// Returns the bins of each column, one column after the other: those of the column at `n` from `starts[n]` on.
fn count(data: &Sample<'_>, rows: &[u32], columns: &[usize], starts: &[usize]) -> Vec<Bin> {
    let mut bins = vec![Bin::default(); starts[columns.len()]];
    let count = |(columns, starts, bins): (&[usize], &[usize], &mut [Bin])| {
        for &row in rows {
            let codes = &data.codes[row as usize * data.width..][..data.width];
            let weight = data.weights[row as usize];
            let sum = i64::from(data.targets[row as usize]) * i64::from(weight);
            for (&column, &start) in columns.iter().zip(starts) {
                let bin = &mut bins[start - starts[0] + usize::from(codes[column])];
                bin.sum += sum;
                bin.weight += weight;
                bin.rows += 1;
            }
        }
    };
    if rows.len() * columns.len() < PARALLEL {
        count((columns, starts, &mut bins));
    } else {
        let group = columns.len().div_ceil(rayon::current_num_threads()).max(1);
        let (mut parts, mut rest) = (Vec::new(), &mut bins[..]);
        for (at, columns) in columns.chunks(group).enumerate() {
            let starts = &starts[at * group..][..=columns.len()];
            let (part, after) = rest.split_at_mut(starts[columns.len()] - starts[0]);
            parts.push((columns, starts, part));
            rest = after;
        }
        parts.into_par_iter().for_each(count);
    }
    bins
}

/// Returns the split that lowers the squared error most.
fn best(bins: &[Bin], starts: &[usize], min_rows: u32) -> Option<Split> {
    let mut best: Option<Split> = None;
    let gain = |sum: i64, weight: u32| (sum as f64).powi(2) / (f64::from(weight) + SHRINKAGE);
    for (at, ends) in starts.windows(2).enumerate() {
        let bins = &bins[ends[0]..ends[1]];
        let mut all = Bin::default();
        bins.iter().for_each(|bin| all.add(bin));
        let whole = gain(all.sum, all.weight);
        let mut left = Bin::default();
        for (limit, bin) in (0_u8..=u8::MAX).zip(bins) {
            if bin.rows == 0 {
                continue;
            }
            left.add(bin);
            if left.rows < min_rows {
                continue;
            }
            if all.rows - left.rows < min_rows {
                break;
            }
            let gain =
                gain(left.sum, left.weight) + gain(all.sum - left.sum, all.weight - left.weight) - whole;
            if gain > best.map_or(0.0, |best| best.gain) {
                best = Some(Split { gain, at, limit });
            }
        }
    }
    best
}

impl Bin {
    fn add(&mut self, other: &Self) {
        self.sum += other.sum;
        self.weight += other.weight;
        self.rows += other.rows;
    }
}
