//! Fits the coefficients of a cost formula: a time as a sum of terms with coefficients of 0 or more.
//!
//! The first fit is non-negative least squares on the relative error (Lawson and Hanson, "Solving least squares problems", 1974). A few
//! times that are off would bend it, so Gauss–Newton steps on the error of the logarithm follow, where an error counts at most as much as
//! one of [`HUBER`] (Huber, "Robust estimation of a location parameter", 1964).

use ah_model::math::ln;

/// Gauss–Newton steps.
const STEPS: usize = 6;
/// An error of the logarithm beyond this counts less.
const HUBER: f64 = 0.2;
/// A normal equation whose pivot is below this share of its diagonal repeats another term.
const SINGULAR: f64 = 1e-10;

/// The coefficient of each term, 0 or more, so that `sum of coefficient * term` predicts the times: row i has the terms
/// `rows[i]`. `None` without a prediction above 0 for every row.
pub fn fit(rows: &[Vec<f64>], times: &[f64]) -> Option<Vec<f64>> {
    let terms = rows.first()?.len();
    // Equal sizes keep the equations well conditioned.
    let greatest =
        |term: usize| rows.iter().zip(times).map(|(row, time)| row[term] / time).fold(0.0, f64::max);
    let scales: Vec<f64> = (0..terms).map(|term| greatest(term).max(f64::MIN_POSITIVE)).collect();
    let over = |row: &Vec<f64>, by: f64| row.iter().zip(&scales).map(|(x, scale)| x / scale / by).collect();
    let relative: Vec<Vec<f64>> = rows.iter().zip(times).map(|(row, time)| over(row, *time)).collect();
    let equal = vec![1.0; rows.len()];
    let mut found = non_negative(&relative, &equal, &equal);
    let is_sound = |found: &[f64]| relative.iter().all(|row| dot(row, found) > 0.0);
    if !is_sound(&found) {
        return None;
    }
    for _ in 0..STEPS {
        // ln(f / t) of the present coefficients, and its derivatives.
        let ratios: Vec<f64> = relative.iter().map(|row| dot(row, &found)).collect();
        let weight = |ratio: &f64| (HUBER / ln(*ratio).abs()).min(1.0);
        let weights: Vec<f64> = ratios.iter().map(weight).collect();
        let wanted: Vec<f64> = ratios.iter().map(|ratio| 1.0 - ln(*ratio)).collect();
        let slope = |(row, ratio): (&Vec<f64>, &f64)| row.iter().map(|x| x / ratio).collect();
        let slopes: Vec<Vec<f64>> = relative.iter().zip(&ratios).map(slope).collect();
        let next = non_negative(&slopes, &wanted, &weights);
        if !is_sound(&next) {
            break;
        }
        found = next;
    }
    Some(found.iter().zip(&scales).map(|(x, scale)| x / scale).collect())
}

/// The numbers, 0 or more, whose products with the rows come nearest to these targets, by weighted squares.
fn non_negative(rows: &[Vec<f64>], targets: &[f64], weights: &[f64]) -> Vec<f64> {
    let width = rows.first().map_or(0, Vec::len);
    let mut products = vec![vec![0.0; width]; width];
    let mut wanted = vec![0.0; width];
    for ((row, target), weight) in rows.iter().zip(targets).zip(weights) {
        for i in 0..width {
            wanted[i] += weight * row[i] * target;
            (0..width).for_each(|j| products[i][j] += weight * row[i] * row[j]);
        }
    }
    let mut found = vec![0.0; width];
    let mut free = vec![false; width];
    // Each round frees the number that lowers the squares most. More rounds than three a number are rounding.
    for _ in 0..3 * width {
        let slope = |i: usize| wanted[i] - dot(&products[i], &found);
        let next = (0..width).filter(|&i| !free[i] && slope(i) > 1e-9 * wanted[i].abs());
        let Some(next) = next.max_by(|&a, &b| slope(a).total_cmp(&slope(b))) else { break };
        free[next] = true;
        while let Some(solved) = solve(&products, &wanted, &free) {
            // Goes towards the solution until a number would fall below 0; that one is fixed at 0.
            let negative = (0..width).filter(|&i| free[i] && solved[i] <= 0.0);
            let share = |i: usize| found[i] / (found[i] - solved[i]).max(f64::MIN_POSITIVE);
            let Some(first) = negative.min_by(|&a, &b| share(a).total_cmp(&share(b))) else {
                found = solved;
                break;
            };
            let step = share(first).clamp(0.0, 1.0);
            found.iter_mut().zip(&solved).for_each(|(x, solved)| *x += step * (solved - *x));
            (found[first], free[first]) = (0.0, false);
        }
    }
    found
}

