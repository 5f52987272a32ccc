//! Times that cannot be: a single one of them can decide a mean.
//!
//! A time shorter than a clock cycle is none. Nor is one that is 10,000 times off its own repetitions, or 100 times off what both the
//! other choices of its input and the inputs near it say. These are left out, with their input where nothing else of the choice remains.
//! Beside times that differ as much from one input to the next, a time must be further off; and one at the edge of the log is only named.
//! A time that occurs more than once and is 10,000 times above all others is how a table writes a failure (`1e20`, `3.4e38`), and counts as one.

use std::ops::Range;

use ah_model::math::ln;
use ah_model::shown::quoted;
use ah_model::{ChoiceId, Value};
use ah_types::log::Sample;
use ah_types::median;
use rustc_hash::FxHashSet;

/// A tenth of a nanosecond, in milliseconds: no processor has a shorter clock cycle.
const CLOCK_CYCLE: f64 = 1e-7;
/// How many times off a time must be. A quadratic sort beside others is 100 times slower on the longest of lists.
const FAR: f64 = 1e4;
/// The greatest time may be a limit of time where it is this many times any other one, on as many inputs as [`LIMITED`].
const ABOVE: f64 = 10.0;
const LIMITED: usize = 3;
/// How many times off one time of a choice must be, where both the other choices and the near inputs say so.
const OFF: f64 = 100.0;
/// Over the other choices, a time that is far off lies beyond all others of its choice by this part of how far off it must be.
const GAP: f64 = 10.0;
/// At most one of this many times of a choice is far off: where there are more, they are real.
const ONE_OF: usize = 20;
/// The number of near inputs.
const NEAR: usize = 10;
/// The logarithm by which a time is off is at least this many times the one by which times on near inputs differ.
const WIDE: f64 = 2.0;

/// What is wrong with the times of a log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Impossible {
    /// The times that are left out: input, choice, milliseconds.
    pub left_out: Vec<Sample>,
    /// Times that would be left out, were they not at the edge of the log. They count.
    pub unsure: Vec<Sample>,
    /// Times that stand for a failure, and how often each does.
    pub sentinels: Vec<(f64, usize)>,
    /// The greatest time, and the number of inputs, where it may stand for a failure or a time limit.
    pub limit: Option<(f64, usize)>,
    /// The same for the least time.
    pub floor: Option<(f64, usize)>,
}

impl Impossible {
    /// A sentence for each kind. `text` returns the text of an input.
    pub fn sentences<'t>(
        &self,
        text: impl Fn(u32) -> &'t str,
        choices: &[String],
        unit: &str,
    ) -> Vec<String> {
        let named = |times: &[Sample], what: &str| {
            let first = times.first()?;
            let count = if times.len() == 1 { "1 time is" } else { &format!("{} times are", times.len()) };
            let choice = quoted(&choices[first.choice.index()]);
            let input = quoted(text(first.input));
            Some(format!("{count} {what}, for example {} {unit} of {choice} on {input}", first.feedback))
        };
        let left_out = "impossible: below a clock cycle, or far off what both the other choices and the near inputs say. They are left out";
        let unsure = "far off what both the other choices and the near inputs say, at the edge of the log. They count; remove them if they are wrong";
        // A table may have them in another unit.
        let instead = "write inf there, or import the table with --failed=VALUE, as the table has it";
        let failures = self.sentinels.iter().map(|(time, count)| {
            format!("the time {time:e} {unit} occurs {count} times, far above all others, so it counts as a failure; {instead}")
        });
        let limits = [("greatest", self.limit), ("least", self.floor)];
        let limits = limits.iter().filter_map(|(which, limit)| limit.map(|(time, inputs)| {
            format!(
                "the {which} time, {time} {unit}, is exactly the same on {inputs} inputs, and far from all others; if it stands for a failure \
                 or a limit of time, {instead}"
            )
        }));
        let left_out = named(&self.left_out, left_out).into_iter().chain(named(&self.unsure, unsure));
        left_out.chain(failures).chain(limits).collect()
    }
}

