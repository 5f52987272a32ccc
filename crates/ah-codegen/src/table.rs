//! A table of decisions as JSON, for programs that read one: each input of a log with the choice to take there.
//!
//! A row takes the heuristic's choice only where the log proves that it is faster than the default. Every other row keeps the
//! default: what the log's feature `default` names for this input, or the model's fallback without this feature. The proof is an
//! interval of the median of paired ratios: the default's time over the choice's time in the same turn. The interval has 95 % and
//! lies above 1.

use ah_measure::interval::{LEAST_SAMPLES, median_interval};
use ah_model::shown::{listed, quoted};
use ah_model::{ChoiceId, Error, Model, Target, Value, fields};
use ah_types::log::Log;
use ah_types::median;
use serde_json::{Map, json};

use crate::names::package;
use crate::page::mark;
use crate::target::{Generator, Output};

/// The feature of a log that names the default of each input.
const DEFAULT: &str = "default";

/// A table of decisions for programs that read one.
pub const TABLE: Generator = Generator {
    target: Target::Table,
    usage: |_, _| "each row has its proof, or why it keeps the default".to_owned(),
    endings: &["json"],
    files: |request| {
        let model = request.model;
        let missing = "--target table: expected --rows LOG, a log with the inputs that the table shall have";
        let missing = || Error::Usage(missing.to_owned());
        let text = table(model, request.rows.ok_or_else(missing)?)?;
        let package = package(model);
        Ok(Output::file(request, &format!("{package}_table.json"), text, Vec::new()))
    },
};

/// Decides the inputs of a log by a model. Returns the table, a row a line.
fn table(model: &Model, log: &Log) -> Result<String, Error> {
    let expected = |expected: String| Error::Invalid(format!("--rows: expected {expected}"));
    let features: Vec<String> = log.schema.features().iter().map(|f| f.name.clone()).collect();
    let slot = features.iter().position(|name| name == DEFAULT);
    let fallback = model.fallback.map(|id| model.choice_name(id));
    if slot.is_none() && fallback.is_none() {
        return Err(expected(format!(
            "a model with a fallback, which rows without a proven gain keep; learn it with ah-train --fallback CHOICE, or give a log with the \
             feature {DEFAULT}, which names the default of each input"
        )));
    }
    let default_of = |input: usize| match slot.map(|slot| &log.inputs[input].values[slot]) {
        Some(Value::Category(name)) => name,
        _ => fallback.unwrap_or_default(),
    };
    if let Some(missing) = model.features.base().features().iter().find(|f| !features.contains(&f.name)) {
        let problem =
            format!("the feature {} of the model, found {}", quoted(&missing.name), listed(features));
        return Err(expected(problem));
    }
    let mut times: Vec<Vec<Vec<f64>>> = vec![vec![Vec::new(); log.choices.len()]; log.inputs.len()];
    for sample in &log.samples {
        times[sample.input as usize][sample.choice.index()].push(sample.feedback);
    }
    let times_of = |input: usize, name: &str| match log.choice_id(name) {
        Some(id) => &times[input][id.index()][..],
        None => &[],
    };
    if (0..times.len()).all(|input| times_of(input, default_of(input)).is_empty()) {
        let default = if times.is_empty() { fallback.unwrap_or(DEFAULT) } else { default_of(0) };
        return Err(expected(format!(
            "times of the default {}, found none on {} inputs; measure it too, because a gain is a gain over it",
            quoted(default),
            times.len()
        )));
    }
    let mut changed = 0;
    let mut row = |input: usize| {
        let default = default_of(input);
        let runs = |id: ChoiceId| {
            let times = times_of(input, model.choice_name(id));
            !times.is_empty() && times.iter().all(|ms| ms.is_finite())
        };
        let values = model.values(&log.context(input));
        let decision = model.decide(&values, |id| runs(id) || model.choice_name(id) == default);
        let (choice, proof) = match decision.map(|pick| model.choice_name(pick.choice)) {
            Ok(choice) if choice == default => {
                (default, json!({ "reason": "the heuristic takes the default" }))
            }
            Ok(choice) => match proved(choice, times_of(input, choice), times_of(input, default)) {
                (true, proof) => (choice, proof),
                (false, proof) => (default, proof),
            },
            Err(unsure) => {
                let names = model.features.all().features().iter().map(|f| f.name.as_str());
                let reason = unsure.explain(&names.collect::<Vec<_>>());
                (default, json!({ "reason": format!("the heuristic declines: {reason}") }))
            }
        };
        changed += usize::from(choice != default);
        let values = features.iter().zip(&log.inputs[input].values).map(|(name, x)| (name.clone(), json!(x)));
        let config = fields(choice).unwrap_or_default().into_iter().map(|(key, x)| (key, json!(x)));
        let row = json!({
            "features": values.collect::<Map<_, _>>(),
            "choice": choice,
            "config": config.collect::<Map<_, _>>(),
            "ms": median(times_of(input, choice)).filter(|ms| ms.is_finite()),
            "changed": choice != default,
            "proof": proof,
        });
        format!("    {row}")
    };
    let rows: Vec<String> = (0..log.inputs.len()).map(&mut row).collect();
    let mut about = format!("{changed} of {} rows are changed; the others keep the default. ", rows.len());
    about += "A row changes where the 95 % interval of the median of (the default's time / the choice's time), paired by turn, lies \
              above 1.";
    let learned = |hash: &str| !hash.is_empty() && model.provenance.logs.iter().any(|log| log.blake3 == hash);
    if log.sources.iter().any(|source| learned(&source.hash)) {
        about += " The model learned from these times too, so the gains are too high by what it picked for luck: measure the inputs \
                  again, and give that log.";
    }
    let times = log.sources.iter().map(|s| s.path.file_name().unwrap_or_default().to_string_lossy());
    Ok(format!(
        "{{\n  \"generated\": {},\n  \"heuristic\": {},\n  \"about\": {},\n  \"default\": {},\n  \"times\": {},\n  \"rows\": [\n{}\n  ]\n}}\n",
        json!(mark()),
        json!(model.heuristic),
        json!(about),
        json!(if slot.is_none() { fallback } else { None }),
        json!(listed(times)),
        rows.join(",\n")
    ))
}

/// Compares a choice with the default, turn by turn. Returns whether it is proved to be faster, and the proof.
fn proved(choice: &str, times: &[f64], default: &[f64]) -> (bool, serde_json::Value) {
    let because = |reason: &str| json!({ "choice": choice, "reason": reason });
    if default.is_empty() {
        return (false, because("the default has no times here"));
    }
    if default.iter().any(|ms| ms.is_infinite()) {
        return (true, because("the default fails here"));
    }
    let ratios: Vec<f64> = default.iter().zip(times).map(|(default, ms)| default / ms).collect();
    let rounded = |x: f64| (x * 1e3).round() / 1e3;
    let gain = rounded(median(&ratios).unwrap_or(1.0));
    let Some((low, high)) = median_interval(&ratios) else {
        let reason = format!("at least {LEAST_SAMPLES} pairs needed");
        return (false, json!({ "choice": choice, "pairs": ratios.len(), "gain": gain, "reason": reason }));
    };
    let interval = [low, high].map(rounded);
    (low > 1.0, json!({ "choice": choice, "pairs": ratios.len(), "gain": gain, "interval": interval }))
}
