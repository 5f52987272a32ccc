//! `--weights FILE`: how often each input occurs.
//!
//! Each line is one input: its features as in the log, joined by commas, then a tab and a number above
//! 0. Inputs that are not listed count 1. Values count, not their text: `64` and `64.0` are one input.

use std::path::Path;

use ah_model::artefact::read_text;
use ah_model::shown::listed;
use ah_model::{Error, Feature, FeatureKind, Schema, Value};
use ah_types::log::input_text;
use ah_types::{csv_line, number};
use rustc_hash::FxHashMap;

use super::table::Table;

/// Ten million inputs.
const MAX_MIB: u64 = 1024;

/// Multiplies the weights of the table's inputs, which have the features of `schema`, by those of the file. Returns warnings.
pub fn read(path: &Path, schema: &Schema, table: &mut Table) -> Result<Vec<String>, Error> {
    let text = read_text(path, MAX_MIB).map_err(Error::io(path, "read the weights"))?;
    let reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    let path = path.display();
    let mut weights: FxHashMap<String, f64> = FxHashMap::default();
    let crlf = text.split('\n').next().is_some_and(|line| line.ends_with('\r'));
    for record in reader.into_records() {
        let record = record.map_err(|e| Error::Invalid(format!("{path}: expected weights as text, {e}")))?;
        let line = csv_line(record.position(), crlf).get();
        let wrong = |expected: &str, found: &str| {
            Err(Error::Invalid(format!("{path}:{line}: expected {expected}, found {found:?}")))
        };
        let mut fields: Vec<&str> = record.iter().collect();
        let last = fields.pop().unwrap_or_default();
        if fields.is_empty() && last.trim().is_empty() {
            continue;
        }
        let Some((feature, weight)) = last.rsplit_once('\t') else {
            return wrong("the features joined by commas, a tab and a weight", last);
        };
        fields.push(feature);
        let Some(weight) = weight.trim().parse().ok().filter(|w: &f64| *w > 0.0 && w.is_finite()) else {
            return wrong("a weight above 0", weight);
        };
        let features = key(schema, &fields);
        if weights.get(&features).is_some_and(|other| *other != weight) {
            let found = format!("{weight} here and another weight above for {features}");
            return wrong("one weight for an input", &found);
        }
        weights.insert(features, weight);
    }
    let listed_inputs = weights.len();
    let mut unlisted = 0;
    for input in &mut table.inputs {
        match weights.remove(&*input.text) {
            Some(weight) => input.weight *= weight,
            None => unlisted += 1,
        }
    }
    let unused = weights.len();
    if unused > 0 && unused == listed_inputs {
        let names = schema.features().iter().map(|feature| feature.name.as_str());
        let expected = format!("inputs of the log, each by {}", listed(names));
        return Err(Error::parameter("weights", &expected, format_args!("{unused} lines that name none")));
    }
    let mut warnings = Vec::new();
    if unlisted > 0 {
        warnings.push(format!("{path}: {unlisted} inputs of the log are not listed; they count 1"));
    }
    if unused > 0 {
        warnings.push(format!("{path}: {unused} lines name no input of the log"));
    }
    Ok(warnings)
}

/// The text of the input with these fields: equal values have equal texts, however they are written.
fn key(schema: &Schema, fields: &[&str]) -> String {
    let value = |(feature, field): (&Feature, &&str)| match feature.kind {
        FeatureKind::Numerical if field.trim().is_empty() => Some(Value::Number(f64::NAN)),
        FeatureKind::Numerical => number(field).map(Value::Number),
        FeatureKind::Categorical => Some(Value::from(*field)),
    };
    let values: Option<Vec<Value>> = schema.features().iter().zip(fields).map(value).collect();
    match values.filter(|_| schema.len() == fields.len()) {
        Some(values) => input_text(&values),
        // No input has it.
        None => fields.join(","),
    }
}
