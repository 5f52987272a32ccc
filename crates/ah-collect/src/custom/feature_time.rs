//! The time of computing a feature: a program that asks a heuristic pays for it.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use ah_measure::sampling::{Rng, Seed};
use ah_types::Value;

/// Inputs that are drawn for it.
const INPUTS: u64 = 16;
/// Drawing and timing take about this long, or one input.
const BUDGET: Duration = Duration::from_millis(200);
/// A feature is computed again until it took this long: reading the clock takes 25 ns.
const LEAST: Duration = Duration::from_micros(20);
/// The most times that it is computed in one batch.
const MOST_RUNS: u32 = 1 << 14;
/// Batches of a feature that takes less than about [`LEAST`].
const BATCHES: u32 = 3;
/// Times that all inputs are passed through. A virtual machine is slow for milliseconds: with one pass the length of a list took 0.2 to
/// 3.3 ns.
const PASSES: u32 = 16;

/// Returns the mean milliseconds of each feature, given by its name and function, on the first inputs of a seed. Empty if
/// drawing one panics.
pub(super) fn feature_ms<'a, T, F: Fn(&T) -> Value + 'a>(
    draw: impl Fn(&mut Rng) -> T,
    features: impl Iterator<Item = (&'a str, F)>,
) -> BTreeMap<String, f64> {
    let features: Vec<(&str, F)> = features.collect();
    // A program inlines a feature. Here each is called through a pointer: 1.2 ns for the length of a list, which the call alone takes.
    let constant: &dyn Fn(&T) -> Value = black_box(&|_: &T| Value::Number(1.0));
    // The milliseconds of the call, and of each feature.
    let timed = |input: &T| -> Vec<f64> {
        let of = |feature: &dyn Fn(&T) -> Value| milliseconds(|| drop(black_box(feature(input))));
        std::iter::once(of(constant)).chain(features.iter().map(|(_, feature)| of(feature))).collect()
    };
    let start = Instant::now();
    let is_over = || start.elapsed() > BUDGET;
    let least_by_input = || {
        let (mut inputs, mut least) = (Vec::new(), Vec::new());
        for index in 0..INPUTS {
            let input = draw(&mut Seed(0, index).rng());
            least.push(timed(&input));
            inputs.push(input);
            if is_over() {
                break;
            }
        }
        for _ in (1..PASSES).take_while(|_| !is_over()) {
            for (input, least) in inputs.iter().zip(&mut least) {
                least.iter_mut().zip(timed(input)).for_each(|(least, ms)| *least = ms.min(*least));
            }
        }
        least
    };
    // Measuring reports the panic with its input.
    let Ok(least) = catch_unwind(AssertUnwindSafe(least_by_input)) else { return BTreeMap::new() };
    let mean = |at: usize| {
        least.iter().map(|least| (least[at + 1] - least[0]).max(0.0)).sum::<f64>() / least.len() as f64
    };
    // Three digits: more are noise.
    let rounded = |ms: f64| format!("{ms:.2e}").parse().unwrap_or(ms);
    features.iter().enumerate().map(|(at, (name, _))| ((*name).to_owned(), rounded(mean(at)))).collect()
}

/// Returns the milliseconds of one run: the least of a few batches, each timed as a whole.
fn milliseconds(run: impl Fn()) -> f64 {
    let batch = |runs: u32| {
        let start = Instant::now();
        (0..runs).for_each(|_| run());
        start.elapsed()
    };
    let (mut runs, mut least) = (1, batch(1));
    while least < LEAST && runs < MOST_RUNS {
        runs *= 4;
        least = batch(runs);
    }
    if least < LEAST * 4 {
        least = (1..BATCHES).map(|_| batch(runs)).fold(least, Duration::min);
    }
    least.as_secs_f64() * 1e3 / f64::from(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_call_is_no_part_of_a_feature() {
        let value: &dyn Fn(&u64) -> Value = &|x| Value::Number(*x as f64);
        let call = milliseconds(|| drop(black_box(value(&7))));
        let is_apart = |_| feature_ms(|_| 7, [("x", value)].into_iter())["x"] < 0.5 * call;
        assert!((0..20).any(is_apart), "of {call}");
    }

    #[test]
    fn the_clock_is_no_part_of_a_feature() {
        // Reading the clock takes 20 ns and more, a sum of two numbers about 1 ns.
        let a = black_box(3_u64);
        let reading = milliseconds(|| {
            black_box(Instant::now());
        });
        let adding = milliseconds(|| {
            black_box(a + 1);
        });
        assert!(adding < 0.5 * reading, "{adding} and {reading}");
    }
}
