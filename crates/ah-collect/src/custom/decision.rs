//! The description of a decision between functions, and its command line.

use std::process::ExitCode;
use std::time::Duration;

use ah_measure::Experiment;
use ah_measure::sampling::Rng;
use ah_model::{Context, Error, Feature, Value, this_cpu};
use ah_types::{Optimization, TimingPolicy};

use super::functions::{Check, FunctionRunner};
use crate::cli::{self, Program};
use crate::worker::{self, Named, Worker, check_choices};

/// Begins the description of a decision between functions of your own.
///
/// The first choice is the fallback: what the program does today. Each choice gets a fresh copy of the
/// input, which it may change; copying does not count. A choice leaves its result in the input, where the
/// check finds it.
///
/// ```no_run
/// fn main() -> std::process::ExitCode {
///     use ah_collect::rand::Rng;
///     ah_collect::decision("sort")
///         .input(|rng| -> Vec<u64> { (0..rng.random_range(4..4096)).map(|_| rng.random()).collect() })
///         .feature("length", |numbers| numbers.len())
///         .choice("stable", |numbers| numbers.sort())
///         .choice("unstable", |numbers| numbers.sort_unstable())
///         .check(|numbers| numbers.is_sorted())
///         .main()
/// }
/// ```
pub fn decision(name: impl Into<String>) -> NamedDecision {
    NamedDecision { name: name.into() }
}

/// A decision with only a name; see [`decision`].
#[derive(Clone, Debug)]
pub struct NamedDecision {
    name: String,
}

impl NamedDecision {
    /// Draws an input. All randomness comes from the generator, so that the same seed gives the same inputs.
    ///
    /// Put large data that no choice changes into an [`Arc`](std::sync::Arc): each choice gets a clone of the input.
    pub fn input<T: Clone + Send + 'static>(
        self,
        draw: impl Fn(&mut Rng) -> T + Send + Sync + 'static,
    ) -> Decision<T> {
        let optimization = Optimization::new(&self.name);
        let runner = FunctionRunner {
            experiment: Experiment::new(optimization, this_cpu(), Vec::new(), TimingPolicy::default()),
            draw: Box::new(draw),
            draw_like: None,
            features: Vec::new(),
            choices: Vec::new(),
            check: Check::None,
        };
        Decision { runner, mistakes: Vec::new() }
    }
}

/// A decision between functions that change an input of type `T`; see [`decision`].
pub struct Decision<T> {
    runner: FunctionRunner<T>,
    /// Mistakes in the description, reported when it is complete.
    mistakes: Vec<String>,
}

impl<T: Clone + Send + 'static> Decision<T> {
    /// Makes an input with the features of a context from the user, for `--inputs`; returns `None` if there
    /// is no such input.
    pub fn input_like(
        mut self,
        draw_like: impl Fn(&Context, &mut Rng) -> Option<T> + Send + Sync + 'static,
    ) -> Self {
        self.runner.draw_like = Some(Box::new(draw_like));
        self
    }

    /// Adds a feature, computed from the input: a number, a truth value or a category's name.
    pub fn feature<V: FeatureValue>(
        mut self,
        name: &str,
        value: impl Fn(&T) -> V + Send + Sync + 'static,
    ) -> Self {
        self.runner.experiment.optimization.features.push(V::feature(name));
        self.runner.features.push(Box::new(move |input| value(input).into()));
        self
    }

    /// Adds a choice. Its result stays in the input; a returned value is dropped within the time.
    #[must_use]
    pub fn choice<R>(mut self, name: &str, run: impl Fn(&mut T) -> R + Send + Sync + 'static) -> Self {
        self.runner.experiment.choices.push(name.to_owned());
        self.runner.choices.push(Box::new(move |input| _ = std::hint::black_box(run(input))));
        self
    }

    /// Offers the previous choice only if this expression over the features holds, for example `length <=
    /// 2048`. The log has the expression, and generated code obeys it.
    #[must_use]
    pub fn eligible(mut self, expression: &str) -> Self {
        match self.runner.experiment.choices.last() {
            Some(name) => {
                _ = self.runner.experiment.optimization.eligible.insert(name.clone(), expression.to_owned());
            }
            None => self.mistakes.push(format!("eligible({expression:?}) comes before the first choice")),
        }
        self
    }

    /// Checks the result that a choice left in the input. A wrong result is a failure and is never timed.
    #[must_use]
    pub fn check(mut self, is_right: impl Fn(&T) -> bool + Send + Sync + 'static) -> Self {
        self.runner.check = Check::Predicate(Box::new(is_right));
        self
    }

    /// Checks that every choice leaves the same input as the first choice.
    #[must_use]
    pub fn check_agreement(mut self) -> Self
    where
        T: PartialEq,
    {
        self.runner.check = Check::Agreement(|a, b| a == b);
        self
    }

    /// Runs the whole program: the command line of `ah-collect` for this decision. It appends to a log
    /// and continues where it stopped.
    ///
    /// Functions run in a worker process, which is this program started again with `serve`: a choice
    /// that panics, ends the process or never ends costs only its time on that input. So call this first in
    /// `main`.
    pub fn main(self) -> ExitCode {
        let name = &self.runner.experiment.optimization.name;
        let about = format!("Measure the choices of {name} on real inputs and append to the log.");
        match self.validate() {
            Ok(runner) => cli::main(runner, &about, ""),
            Err(mistake) => ah_cli::finish(Err(mistake)),
        }
    }

    /// The runner, if the description has no mistake.
    fn validate(mut self) -> Result<FunctionRunner<T>, Error> {
        let Experiment { optimization, choices, .. } = &mut self.runner.experiment;
        optimization.fallback = choices.first().cloned().into_iter().collect();
        let mut mistakes = self.mistakes;
        if optimization.features.is_empty() {
            mistakes.push("it has no feature".to_owned());
        }
        mistakes.extend(check_choices(choices.iter()).err());
        if matches!(self.runner.check, Check::Agreement(_))
            && choices.first().is_some_and(|first| optimization.eligible.contains_key(first))
        {
            mistakes.push(
                "the first choice is the reference of check_agreement, so it must always run".to_owned(),
            );
        }
        if let Some(mistake) = mistakes.first() {
            return Err(Error::Usage(format!("the decision {:?}: {mistake}", optimization.name)));
        }
        Ok(self.runner)
    }
}

impl<T: Clone + Send + 'static> Program for FunctionRunner<T> {
    type Flags = ();

    fn workers(&self, (): &(), limit: Duration) -> Result<Vec<Worker>, Error> {
        if matches!(self.check, Check::None) {
            ah_cli::warning("no check is given, so a wrong result is not noticed; add .check(...)");
        }
        let named = Named::Optimization(Box::new(self.experiment.optimization.clone()));
        Ok(vec![Worker::start(worker::command()?, limit, named)?])
    }

    fn serve(mut self, (): (), _: Duration) -> std::io::Result<()> {
        self.time_features();
        ah_measure::serve(self)
    }
}

/// A value of a feature: a number, a truth value or a category's name.
pub trait FeatureValue: Into<Value> {
    /// The feature of this name for such values.
    fn feature(name: &str) -> Feature;
}

macro_rules! values {
    ($($type:ty)* => $feature:expr) => {
        $(impl FeatureValue for $type {
            fn feature(name: &str) -> Feature {
                $feature(name)
            }
        })*
    };
}
values!(i32 u32 i64 u64 usize => |name| Feature { integer: true, ..Feature::numerical(name) });
values!(f32 f64 => Feature::numerical);
values!(bool &'static str String => Feature::categorical);
