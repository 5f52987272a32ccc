//! What boosted trees have left to learn: the error of each measured choice of each row.

use ah_joint::growth::Sample;
use rayon::prelude::*;

use super::sample::sample;

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

    /// Returns these rows for the search for splits.
    pub(super) fn sample(&self, rows: &[u32]) -> Sample {
        let weights: Vec<u32> = rows.iter().map(|&row| self.weights[row as usize]).collect();
        let numbers = rows.par_iter().map(|&row| self.row(row as usize).iter().copied());
        sample(numbers, self.choices, &weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
