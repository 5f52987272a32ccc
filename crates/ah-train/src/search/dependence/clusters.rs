//! Clusters: inputs that a chain of near inputs connects (single linkage).

use ah_model::math::log2;

/// A number whose 95th percentile is more than this many times its 5th one is compared by its logarithm.
const WIDE: f64 = 8.0;

/// A number in units of its range from the 5th to the 95th percentile; `None` if it does not vary.
pub(super) fn in_ranges(mut values: Vec<f64>) -> Option<Vec<f64>> {
    let range = |values: &[f64]| {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| sorted.get((share * sorted.len() as f64) as usize).copied();
        Some((at(0.05)?, at(0.95)?)).filter(|(low, high)| low < high)
    };
    let (low, high) = range(&values)?;
    if low > 0.0 && high > WIDE * low && values.iter().all(|x| *x > 0.0) {
        values.iter_mut().for_each(|x| *x = log2(*x));
    }
    let (low, high) = range(&values)?;
    values.iter_mut().for_each(|x| *x /= high - low);
    Some(values)
}

/// The cluster of each row: two rows are near where no column differs by more than `reach`. Rows are sorted by the first
/// column, so it should have many values.
pub(super) fn clusters(columns: &[Vec<f64>], reach: f64) -> Vec<u64> {
    let Some((first, rest)) = columns.split_first() else { return Vec::new() };
    let mut order: Vec<usize> = (0..first.len()).collect();
    order.sort_by(|&a, &b| first[a].total_cmp(&first[b]));
    let mut parents: Vec<usize> = (0..order.len()).collect();
    for (at, &row) in order.iter().enumerate() {
        for &other in order[at + 1..].iter().take_while(|&&other| first[other] - first[row] <= reach) {
            if rest.iter().all(|values| (values[row] - values[other]).abs() <= reach) {
                let a = root(&mut parents, row);
                let b = root(&mut parents, other);
                parents[a.max(b)] = a.min(b);
            }
        }
    }
    (0..order.len()).map(|row| root(&mut parents, row) as u64).collect()
}

/// The first row of a cluster, and shortens the way there.
fn root(parents: &mut [usize], mut row: usize) -> usize {
    while parents[row] != row {
        parents[row] = parents[parents[row]];
        row = parents[row];
    }
    row
}
