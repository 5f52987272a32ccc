//! The precision of a median.

use ah_types::median;

/// The least number of samples with a 95 % interval: the range of six samples contains the median with
/// probability 1 − 2·0.5⁶ = 0.969, the range of five only with 1 − 2·0.5⁵ = 0.9375.
pub const LEAST_SAMPLES: usize = 6;

/// Half the width of the median's 95 % interval, as a share of the median; `None` for fewer than
/// [`LEAST_SAMPLES`].
///
/// The interval is between two order statistics whose ranks come from the binomial distribution (Conover,
/// *Practical Nonparametric Statistics*, 3.2), so it assumes no shape of the noise. The noise of kernels
/// has a sharp lower edge and a long upper tail.
///
/// It is tested after every sample, and sampling stops as soon as it is narrow. At that moment it contains the median with
/// 92 to 97 %, on synthetic noise of that shape, and not with 95 %: it decides how long to measure and proves nothing.
///
/// ```
/// use ah_measure::interval::relative_error;
/// assert_eq!(relative_error(&[10.0, 10.1, 9.9, 10.0, 10.2, 9.8]), Some((10.2 - 9.8) / 2.0 / 10.0));
/// assert_eq!(relative_error(&[10.0; 5]), None);
/// ```
pub fn relative_error(samples: &[f64]) -> Option<f64> {
    let (low, high) = median_interval(samples)?;
    Some((high - low) / 2.0 / median(samples)?)
}

/// The 95 % interval of the median: its lower and its upper end; `None` for fewer than [`LEAST_SAMPLES`].
pub fn median_interval(samples: &[f64]) -> Option<(f64, f64)> {
    let n = samples.len();
    if n < LEAST_SAMPLES {
        return None;
    }
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let below = ranks_below(n);
    Some((sorted[below], sorted[n - 1 - below]))
}

/// The largest r for which P(Binomial(n, 1/2) ≤ r) is at most 2.5 %: the interval from the (r+1)-th
/// smallest to the (r+1)-th largest of n samples contains the median with 95 %.
fn ranks_below(n: usize) -> usize {
    let mut term = 0.5_f64.powi(i32::try_from(n).unwrap_or(i32::MAX));
    let mut sum = term;
    let mut r = 0;
    loop {
        let next = term * (n - r) as f64 / (r + 1) as f64;
        // With more than about 1000 samples the first term underflows. The interval is then the whole
        // range: wider, and still true.
        if next <= 0.0 || sum + next > 0.025 {
            return r;
        }
        term = next;
        sum += next;
        r += 1;
    }
}

#[cfg(test)]
mod tests {
    use rand::Rng as _;

    use super::*;
    use crate::sampling::Seed;

    #[test]
    fn ranks_match_the_published_table() {
        // Conover, table A3: the order statistics (r+1, n−r) of the two-sided 95 % interval.
        for (n, r) in [(6, 0), (8, 0), (9, 1), (11, 1), (12, 2), (15, 3), (20, 5), (30, 9), (50, 17)] {
            assert_eq!(ranks_below(n), r, "n = {n}");
        }
    }

    /// Draws from 1 plus an exponential: noise with a sharp lower edge and a long tail. Its median is 1 + scale · ln 2.
    fn noise(scale: f64) -> impl FnMut() -> f64 {
        let mut rng = Seed(0, 0).rng();
        move || 1.0 - scale * (1.0 - rng.random::<f64>()).ln()
    }

    /// The share of 4000 intervals that hold the true median.
    fn coverage(scale: f64, mut interval: impl FnMut() -> Option<(f64, f64)>) -> f64 {
        let truth = 1.0 + scale * 2_f64.ln();
        let held = (0..4000).filter(|_| interval().is_some_and(|(low, high)| low <= truth && truth <= high));
        held.count() as f64 / 4000.0
    }

    #[test]
    fn at_the_moment_of_stopping_it_still_holds_the_median_with_92_percent() {
        for scale in [0.005, 0.01, 0.02, 0.03, 0.05] {
            let mut noise = noise(scale);
            let share = coverage(scale, || {
                let mut samples = Vec::new();
                while samples.len() < 30 && relative_error(&samples).is_none_or(|error| error > 0.01) {
                    samples.push(noise());
                }
                median_interval(&samples)
            });
            assert!((0.915..=0.985).contains(&share), "scale {scale}: {share}");
        }
    }

    #[test]
    fn the_interval_holds_the_median_as_often_as_promised() {
        for n in [6, 10, 30] {
            let mut noise = noise(1.0);
            let share = coverage(1.0, || median_interval(&[(); 30].map(|()| noise())[..n]));
            assert!((0.945..=0.99).contains(&share), "n = {n}: {share}");
        }
    }
}
