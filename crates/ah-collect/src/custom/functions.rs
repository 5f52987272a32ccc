//! The runner of a decision between functions.

use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use ah_measure::sampling::Rng;
use ah_measure::{BenchmarkRunner, Burst, Experiment, Failure, Times};
use ah_model::{ChoiceId, Context, Value};

use super::feature_time::feature_ms;

/// The most copies of the input made at once, so that reading the clock (25 ns) is spread over this many runs.
const COPIES: u128 = 16;
/// Fewer copies are made of an input where they would take longer than this.
const MOST_COPYING: Duration = Duration::from_millis(1);

/// The check of a choice's result.
pub(super) enum Check<T> {
    None,
    /// True for a right result.
    Predicate(Box<dyn Fn(&T) -> bool + Send + Sync>),
    /// Whether a result equals the first choice's.
    Agreement(fn(&T, &T) -> bool),
}

/// A decision between functions, measured in this process.
pub(super) struct FunctionRunner<T> {
    pub experiment: Experiment,
    pub draw: Box<dyn Fn(&mut Rng) -> T + Send + Sync>,
    pub draw_like: Option<DrawLikeFunction<T>>,
    /// In the order of the optimization's features.
    pub features: Vec<FeatureFunction<T>>,
    /// In the order of the experiment's choices.
    pub choices: Vec<ChoiceFunction<T>>,
    pub check: Check<T>,
}

type DrawLikeFunction<T> = Box<dyn Fn(&Context, &mut Rng) -> Option<T> + Send + Sync>;
type FeatureFunction<T> = Box<dyn Fn(&T) -> Value + Send + Sync>;
type ChoiceFunction<T> = Box<dyn Fn(&mut T) + Send + Sync>;

/// An input.
pub(super) struct Input<T> {
    original: T,
    /// The copies that the choices change.
    copies: Vec<T>,
    /// The input after the first choice; made when a check needs it.
    reference: Option<T>,
}

impl<T: Clone> Input<T> {
    /// Makes copies of an input. Their number depends on the time that one takes, and on no choice: a run works on a copy
    /// that was made as long ago, and is as cold, whether it is the only run of a sample or one of thousands.
    fn new(original: T) -> Self {
        let mut copies = vec![original.clone()];
        let start = Instant::now();
        copies[0].clone_from(&original);
        copies.resize_with(copies_at_once(start.elapsed()), || original.clone());
        Self { original, copies, reference: None }
    }

    /// Fresh copies.
    fn refresh(&mut self) -> &mut [T] {
        for copy in &mut self.copies {
            copy.clone_from(&self.original);
        }
        &mut self.copies
    }
}

/// The number of copies, where one takes this long.
fn copies_at_once(one: Duration) -> usize {
    let count = (MOST_COPYING.as_nanos() / one.as_nanos().max(1)).clamp(1, COPIES);
    usize::try_from(count).unwrap_or(1)
}

impl<T> FunctionRunner<T> {
    /// Times the features, which takes up to 0.2 s.
    pub(super) fn time_features(&mut self) {
        let optimization = &mut self.experiment.optimization;
        let names = optimization.features.iter().map(|feature| feature.name.clone());
        optimization.feature_ms = names.zip(feature_ms(&self.draw, &self.features)).collect();
    }

    /// The features of an input.
    fn context(&self, input: &T) -> Context {
        let features = self.experiment.optimization.features.iter().zip(&self.features);
        features.map(|(feature, value)| (feature.name.as_str(), value(input))).collect()
    }

    /// The input of a context: the one that `rng` draws, or one that the user's function makes.
    fn create(&self, context: &Context, rng: &mut Rng) -> Result<T, Failure> {
        let mut again = rng.clone();
        let original = (self.draw)(rng);
        if self.matches(&original, context) {
            return Ok(original);
        }
        match self.draw_like.as_ref().and_then(|draw_like| draw_like(context, &mut again)) {
            Some(input) if self.matches(&input, context) => Ok(input),
            Some(input) => {
                let found = self.context(&input);
                Err(Failure::skipped(format!("input_like made an input with the features {found}")))
            }
            None => Err(Failure::skipped("no input has these features")),
        }
    }

    fn matches(&self, input: &T, context: &Context) -> bool {
        let is_missing = |value: &Value| matches!(value, Value::Number(x) if x.is_nan());
        let same = |a: &Value, b: &Value| a == b || is_missing(a) && is_missing(b);
        self.context(input).iter().all(|(name, a)| context.get(name).is_some_and(|b| same(a, b)))
    }
}

impl<T: Clone> BenchmarkRunner for FunctionRunner<T> {
    type Input = Input<T>;

    fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    fn draw(&self, rng: &mut Rng) -> Context {
        self.context(&(self.draw)(rng))
    }

    fn accepts(&self, _: &Context) -> Result<(), String> {
        if self.draw_like.is_some() {
            return Ok(());
        }
        Err("its inputs are drawn; give it input_like(...) to make one with these features".to_owned())
    }

    fn load(&mut self, context: &Context, rng: &mut Rng) -> Result<Input<T>, Failure> {
        self.create(context, rng).map(Input::new)
    }

    /// A choice changes copies, which are made anew from the original.
    fn survives_panics(&self) -> bool {
        true
    }

    fn check(&mut self, input: &mut Input<T>, choice: ChoiceId) -> Result<(), Failure> {
        let result = &mut input.refresh()[0];
        self.choices[choice.index()](result);
        match &self.check {
            Check::None => Ok(()),
            Check::Predicate(is_right) if is_right(result) => Ok(()),
            Check::Predicate(_) => Err(Failure::failed("wrong result: the check failed")),
            Check::Agreement(equal) => {
                let first = &self.experiment.choices[0];
                if input.reference.is_none() {
                    let mut reference = input.original.clone();
                    let run = || self.choices[0](&mut reference);
                    // A panic here is no fault of this choice.
                    if catch_unwind(AssertUnwindSafe(run)).is_err() {
                        return Err(Failure::Unmeasured(format!("no reference: {first} panicked")));
                    }
                    input.reference = Some(reference);
                }
                if input.reference.as_ref().is_some_and(|reference| equal(&input.copies[0], reference)) {
                    return Ok(());
                }
                Err(Failure::failed(format!("wrong result: it differs from that of {first}")))
            }
        }
    }

    fn run_benchmark(
        &mut self,
        input: &mut Input<T>,
        choice: ChoiceId,
        burst: Burst,
    ) -> Result<Times, Failure> {
        let run = &self.choices[choice.index()];
        let sample = |_| {
            let mut elapsed = Duration::ZERO;
            let mut left = burst.runs as usize;
            while left > 0 {
                let copies = input.refresh();
                let batch = left.min(copies.len());
                left -= batch;
                let start = Instant::now();
                for copy in &mut copies[..batch] {
                    run(black_box(copy));
                }
                elapsed += start.elapsed();
            }
            elapsed.as_secs_f64() * 1e3 / f64::from(burst.runs)
        };
        Ok((0..burst.samples).map(sample).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_that_take_long_are_few() {
        let counts =
            [0, 30_000, 100_000, 500_000, 70_000_000].map(|ns| copies_at_once(Duration::from_nanos(ns)));
        assert_eq!(counts, [16, 16, 10, 2, 1]);
    }
}
