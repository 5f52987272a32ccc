//! Measures the kernels on one input, with the driver that `ah-collect` uses too.

use ah_measure::sampling::Seed;
use ah_measure::{Bench, Cell, Times};
use ah_model::ChoiceId;
use ah_types::{Failure, Outcome, TimingPolicy};

use super::trial::Calls;

/// The policy of a MultiKernel: caches stay as the program leaves them. The program waits for the measurement, so it takes less
/// time than collecting does.
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

/// Measures the kernels in turns. Those that the calls do not offer are skipped.
pub(super) fn measure<T>(policy: TimingPolicy, kernels: usize, mut calls: Calls<'_, T>) -> Vec<Outcome> {
    ah_measure::measure_choices(&mut calls, kernels, &policy, Seed(0, 0)).outcomes
}

impl<T> Bench for Calls<'_, T> {
    fn check(&mut self, choices: &[ChoiceId]) -> Vec<Result<(), Failure>> {
        choices.iter().map(|choice| self.agrees(choice.index())).collect()
    }

    fn time(&mut self, cells: &[Cell]) -> Vec<Result<Times, Failure>> {
        let mut sample = |&Cell { choice, burst }: &Cell| {
            let (ms, _) = self.attempt(choice.index(), burst.runs)?;
            Ok(if ms == 0.0 { BELOW_RESOLUTION_MS } else { ms / f64::from(burst.runs) })
        };
        cells.iter().map(|cell| (0..cell.burst.samples).map(|_| sample(cell)).collect()).collect()
    }
}

/// The kernel with the least median; `None` if none was measured. Medians within the policy's target relative
/// error tie and the first given wins, so that noise does not change picks.
pub(super) fn winner(medians: &[Option<f64>], relative_error: f64) -> Option<usize> {
    let least = medians.iter().flatten().copied().min_by(f64::total_cmp)?;
    medians.iter().position(|median| median.is_some_and(|ms| ms <= least * (1.0 + relative_error)))
}

#[cfg(test)]
mod tests {
    use ah_types::median;

    use super::super::trial::Agrees;
    use super::*;

    /// Measures kernels whose call returns the milliseconds of all runs, and whether the result is right.
    fn outcomes(
        kernels: usize,
        eligible: &dyn Fn(usize) -> bool,
        attempt: &mut dyn FnMut(usize, u32) -> Result<(f64, bool), String>,
    ) -> Vec<Outcome> {
        let agrees: Agrees<'_, bool> = Some(&|expected, found| expected == found);
        measure(POLICY, kernels, Calls { attempt, agrees, eligible, fallback: 0, expected: None })
    }

    #[test]
    fn the_least_median_wins_and_failures_never_do() {
        // Slow; failing at once, so seemingly fast; failing later; not eligible; fast but noisy; wrong.
        let mut calls = [0; 6];
        let outcomes = outcomes(6, &|kernel| kernel != 3, &mut |kernel, runs| {
            calls[kernel] += 1;
            let ms = match kernel {
                0 => 1.0,
                1 => return Err("no".to_owned()),
                2 if calls[2] > 3 => return Err("later".to_owned()),
                4 => [0.5, 0.9, 0.5][calls[4] % 3],
                2 | 5 => 0.01,
                _ => unreachable!("it is not eligible"),
            };
            Ok((ms * f64::from(runs), kernel != 5))
        });
        assert_eq!(outcomes[1], Err(Failure::failed("no")));
        assert_eq!(outcomes[2], Err(Failure::failed("later")));
        assert_eq!(outcomes[3], Err(Failure::skipped("not eligible")));
        assert_eq!(outcomes[5], Err(Failure::failed("wrong result: it does not agree with the fallback's")));
        let medians: Vec<_> = outcomes.iter().map(|o| median(o.as_ref().ok()?)).collect();
        assert_eq!(winner(&medians, 0.02), Some(4));
    }

    #[test]
    fn medians_within_the_relative_error_tie() {
        assert_eq!(winner(&[None, None], 0.02), None);
        assert_eq!(winner(&[Some(2.0), Some(1.0), Some(1.0)], 0.0), Some(1));
        assert_eq!(winner(&[None, Some(1.02), Some(1.0)], 0.02), Some(1));
        assert_eq!(winner(&[Some(1.03), None, Some(1.0)], 0.02), Some(2));
    }

    #[test]
    fn short_kernels_run_in_batches_even_below_the_clocks_resolution() {
        for (ms, batch) in [(0.0, 10_000), (1e-6, 10_000), (0.02, 3), (1.0, 1)] {
            let mut largest = 0;
            let outcomes = outcomes(1, &|_| true, &mut |_, runs| {
                largest = largest.max(runs);
                Ok((ms * f64::from(runs), true))
            });
            assert_eq!((largest, outcomes[0].is_ok()), (batch, true), "{ms} ms: {outcomes:?}");
        }
    }
}
