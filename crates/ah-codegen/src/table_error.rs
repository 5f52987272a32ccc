//! The reasons why a table of decisions cannot be made.

use ah_types::shown::{listed, quoted};

/// The feature of a log that names the default of each input.
pub const DEFAULT: &str = "default";

/// A table of decisions cannot be made of this log or this model.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The messages show the fields.
pub enum TableError {
    /// No rows are given.
    #[error("--target table: expected --rows LOG, a log with the inputs that the table shall have")]
    NoRows,
    /// The model has no fallback.
    #[error(
        "--rows: expected a model with a fallback, which rows without a proven gain keep; learn it with ah-train --fallback CHOICE, or \
         give a log with the feature {DEFAULT}, which names the default of each input"
    )]
    NoDefault,
    /// The log lacks a feature of the model.
    #[error("--rows: expected the feature {} of the model, found {}", quoted(feature), listed(found))]
    NoFeature { feature: String, found: Vec<String> },
    /// The default has no times.
    #[error(
        "--rows: expected times of the default {}, found none on {inputs} inputs; measure it too, because a gain is a gain over it",
        quoted(default)
    )]
    NoDefaultTimes { default: String, inputs: usize },
}
