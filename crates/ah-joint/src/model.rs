//! The joint model: the log time of a choice on an input, less the input's own level, from numbers of both.

use ah_model::{ChoiceId, Scalar, Value};
use ah_types::random;

use crate::boost::BoostedTree;
use crate::columns::{Coding, Numbers};
use crate::fields;
use crate::levels::{Timing, effects, ranks};
use crate::rows::{Coded, boosting, thinned, weight};
use crate::tilings;

/// Most categories of a feature that get a column each.
const MAX_CATEGORIES: usize = 16;
/// Most timings to learn from.
const MAX_ROWS: usize = 150_000;
/// Broad trees, and trees that focus on the fast choices. With 60 of rate 0.2 and 120 of 0.12, predictions near the best err by 0.053
/// instead of 0.047 in log time (all cells of an H100's log, docs/laboratory.md).
const TREES: [u64; 2] = [100, 200];
const LEAVES: usize = 48;
const RATE: f64 = 0.05;
const ROW_SHARE: f64 = 0.6;

/// A learned joint model.
#[derive(Debug)]
pub struct JointModel {
    numbers: Numbers,
    coding: Coding,
    /// The broad trees, then those that focus on the fast choices.
    trees: Vec<BoostedTree>,
}

impl JointModel {
    /// Learns from these timings, ascending by input. `inputs` are the features of all inputs. The trees learn what `base` leaves: a
    /// first guess of the log time of a choice on an input.
    pub fn fit(
        inputs: &[&[Value]],
        choices: &[String],
        timings: &[Timing],
        base: impl Fn(u32, u32) -> f64,
        seed: u64,
    ) -> Self {
        let is_finite = |timing: &Timing| timing.log_time.is_finite();
        let finite: Vec<Timing> = timings.iter().copied().filter(is_finite).collect();
        let effects = effects(&finite, inputs.len(), choices.len());
        let mut fields = fields::columns(choices, &effects);
        fields.push(ranks(&effects));
        let numbers = Numbers { inputs: numbers(inputs), fields };
        let mut kept = thinned(&finite, MAX_ROWS, seed);
        let log_times: Vec<f64> = kept.iter().map(|timing| timing.log_time).collect();
        kept.iter_mut().for_each(|timing| timing.log_time -= base(timing.input, timing.choice));
        let columns = tilings::columns(&numbers, &kept, seed);
        let coded = Coded::new(columns, &numbers, &kept);
        let [broad, focused] = TREES.map(|trees| boosting(trees, LEAVES, RATE, ROW_SHARE));
        let even = vec![1; kept.len()];
        let (mut trees, left) =
            coded.fit(&broad, kept.iter().map(|timing| timing.log_time), even, random::mix(seed, 10));
        let weights = coded.weights(&log_times, &left);
        trees.extend(coded.fit(&focused, left.into_iter(), weights, random::mix(seed, 1)).0);
        Self { numbers, coding: coded.coding, trees }
    }

    /// The predicted log times of choices on an input, less the input's own level. The trees add to `base`.
    fn predict(&self, input: u32, choices: &[ChoiceId], base: impl Fn(u32, u32) -> f64) -> Vec<f64> {
        let codes = |choice: &ChoiceId| self.coding.codes(&self.numbers, input, choice.0);
        let rows: Vec<Vec<u16>> = choices.iter().map(codes).collect();
        let mut sums = vec![0.0; rows.len()];
        // The outer loop is over the trees, as one tree fits into the cache and all do not.
        for BoostedTree { splits, values } in &self.trees {
            for (sum, codes) in sums.iter_mut().zip(&rows) {
                *sum += values[splits.leaf(|column| codes[column])];
            }
        }
        choices.iter().zip(sums).map(|(choice, left)| base(input, choice.0) + left).collect()
    }

    /// The log times of choices on an input that timed some others, given with their log times; `None` where it timed
    /// none. Its level is the mean difference from the prediction, where choices near the best count most, as they do in learning.
    pub fn estimates(
        &self,
        input: u32,
        timed: &[(ChoiceId, f64)],
        wanted: &[ChoiceId],
        base: impl Fn(u32, u32) -> f64,
    ) -> Option<Vec<f64>> {
        let choices: Vec<ChoiceId> = timed.iter().map(|(choice, _)| *choice).collect();
        let predicted = self.predict(input, &choices, &base);
        let best = predicted.iter().copied().fold(f64::INFINITY, f64::min);
        let mut sum = 0.0;
        let mut count = 0.0;
        for ((_, log_time), predicted) in timed.iter().zip(&predicted) {
            sum += weight(predicted - best) * (log_time - predicted);
            count += weight(predicted - best);
        }
        (count > 0.0)
            .then(|| self.predict(input, wanted, base).into_iter().map(|x| sum / count + x).collect())
    }

    /// The `most` choices that are fastest on average, ascending.
    pub fn fastest(&self, most: usize) -> Vec<ChoiceId> {
        let ranks = self.numbers.fields.last().map_or(&[][..], Vec::as_slice);
        (0..).map(ChoiceId).zip(ranks).filter(|(_, rank)| **rank < most as f64).map(|(id, _)| id).collect()
    }
}

/// The inputs' numbers, by feature. A category is a feature of its own: 1 on its inputs, 0 on others.
fn numbers(inputs: &[&[Value]]) -> Vec<Vec<f64>> {
    let width = inputs.first().map_or(0, |values| values.len());
    let mut numbers = Vec::new();
    for slot in 0..width {
        let scalars = || inputs.iter().map(|values| values[slot].as_scalar());
        if scalars().all(|scalar| scalar.number().is_some()) {
            // A missing number is a value of its own, below most others.
            let number = |scalar: Scalar<'_>| scalar.number().filter(|x| x.is_finite()).unwrap_or(-1.0);
            numbers.push(scalars().map(number).collect());
            continue;
        }
        let mut names: Vec<&str> = scalars().filter_map(Scalar::category).collect();
        names.sort_unstable();
        names.dedup();
        for name in names.into_iter().take(MAX_CATEGORIES) {
            let is = |category: Option<&str>| f64::from(u8::from(category == Some(name)));
            numbers.push(scalars().map(|scalar| is(scalar.category())).collect());
        }
    }
    numbers
}
