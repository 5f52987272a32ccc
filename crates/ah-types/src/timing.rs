//! How choices are timed. A log's metadata holds the policy; `ah-measure` follows it.

use serde::{Deserialize, Serialize};

/// How one choice is timed on one input.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TimingPolicy {
    /// Runs of each choice before its first sample.
    pub warmup_runs: u32,
    /// Least samples of each choice, unless it drops out or exceeds its budget.
    pub min_samples: u32,
    /// Most samples of each choice.
    pub max_samples: u32,
    /// Sampling stops when the 95 % interval of the median extends at most this share of it to each side.
    pub target_relative_error: f64,
    /// Milliseconds that all samples of one choice on one input may take.
    pub budget_ms: f64,
    /// A sample of a shorter kernel is the mean of enough runs to fill this many milliseconds.
    pub min_sample_ms: f64,
    /// Caches are emptied before each sample.
    pub cold: bool,
    /// A choice drops out when its fastest sample takes more than this many times the slowest sample of the
    /// best choice so far; with infinity, none does.
    #[serde(with = "ah_model::null_is_infinite")]
    pub early_stop_ratio: f64,
    /// Samples of one choice taken in a row before the next choice's turn.
    pub burst: u32,
    /// Rows of each choice in the log (PyTorch's `num_reps`). Its samples are divided, in the order in
    /// which they were taken, into this many groups of at least two. Each row estimates the lesser of two runs.
    pub repetitions: u32,
}

impl Default for TimingPolicy {
    fn default() -> Self {
        Self {
            warmup_runs: 2,
            min_samples: 3,
            max_samples: 30,
            target_relative_error: 0.01,
            budget_ms: 200.0,
            min_sample_ms: 0.05,
            cold: false,
            early_stop_ratio: 3.0,
            burst: 1,
            repetitions: 3,
        }
    }
}

impl TimingPolicy {
    /// The log's rows for `samples`, which are in the order in which they were taken.
    ///
    /// A row is the mean, over all pairs of a group's samples, of the lesser of the two. Its expectation is the same for
    /// any group of two or more, so a choice gains nothing by stopping earlier or later. A slow outlier counts only beside
    /// another one; the noise of kernels has a sharp lower edge and a long upper tail. The row is a mean and not a
    /// median, because short times are on a coarse grid (0.17 µs on an H200) and medians jump between its points: in a
    /// repeated run of `mm`, means of the faster samples changed 0 of 83 winners that were 3 % ahead, medians 8 of 92.
    ///
    /// ```
    /// # use ah_types::TimingPolicy;
    /// let policy = TimingPolicy { repetitions: 2, ..TimingPolicy::default() };
    /// assert_eq!(policy.rows(&[1.0, 2.0, 9.0, 4.0, 5.0, 6.0]), [4.0 / 3.0, 13.0 / 3.0]);
    /// assert_eq!(policy.rows(&[3.0, 1.0, 1.0]), [1.0]);
    /// assert_eq!(policy.rows(&[1.0]), [1.0]);
    /// ```
    pub fn rows(&self, samples: &[f64]) -> Vec<f64> {
        if samples.is_empty() {
            return Vec::new();
        }
        let groups = (self.repetitions.max(1) as usize).min((samples.len() / 2).max(1));
        let cut = |group: usize| group * samples.len() / groups;
        (0..groups).map(|g| lesser_of_two(&samples[cut(g)..cut(g + 1)])).collect()
    }
}

/// The mean of the lesser of two samples over all pairs; the sample itself where there is only one.
fn lesser_of_two(samples: &[f64]) -> f64 {
    let n = samples.len();
    if n == 1 {
        return samples[0];
    }
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    // The sample of rank i is the lesser one beside each of the samples above it.
    let sum: f64 = sorted.iter().enumerate().map(|(i, ms)| ms * (n - 1 - i) as f64).sum();
    sum / (n * (n - 1) / 2) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_does_not_depend_on_the_number_of_samples() {
        // Noise with a sharp lower edge and a long tail: 1 + an exponential; the lesser of two is 1.5 on average.
        let mut uniform = (0..).map(|index| crate::random::fraction(0, index));
        let mut noise = || 1.0 - (1.0 - uniform.next().unwrap()).ln();
        let policy = TimingPolicy::default();
        for n in [2, 3, 5, 6, 9, 18, 30] {
            let mut sum = 0.0;
            let mut count = 0;
            for _ in 0..20_000 {
                let samples: Vec<f64> = (0..n).map(|_| noise()).collect();
                let rows = policy.rows(&samples);
                sum += rows.iter().sum::<f64>();
                count += rows.len();
            }
            let mean = sum / f64::from(u32::try_from(count).unwrap());
            assert!((mean - 1.5).abs() < 0.015, "{n} samples: {mean}");
        }
    }
}
