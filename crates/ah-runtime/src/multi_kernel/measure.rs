//! Measures the kernels on one input, with the driver that `ah-collect` uses too.

use ah_measure::sampling::Seed;
use ah_measure::{Bench, Cell, Failure, Times};
use ah_types::{ChoiceId, Outcome, TimingPolicy};

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

/// Milliseconds of a run that is too short for the clock. Above 0, because a time of 0 counts as a failure.
const BELOW_RESOLUTION_MS: f64 = 1e-9;

/// Runs kernels with the arguments of the call that missed.
pub(super) trait Trial {
    /// Returns true if several runs may make one sample; false if each run needs a fresh input.
    fn repeats(&self) -> bool;

    /// Runs a kernel this many times; returns the milliseconds of all runs together.
    ///
    /// # Errors
    /// Why the kernel failed.
    fn time(&mut self, kernel: usize, runs: u32) -> Result<f64, String>;

    /// Compares a kernel's result with the fallback's, if the program gave a comparison.
    ///
    /// # Errors
    /// Why the kernel failed, or that its result is wrong.
    fn check(&mut self, kernel: usize) -> Result<(), String>;
}

/// Measures the kernels for which `eligible` is true, in turns. Skips the others.
pub(super) fn measure(
    policy: TimingPolicy,
    kernels: usize,
    eligible: &dyn Fn(usize) -> bool,
    trial: &mut dyn Trial,
) -> Vec<Outcome> {
    let min_sample_ms = if trial.repeats() { policy.min_sample_ms } else { 0.0 };
    let policy = TimingPolicy { min_sample_ms, cold: false, ..policy };
    let mut bench = KernelBench { eligible, trial };
    let outcomes = ah_measure::measure_choices(&mut bench, kernels, &policy, Seed(0, 0)).outcomes;
    outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(|| Outcome::skipped("not measured"))).collect()
}

struct KernelBench<'a> {
    eligible: &'a dyn Fn(usize) -> bool,
    trial: &'a mut dyn Trial,
}

impl Bench for KernelBench<'_> {
    fn check(&mut self, choices: &[ChoiceId]) -> Vec<Result<(), Failure>> {
        let check = |choice: &ChoiceId| match (self.eligible)(choice.index()) {
            true => self.trial.check(choice.index()).map_err(Failure::Failed),
            false => Err(Failure::skipped("not eligible")),
        };
        choices.iter().map(check).collect()
    }

    fn time(&mut self, cells: &[Cell]) -> Vec<Result<Times, Failure>> {
        let mut sample = |&Cell { choice, burst }: &Cell| {
            let ms = self.trial.time(choice.index(), burst.runs).map_err(Failure::Failed)?;
            Ok(if ms == 0.0 { BELOW_RESOLUTION_MS } else { ms / f64::from(burst.runs) })
        };
        cells.iter().map(|cell| (0..cell.burst.samples).map(|_| sample(cell)).collect()).collect()
    }
}

/// Returns the kernel with the least median; `None` if none was measured. Medians within the policy's target relative
/// error tie and the first given wins, so that noise does not change picks.
pub(super) fn winner(medians: &[Option<f64>], relative_error: f64) -> Option<usize> {
    let least = medians.iter().flatten().copied().min_by(f64::total_cmp)?;
    medians.iter().position(|median| median.is_some_and(|ms| ms <= least * (1.0 + relative_error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slow; failing at once, so seemingly fast; failing later; not eligible; fast but noisy; wrong.
    #[derive(Default)]
    struct Misbehaving {
        calls: [usize; 6],
        largest_batch: u32,
    }

    impl Trial for Misbehaving {
        fn repeats(&self) -> bool {
            true
        }

        fn time(&mut self, kernel: usize, runs: u32) -> Result<f64, String> {
            self.calls[kernel] += 1;
            self.largest_batch = self.largest_batch.max(runs);
            match kernel {
                0 => Ok(1.0 * f64::from(runs)),
                1 => Err("no".to_owned()),
                2 if self.calls[2] > 3 => Err("later".to_owned()),
                2 => Ok(0.01 * f64::from(runs)),
                4 => Ok([0.5, 0.9, 0.5][self.calls[4] % 3] * f64::from(runs)),
                _ => unreachable!("it is not eligible, or wrong"),
            }
        }

        fn check(&mut self, kernel: usize) -> Result<(), String> {
            if kernel == 5 { Err("wrong".to_owned()) } else { Ok(()) }
        }
    }

    #[test]
    fn the_least_median_wins_and_failures_never_do() {
        let outcomes = measure(POLICY, 6, &|kernel| kernel != 3, &mut Misbehaving::default());
        assert_eq!(outcomes[1], Outcome::failed("no"));
        assert_eq!(outcomes[2], Outcome::failed("later"));
        assert_eq!(outcomes[3], Outcome::skipped("not eligible"));
        assert_eq!(outcomes[5], Outcome::failed("wrong"));
        let medians: Vec<_> = outcomes.iter().map(|o| o.median().filter(|ms| ms.is_finite())).collect();
        assert_eq!(winner(&medians, 0.02), Some(4));
    }

    #[test]
    fn medians_within_the_relative_error_tie() {
        assert_eq!(winner(&[None, None], 0.02), None);
        assert_eq!(winner(&[Some(2.0), Some(1.0), Some(1.0)], 0.0), Some(1));
        assert_eq!(winner(&[None, Some(1.02), Some(1.0)], 0.02), Some(1));
        assert_eq!(winner(&[Some(1.03), None, Some(1.0)], 0.02), Some(2));
    }

    /// Takes this many milliseconds a run.
    struct Short(f64, u32);

    impl Trial for Short {
        fn repeats(&self) -> bool {
            true
        }

        fn time(&mut self, _: usize, runs: u32) -> Result<f64, String> {
            self.1 = self.1.max(runs);
            Ok(self.0 * f64::from(runs))
        }

        fn check(&mut self, _: usize) -> Result<(), String> {
            Ok(())
        }
    }

    #[test]
    fn short_kernels_run_in_batches_even_below_the_clocks_resolution() {
        for (ms, batch) in [(0.0, 10_000), (1e-6, 10_000), (0.02, 3), (1.0, 1)] {
            let mut trial = Short(ms, 0);
            let outcomes = measure(POLICY, 1, &|_| true, &mut trial);
            assert_eq!((trial.1, outcomes[0].median().is_some()), (batch, true), "{ms} ms: {outcomes:?}");
        }
    }
}
