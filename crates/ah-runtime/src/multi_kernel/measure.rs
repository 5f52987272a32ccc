//! Measures the kernels on one input, by the project's timing policy.

use ah_measure::Race;
use ah_types::Outcome;
use ah_types::timing::TimingPolicy;

/// Most runs in one sample, for kernels of a few nanoseconds.
const MAX_BATCH: u32 = 10_000;

/// The default policy of a MultiKernel. The program waits for the measurement, so it takes less time than collecting
/// does.
pub const POLICY: TimingPolicy = TimingPolicy {
    warmup_runs: 1,
    min_samples: 6,
    max_samples: 15,
    target_relative_error: 0.02,
    budget_ms: 50.0,
    min_sample_ms: 0.05,
    cold: false,
    early_stop_ratio: 2.0,
    burst: 1,
    repetitions: 3,
};

/// Runs a kernel this many times; returns the milliseconds of all runs together, or why it failed.
pub(super) type Bench<'a> = dyn FnMut(usize, u32) -> Result<f64, String> + 'a;

/// Measures the kernels for which `eligible` is true, in turns. Skips the others.
pub(super) fn measure(
    policy: TimingPolicy,
    kernels: usize,
    eligible: impl Fn(usize) -> bool,
    bench: &mut Bench<'_>,
) -> Vec<Outcome> {
    let mut race = Race::new(policy, kernels);
    let mut batches = vec![1_u32; kernels];
    let mut outcomes: Vec<Option<Outcome>> = vec![None; kernels];
    for kernel in 0..kernels {
        if !eligible(kernel) {
            race.withdraw(kernel);
            outcomes[kernel] = Some(Outcome::skipped("not eligible"));
            continue;
        }
        let mut shortest = f64::INFINITY;
        for _ in 0..policy.warmup_runs.max(1) {
            match bench(kernel, 1) {
                Ok(ms) => shortest = shortest.min(ms),
                Err(reason) => {
                    race.withdraw(kernel);
                    outcomes[kernel] = Some(Outcome::failed(reason));
                    break;
                }
            }
        }
        batches[kernel] = batch(policy.min_sample_ms, shortest);
    }
    while let Some(kernel) = race.next() {
        let runs = batches[kernel];
        match bench(kernel, runs) {
            Ok(ms) => race.record(kernel, ms / f64::from(runs), ms),
            Err(reason) => {
                race.withdraw(kernel);
                outcomes[kernel] = Some(Outcome::failed(reason));
            }
        }
    }
    let measured = |kernel: usize| Outcome::Measured { feedback: race.samples(kernel).to_vec() };
    outcomes.into_iter().enumerate().map(|(kernel, o)| o.unwrap_or_else(|| measured(kernel))).collect()
}

/// Returns the number of runs that fill a sample.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn batch(min_sample_ms: f64, ms: f64) -> u32 {
    // `as` saturates: NaN (0 / 0) becomes 0, and a large quotient becomes `u32::MAX`.
    ((min_sample_ms / ms).ceil() as u32).clamp(1, MAX_BATCH)
}

/// Returns the kernel with the least median; `None` if none was measured. Medians within the policy's target relative
/// error tie and the first given wins, so that noise does not change picks.
pub(super) fn winner(medians: &[f64], relative_error: f64) -> Option<usize> {
    let least = medians.iter().copied().filter(|ms| ms.is_finite()).min_by(f64::total_cmp)?;
    medians.iter().position(|ms| *ms <= least * (1.0 + relative_error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn medians(outcomes: &[Outcome]) -> Vec<f64> {
        outcomes.iter().map(|o| o.median().unwrap_or(f64::NAN)).collect()
    }

    #[test]
    fn the_least_median_wins_and_failures_never_do() {
        // Slow; failing at once, so seemingly fast; failing later; not eligible; fast but noisy.
        let mut calls = [0; 5];
        let mut bench = |kernel: usize, runs: u32| {
            calls[kernel] += 1;
            match kernel {
                0 => Ok(1.0 * f64::from(runs)),
                1 => Err("no".to_owned()),
                2 if calls[2] > 3 => Err("later".to_owned()),
                2 => Ok(0.01 * f64::from(runs)),
                3 => unreachable!("it is not eligible"),
                _ => Ok([0.5, 0.9, 0.5][calls[4] % 3] * f64::from(runs)),
            }
        };
        let outcomes = measure(POLICY, 5, |kernel| kernel != 3, &mut bench);
        assert_eq!(outcomes[1], Outcome::failed("no"));
        assert_eq!(outcomes[2], Outcome::failed("later"));
        assert_eq!(outcomes[3], Outcome::skipped("not eligible"));
        assert_eq!(winner(&medians(&outcomes), 0.02), Some(4));
        assert_eq!(winner(&[f64::INFINITY, f64::NAN], 0.02), None);
        assert_eq!(winner(&[2.0, 1.0, 1.0], 0.0), Some(1));
        assert_eq!(winner(&[f64::NAN, 1.02, 1.0], 0.02), Some(1));
        assert_eq!(winner(&[1.03, f64::INFINITY, 1.0], 0.02), Some(2));
    }

    #[test]
    fn short_kernels_run_in_batches() {
        let mut largest = 0;
        let mut bench = |_, runs: u32| {
            largest = largest.max(runs);
            Ok(1e-6 * f64::from(runs))
        };
        measure(POLICY, 1, |_| true, &mut bench);
        assert_eq!(largest, 10_000);
        assert_eq!((batch(0.05, 0.0), batch(0.05, 1.0), batch(0.05, 0.02)), (MAX_BATCH, 1, 3));
        assert_eq!(batch(0.05, f64::INFINITY), 1);
    }
}
