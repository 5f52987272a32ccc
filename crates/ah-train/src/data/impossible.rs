//! Times that cannot be: a single one of them can decide a mean.
//!
//! A time shorter than a clock cycle is none. A time 10,000 times off all others of its choice is none either, where the other choices
//! of its input say that the input is an ordinary one; nor is one that is as far off its own repetitions. These are left out, with their input where nothing else of the choice remains. A time
//! that occurs more than once and is 10,000 times above all others is how a table writes a failure (`1e20`, `3.4e38`), and counts as one.

use ah_model::ChoiceId;
use ah_model::math::ln;
use ah_model::shown::quoted;
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
/// At most one of so many times of a choice is impossible: where there are more, they are a part of the truth.
const ONE_OF: usize = 20;

/// What is wrong with the times of a log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Impossible {
    /// The times that are left out: input, choice, milliseconds.
    pub left_out: Vec<Sample>,
    /// Times that stand for a failure, and how often each does.
    pub sentinels: Vec<(f64, usize)>,
    /// The greatest time, and the number of inputs, where it may stand for a failure or a time limit.
    pub limit: Option<(f64, usize)>,
}

impl Impossible {
    /// A sentence for each kind. `text` returns the text of an input.
    pub fn sentences<'t>(
        &self,
        text: impl Fn(u32) -> &'t str,
        choices: &[String],
        unit: &str,
    ) -> Vec<String> {
        let named = self.left_out.first().map(|first| {
            let (count, choice) = (self.left_out.len(), quoted(&choices[first.choice.index()]));
            let times = if count == 1 { "1 time is" } else { &format!("{count} times are") };
            format!(
                "{times} impossible: below a clock cycle, or {FAR} times off what the others say. They are left out, for example {} {unit} of \
                 {choice} on {}",
                first.feedback,
                quoted(text(first.input)),
            )
        });
        // A table may have them in another unit.
        let instead = "write inf there, or import the table with --failed=VALUE, as the table has it";
        let failures = self.sentinels.iter().map(|(time, count)| {
            format!("the time {time:e} {unit} occurs {count} times, far above all others, so it counts as a failure; {instead}")
        });
        let limit = self.limit.map(|(time, inputs)| {
            format!(
                "the greatest time, {time} {unit}, is exactly the same on {inputs} inputs, and {ABOVE} or more times all others; if it stands for \
                 a failure or a limit of time, {instead}"
            )
        });
        named.into_iter().chain(failures).chain(limit).collect()
    }
}