/// Takes impossible times out of samples that are sorted by input, by choice and by time, and makes sentinels failures. `values`
/// are those of each input.
pub fn take_out(samples: &mut Vec<Sample>, choices: usize, values: &[&[Value]]) -> Impossible {
    let is_time = |time: &f64| time.is_finite() && *time >= CLOCK_CYCLE;
    let mut times: Vec<f64> = samples.iter().map(|sample| sample.feedback).filter(is_time).collect();
    times.sort_unstable_by(f64::total_cmp);
    let mut found = Impossible { sentinels: sentinels(&times), ..Impossible::default() };
    let is_sentinel = |time: f64| found.sentinels.iter().any(|(sentinel, _)| *sentinel == time);
    samples.iter_mut().filter(|s| is_sentinel(s.feedback)).for_each(|s| s.feedback = f64::INFINITY);
    times.retain(|time| !is_sentinel(*time));
    times.dedup();
    // The number of inputs that have exactly this time, where it is far from all other times.
    let limit = |time: f64, is_far: bool| {
        let equal = samples.iter().filter(|sample| sample.feedback == time);
        let inputs = equal.map(|sample| sample.input).collect::<FxHashSet<u32>>().len();
        (is_far && inputs >= LIMITED).then_some((time, inputs))
    };
    if let [.., next, most] = times[..] {
        found.limit = limit(most, most >= ABOVE * next);
    }
    if let [least, next, ..] = times[..] {
        found.floor = limit(least, next >= OFF * least);
    }
    let far = far_off(samples, choices, values, &mut found.unsure);
    let mut is_far = far.into_iter();
    samples.retain(|sample| {
        let is_left_out = is_far.next() == Some(true) || sample.feedback < CLOCK_CYCLE;
        if is_left_out {
            found.left_out.push(*sample);
        }
        !is_left_out
    });
    // Where a choice has no other time on the input, the input goes: the others would be compared without it there.
    let remains: FxHashSet<(u32, ChoiceId)> =
        samples.iter().map(|sample| (sample.input, sample.choice)).collect();
    let without = found.left_out.iter().filter(|sample| !remains.contains(&(sample.input, sample.choice)));
    let dropped: FxHashSet<u32> = without.map(|sample| sample.input).collect();
    samples.retain(|sample| !dropped.contains(&sample.input));
    found
}

/// Those of these sorted times that stand for failures: each occurs more than once and is far above every lesser one.
fn sentinels(times: &[f64]) -> Vec<(f64, usize)> {
    let equal: Vec<&[f64]> = times.chunk_by(|a, b| a == b).collect();
    let far_above = equal.windows(2).rev().take_while(|pair| pair[1][0] >= FAR * pair[0][0]);
    // A single one may be an error of measuring.
    far_above.map(|pair| (pair[1][0], pair[1].len())).filter(|(_, count)| *count > 1).collect()
}

/// Whether each sample is far off. Adds those that only may be to `unsure`.
fn far_off(samples: &[Sample], choices: usize, values: &[&[Value]], unsure: &mut Vec<Sample>) -> Vec<bool> {
    let mut far = vec![false; samples.len()];
    // By choice, the medians of its cells.
    let mut cells: Vec<Vec<CellTime>> = vec![Vec::new(); choices];
    let mut start = 0;
    for row in samples.chunk_by(|a, b| a.input == b.input) {
        let mut of_row: Vec<(usize, CellTime)> = Vec::new();
        for cell in row.chunk_by(|a, b| a.choice == b.choice) {
            let times: Vec<f64> = cell.iter().map(|sample| sample.feedback).collect();
            let middle = median(&times).filter(|middle| middle.is_finite());
            let samples = start..start + cell.len();
            start = samples.end;
            let Some(middle) = middle else { continue };
            if times.len() > 2 {
                let is_far = |time: f64| time * FAR < middle || time > middle * FAR && time.is_finite();
                samples.clone().zip(&times).for_each(|(at, time)| far[at] = is_far(*time));
            }
            if middle >= CLOCK_CYCLE {
                let values = values[cell[0].input as usize];
                let time = CellTime { samples, values, log: ln(middle), over_others: f64::NAN };
                of_row.push((cell[0].choice.index(), time));
            }
        }
        for (at, (choice, time)) in of_row.iter().enumerate() {
            let others = of_row.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, (_, t))| t.log);
            if let Some(middle) = median(&others.collect::<Vec<_>>()) {
                cells[*choice].push(CellTime { over_others: time.log - middle, ..time.clone() });
            }
        }
    }
    for mut times in cells {
        times.sort_by(|a, b| a.over_others.total_cmp(&b.over_others));
        let many = outliers(&times, FAR, times.len() / ONE_OF);
        for at in many.into_iter().chain(outliers(&times, OFF, 1)) {
            let of_time = times[at].samples.clone();
            if off(&times, at) < ln(FAR) && is_at_edge(&times, at) {
                unsure.extend_from_slice(&samples[of_time]);
            } else {
                far[of_time].fill(true);
            }
        }
    }
    far
}

/// The median time of a choice on an input.
#[derive(Clone)]
struct CellTime<'l> {
    /// The positions of its samples.
    samples: Range<usize>,
    /// The values of the input.
    values: &'l [Value],
    /// The logarithm of the median.
    log: f64,
    /// The same less the median of the other choices on the input.
    over_others: f64,
}

