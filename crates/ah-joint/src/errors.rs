//! What boosted trees have left to learn: the error of each measured choice of each row.

use std::ops::Range;

use rayon::prelude::*;

use crate::growth::Sample;

/// The errors of all rows. A choice that a row did not measure has none.
pub struct Errors {
    choices: usize,
    /// By row, (choice, error).
    errors: Vec<Vec<(u32, f64)>>,
    /// By row.
    weights: Vec<u32>,
    /// Neighbouring rows whose common level is not to be learned.
    groups: Vec<Range<usize>>,
}

impl Errors {
    /// Collects the (choice, error) of each row and the weights of all rows.
    pub fn new<R: IntoIterator<Item = (u32, f64)>>(
        choices: usize,
        rows: impl Iterator<Item = R>,
        weights: Vec<u32>,
    ) -> Self {
        let errors = rows.map(|row| row.into_iter().collect()).collect();
        Self { choices, errors, weights, groups: Vec::new() }
    }

    /// The same errors; only their differences within each of these groups of rows count.
    pub fn within(self, groups: Vec<Range<usize>>) -> Self {
        Self { groups, ..self }
    }

    /// Subtracts from each group its mean error.
    pub(crate) fn centre(&mut self) {
        for group in &self.groups {
            let rows = &mut self.errors[group.clone()];
            let mut sum = 0.0;
            let mut count = 0.0;
            for (errors, &weight) in rows.iter().zip(&self.weights[group.clone()]) {
                let weight = f64::from(weight);
                sum += errors.iter().map(|(_, error)| error * weight).sum::<f64>();
                count += weight * errors.len() as f64;
            }
            let mean = sum / f64::max(count, 1.0);
            rows.iter_mut().flatten().for_each(|(_, error)| *error -= mean);
        }
    }

    /// The errors that are left, row by row.
    pub fn left(&self) -> impl Iterator<Item = f64> {
        self.errors.iter().flatten().map(|(_, error)| *error)
    }

    /// The weighted mean error of each choice in each leaf, drawn towards 0 as by `shrinkage` further inputs. `leaves`
    /// has the leaf of each row, one of `nodes` nodes.
    pub fn means(&self, leaves: &[usize], nodes: usize, shrinkage: f64) -> Vec<f64> {
        let mut sums = vec![(0.0, 0.0); nodes * self.choices];
        for ((errors, leaf), &weight) in self.errors.iter().zip(leaves).zip(&self.weights) {
            let sums = &mut sums[leaf * self.choices..][..self.choices];
            for &(choice, error) in errors {
                let (sum, count) = &mut sums[choice as usize];
                *sum += error * f64::from(weight);
                *count += f64::from(weight);
            }
        }
        let mean = |(sum, count): (f64, f64)| if count > 0.0 { sum / (count + shrinkage) } else { 0.0 };
        sums.into_iter().map(mean).collect()
    }

    /// Subtracts from each row the values of its leaf.
    pub fn subtract(&mut self, leaves: &[usize], values: &[f64]) {
        for (errors, leaf) in self.errors.iter_mut().zip(leaves) {
            let values = &values[leaf * self.choices..][..self.choices];
            for (choice, error) in errors {
                *error -= values[*choice as usize];
            }
        }
    }

    /// These rows for the search for splits.
    pub fn sample(&self, rows: &[u32]) -> Sample {
        let weights: Vec<u32> = rows.iter().map(|&row| self.weights[row as usize]).collect();
        let numbers = rows.par_iter().map(|&row| self.errors[row as usize].iter().copied());
        Sample::of_choices(numbers, self.choices, &weights)
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
        assert_eq!(errors.errors[..2], [vec![(0, -1.0), (1, 2.0)], vec![(0, 1.0)]]);
    }
}
