//! The inputs to measure, in order: the seeded sequence, or a list from the user, without those of earlier runs.
//!
//! A [`Plan`] owns all three. The devices of a run share it: each takes the next place of the sequence, draws the input by
//! its own worker, and only then asks whether the input is new.

mod earlier;
mod inputs_file;

use std::collections::{HashSet, VecDeque};
use std::sync::Mutex;
use std::time::Instant;

use ah_measure::sampling::Seed;
use ah_measure::{Failure, Measurement, lock};
use ah_model::{Context, Schema, Value};
use ah_types::log::context_text;

use crate::options::Options;
use crate::worker::Worker;
pub(crate) use earlier::EarlierInputs;
pub(crate) use inputs_file::read_inputs;

/// A sequence counts as exhausted after this many draws in a row that repeat earlier ones, and this many more for each
/// known input: among equally likely inputs, one in e^20 would be missed. A draw asks a process: 100,000 of them took 7 s
/// at the end of a run over three inputs.
const REPEATS: usize = 1000;
const REPEATS_OF_AN_INPUT: usize = 20;

/// The inputs that a worker compiles for at once.
const LOOK_AHEAD: usize = 100;

/// An input to be measured.
#[derive(Clone, Debug)]
pub(crate) struct PlannedInput {
    /// Its features.
    pub context: Context,
    /// The seed of the operands' random data; a drawn input was drawn with it.
    pub seed: Seed,
    /// The features' text as written in the log: the key of the input.
    pub text: String,
    /// The reason why it cannot be measured.
    pub flaw: Option<Failure>,
    /// If the log holds it: whether each choice has a row.
    pub rows: Option<Vec<bool>>,
}

/// The reason why a log cannot hold this context.
fn flaw(context: &Context) -> Option<Failure> {
    context.iter().find_map(|(name, value)| match value {
        Value::Number(x) if x.is_infinite() => Some(Failure::skipped(format!(
            "the feature {name:?} is {x}, expected a finite number, or NaN where it is missing"
        ))),
        Value::Category(category) if category.contains(['\n', '\r']) => {
            Some(Failure::skipped(format!("the feature {name:?} has a line end, expected text of one line")))
        }
        _ => None,
    })
}

/// The inputs that are still to be measured.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The seed of the inputs, or a list of them; the part of them to measure.
    pub options: Options,
    /// The sequence ends before this position.
    end: u64,
    /// No input starts after this.
    pub deadline: Option<Instant>,
    schema: Schema,
    places: Mutex<Places>,
    /// The texts of the inputs that were compiled for; locked while a device compiles.
    compiled: Mutex<HashSet<String>>,
}

/// What the devices of a run share.
#[derive(Debug, Default)]
struct Places {
    next: u64,
    /// The number of inputs that may still be measured; one is taken with each place.
    left: Option<u64>,
    seen: HashSet<String>,
    /// Inputs that were drawn ahead.
    ahead: VecDeque<PlannedInput>,
    earlier: EarlierInputs,
}

impl Places {
    /// Gives the place of an input back that is not measured.
    fn give_back(&mut self) {
        self.left = self.left.map(|n| n + 1);
    }
}

impl Plan {
    /// The plan of a run whose log holds the inputs of `earlier`.
    pub fn new(options: &Options, earlier: EarlierInputs, schema: Schema) -> Self {
        let left = options.num_samples.map(|n| n.saturating_sub(earlier.done()));
        let listed = options.listed.as_ref().map(|contexts| contexts.len() as u64);
        Self {
            options: options.clone(),
            end: listed.or(options.draws).unwrap_or(u64::MAX),
            deadline: options.max_seconds.map(|t| Instant::now() + t),
            schema,
            places: Mutex::new(Places { left, earlier, ..Places::default() }),
            compiled: Mutex::default(),
        }
    }

