//! The time of computing a feature: a program that asks a heuristic pays for it.

use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use ah_measure::sampling::{Rng, Seed};
use ah_model::Value;

/// Inputs that are drawn for it.
const INPUTS: usize = 16;
/// Drawing and timing take about this long, or one input.
const BUDGET: Duration = Duration::from_millis(200);
/// A feature is computed again until it took this long: reading the clock takes 25 ns.
const LEAST: Duration = Duration::from_micros(20);
/// The most times that it is computed in one batch.
const MOST_RUNS: u32 = 1 << 14;
/// Passes over all inputs. A virtual machine is slow for milliseconds: one pass gave 0.2 to 3.3 ns for the length of a list.
const PASSES: usize = 32;

/// The mean milliseconds of each feature on the first inputs of a seed. Empty if drawing one panics.
pub(super) fn feature_ms<T>(draw: impl Fn(&mut Rng) -> T, features: &[impl Fn(&T) -> Value]) -> Vec<f64> {
    // A program inlines a feature. Here each is called through a pointer: 1.2 ns for the length of a list, which the call alone takes.
    let constant: &dyn Fn(&T) -> Value = &|_: &T| Value::Number(1.0);
    let start = Instant::now();
    let now = || start.elapsed();
    // The milliseconds of the call, and of each feature.
    let timed = |input: &T| -> Vec<f64> {
        let of = |feature: &dyn Fn(&T) -> Value| {
            let feature = black_box(feature);
            milliseconds(|| drop(black_box(feature(input))), now)
        };
        std::iter::once(of(constant)).chain(features.iter().map(|feature| of(feature))).collect()
    };
    let least_by_input = || {
        let mut inputs: Vec<T> = Vec::new();
        let mut least: Vec<Vec<f64>> = Vec::new();
        for turn in 0..PASSES * INPUTS {
            let at = turn % INPUTS;
            if at == turn {
                inputs.push(draw(&mut Seed(0, at as u64).rng()));
                least.push(vec![f64::INFINITY; features.len() + 1]);
            }
            let times = timed(&inputs[at]);
            least[at].iter_mut().zip(times).for_each(|(least, ms)| *least = ms.min(*least));
            if now() > BUDGET {
                break;
            }
        }
        least
    };
    // Measuring reports the panic with its input.
    let Ok(least) = catch_unwind(AssertUnwindSafe(least_by_input)) else { return Vec::new() };
    // Three digits: more are noise.
    let ms = |at| format!("{:.2e}", beyond_call(&least, at)).parse().expect("a printed number is one");
    (0..features.len()).map(ms).collect()
}

/// The mean milliseconds that a feature takes longer than its call. A row has the times of an input: the call's, then each feature's.
fn beyond_call(times: &[Vec<f64>], feature: usize) -> f64 {
    times.iter().map(|row| (row[feature + 1] - row[0]).max(0.0)).sum::<f64>() / times.len() as f64
}

/// The milliseconds of one run, by a batch that is timed as a whole.
fn milliseconds(run: impl Fn(), now: impl Fn() -> Duration) -> f64 {
    let batch = |runs: u32| {
        let start = now();
        (0..runs).for_each(|_| run());
        now() - start
    };
    let mut runs = 1;
    let mut time = batch(1);
    while time < LEAST && runs < MOST_RUNS {
        runs *= 4;
        time = batch(runs);
    }
    time.as_secs_f64() * 1e3 / f64::from(runs)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn the_call_is_no_part_of_a_feature() {
        // The second input's time of the first feature is noise below the call's.
        let times = [vec![1.25, 1.5, 4.25], vec![1.5, 1.25, 6.5]];
        assert_eq!([0, 1].map(|feature| beyond_call(&times, feature)), [0.125, 4.0]);
    }

    #[test]
    fn the_clock_is_no_part_of_a_feature() {
        // Reading this clock takes 25 ns, a run 1 ns.
        let clock = Cell::new(0_u64);
        let pass = |ns| clock.replace(clock.get() + ns) + ns;
        let ns = milliseconds(|| _ = pass(1), || Duration::from_nanos(pass(25))) * 1e6;
        assert!((1.0..1.01).contains(&ns), "{ns}");
    }
}
