//! The measurements of a choice on an input in two halves, by a draw that does not depend on their order in the log.

use ah_model::hash::fnv1a;
use ah_types::median;
use ah_types::random::mix;

/// The medians of both halves of these times, which are sorted; of fewer than two times the median twice.
pub fn medians(times: &[f64], input: &str, choice: &str) -> [f64; 2] {
    if times.len() < 2 {
        return [median(times).unwrap_or(f64::INFINITY); 2];
    }
    let seed = mix(fnv1a(input), fnv1a(choice));
    let mut drawn: Vec<(u64, f64)> = (0..).zip(times).map(|(at, time)| (mix(seed, at), *time)).collect();
    drawn.sort_unstable_by_key(|(draw, _)| *draw);
    let of = |half: usize| {
        let times = drawn.iter().skip(half).step_by(2).map(|(_, time)| *time);
        median(&times.collect::<Vec<f64>>()).unwrap_or(f64::INFINITY)
    };
    [of(0), of(1)]
}
