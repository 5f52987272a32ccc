//! A small random forest (Breiman, 2001) that predicts how slow each choice is on an input. A choice may be missing on
//! any input: splits and leaves use the times that exist.

use ah_measure::sampling::{self, Rng};
use rand::Rng as _;
use rand::seq::index;

use super::columns::{Column, Encoder};

const TREES: u64 = 40;
/// Least inputs in a leaf.
const LEAST: usize = 2;
/// The share of the columns that a split may take.
const COLUMNS: f64 = 0.4;

/// What is known of an input.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// See [`Encoder`].
    pub(super) encoded: Vec<f64>,
    /// Choices and their log slowdowns.
    pub(super) cells: Vec<(u32, f64)>,
    /// How much it counts beside other inputs.
    pub(super) weight: f64,
}

/// The forest.
#[derive(Debug)]
pub(super) struct Forest {
    columns: Vec<Column>,
    trees: Vec<Vec<Node>>,
}

#[derive(Debug)]
enum Node {
    Split {
        column: usize,
        threshold: f64,
        right: usize,
    },
    /// The mean log slowdown of each choice.
    Leaf(Vec<f64>),
}

impl Forest {
    /// Learns from these inputs. The same inputs and seed give the same forest.
    pub(super) fn fit(known: &[Known], encoder: &Encoder, choices: usize, seed: u64) -> Self {
        let encoded: Vec<&[f64]> = known.iter().map(|input| input.encoded.as_slice()).collect();
        let columns = Column::all(encoder, &encoded);
        let values = columns.iter().map(|column| encoded.iter().map(|input| column.of(input)).collect());
        let weights = relative(known.iter().map(|input| input.weight));
        let table = Table { values: values.collect(), known, weights, choices };
        let tree = |tree| Grower::new(&table, sampling::Seed(seed, tree).rng()).grow();
        Self { trees: (0..TREES).map(tree).collect(), columns }
    }

    /// Returns the log slowdown of each choice at this quantile of the trees.
    pub(super) fn quantile(&self, encoded: &[f64], quantile: f64) -> Vec<f64> {
        let values: Vec<f64> = self.columns.iter().map(|column| column.of(encoded)).collect();
        let leaves: Vec<&[f64]> = self.trees.iter().map(|tree| leaf(tree, &values)).collect();
        let choices = leaves.first().map_or(0, |leaf| leaf.len());
        #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let rank = ((leaves.len() - 1) as f64 * quantile) as usize;
        let of = |choice: usize| {
            let mut means: Vec<f64> = leaves.iter().map(|leaf| leaf[choice]).collect();
            *means.select_nth_unstable_by(rank, f64::total_cmp).1
        };
        (0..choices).map(of).collect()
    }
}

fn leaf<'t>(tree: &'t [Node], values: &[f64]) -> &'t [f64] {
    let mut at = 0;
    loop {
        match &tree[at] {
            Node::Leaf(means) => return means,
            Node::Split { column, threshold, .. } if values[*column] <= *threshold => at += 1,
            Node::Split { right, .. } => at = *right,
        }
    }
}

struct Table<'k> {
    /// By column and input.
    values: Vec<Vec<f64>>,
    known: &'k [Known],
    /// By input.
    weights: Vec<f64>,
    choices: usize,
}

/// The least relative weight of an input; the greatest is its inverse.
const LEAST_WEIGHT: f64 = 1.0 / 16.0;

/// Returns weights whose mean is about 1.
fn relative(weights: impl ExactSizeIterator<Item = f64> + Clone) -> Vec<f64> {
    #[allow(clippy::cast_precision_loss)]
    let mean = weights.clone().sum::<f64>() / weights.len() as f64;
    weights.map(|weight| (weight / mean).clamp(LEAST_WEIGHT, 1.0 / LEAST_WEIGHT)).collect()
}

/// The number and the sum of some log slowdowns of one choice.
#[derive(Clone, Copy, Debug, Default)]
struct Cells {
    count: f64,
    sum: f64,
}

impl Cells {
    fn add(&mut self, cell: f64, times: f64) {
        self.count += times;
        self.sum += times * cell;
    }

    /// Returns the part of the squares that the mean explains.
    fn explained(self) -> f64 {
        if self.count > 0.5 * LEAST_WEIGHT { self.sum * self.sum / self.count } else { 0.0 }
    }
}

struct Grower<'t> {
    table: &'t Table<'t>,
    rng: Rng,
    nodes: Vec<Node>,
}

impl<'t> Grower<'t> {
    fn new(table: &'t Table<'t>, rng: Rng) -> Self {
        Self { table, rng, nodes: Vec::new() }
    }

    fn grow(mut self) -> Vec<Node> {
        let n = self.table.known.len();
        let mut inputs: Vec<usize> = (0..n).map(|_| self.rng.random_range(0..n)).collect();
        // Nothing is known of a choice without a time: it may be as fast as any.
        self.node(&mut inputs, &vec![0.0; self.table.choices]);
        self.nodes
    }

