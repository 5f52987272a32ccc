//! The inputs to measure, in order: the seeded sequence, or a list from the user.

mod earlier;
#[cfg(feature = "cli")]
mod inputs_file;
mod shard;

use std::collections::{HashSet, VecDeque};

use ah_measure::sampling::Seed;
use ah_measure::{Failure, Runner};
use ah_types::{Context, Schema, Value};

pub use earlier::EarlierInputs;
#[cfg(feature = "cli")]
pub use inputs_file::read_inputs;
pub use shard::Shard;

/// A sequence counts as exhausted after this many draws in a row that repeat earlier ones.
const MAX_REPEATS: u32 = 100_000;

/// A run gives up after this many draws in a row that cannot be measured: their cause is probably the same.
const MAX_FLAWED: u32 = 1000;

/// An input to be measured.
#[derive(Clone, Debug)]
pub struct PlannedInput {
    /// Its features.
    pub context: Context,
    /// The seed of the operands' random data; a drawn input was drawn with it.
    pub seed: Seed,
    /// The features' text as written in the log: the key of the input.
    pub text: String,
    /// By choice: whether it is timed; `None`: all are.
    pub wanted: Option<Vec<bool>>,
    /// The reason why a log cannot hold this input; it is recorded and not measured.
    pub flaw: Option<String>,
}

/// Returns the reason why a log cannot hold this context.
fn flaw(context: &Context) -> Option<String> {
    context.iter().find_map(|(name, value)| match value {
        Value::Number(x) if x.is_infinite() => {
            Some(format!("the feature {name:?} is {x}, expected a finite number, or NaN where it is missing"))
        }
        Value::Category(category) if category.contains(['\n', '\r']) => {
            Some(format!("the feature {name:?} has a line end, expected text of one line"))
        }
        _ => None,
    })
}

/// The inputs that are still to be measured.
#[derive(Debug)]
pub struct InputQueue {
    /// `None`: the runner draws the inputs from the seed.
    listed: Option<Vec<Context>>,
    next: u64,
    /// The sequence ends before this position.
    end: u64,
    seed: u64,
    shard: Shard,
    seen: HashSet<String>,
    /// Inputs that were drawn ahead, and perhaps the reason why no further one can be drawn.
    ahead: VecDeque<Result<PlannedInput, Failure>>,
    /// The last draws in a row that cannot be measured.
    flawed: u32,
    earlier: EarlierInputs,
    schema: Schema,
}

impl InputQueue {
    /// Returns the sequence of `seed`, or the `listed` inputs, without those that are done.
    pub fn new(
        listed: Option<Vec<Context>>,
        seed: u64,
        shard: Shard,
        earlier: EarlierInputs,
        schema: Schema,
    ) -> Self {
        let (seen, ahead) = (HashSet::new(), VecDeque::new());
        Self { listed, next: 0, end: u64::MAX, seed, shard, seen, ahead, flawed: 0, earlier, schema }
    }

    /// Notes that this choice was skipped. Returns the number of inputs that are done by this.
    pub(crate) fn note_skip(&mut self, choice: usize) -> u64 {
        self.earlier.note_skip(choice)
    }

    /// Returns the same sequence with the inputs that are done.
    #[must_use]
    pub(crate) fn with_earlier_inputs(self) -> Self {
        Self { earlier: EarlierInputs::default(), ..self }
    }

    /// Ends the sequence after this many draws.
    #[must_use]
    pub fn with_draws(self, draws: Option<u64>) -> Self {
        Self { end: draws.unwrap_or(u64::MAX), ..self }
    }

    /// Returns the next input; `None` when the list or the sequence ends, or every draw repeats an earlier one.
    ///
    /// # Errors
    /// The runner cannot draw, or too many inputs in a row cannot be measured.
    pub fn next(&mut self, runner: &dyn Runner) -> Result<Option<PlannedInput>, Failure> {
        loop {
            let drawn = self.ahead.pop_front().map_or_else(|| self.draw(runner), |ahead| ahead.map(Some));
            match drawn? {
                // A choice that was skipped since then may have completed it.
                Some(input) if self.earlier.is_done(&input.text) => {}
                Some(input) => {
                    self.earlier.forget(&input.text);
                    return Ok(Some(input));
                }
                None => return Ok(None),
            }
        }
    }

    /// Returns the inputs after the next one, at most `most`.
    pub fn upcoming(&mut self, runner: &dyn Runner, most: usize) -> impl Iterator<Item = &PlannedInput> {
        while self.ahead.len() < most && !self.ahead.back().is_some_and(Result::is_err) {
            match self.draw(runner).transpose() {
                Some(drawn) => self.ahead.push_back(drawn),
                None => break,
            }
        }
        self.ahead.iter().flatten()
    }

    /// Draws the next input of the sequence that is not done.
    fn draw(&mut self, runner: &dyn Runner) -> Result<Option<PlannedInput>, Failure> {
        let mut repeats = 0;
        while repeats < MAX_REPEATS && self.next < self.end {
            let position = self.next;
            self.next += 1;
            let seed = Seed(self.seed, position);
            let drawn = match &self.listed {
                Some(contexts) => match usize::try_from(position).ok().and_then(|i| contexts.get(i)) {
                    Some(context) => Ok(context.clone()),
                    None => return Ok(None),
                },
                None => runner.draw(seed),
            };
            let (context, text, flaw) = match drawn {
                Ok(context) => {
                    let (text, flaw) = (context.log_text(&self.schema), flaw(&context));
                    (context, text, flaw)
                }
                Err(Failure::Skipped(reason)) => {
                    (Context::new(), format!("draw {position} of seed {}", self.seed), Some(reason))
                }
                Err(failure) => return Err(failure),
            };
            self.flawed = if flaw.is_some() { self.flawed + 1 } else { 0 };
            if let Some(reason) = flaw.as_ref().filter(|_| self.flawed >= MAX_FLAWED) {
                return Err(Failure::failed(format!(
                    "{MAX_FLAWED} in a row cannot be measured. The last was {text}: {reason}. \
                     Change how inputs are drawn, or the features"
                )));
            }
            // An input that is drawn twice belongs to the shard that drew it first.
            if !self.seen.insert(text.clone()) || self.earlier.is_done(&text) {
                repeats += 1;
            } else if self.shard.contains(position) {
                return Ok(Some(PlannedInput { context, seed, text, wanted: None, flaw }));
            }
        }
        Ok(None)
    }

    /// Returns the number of listed inputs that are not measured yet; `None` for a sequence.
    pub fn remaining(&self) -> Option<u64> {
        let contexts = self.listed.as_ref()?;
        let mut seen = self.seen.clone();
        let mut is_fresh = |text: String| !self.earlier.is_done(&text) && seen.insert(text);
        let fresh = contexts.iter().zip(0..).filter(|(c, _)| is_fresh(c.log_text(&self.schema)));
        Some(fresh.filter(|(_, position)| self.shard.contains(*position)).count() as u64)
    }
}
