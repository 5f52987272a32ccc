//! A file of contexts: a log, or CSV whose header names the features.

use std::path::Path;

use ah_model::{Context, Error, Fault, FeatureKind, RowNumber, Schema, Value};
use ah_types::csv_line;
use ah_types::log::ReadOptions;

use crate::worker::Worker;

/// The largest file of inputs, unpacked.
const MOST_MIB: u64 = 512;

/// Reads the contexts of a file. A log has its inputs. In CSV, each further column is a value beside the
/// features; it is not logged, but a command can use it.
pub(crate) fn read_inputs(path: &Path, worker: &mut Worker) -> Result<Vec<Context>, Error> {
    let text = ah_model::artefact::read_text(path, MOST_MIB).map_err(Error::io(path, "read"))?;
    let contexts = if text.starts_with('{') { of_log } else { of_csv }(path, &text, &worker.schema)?;
    for (row, context) in &contexts {
        if let Err(reason) = worker.accepts(context) {
            let expected = format!("a context that {} can measure here", worker.optimization.name);
            let found = format!("{context}: {reason}");
            let fault = Fault::new(expected, found, "change it or take it out").of_file(path);
            return Err(Fault { row: row.clone(), ..fault }.into());
        }
    }
    Ok(contexts.into_iter().map(|(_, context)| context).collect())
}

/// The inputs of a log; their lines are unknown.
fn of_log(path: &Path, text: &str, schema: &Schema) -> Result<Vec<(Option<RowNumber>, Context)>, Error> {
    let log = ah_types::log::read_bytes(path, text.as_bytes(), ReadOptions::default())?;
    let expected = "a column for each feature";
    let hint = "the mode `list` shows the features";
    let misfit = |found| Fault::new(expected, found, hint).at(path, RowNumber::Line(2)).into();
    let fits = |context: Context| context.row(schema).map(drop).map_err(misfit).map(|()| (None, context));
    (0..log.inputs.len()).map(|i| fits(log.context(i))).collect()
}

/// The contexts of a CSV with their lines.
fn of_csv(path: &Path, text: &str, schema: &Schema) -> Result<Vec<(Option<RowNumber>, Context)>, Error> {
    let crlf = text.split('\n').next().is_some_and(|line| line.ends_with('\r'));
    let csv_error = |e: csv::Error| {
        let line = csv_line(e.position(), crlf);
        Fault::new("CSV", e.to_string(), "correct the line").at(path, line)
    };
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let header = reader.headers().map_err(csv_error)?.clone();
    if let Some(missing) = schema.features().iter().find(|f| !header.iter().any(|h| h == f.name)) {
        let expected = format!("a column {:?}", missing.name);
        let found = format!("{:?}", header.iter().collect::<Vec<_>>().join(","));
        let hint = "the header names every feature; the mode `list` shows them";
        return Err(Fault::new(expected, found, hint).at(path, RowNumber::Line(1)).into());
    }
    let mut contexts = Vec::new();
    for record in reader.records() {
        let record = record.map_err(csv_error)?;
        let line = csv_line(record.position(), crlf);
        let mut context = Context::new();
        for (column, (name, text)) in (1..).zip(header.iter().zip(&record)) {
            // A column that is not a feature has text.
            let is_number = schema.get(name).is_some_and(|f| f.kind == FeatureKind::Numerical);
            let number = ah_types::number(text).filter(|x| x.is_finite()).map(Value::Number);
            let value = if is_number { number } else { Some(Value::from(text)) };
            let value = value.ok_or_else(|| {
                let fault = Fault::new(format!("a number for {name:?}"), format!("{text:?}"), "correct it");
                fault.at_column(column).at(path, line.clone())
            })?;
            context.set(name, value);
        }
        contexts.push((Some(line), context));
    }
    if contexts.is_empty() {
        let hint = "add one line for each context";
        return Err(Fault::new("at least one context", "none", hint).at(path, RowNumber::Line(1)).into());
    }
    Ok(contexts)
}