    /// Grows the tree of these inputs. `above` has the means of the node above, for choices without a time here.
    fn node(&mut self, inputs: &mut [usize], above: &[f64]) {
        let mut totals = vec![Cells::default(); self.table.choices];
        for &input in &*inputs {
            for &(choice, cell) in &self.table.known[input].cells {
                totals[choice as usize].add(cell, self.table.weights[input]);
            }
        }
        let mean = |(cells, above): (&Cells, &f64)| {
            if cells.count > 0.5 * LEAST_WEIGHT { cells.sum / cells.count } else { *above }
        };
        let means: Vec<f64> = totals.iter().zip(above).map(mean).collect();
        let Some((column, threshold)) = self.best_split(inputs, &totals) else {
            self.nodes.push(Node::Leaf(means));
            return;
        };
        let values = &self.table.values[column];
        inputs.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]).then(a.cmp(&b)));
        let (left, right) = inputs.split_at_mut(inputs.partition_point(|&input| values[input] <= threshold));
        let at = self.nodes.len();
        self.nodes.push(Node::Leaf(Vec::new()));
        self.node(left, &means);
        self.nodes[at] = Node::Split { column, threshold, right: self.nodes.len() };
        self.node(right, &means);
    }

    /// Returns the column and threshold that explain most of the squares of all choices.
    fn best_split(&mut self, inputs: &mut [usize], totals: &[Cells]) -> Option<(usize, f64)> {
        let columns = self.table.values.len();
        if inputs.len() < 2 * LEAST || columns == 0 {
            return None;
        }
        #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let tried = (columns as f64 * COLUMNS).ceil() as usize;
        let mut best = None;
        let mut most = 1e-9;
        for column in index::sample(&mut self.rng, columns, tried) {
            let values = &self.table.values[column];
            inputs.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]).then(a.cmp(&b)));
            let (mut left, mut right) = (vec![Cells::default(); totals.len()], totals.to_vec());
            let mut gain = 0.0;
            for split in 1..=inputs.len() - LEAST {
                let input = inputs[split - 1];
                for &(choice, cell) in &self.table.known[input].cells {
                    let (left, right) = (&mut left[choice as usize], &mut right[choice as usize]);
                    gain -= left.explained() + right.explained();
                    left.add(cell, self.table.weights[input]);
                    right.add(cell, -self.table.weights[input]);
                    gain += left.explained() + right.explained();
                }
                let (here, next) = (values[input], values[inputs[split]]);
                if split >= LEAST && here < next && gain > most {
                    most = gain;
                    let middle = f64::midpoint(here, next);
                    best = Some((column, if middle < next { middle } else { here }));
                }
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ah_types::Value;

    fn known(encoder: &mut Encoder, m: f64, n: f64, missing: Option<u32>) -> Known {
        let encoded = encoder.encode(&[Value::Number(m), Value::Number(n)]);
        // Choice 0 is best for small products, choice 1 for large ones, choice 2 never.
        let slow = if m * n < 4096.0 { [0.0, 0.8, 0.5] } else { [0.8, 0.0, 0.5] };
        let cells = (0..3).zip(slow).filter(|(choice, _)| Some(*choice) != missing).collect();
        Known { encoded, cells, weight: 1.0 }
    }

    #[test]
    fn a_product_of_features_is_learned_though_times_are_missing() {
        let mut encoder = Encoder::default();
        let sizes = [1.0, 3.0, 8.0, 20.0, 60.0, 150.0, 400.0, 900.0];
        let grid: Vec<(f64, f64)> = sizes.iter().flat_map(|m| sizes.iter().map(move |n| (*m, *n))).collect();
        let all: Vec<Known> = grid
            .iter()
            .enumerate()
            .map(|(i, (m, n))| known(&mut encoder, *m, *n, [None, Some(2), Some(0)][i % 3]))
            .collect();
        let forest = Forest::fit(&all, &encoder, 3, 0);
        for (m, n, winner) in [(2.0, 500.0, 0), (500.0, 2.0, 0), (700.0, 70.0, 1), (70.0, 700.0, 1)] {
            let predicted = forest.quantile(&encoder.encode(&[Value::Number(m), Value::Number(n)]), 0.5);
            let best = (0..3).min_by(|&a, &b| predicted[a].total_cmp(&predicted[b])).unwrap();
            assert_eq!(best, winner, "{m} {n} {predicted:?}");
            assert!(predicted[2] > 0.4, "{predicted:?}");
        }
        let again = Forest::fit(&all, &encoder, 3, 0);
        let input = encoder.encode(&[Value::Number(33.0), Value::Number(99.0)]);
        assert_eq!(forest.quantile(&input, 0.2), again.quantile(&input, 0.2));
    }
}