    /// The number of inputs that the log will hold at the end, if that is known.
    pub fn goal(&self) -> Option<u64> {
        let places = lock(&self.places);
        let listed = self.options.listed.as_ref().map(|contexts| {
            let mut seen = HashSet::new();
            let mut is_fresh = |text: String| !places.earlier.is_done(&text) && seen.insert(text);
            let fresh =
                contexts.iter().zip(0..).filter(|(context, _)| is_fresh(context_text(context, &self.schema)));
            fresh.filter(|(_, position)| self.options.shard.contains(*position)).count() as u64
        });
        places.left.into_iter().chain(listed).min().map(|left| left + places.earlier.done())
    }

    /// The next input; `None` when the list, the sequence or the time ends, or every draw repeats an earlier one.
    ///
    /// # Errors
    /// The worker cannot draw.
    pub fn next(&self, worker: &mut Worker) -> Result<Option<PlannedInput>, Failure> {
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Ok(None);
        }
        let ahead = lock(&self.places).ahead.pop_front();
        ahead.map_or_else(|| self.draw(worker), |input| Ok(Some(input)))
    }

    /// Draws the next input of the sequence that is not done.
    fn draw(&self, worker: &mut Worker) -> Result<Option<PlannedInput>, Failure> {
        let mut repeats = 0;
        loop {
            let position = {
                let mut places = lock(&self.places);
                if places.left == Some(0) || places.next >= self.end {
                    return Ok(None);
                }
                places.left = places.left.map(|n| n - 1);
                places.next += 1;
                places.next - 1
            };
            // Not under the lock: a worker may take long to draw.
            let seed = Seed(self.options.seed, position);
            let drawn = match &self.options.listed {
                Some(contexts) => Ok(contexts[position as usize].clone()),
                None => worker.draw(seed),
            };
            let unnamed =
                |flaw| (Context::new(), format!("draw {position} of seed {}", self.options.seed), Some(flaw));
            let (context, text, flaw) = match drawn {
                Ok(context) => {
                    let text = context_text(&context, &self.schema);
                    let flaw = flaw(&context);
                    (context, text, flaw)
                }
                Err(failure @ (Failure::Skipped(_) | Failure::Failed(_))) => unnamed(failure),
                Err(failure) => return Err(failure),
            };
            let mut places = lock(&self.places);
            // An input that is drawn twice belongs to the shard that drew it first.
            let is_new = places.seen.insert(text.clone()) && !places.earlier.is_done(&text);
            if is_new && self.options.shard.contains(position) {
                let rows = places.earlier.rows(&text);
                return Ok(Some(PlannedInput { context, seed, text, flaw, rows }));
            }
            places.give_back();
            repeats = if is_new { 0 } else { repeats + 1 };
            if repeats >= REPEATS + REPEATS_OF_AN_INPUT * places.seen.len() {
                return Ok(None);
            }
        }
    }

    /// Has the worker compile what `input` and those after it need, once for all devices: one compiles at a time.
    pub fn compile(&self, worker: &mut Worker, input: &PlannedInput) {
        if !worker.can("compile") || input.flaw.is_some() {
            return;
        }
        let mut compiled = lock(&self.compiled);
        if compiled.contains(&input.text) {
            return;
        }
        while lock(&self.places).ahead.len() < LOOK_AHEAD - 1 {
            // If it cannot draw, the next input says so.
            let Ok(Some(drawn)) = self.draw(worker) else { break };
            lock(&self.places).ahead.push_back(drawn);
        }
        let ahead = lock(&self.places).ahead.clone();
        let new = [input].into_iter().chain(&ahead).filter(|input| input.flaw.is_none());
        let new: Vec<&PlannedInput> = new.filter(|input| !compiled.contains(&input.text)).collect();
        worker.compile(new.iter().map(|input| &input.context));
        compiled.extend(new.iter().map(|input| input.text.clone()));
    }

    /// Notes the result of an input. One that leaves no row in the log does not count.
    pub fn note(&self, result: &Result<Measurement, Failure>) {
        if !result.as_ref().is_ok_and(Measurement::leaves_rows) {
            lock(&self.places).give_back();
        }
    }
}
