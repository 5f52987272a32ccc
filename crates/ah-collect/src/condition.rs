//! Conditions over the features of an input that a choice must meet.

use ah_measure::Failure;
use ah_types::expr::{self, Expr, TypeError};
use ah_types::shown::did_you_mean;
use ah_types::{Schema, Value};

/// A condition, as text and read.
#[derive(Debug)]
pub(crate) struct Condition {
    text: String,
    holds: Expr,
}

impl Condition {
    /// Reads a condition over these features.
    ///
    /// # Errors
    /// The mistake in words.
    pub(crate) fn new(text: &str, schema: &Schema) -> Result<Self, String> {
        let parsed = expr::parse(text).map_err(|e| e.to_string())?;
        let holds = parsed.resolve_bool(schema).map_err(|e| explained(&e))?;
        Ok(Self { text: text.to_owned(), holds })
    }

    /// Returns why a choice cannot run in this row, if it cannot. An undefined condition counts as false.
    pub(crate) fn refusal(&self, row: &[Value]) -> Option<Failure> {
        let is_met = self.holds.truth(row) == Some(true);
        (!is_met).then(|| Failure::skipped(format!("not eligible: {}", self.text)))
    }

    #[cfg(feature = "kernels")]
    /// Returns whether it depends on one of the first features of its schema, as many as this.
    pub(crate) fn uses_first(&self, features: usize) -> bool {
        let mut uses = false;
        self.holds.for_each_feature(&mut |slot| uses |= slot.index < features);
        uses
    }
}

/// Returns the message of a type error, with a proposal for a name that does not exist.
pub(crate) fn explained(error: &TypeError) -> String {
    match error {
        TypeError::UnknownFeature { feature, known, .. } => {
            format!("{error}{}", did_you_mean(feature, known))
        }
        other => other.to_string(),
    }
}
