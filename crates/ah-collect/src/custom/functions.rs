//! The runner of a decision between functions.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ah_measure::sampling::{Rng, Seed};
use ah_measure::{Bench, Burst, Failure, Runner, Subject, Times};
use ah_types::{ChoiceId, Context, Value};

use super::feature_time::feature_ms;

/// Copies of the input made at once, so that reading the clock (25 ns) is spread over this many runs.
const COPIES: u32 = 16;

/// The functions of a decision.
pub(super) struct Functions<T> {
    pub draw: DrawFunction<T>,
    pub draw_like: Option<DrawLikeFunction<T>>,
    pub features: Vec<FeatureFunction<T>>,
    pub choices: Vec<ChoiceFunction<T>>,
    pub check: Check<T>,
}

type DrawFunction<T> = Box<dyn Fn(&mut Rng) -> T + Send + Sync>;
type DrawLikeFunction<T> = Box<dyn Fn(&Context, &mut Rng) -> Option<T> + Send + Sync>;
type FeatureFunction<T> = Box<dyn Fn(&T) -> Value + Send + Sync>;
type ChoiceFunction<T> = Box<dyn Fn(&mut T) + Send + Sync>;

/// The check of a choice's result.
pub(super) enum Check<T> {
    None,
    /// True for a right result.
    Predicate(Box<dyn Fn(&T) -> bool + Send + Sync>),
    /// Returns true if a result equals the first choice's.
    Agreement(fn(&T, &T) -> bool),
}

/// Measures functions in this process.
pub(super) struct FunctionRunner<T> {
    subject: Subject,
    functions: Arc<Functions<T>>,
    input: Option<LoadedInput<T>>,
}

struct LoadedInput<T> {
    original: T,
    /// The copies that the choices change.
    copies: Vec<T>,
    /// The input after the first choice; made when a check needs it.
    reference: Option<T>,
}

/// Makes `count` fresh copies of the input.
fn refresh<'a, T: Clone>(copies: &'a mut Vec<T>, original: &T, count: u32) -> &'a mut [T] {
    let count = count as usize;
    for copy in copies.iter_mut().take(count) {
        copy.clone_from(original);
    }
    while copies.len() < count {
        copies.push(original.clone());
    }
    &mut copies[..count]
}

impl<T> FunctionRunner<T> {
    pub(super) fn new(mut subject: Subject, functions: Arc<Functions<T>>) -> Self {
        let optimization = &mut subject.optimization;
        let names = optimization.features.iter().map(|feature| feature.name.as_str());
        optimization.training.feature_ms = feature_ms(&functions.draw, names.zip(&functions.features));
        Self { subject, functions, input: None }
    }

    /// Returns the features of an input.
    fn context(&self, input: &T) -> Context {
        let features = self.subject.optimization.features.iter().zip(&self.functions.features);
        features.map(|(feature, value)| (feature.name.as_str(), value(input))).collect()
    }

    /// Returns the input of a context: the one that `seed` draws, or one that the user's function makes.
    fn create(&self, context: &Context, seed: Seed) -> Result<T, Failure> {
        let original = (self.functions.draw)(&mut seed.rng());
        if self.matches(&original, context) {
            return Ok(original);
        }
        let draw_like = self.functions.draw_like.as_ref();
        let like = draw_like.and_then(|draw_like| draw_like(context, &mut seed.rng()));
        match like {
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
        self.context(input)
            .iter()
            .all(|(name, value)| context.get(name).is_some_and(|other| same(value, other)))
    }
}

impl<T: Clone + Send> Runner for FunctionRunner<T> {
    fn subject(&self) -> &Subject {
        &self.subject
    }

    fn draw(&self, seed: Seed) -> Result<Context, Failure> {
        Ok(self.context(&(self.functions.draw)(&mut seed.rng())))
    }

    fn accepts(&self, _: &Context) -> Result<(), String> {
        match self.functions.draw_like {
            Some(_) => Ok(()),
            None => {
                Err("its inputs are drawn; give it input_like(...) to make one with these features".into())
            }
        }
    }

    fn label(&self, context: &Context) -> String {
        context.to_string()
    }

    fn load(&mut self, context: &Context, seed: Seed) -> Result<(), Failure> {
        self.input = None;
        let original = self.create(context, seed)?;
        self.input = Some(LoadedInput { original, copies: Vec::new(), reference: None });
        Ok(())
    }

    fn unload(&mut self) {
        self.input = None;
    }
}

fn not_loaded() -> Failure {
    Failure::failed("no input is loaded")
}

impl<T: Clone> Bench for FunctionRunner<T> {
    fn check(&mut self, choice: ChoiceId) -> Result<(), Failure> {
        let input = self.input.as_mut().ok_or_else(not_loaded)?;
        let Functions { choices, check, .. } = &*self.functions;
        let result = &mut refresh(&mut input.copies, &input.original, 1)[0];
        choices[choice.index()](result);
        match check {
            Check::None => Ok(()),
            Check::Predicate(is_right) if is_right(result) => Ok(()),
            Check::Predicate(_) => Err(Failure::failed("wrong result: the check failed")),
            Check::Agreement(equal) => {
                let reference = input.reference.get_or_insert_with(|| {
                    let mut reference = input.original.clone();
                    choices[0](&mut reference);
                    reference
                });
                if equal(result, reference) {
                    return Ok(());
                }
                Err(Failure::failed(format!(
                    "wrong result: it differs from that of {}",
                    self.subject.choices[0]
                )))
            }
        }
    }

    fn run(&mut self, choice: ChoiceId, burst: Burst) -> Result<Times, Failure> {
        let input = self.input.as_mut().ok_or_else(not_loaded)?;
        let run = &self.functions.choices[choice.index()];
        let sample = |_| {
            let (mut elapsed, mut left) = (Duration::ZERO, burst.runs);
            while left > 0 {
                let batch = left.min(COPIES);
                let copies = refresh(&mut input.copies, &input.original, batch);
                left -= batch;
                let start = Instant::now();
                for copy in copies {
                    run(black_box(copy));
                }
                elapsed += start.elapsed();
            }
            elapsed.as_secs_f64() * 1e3 / f64::from(burst.runs)
        };
        Ok((0..burst.samples).map(sample).collect())
    }
}
