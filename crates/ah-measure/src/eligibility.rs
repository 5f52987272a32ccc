//! Leaves out the choices that cannot run on an input, by the conditions in their optimization.

use std::collections::BTreeMap;

use ah_types::expr::{self, Expr};
use ah_types::{ChoiceId, Context, Optimization, Outcome};

use crate::bench::{Bench, Burst, Cell, Times};
use crate::failure::Failure;
use crate::runner::{Runner, Subject};

/// The reason of the choices that [`measure_some`](crate::measure_some) leaves out.
pub const LEFT_OUT: &str = "expected to be slower";

/// Checks that the expressions of an optimization's choices can be read.
///
/// # Errors
/// The first mistake, with the choice and its expression.
pub fn check_eligibility(optimization: &Optimization) -> Result<(), String> {
    conditions(optimization).map(|_| ())
}

/// Returns the condition of each choice that has one.
fn conditions(optimization: &Optimization) -> Result<BTreeMap<String, Condition>, String> {
    let schema = optimization.schema().map_err(|e| e.to_string())?;
    let condition = |(choice, text): (String, String)| {
        let parsed = expr::parse(&text).map_err(|e| e.to_string());
        let holds = parsed.and_then(|e| e.resolve_bool(&schema).map_err(|e| e.to_string()));
        let holds = holds.map_err(|e| format!("the choice {choice:?} is eligible where {text:?}: {e}"))?;
        Ok((choice, Condition { text, holds }))
    };
    optimization.eligible().into_iter().map(condition).collect()
}

struct Condition {
    text: String,
    holds: Expr,
}

/// Returns for each choice of a subject the reason why it cannot run on this input, or `None` if it can. An
/// undefined condition counts as false.
fn refusals(subject: &Subject, context: &Context) -> Result<Vec<Option<Failure>>, Failure> {
    let conditions = conditions(&subject.optimization).map_err(Failure::Failed)?;
    if conditions.is_empty() {
        return Ok(vec![None; subject.choices.len()]);
    }
    let schema = subject.optimization.schema().map_err(Failure::failed)?;
    let values = context.row(&schema).map_err(Failure::skipped)?;
    let refusal = |choice: &String| {
        let condition = conditions.get(choice).filter(|c| c.holds.truth(&values) != Some(true))?;
        Some(Failure::skipped(format!("not eligible: {}", condition.text)))
    };
    Ok(subject.choices.iter().map(refusal).collect())
}

/// A runner with a loaded input, without the choices that are not eligible there.
pub(crate) struct EligibleChoices<'a> {
    runner: &'a mut dyn Runner,
    refusals: Vec<Option<Failure>>,
}

impl<'a> EligibleChoices<'a> {
    /// # Errors
    /// A condition cannot be read, or the context lacks a feature.
    pub(crate) fn new(runner: &'a mut dyn Runner, context: &Context) -> Result<Self, Failure> {
        let refusals = refusals(runner.subject(), context)?;
        Ok(Self { runner, refusals })
    }

    /// Leaves out these choices too.
    pub(crate) fn leave_out(&mut self, choices: impl Iterator<Item = usize>) {
        for choice in choices {
            self.refusals[choice].get_or_insert_with(|| Failure::skipped(LEFT_OUT));
        }
    }

    /// Offers the choices that were left out. The others keep the `outcomes` that they have and do not run again.
    /// Returns false if none was left out.
    pub(crate) fn offer_left_out(&mut self, outcomes: &[Outcome]) -> bool {
        for (refusal, outcome) in self.refusals.iter_mut().zip(outcomes) {
            *refusal = match outcome {
                Outcome::Skipped { reason } if reason != LEFT_OUT => Some(Failure::skipped(reason)),
                Outcome::Failed { reason } => Some(Failure::failed(reason)),
                Outcome::Skipped { .. } | Outcome::Measured { .. } => None,
            };
        }
        self.refusals.contains(&None)
    }
}

impl Bench for EligibleChoices<'_> {
    fn check(&mut self, choice: ChoiceId) -> Result<(), Failure> {
        match &self.refusals[choice.index()] {
            Some(refusal) => Err(refusal.clone()),
            None => self.runner.check(choice),
        }
    }

    fn run(&mut self, choice: ChoiceId, burst: Burst) -> Result<Times, Failure> {
        self.runner.run(choice, burst)
    }

    fn batch(&self) -> usize {
        self.runner.batch()
    }

    fn check_all(&mut self, choices: &[ChoiceId]) -> Vec<Result<(), Failure>> {
        let refusals = choices.iter().map(|choice| self.refusals[choice.index()].clone());
        let offered = choices.iter().zip(refusals.clone()).filter(|(_, refusal)| refusal.is_none());
        let offered: Vec<ChoiceId> = offered.map(|(choice, _)| *choice).collect();
        let mut checked = self.runner.check_all(&offered).into_iter();
        let unanswered = || Err(Failure::failed("the runner did not check it"));
        refusals
            .map(|refusal| refusal.map_or_else(|| checked.next().unwrap_or_else(unanswered), Err))
            .collect()
    }

    fn run_all(&mut self, cells: &[Cell]) -> Vec<Result<Times, Failure>> {
        self.runner.run_all(cells)
    }
}
