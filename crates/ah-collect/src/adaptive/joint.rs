//! Which of hundreds of choices to time: those that a joint model of inputs and choices expects to be fast, and a few random
//! ones, from which it learns.

use std::collections::HashMap;

use ah_joint::{JointModel, Timing};
use ah_types::hash::fnv1a;
use ah_types::{Schema, Value, random};

use crate::plan::PlannedInput;

/// The first inputs are timed with random choices alone.
const FIRST_INPUTS: usize = 30;
/// Random choices of each of the first inputs.
const FIRST: usize = 64;
/// Choices of a later input that are expected to be fast.
const FAST: usize = 24;
/// Random choices of a later input.
const RANDOM: usize = 8;
/// The model is learned again when this many times as many inputs are known.
const GROWTH: f64 = 1.3;

/// Plans which choices to time.
#[derive(Debug)]
pub(super) struct JointPlan {
    choices: Vec<String>,
    schema: Schema,
    seed: u64,
    inputs: Vec<Vec<Value>>,
    /// Of these inputs, ascending.
    timings: Vec<Timing>,
    model: Option<Fitted>,
}

/// A model of the first inputs, which knows the numbers of some further ones.
#[derive(Debug)]
struct Fitted {
    model: JointModel,
    learned_from: usize,
    /// By the text of a further input: its position in the model.
    positions: HashMap<String, u32>,
}

/// Returns whether a joint model serves: there are many choices, and they have fields.
pub(super) fn serves(choices: &[String]) -> bool {
    choices.len() > ah_joint::FEW && ah_joint::have_fields(choices)
}

impl JointPlan {
    /// Returns the plan for these choices, without a time; `None` where a joint model does not serve.
    pub(super) fn new(choices: &[String], schema: &Schema, seed: u64) -> Option<Self> {
        serves(choices).then(|| Self {
            choices: choices.to_vec(),
            schema: schema.clone(),
            seed,
            inputs: Vec::new(),
            timings: Vec::new(),
            model: None,
        })
    }

    /// Returns for each choice whether it is timed on this input. `further` are inputs that come after it.
    pub(super) fn wanted<'a>(
        &mut self,
        input: &'a PlannedInput,
        further: impl Iterator<Item = &'a PlannedInput>,
    ) -> Vec<bool> {
        let is_useful = |fitted: &Fitted| {
            let is_old = self.inputs.len() as f64 >= GROWTH * fitted.learned_from as f64;
            !is_old && fitted.positions.contains_key(&input.text)
        };
        if self.inputs.len() >= FIRST_INPUTS && !self.model.as_ref().is_some_and(is_useful) {
            self.model = Some(self.fit(std::iter::once(input).chain(further)));
        }
        self.expected(input)
    }

    /// Returns the choices that the model of this moment wants.
    pub(super) fn expected(&self, input: &PlannedInput) -> Vec<bool> {
        let fitted =
            self.model.as_ref().and_then(|fitted| Some((fitted, *fitted.positions.get(&input.text)?)));
        let mut wanted = vec![false; self.choices.len()];
        let stream = random::mix(self.seed, fnv1a(&input.text));
        let mut order: Vec<usize> = (0..wanted.len()).collect();
        order.sort_by_key(|choice| random::mix(stream, *choice as u64));
        let random = if fitted.is_some() { RANDOM } else { FIRST };
        order.into_iter().take(random).for_each(|choice| wanted[choice] = true);
        if let Some((fitted, position)) = fitted {
            let fast = fitted.model.worth_timing(position, FAST, |choice| !wanted[choice as usize]);
            fast.into_iter().for_each(|choice| wanted[choice as usize] = true);
        }
        wanted
    }

    /// Learns from the times so far.
    fn fit<'a>(&self, further: impl Iterator<Item = &'a PlannedInput>) -> Fitted {
        let further = further.filter_map(|input| Some((&input.text, input.context.row(&self.schema).ok()?)));
        let further: Vec<(&String, Vec<Value>)> = further.collect();
        let values: Vec<&[Value]> = self
            .inputs
            .iter()
            .map(Vec::as_slice)
            .chain(further.iter().map(|(_, values)| &values[..]))
            .collect();
        let model = JointModel::fit(ah_joint::numbers(&values), &self.choices, &self.timings, self.seed);
        let positions =
            (self.inputs.len() as u32..).zip(&further).map(|(at, (text, _))| ((*text).clone(), at));
        Fitted { model, learned_from: self.inputs.len(), positions: positions.collect() }
    }

    /// Notes the times of an input by choice: infinite if it failed, `None` if it has none.
    pub(super) fn note(&mut self, values: Vec<Value>, times: &[Option<f64>]) {
        let input = self.inputs.len() as u32;
        let timing =
            |(choice, ms): (u32, &Option<f64>)| ms.map(|ms| Timing { input, choice, log_time: ms.ln() });
        self.timings.extend((0..).zip(times).filter_map(timing));
        self.inputs.push(values);
    }
}