/// The positions of a choice's times, ascending by `over_others`, that a gap separates from all others and that near inputs do not
/// explain: at most `few` on either side.
fn outliers(times: &[CellTime], far: f64, few: usize) -> Vec<usize> {
    let few = few.min(times.len() / ONE_OF);
    let is_gap = |at: &usize| times[*at].over_others - times[*at - 1].over_others >= ln(far / GAP);
    let low = (1..times.len()).take(few).rfind(is_gap).unwrap_or(0);
    let first_high = times.len().saturating_sub(few).max(low + 1);
    let high = (first_high..times.len()).find(is_gap).unwrap_or(times.len());
    let mut found: Vec<usize> = (0..low).chain(high..times.len()).collect();
    if !found.is_empty() {
        let least = ln(far).max(WIDE * usual_difference(times));
        found.retain(|at| off(times, *at) >= least);
    }
    found
}

/// By how much the logarithm of a time is below or above those on all near inputs, as it is and over the other choices.
fn off(times: &[CellTime], at: usize) -> f64 {
    let time = &times[at];
    let near = nearest(times, at);
    let beyond = |sign: f64| {
        let differences =
            near.iter().flat_map(|near| [time.log - near.log, time.over_others - near.over_others]);
        differences.map(|difference| sign * difference).fold(f64::INFINITY, f64::min)
    };
    beyond(1.0).max(beyond(-1.0))
}

/// By how much the logarithms of times on near inputs differ: a tenth of them differ more. About 100 times tell.
fn usual_difference(times: &[CellTime]) -> f64 {
    let of_time =
        |at: usize| nearest(times, at).into_iter().map(move |near| (times[at].log - near.log).abs());
    let mut differences: Vec<f64> =
        (0..times.len()).step_by(1 + times.len() / 100).flat_map(of_time).collect();
    differences.sort_unstable_by(f64::total_cmp);
    differences[differences.len() * 9 / 10]
}

/// The times on the inputs that are nearest to that of one, by the sum of the relative differences of their features.
fn nearest<'t, 'l>(times: &'t [CellTime<'l>], of: usize) -> Vec<&'t CellTime<'l>> {
    let relative = |pair: (&Value, &Value)| match pair {
        (Value::Number(a), Value::Number(b)) if a != b => (a - b).abs() / (a.abs() + b.abs()),
        (a, b) => f64::from(a != b),
    };
    let distance = |time: &CellTime| time.values.iter().zip(times[of].values).map(relative).sum::<f64>();
    let others = times.iter().enumerate().filter(|(at, _)| *at != of).map(|(_, time)| time);
    let mut near: Vec<(f64, &CellTime)> = others.map(|time| (distance(time), time)).collect();
    near.sort_by(|a, b| a.0.total_cmp(&b.0));
    near.into_iter().take(NEAR).map(|(_, time)| time).collect()
}

/// Whether all near inputs lie on one side of an input, or have another category: what is true from there on may begin with it.
fn is_at_edge(times: &[CellTime], at: usize) -> bool {
    let near = nearest(times, at);
    (0..times[at].values.len()).any(|slot| {
        let side = |near: &CellTime| match (&near.values[slot], &times[at].values[slot]) {
            (Value::Number(a), Value::Number(b)) => a - b,
            (a, b) => f64::from(a != b),
        };
        near.iter().all(|near| side(near) < 0.0) || near.iter().all(|near| side(near) > 0.0)
    })
}

#[cfg(test)]
mod tests {
    use ah_model::ChoiceId;

    use super::*;

    /// [`super::take_out`] of two choices on inputs of one feature, their number.
    fn take_out(samples: &mut Vec<Sample>) -> Impossible {
        let values: Vec<[Value; 1]> = (0..100).map(|at| [Value::Number(f64::from(at))]).collect();
        super::take_out(samples, 2, &values.iter().map(|values| &values[..]).collect::<Vec<_>>())
    }

    /// Samples of two choices on these inputs: `change` may replace a time.
    fn samples(inputs: u32, change: impl Fn(u32, u32, f64) -> f64) -> Vec<Sample> {
        let time = |input: u32, choice: u32| 0.01 * f64::from(input + 1) * f64::from(choice + 1);
        let all = (0..inputs).flat_map(|input| [0, 1].map(|choice| (input, choice)));
        let sample = |(input, choice): (u32, u32)| {
            let feedback = change(input, choice, time(input, choice));
            Sample { input, choice: ChoiceId(choice), feedback }
        };
        all.map(sample).collect()
    }

