//! Where each choice can run: the conditions of the optimization.

use ah_model::{Context, Error, Precondition, Schema, Value};
use ah_types::{Failure, Optimization};

/// The choices and their conditions.
#[derive(Debug)]
pub(crate) struct Eligibility {
    /// The names of the choices.
    pub choices: Vec<String>,
    /// The features of an input.
    schema: Schema,
    /// By choice: the condition under which it is offered, if it has one.
    conditions: Vec<Option<Precondition>>,
}

impl Eligibility {
    /// Reads the conditions of these choices.
    ///
    /// # Errors
    /// A condition is no expression over the features, or two of these share a name.
    pub(crate) fn new(optimization: &Optimization, choices: &[String]) -> Result<Self, Error> {
        let schema = optimization.schema()?;
        let condition = |choice: &String| {
            let Some(text) = optimization.eligible.get(choice) else { return Ok(None) };
            let name = &optimization.name;
            let wrong = |e| format!("{name}: the choice {choice:?} is eligible where {text:?}: {e}");
            Precondition::new(text, &schema).map(Some).map_err(|e| Error::Usage(wrong(e)))
        };
        let conditions = choices.iter().map(condition).collect::<Result<_, _>>()?;
        Ok(Self { choices: choices.to_vec(), schema, conditions })
    }

    /// The reason, by choice, why it cannot run on this input, if it cannot.
    ///
    /// # Errors
    /// The input lacks a feature, or has one of the wrong kind.
    pub(crate) fn refusals(&self, context: &Context) -> Result<Vec<Option<Failure>>, String> {
        let row = context.row(&self.schema)?;
        Ok(self.conditions.iter().map(|condition| refusal(condition.as_ref()?, &row)).collect())
    }
}

/// Why a choice with this condition cannot run in a row, if it cannot. An undefined condition counts as false.
pub(crate) fn refusal(condition: &Precondition, row: &[Value]) -> Option<Failure> {
    let refused = || Failure::skipped(format!("not eligible: {}", condition.expression));
    (!condition.holds(row)).then(refused)
}
