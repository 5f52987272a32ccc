//! What boosted trees have left to learn: the error of each measured choice of each row.

use ah_types::random;

use super::samples::Samples;

/// The errors of all rows. A choice that a row did not measure has none.
pub(super) struct Errors {
    choices: usize,
    /// By row, where its errors begin, and the end of the last one.
    starts: Vec<usize>,
    /// (choice, error), row by row.
    errors: Vec<(u32, f64)>,
    /// By row.
    weights: Vec<u32>,
}

impl Errors {
    /// Collects the (choice, error) of each row and the weights of all rows.
    pub(super) fn new<R: IntoIterator<Item = (u32, f64)>>(
        choices: usize,
        rows: impl Iterator<Item = R>,
        weights: Vec<u32>,
    ) -> Self {
        let (mut starts, mut errors) = (vec![0], Vec::new());
        for row in rows {
            errors.extend(row);
            starts.push(errors.len());
        }
        Self { choices, starts, errors, weights }
    }

    pub(super) fn choices(&self) -> usize {
        self.choices
    }

    pub(super) fn rows(&self) -> usize {
        self.weights.len()
    }

    fn row(&self, row: usize) -> &[(u32, f64)] {
        &self.errors[self.starts[row]..self.starts[row + 1]]
    }

    /// Returns the weighted mean error of each choice in each leaf, drawn towards 0 as by `shrinkage` further inputs. `leaves`
    /// has the leaf of each row, one of `nodes` nodes.
    pub(super) fn means(&self, leaves: &[usize], nodes: usize, shrinkage: f64) -> Vec<f64> {
        let mut sums = vec![(0.0, 0.0); nodes * self.choices];
        for (row, (leaf, &weight)) in leaves.iter().zip(&self.weights).enumerate() {
            let sums = &mut sums[leaf * self.choices..][..self.choices];
            for &(choice, error) in self.row(row) {
                let (sum, count) = &mut sums[choice as usize];
                *sum += error * f64::from(weight);
                *count += f64::from(weight);
            }
        }
        let mean = |(sum, count): (f64, f64)| if count > 0.0 { sum / (count + shrinkage) } else { 0.0 };
        sums.into_iter().map(mean).collect()
    }

    /// Subtracts from each row the values of its leaf.
    pub(super) fn subtract(&mut self, leaves: &[usize], values: &[f64]) {
        for (row, leaf) in leaves.iter().enumerate() {
            let values = &values[leaf * self.choices..][..self.choices];
            for (choice, error) in &mut self.errors[self.starts[row]..self.starts[row + 1]] {
                *error -= values[*choice as usize];
            }
        }
    }

    /// Returns these rows for the search for splits, with at most `most` numbers each: random projections of the errors where
    /// choices are more (Iosipoi and Vakhrushev, "SketchBoost: fast gradient boosted decision tree for multioutput problems",
    /// 2022). `seed` draws the projections.
    pub(super) fn samples(&self, rows: &[usize], most: usize, seed: u64) -> Samples {
        let outputs = self.choices.min(most);
        let mut numbers = vec![0.0; rows.len() * outputs];
        let of_rows = numbers.chunks_exact_mut(outputs.max(1)).zip(rows);
        if self.choices > outputs {
            let signs: Vec<f64> = (0..self.choices * outputs).map(|at| sign(seed, at)).collect();
            for (numbers, &row) in of_rows {
                for &(choice, error) in self.row(row) {
                    let signs = &signs[choice as usize * outputs..][..outputs];
                    numbers.iter_mut().zip(signs).for_each(|(number, sign)| *number += error * sign);
                }
            }
        } else {
            for (numbers, &row) in of_rows {
                self.row(row).iter().for_each(|&(choice, error)| numbers[choice as usize] = error);
            }
        }
        let weights: Vec<u32> = rows.iter().map(|&row| self.weights[row]).collect();
        Samples::from_numbers(outputs, &numbers, &weights)
    }
}

/// Draws 1 or -1: signs project as well as normal numbers (Achlioptas, "Database-friendly random projections", 2003).
fn sign(seed: u64, at: usize) -> f64 {
    if random::mix(seed, at as u64) & 1 == 1 { 1.0 } else { -1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::cost_tree::samples::Row;

    /// Returns the numbers of all rows, in units of the greatest.
    fn numbers(samples: &Samples, rows: u32) -> Vec<Vec<f64>> {
        let lanes = |row| match samples.row(row) {
            Row::Dense(lanes) => lanes.as_flattened()[..samples.layout.outputs].to_vec(),
            Row::Sparse(_) => unreachable!("errors are dense"),
        };
        (0..rows).map(|row| lanes(row).iter().map(|&x| f64::from(x) / samples.one).collect()).collect()
    }

    #[test]
    fn few_choices_are_taken_as_they_are() {
        let rows = [vec![(0, 0.5), (2, -1.0)], vec![(1, 0.25)]];
        let errors = Errors::new(3, rows.into_iter(), vec![1, 1]);
        let samples = errors.samples(&[0, 1], 3, 7);
        assert_eq!(numbers(&samples, 2), [[0.5, 0.0, -1.0], [0.0, 0.25, 0.0]]);
    }

    #[test]
    fn projections_keep_the_ratio_of_distances() {
        // Row 1 is 3 times as long as row 0, in other directions.
        let row = |length: f64, odd: u32| (0..40).filter(move |c| c % 2 == odd).map(move |c| (c, length));
        let errors = Errors::new(40, [row(1.0, 0), row(3.0, 1)].into_iter(), vec![1, 1]);
        let mut squares = [0.0; 2];
        for seed in 0..400 {
            let numbers = numbers(&errors.samples(&[0, 1], 8, seed), 2);
            let length = |row: &Vec<f64>| row.iter().map(|x| x * x).sum::<f64>();
            let all = length(&numbers[0]) + length(&numbers[1]);
            (0..2).for_each(|row| squares[row] += length(&numbers[row]) / all);
        }
        let ratio = squares[1] / squares[0];
        assert!((7.0..9.5).contains(&ratio), "{ratio}");
    }

    #[test]
    fn errors_shrink_by_what_their_leaf_holds() {
        let rows = [vec![(0, 1.0), (1, 4.0)], vec![(0, 3.0)], vec![(1, -2.0)]];
        let mut errors = Errors::new(2, rows.into_iter(), vec![1, 3, 1]);
        let leaves = [1, 1, 2];
        let means = errors.means(&leaves, 3, 1.0);
        assert_eq!(means, [0.0, 0.0, 10.0 / 5.0, 4.0 / 2.0, 0.0, -2.0 / 2.0]);
        errors.subtract(&leaves, &means);
        assert_eq!((errors.row(0), errors.row(1)), (&[(0, -1.0), (1, 2.0)][..], &[(0, 1.0)][..]));
    }
}