    #[test]
    fn one_impossible_time_is_left_out() {
        for wrong in [1e-12, 2e-7, 1e6] {
            let mut all =
                samples(60, |input, choice, time| if (input, choice) == (30, 1) { wrong } else { time });
            let found = take_out(&mut all);
            assert_eq!(
                (found.left_out.len(), all.len(), found.left_out[0].feedback),
                (1, 118, wrong),
                "with its input"
            );
            assert!(found.sentinels.is_empty());
        }
    }

    #[test]
    fn one_time_that_is_off_the_near_inputs_is_left_out() {
        for factor in [1e-3, 2e-4, 1e3] {
            let at = |input: u32, choice: u32, time: f64| {
                time * if (input, choice) == (30, 1) { factor } else { 1.0 }
            };
            let mut all = samples(60, at);
            let found = take_out(&mut all);
            assert_eq!((found.left_out.len(), all.len()), (1, 118), "{factor}");
            assert_eq!((found.left_out[0].input, found.left_out[0].choice), (30, ChoiceId(1)));
        }
        let at =
            |input: u32, choice: u32, time: f64| time * if (input, choice) == (59, 1) { 1e3 } else { 1.0 };
        let mut all = samples(60, at);
        let found = take_out(&mut all);
        assert_eq!((found.left_out.len(), found.unsure.len(), all.len()), (0, 1, 120), "the longest input");
    }

    #[test]
    fn a_part_of_the_truth_stays() {
        let two = |input: u32, choice: u32, time: f64| {
            time * if choice == 1 && input % 25 == 20 { 200.0 } else { 1.0 }
        };
        assert_eq!(take_out(&mut samples(60, two)), Impossible::default(), "two inputs are slow");
        // Times of a search: half of the inputs are 1000 times as long as others, for one choice or the other.
        let lucky = |input: u32, choice: u32| ((input * 7 + choice * 5) % 11).is_multiple_of(2);
        let wild = |input: u32, choice: u32, time: f64| match (input, choice) {
            (30, 1) => time * 1e-5,
            _ => time * if lucky(input, choice) { 1.0 } else { 1e3 },
        };
        assert_eq!(take_out(&mut samples(60, wild)), Impossible::default(), "wide");
    }

    #[test]
    fn a_least_time_far_below_may_be_a_failure() {
        let at = |input: u32, choice: u32, time: f64| {
            if choice == 1 && input.is_multiple_of(2) { 1e-6 } else { time }
        };
        let found = take_out(&mut samples(60, at));
        assert_eq!((found.floor, found.left_out.len()), (Some((1e-6, 30)), 0));
    }

    #[test]
    fn the_greatest_time_of_many_inputs_may_be_a_limit() {
        let log = |limit: f64, every: u32| {
            let at = |input: u32, choice, time| {
                if input.is_multiple_of(every) && choice == 1 { limit } else { time }
            };
            take_out(&mut samples(60, at)).limit
        };
        assert_eq!(log(65.0, 4), Some((65.0, 15)));
        assert_eq!((log(65.0, 40), log(6.0, 4)), (None, None), "two inputs; five times the others");
    }

    #[test]
    fn a_time_that_repeats_far_above_all_others_is_a_failure() {
        let mut all = samples(60, |input, choice, time| match (input % 5, choice) {
            (0, 0) => 1e20,
            (1, 0) => 3.4e38,
            _ => time,
        });
        let found = take_out(&mut all);
        assert_eq!((found.sentinels, found.left_out.len()), (vec![(3.4e38, 12), (1e20, 12)], 0));
        assert_eq!(all.iter().filter(|sample| sample.feedback.is_infinite()).count(), 24);
    }

    #[test]
    fn ordinary_times_stay() {
        // A few inputs that are long for all choices, and a choice that grows with the square.
        let grow =
            |input: u32, choice: u32, _: f64| 1e-5 * 2.0_f64.powi(input as i32 % 30 * (1 + choice as i32));
        let mut all = samples(90, grow);
        assert_eq!(take_out(&mut all), Impossible::default());
        let long = |input: u32, _: u32, time: f64| if input == 7 { time * 1e6 } else { time };
        assert_eq!(take_out(&mut samples(60, long)), Impossible::default());
    }

    #[test]
    fn a_repetition_far_off_is_left_out() {
        let mut all = samples(20, |_, _, time| time);
        all.extend([(0, 0.0101), (0, 250.0)].map(|(input, feedback)| Sample {
            input,
            choice: ChoiceId(0),
            feedback,
        }));
        all.sort_by(|a, b| {
            (a.input, a.choice).cmp(&(b.input, b.choice)).then(a.feedback.total_cmp(&b.feedback))
        });
        assert_eq!(take_out(&mut all).left_out.len(), 1);
    }
}
