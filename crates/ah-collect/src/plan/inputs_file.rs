//! A file of contexts: a log, or CSV whose header names the features.

use std::io::Read as _;
use std::path::Path;

use ah_types::log::ReadOptions;
use ah_types::{Context, Error, Fault, FeatureKind, RowNumber, Schema, Value};

use crate::worker::Worker;

/// The largest file of inputs, unpacked.
const MOST_BYTES: u64 = 512 << 20;

/// Reads the contexts of a file. A log has its inputs. In CSV, each further column is a value beside the
/// features; it is not logged, but a command can use it.
pub(crate) fn read_inputs(path: &Path, worker: &mut Worker) -> Result<Vec<Context>, Error> {
    let io = Error::io(path, "read");
    let mut bytes = Vec::new();
    let read =
        ah_types::artefact::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes));
    if read.map_err(&io)? as u64 > MOST_BYTES {
        let why = format!("it has more than {} MiB of inputs", MOST_BYTES >> 20);
        return Err(io(std::io::Error::other(why)));
    }
    let contexts = if bytes.starts_with(b"{") { of_log } else { of_csv }(path, &bytes, &worker.schema)?;
    for (row, context) in &contexts {
        if let Err(reason) = worker.accepts(context) {
            let expected = format!("a context that {} can measure here", worker.experiment.optimization.name);
            let (found, hint) = (format!("{context}: {reason}"), "change it or take it out");
            let mut fault = Fault::new(expected, found, hint).of_file(path);
            fault.row.clone_from(row);
            return Err(fault.into());
        }
    }
    Ok(contexts.into_iter().map(|(_, context)| context).collect())
}

/// Returns the inputs of a log; their lines are unknown.
fn of_log(path: &Path, bytes: &[u8], schema: &Schema) -> Result<Vec<(Option<RowNumber>, Context)>, Error> {
    let log = ah_types::log::read_bytes(path, bytes, ReadOptions::default())?;
    let fits = |context: Context| match context.row(schema) {
        Ok(_) => Ok((None, context)),
        Err(found) => {
            let (expected, hint) = ("a column for each feature", "see ah-collect list");
            Err(Fault::new(expected, found, hint).at(path, RowNumber::Line(2)).into())
        }
    };
    (0..log.inputs.len()).map(|i| fits(log.context(i))).collect()
}

/// Returns the contexts of a CSV with their lines.
fn of_csv(path: &Path, bytes: &[u8], schema: &Schema) -> Result<Vec<(Option<RowNumber>, Context)>, Error> {
    let csv_error = |e: csv::Error| {
        let line = e.position().map_or(1, csv::Position::line);
        Fault::new("CSV", e.to_string(), "mend the line").at(path, RowNumber::Line(line))
    };
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(bytes);
    let header = reader.headers().map_err(csv_error)?.clone();
    if let Some(missing) = schema.features().iter().find(|f| !header.iter().any(|h| h == f.name)) {
        let expected = format!("a column {:?}", missing.name);
        let found = format!("{:?}", header.iter().collect::<Vec<_>>().join(","));
        let hint = "the header names every feature (ah-collect list shows them)";
        return Err(Fault::new(expected, found, hint).at(path, RowNumber::Line(1)).into());
    }
    let mut contexts = Vec::new();
    for record in reader.records() {
        let record = record.map_err(csv_error)?;
        let line = RowNumber::Line(record.position().map_or(1, csv::Position::line));
        let mut context = Context::new();
        for (column, (name, text)) in (1..).zip(header.iter().zip(&record)) {
            // A column that is not a feature has text.
            let is_number = schema.get(name).is_some_and(|f| f.kind == FeatureKind::Numerical);
            let number = ah_types::number(text).filter(|x| x.is_finite()).map(Value::Number);
            let Some(value) = (if is_number { number } else { Some(Value::from(text)) }) else {
                let (expected, found) = (format!("a number for {name:?}"), format!("{text:?}"));
                return Err(Fault::new(expected, found, "mend it").at_column(column).at(path, line).into());
            };
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