/// Takes impossible times out of samples that are sorted by input, by choice and by time, and makes sentinels failures.
pub fn take_out(samples: &mut Vec<Sample>, choices: usize) -> Impossible {
    let mut found = Impossible { sentinels: sentinels(samples), ..Impossible::default() };
    let is_sentinel = |time: f64| found.sentinels.iter().any(|(sentinel, _)| *sentinel == time);
    samples.iter_mut().filter(|s| is_sentinel(s.feedback)).for_each(|s| s.feedback = f64::INFINITY);
    found.limit = limit(samples);
    let far = far_off(samples, choices);
    let mut at = 0;
    samples.retain(|sample| {
        let is_left_out = sample.feedback < CLOCK_CYCLE || far.binary_search(&at).is_ok();
        at += 1;
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

/// The times that stand for failures: each occurs more than once and is far above every lesser one.
fn sentinels(samples: &[Sample]) -> Vec<(f64, usize)> {
    let mut found = Vec::new();
    let mut limit = f64::INFINITY;
    loop {
        let most = greatest_below(samples, limit);
        let count = samples.iter().filter(|sample| sample.feedback == most).count();
        let next = greatest_below(samples, most);
        if next == 0.0 || most < FAR * next {
            return found;
        }
        // A single one may be an error of measuring.
        if count > 1 {
            found.push((most, count));
        }
        limit = most;
    }
}

/// The greatest time below a limit; 0 without one.
fn greatest_below(samples: &[Sample], limit: f64) -> f64 {
    samples.iter().map(|sample| sample.feedback).filter(|time| *time < limit).fold(0.0, f64::max)
}

/// The greatest time and the number of its inputs, where many have exactly it, far above all other times.
fn limit(samples: &[Sample]) -> Option<(f64, usize)> {
    let most = greatest_below(samples, f64::INFINITY);
    let next = greatest_below(samples, most);
    let inputs: FxHashSet<u32> = samples.iter().filter(|s| s.feedback == most).map(|s| s.input).collect();
    let is_far = next > 0.0 && most >= ABOVE * next;
    (is_far && inputs.len() >= LIMITED).then_some((most, inputs.len()))
}

/// The positions of the samples that are far off, ascending.
fn far_off(samples: &[Sample], choices: usize) -> Vec<usize> {
    let mut far = Vec::new();
    // By choice, the medians of its cells: the position of the first sample, how many there are, and the logarithm of the median.
    let mut cells: Vec<Vec<CellTime>> = vec![Vec::new(); choices];
    let mut start = 0;
    for row in samples.chunk_by(|a, b| a.input == b.input) {
        let mut of_row: Vec<(usize, CellTime)> = Vec::new();
        for cell in row.chunk_by(|a, b| a.choice == b.choice) {
            let times: Vec<f64> = cell.iter().map(|sample| sample.feedback).collect();
            let middle = median(&times).unwrap_or(f64::INFINITY);
            let is_far = |time: f64| time * FAR < middle || time > middle * FAR && time.is_finite();
            if times.len() > 2 && middle.is_finite() {
                far.extend((start..).zip(&times).filter(|(_, time)| is_far(**time)).map(|(at, _)| at));
            }
            if middle.is_finite() && middle >= CLOCK_CYCLE {
                let time = CellTime { start, count: cell.len(), log: ln(middle), over_others: f64::NAN };
                of_row.push((cell[0].choice.index(), time));
            }
            start += cell.len();
        }
        for at in 0..of_row.len() {
            let others = of_row.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, (_, t))| t.log);
            let (choice, time) = of_row[at];
            if let Some(middle) = median(&others.collect::<Vec<_>>()) {
                cells[choice].push(CellTime { over_others: time.log - middle, ..time });
            }
        }
    }
    for mut times in cells {
        times.sort_by(|a, b| a.log.total_cmp(&b.log));
        far.extend(outliers(&times).flat_map(|time| time.start..time.start + time.count));
    }
    far.sort_unstable();
    far.dedup();
    far
}

/// The median time of a choice on an input.
#[derive(Clone, Copy)]
struct CellTime {
    start: usize,
    count: usize,
    /// The logarithm of the median.
    log: f64,
    /// The same less the median of the other choices on the input.
    over_others: f64,
}

/// The times of a choice, ascending, that a gap separates from all others and that the other choices do not explain.
fn outliers(times: &[CellTime]) -> impl Iterator<Item = &CellTime> {
    let few = times.len() / ONE_OF + usize::from(times.len() >= ONE_OF / 2);
    let gap = ln(FAR);
    let is_gap = |at: &usize| times[*at].log - times[*at - 1].log >= gap;
    let low = (1..times.len()).take(few).rfind(is_gap).unwrap_or(0);
    let first_high = times.len().saturating_sub(few).max(low + 1);
    let high = (first_high..times.len()).find(is_gap).unwrap_or(times.len());
    let usual: Vec<f64> =
        times.get(low..high).unwrap_or_default().iter().map(|time| time.over_others).collect();
    let usual = median(&usual).unwrap_or(f64::NAN);
    let (below, above) = (&times[..low], times.get(high..).unwrap_or_default());
    let is_odd = move |time: &&CellTime| (time.over_others - usual).abs() >= gap;
    below.iter().chain(above).filter(is_odd)
}

#[cfg(test)]
mod tests {
    use ah_model::ChoiceId;

    use super::*;

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
            let found = take_out(&mut all, 2);
            assert_eq!(
                (found.left_out.len(), all.len(), found.left_out[0].feedback),
                (1, 118, wrong),
                "with its input"
            );
            assert!(found.sentinels.is_empty());
        }
    }

    #[test]
    fn the_greatest_time_of_many_inputs_may_be_a_limit() {
        let log = |limit: f64, every: u32| {
            let at = |input: u32, choice, time| {
                if input.is_multiple_of(every) && choice == 1 { limit } else { time }
            };
            take_out(&mut samples(60, at), 2).limit
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
        let found = take_out(&mut all, 2);
        assert_eq!((found.sentinels, found.left_out.len()), (vec![(3.4e38, 12), (1e20, 12)], 0));
        assert_eq!(all.iter().filter(|sample| sample.feedback.is_infinite()).count(), 24);
    }

    #[test]
    fn ordinary_times_stay() {
        // A few inputs that are long for all choices, and a choice that grows with the square.
        let grow =
            |input: u32, choice: u32, _: f64| 1e-5 * 2.0_f64.powi(input as i32 % 30 * (1 + choice as i32));
        let mut all = samples(90, grow);
        assert_eq!(take_out(&mut all, 2), Impossible::default());
        let long = |input: u32, _: u32, time: f64| if input == 7 { time * 1e6 } else { time };
        assert_eq!(take_out(&mut samples(60, long), 2), Impossible::default());
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
        assert_eq!(take_out(&mut all, 2).left_out.len(), 1);
    }
}
