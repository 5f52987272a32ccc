//! Trees are grown as a slow search grows them.

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
