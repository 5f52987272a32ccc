//! `--adaptive`: choices that a forest, learned from the inputs so far, expects to be slow are left out.
//!
//! The sequence is taken in blocks. Of each block, the [random part](RandomPart) comes first; there every choice is
//! timed. On the other inputs, a choice is timed if a quarter of the trees sees it within [`MARGIN`] of the best.
//!
//! Of hundreds of choices with fields, a [joint model](joint) wants a few on each input, and needs no random part.
//!
//! The plan depends on the sequence and on the times so far, and on nothing else. So a resumed run takes the plan
//! from the beginning and reads the times of the inputs in the log, instead of measuring them.

mod columns;
mod forest;
#[cfg(feature = "kernels")]
mod joint;
#[cfg(not(feature = "kernels"))]
#[path = "no_joint.rs"]
mod joint;

use std::collections::VecDeque;

use ah_measure::{Failure, Runner};
use ah_types::log::RandomPart;
use ah_types::{Objective, Schema};

use crate::plan::{EarlierInputs, InputQueue, PlannedInput};
use columns::Encoder;
use forest::{Forest, Known};
use joint::JointPlan;

/// The inputs of a block. A tenth of 500 inputs is a start for the forest.
const BLOCK: usize = 500;
/// As long as fewer inputs are known, every choice is timed.
const LEAST_KNOWN: usize = 30;
/// The forest is learned again when this many times as many inputs are known.
const GROWTH: f64 = 1.15;
/// The share of the trees that must expect a choice to be slow.
const QUANTILE: f64 = 0.25;
/// The log slowdown, against the best choice, up to which a choice is timed.
const MARGIN: f64 = 0.2;
/// Log slowdowns above this one are all alike. It is also that of a choice that fails or is not offered.
const SLOWEST: f64 = 1.0;

/// Returns the random part of a run that measures about `inputs` inputs, if their number is known. Heuristics are
/// calibrated and judged there alone. `None` where a joint model plans: a single input with all of 640 choices costs as
/// much as 20 planned ones.
#[cfg(feature = "cli")]
pub(crate) fn default_random_part(choices: &[String], inputs: Option<u64>) -> Option<RandomPart> {
    /// A promise of 1 % needs so many inputs for four violations to pass its test.
    const ENOUGH: f64 = 913.0;
    const LEAST_SHARE: f64 = 0.1;
    const GREATEST_SHARE: f64 = 0.5;
    /// The share if the number of inputs is not known.
    const UNKNOWN: f64 = 0.3;
    #[allow(clippy::cast_precision_loss)]
    let share = inputs.map_or(UNKNOWN, |inputs| ENOUGH / inputs as f64);
    // Rounded up, because the log's first line shows it.
    let share = ((share * 100.0).ceil() / 100.0).clamp(LEAST_SHARE, GREATEST_SHARE);
    (!joint::serves(choices)).then_some(RandomPart { share })
}

/// The plan of an adaptive run.
#[derive(Debug)]
pub(crate) struct AdaptivePlan {
    random_part: Option<RandomPart>,
    earlier: EarlierInputs,
    schema: Schema,
    choices: usize,
    objective: Objective,
    seed: u64,
    joint: Option<JointPlan>,
    block_size: usize,
    block: VecDeque<PlannedInput>,
    encoder: Encoder,
    known: Vec<Known>,
    /// The forest, and the number of inputs that it knows.
    forest: Option<(Forest, usize)>,
}

impl AdaptivePlan {
    /// Returns the plan of a run that measures about `inputs` inputs, if their number is known.
    pub(crate) fn new(
        random_part: Option<RandomPart>,
        earlier: EarlierInputs,
        schema: Schema,
        choices: &[String],
        objective: Objective,
        seed: u64,
        inputs: Option<u64>,
    ) -> Self {
        let block_size = inputs.and_then(|n| usize::try_from(n).ok()).map_or(BLOCK, |n| n.clamp(1, BLOCK));
        Self {
            random_part,
            earlier,
            joint: JointPlan::new(choices, &schema, seed),
            schema,
            choices: choices.len(),
            objective,
            seed,
            block_size,
            block: VecDeque::new(),
            encoder: Encoder::default(),
            known: Vec::new(),
            forest: None,
        }
    }

    /// Returns the next input to measure, with the choices to time there. `sequence` has all inputs, also those of
    /// earlier runs.
    ///
    /// # Errors
    /// The runner cannot draw.
    pub(crate) fn next(
        &mut self,
        sequence: &mut InputQueue,
        runner: &dyn Runner,
    ) -> Result<Option<PlannedInput>, Failure> {
        loop {
            if self.block.is_empty() {
                self.fill(sequence, runner)?;
            }
            let Some(mut input) = self.block.pop_front() else { return Ok(None) };
            input.wanted = self.wanted(&input);
            if self.earlier.is_skipped(&input.text) {
                continue;
            }
            match self.earlier.take_times(&input.text) {
                Some(times) => self.note(&input, &times),
                None => return Ok(Some(input)),
            }
        }
    }