/// Solves the normal equations of the free numbers by Cholesky's method; the others are 0. A number that repeats others is 0 too.
/// `None` if nothing is free.
fn solve(products: &[Vec<f64>], wanted: &[f64], free: &[bool]) -> Option<Vec<f64>> {
    let free: Vec<usize> = (0..free.len()).filter(|&i| free[i]).collect();
    let count = free.len();
    let mut lower = vec![vec![0.0; count]; count];
    let mut forward = vec![0.0; count];
    for i in 0..count {
        for j in 0..=i {
            let rest = products[free[i]][free[j]] - dot(&lower[i][..j], &lower[j][..j]);
            lower[i][j] = match i == j {
                true if rest > SINGULAR * products[free[i]][free[i]] => rest.sqrt(),
                true => f64::INFINITY,
                false => rest / lower[j][j],
            };
        }
        forward[i] = (wanted[free[i]] - dot(&lower[i][..i], &forward[..i])) / lower[i][i];
    }
    let mut solved = vec![0.0; products.len()];
    for i in (0..count).rev() {
        let above: f64 = (i + 1..count).map(|k| lower[k][i] * solved[free[k]]).sum();
        solved[free[i]] = (forward[i] - above) / lower[i][i];
    }
    (count > 0).then_some(solved)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ah_types::random;

    /// Rows of 1, k, out and volume over many sizes.
    fn rows() -> Vec<Vec<f64>> {
        let size = |stream, row| (2.0_f64.powf(2.0 + 9.0 * random::fraction(stream, row))).ceil();
        let row = |row| {
            let [m, n, k] = [1, 2, 3].map(|stream| size(stream, row));
            vec![1.0, k, m * n, m * n * k]
        };
        (0..150).map(row).collect()
    }

    fn worst(truth: &[f64], found: &[f64]) -> f64 {
        let ratio = |row: &Vec<f64>| (dot(row, found) / dot(row, truth)).ln().abs();
        rows().iter().map(ratio).fold(0.0, f64::max)
    }

    #[test]
    fn exact_times_give_their_coefficients() {
        let truth = [5e-4, 2e-7, 0.0, 3e-10];
        let times: Vec<f64> = rows().iter().map(|row| dot(row, &truth)).collect();
        let found = fit(&rows(), &times).unwrap();
        assert!(worst(&truth, &found) < 1e-6, "{found:?}");
        assert!(found.iter().all(|x| *x >= 0.0));
    }

    #[test]
    fn a_few_times_that_are_off_hardly_count() {
        let truth = [5e-4, 2e-7, 4e-9, 3e-10];
        let off = |row: usize| if row.is_multiple_of(20) { 8.0 } else { 1.0 + 0.02 * (row as f64).sin() };
        let times: Vec<f64> = rows().iter().enumerate().map(|(i, row)| off(i) * dot(row, &truth)).collect();
        let found = fit(&rows(), &times).unwrap();
        assert!(worst(&truth, &found) < 0.12, "{} {found:?}", worst(&truth, &found));
    }

    #[test]
    fn terms_that_repeat_each_other_and_single_rows_are_no_trouble() {
        let rows: Vec<Vec<f64>> = (1..9).map(|x| vec![1.0, f64::from(x), 2.0 * f64::from(x)]).collect();
        let times: Vec<f64> = (1..9).map(|x| 1.0 + 4.0 * f64::from(x)).collect();
        let found = fit(&rows, &times).unwrap();
        assert!(rows.iter().zip(&times).all(|(row, time)| (dot(row, &found) / time - 1.0).abs() < 1e-6));
        assert!(fit(&rows[..1], &times[..1]).is_some());
        assert_eq!(fit(&[], &[]), None);
        assert_eq!(fit(&[vec![0.0]], &[1.0]), None);
    }
}
