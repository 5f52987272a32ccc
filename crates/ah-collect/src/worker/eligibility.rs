//! Leaves out the choices that cannot run on an input, by the conditions in their optimization.

use ah_measure::{Experiment, Failure};
use ah_types::expr::{self, Expr};
use ah_types::{Context, Schema};

/// By choice: the condition under which it is offered, if it has one, as text and read.
#[derive(Debug)]
pub(super) struct Conditions(Vec<Option<(String, Expr)>>);

impl Conditions {
    /// Reads the conditions of an experiment's choices.
    ///
    /// # Errors
    /// The first mistake, with the choice and its expression.
    pub(super) fn of(experiment: &Experiment, schema: &Schema) -> Result<Self, String> {
        let mut conditions = vec![None; experiment.choices.len()];
        for (choice, text) in experiment.optimization.eligible() {
            let parsed = expr::parse(&text).map_err(|e| e.to_string());
            let holds = parsed.and_then(|e| e.resolve_bool(schema).map_err(|e| e.to_string()));
            let holds =
                holds.map_err(|e| format!("the choice {choice:?} is eligible where {text:?}: {e}"))?;
            if let Some(at) = experiment.choices.iter().position(|name| *name == choice) {
                conditions[at] = Some((text, holds));
            }
        }
        Ok(Self(conditions))
    }

    /// Returns for each choice the reason why it cannot run on this input, or `None` if it can. An undefined condition
    /// counts as false.
    ///
    /// # Errors
    /// The context lacks a feature.
    pub(super) fn refusals(
        &self,
        context: &Context,
        schema: &Schema,
    ) -> Result<Vec<Option<Failure>>, Failure> {
        let values = context.row(schema).map_err(Failure::skipped)?;
        let refusal = |condition: &Option<(String, Expr)>| {
            let (text, _) = condition.as_ref().filter(|(_, holds)| holds.truth(&values) != Some(true))?;
            Some(Failure::skipped(format!("not eligible: {text}")))
        };
        Ok(self.0.iter().map(refusal).collect())
    }
}
