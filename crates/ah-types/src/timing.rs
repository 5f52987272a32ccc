//! How choices are timed. A log's metadata holds the policy; `ah-measure` follows it.

use serde::{Deserialize, Serialize};

/// How one choice is timed on one input.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
    #[serde(with = "crate::null_is_infinite")]
    pub early_stop_ratio: f64,
    /// Samples of one choice taken in a row before the next choice's turn.
    pub burst: u32,
    /// Rows of each choice in the log (PyTorch's `num_reps`). Its samples are divided, in the order in
    /// which they were taken, into this many groups. Each row is the mean of the fastest three quarters of
    /// a group.
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
    /// Returns the log's rows for `samples`, which are in the order in which they were taken.
    ///
    /// The slowest quarter of each group does not count: the noise of kernels has a sharp lower edge and a
    /// long upper tail. The row is a mean and not a median, because short times are on a coarse grid (0.17
    /// µs on an H200) and medians jump between its points. In a repeated run of `mm`, means changed 0 of 83
    /// winners that were 3 % ahead; medians of the same samples changed 8 of 92.
    ///
    /// ```
    /// # use ah_types::TimingPolicy;
    /// let policy = TimingPolicy { repetitions: 2, ..TimingPolicy::default() };
    /// assert_eq!(policy.rows(&[1.0, 2.0, 9.0, 4.0, 5.0, 6.0]), [1.5, 4.5]);
    /// assert_eq!(policy.rows(&[1.0]), [1.0]);
    /// ```
    pub fn rows(&self, samples: &[f64]) -> Vec<f64> {
        let groups = (self.repetitions.max(1) as usize).min(samples.len());
        let cut = |group: usize| group * samples.len() / groups;
        (0..groups).map(|g| mean_of_fastest(&samples[cut(g)..cut(g + 1)])).collect()
    }
}

/// Returns the mean without the slowest quarter (at least one sample); the mean of one sample is that sample.
fn mean_of_fastest(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let kept = (samples.len() - samples.len().div_ceil(4)).max(1);
    // As many as there are samples.
    sorted[..kept].iter().sum::<f64>() / kept as f64
}
