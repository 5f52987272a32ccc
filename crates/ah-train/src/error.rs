//! The errors that several places have.

use std::path::Path;

use ah_model::shown::{did_you_mean, listed};
use ah_model::{Error, Schema};

/// The error of a field that names a choice which the log or model lacks.
pub fn unknown_choice(field: &'static str, choice: &str, known: &[String]) -> Error {
    let found = format!("{choice:?}{}", did_you_mean(choice, known));
    Error::parameter(field, format!("one of the choices {}", listed(known)), found)
}

/// The error of a field that names a feature which the log lacks.
pub fn not_logged(field: &'static str, feature: &str, logged: &Schema) -> Error {
    let known: Vec<&String> = logged.features().iter().map(|feature| &feature.name).collect();
    let found = format!("{feature:?}{}", did_you_mean(feature, &known));
    Error::parameter(field, format!("features of the log ({})", listed(&known)), found)
}

/// The error of a part of an optimization that names a feature which neither the log nor the optimization has.
pub fn unknown_feature(
    optimization: &str,
    what: &str,
    feature: &str,
    known: impl IntoIterator<Item = impl AsRef<str>> + Clone,
) -> Error {
    let listed = listed(known.clone());
    let proposal = did_you_mean(feature, known);
    Error::Invalid(format!(
        "optimization {optimization:?}: {what}: unknown feature {feature:?}; the features are {listed}{proposal}"
    ))
}

/// The error of a log that is not of the model's optimization.
pub fn mismatch(path: &Path, model: &str, log: &str) -> Error {
    Error::Invalid(format!("{}: the model decides {model}, the log is of {log}", path.display()))
}