    /// Returns the inputs after the last one, with the choices that the forest of this moment wants there.
    pub(crate) fn upcoming(&self) -> impl Iterator<Item = PlannedInput> {
        let is_known = |input: &&PlannedInput| {
            self.earlier.is_logged(&input.text) || self.earlier.is_skipped(&input.text)
        };
        let forest = self.forest.as_ref().map(|(forest, _)| forest);
        self.block.iter().filter(move |input| !is_known(input)).map(move |input| {
            let is_random = self.is_random(input);
            if let Some(joint) = self.joint.as_ref().filter(|_| !is_random) {
                return PlannedInput { wanted: Some(joint.expected(input)), ..input.clone() };
            }
            let encoded = || Some(self.encoder.clone().encode(&input.context.row(&self.schema).ok()?));
            let wanted = forest.filter(|_| !is_random).and_then(|forest| Some(likely(forest, &encoded()?)));
            PlannedInput { wanted, ..input.clone() }
        })
    }

    fn fill(&mut self, sequence: &mut InputQueue, runner: &dyn Runner) -> Result<(), Failure> {
        let mut others = Vec::new();
        while self.block.len() + others.len() < self.block_size {
            match sequence.next(runner)? {
                None => break,
                Some(input) if self.is_random(&input) => self.block.push_back(input),
                Some(input) => others.push(input),
            }
        }
        self.block.extend(others);
        Ok(())
    }

    /// Returns for each choice whether it is timed on this input; `None`: all are.
    fn wanted(&mut self, input: &PlannedInput) -> Option<Vec<bool>> {
        if input.flaw.is_some() || self.is_random(input) {
            return None;
        }
        if let Some(joint) = &mut self.joint {
            return Some(joint.wanted(input, self.block.iter()));
        }
        if self.known.len() < LEAST_KNOWN {
            return None;
        }
        let encoded = self.encoder.encode(&input.context.row(&self.schema).ok()?);
        Some(likely(self.forest(), &encoded))
    }

    fn is_random(&self, input: &PlannedInput) -> bool {
        self.random_part.is_some_and(|part| part.contains(&input.text))
    }

    fn forest(&mut self) -> &Forest {
        let known = self.known.len();
        #[allow(clippy::cast_precision_loss)]
        let is_old = |learned_from: usize| known as f64 >= GROWTH * learned_from as f64;
        if self.forest.as_ref().is_some_and(|(_, learned_from)| is_old(*learned_from)) {
            self.forest = None;
        }
        let fit = || (Forest::fit(&self.known, &self.encoder, self.choices, self.seed), known);
        &self.forest.get_or_insert_with(fit).0
    }

    /// Notes the times of an input by choice: infinite if it failed, `None` if it was skipped.
    pub(crate) fn note(&mut self, input: &PlannedInput, times: &[Option<f64>]) {
        let best = times.iter().flatten().copied().fold(f64::INFINITY, f64::min);
        let Ok(values) = input.context.row(&self.schema) else { return };
        if best.is_infinite() {
            return;
        }
        let is_wanted = |choice: usize| input.wanted.as_ref().is_none_or(|wanted| wanted[choice]);
        if let Some(joint) = &mut self.joint {
            // A wanted choice without a time is not offered here, which may hold for similar ones too.
            let time =
                |(choice, ms): (usize, &Option<f64>)| ms.or(is_wanted(choice).then_some(f64::INFINITY));
            joint.note(values, &times.iter().enumerate().map(time).collect::<Vec<_>>());
            return;
        }
        let slowdown = |ms: Option<f64>| ms.map_or(SLOWEST, |ms| (ms / best).ln().min(SLOWEST));
        let cells =
            (0_u32..).zip(times).enumerate().filter(|(choice, (_, ms))| ms.is_some() || is_wanted(*choice));
        let cells = cells.map(|(_, (choice, ms))| (choice, slowdown(*ms))).collect();
        let weight = match self.objective {
            Objective::Geomean => 1.0,
            Objective::Total => best,
        };
        self.known.push(Known { encoded: self.encoder.encode(&values), cells, weight });
    }
}

/// Returns for each choice whether the forest expects it to be near the best.
fn likely(forest: &Forest, encoded: &[f64]) -> Vec<bool> {
    let slowdowns = forest.quantile(encoded, QUANTILE);
    let least = slowdowns.iter().copied().fold(f64::INFINITY, f64::min);
    slowdowns.iter().map(|slowdown| *slowdown <= least + MARGIN).collect()
}
