//! A file of contexts: a log, or CSV whose header names the features.

use std::io::Read as _;
use std::path::Path;

use ah_types::log::{LogError, ReadOptions};
use ah_types::{Context, FeatureKind, Schema, Value};

use crate::worker::Worker;

/// The largest file of inputs, unpacked.
const MOST_BYTES: u64 = 512 << 20;

/// Reads the contexts of a file. A log has its inputs. In CSV, each further column is a value beside the
/// features; it is not logged, but a command can use it.
pub(crate) fn read_inputs(path: &Path, worker: &mut Worker) -> Result<Vec<Context>, LogError> {
    let io = |source| LogError::Io { path: path.to_owned(), action: "read", source };
    let mut bytes = Vec::new();
    let read = ah_types::log::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes));
    if read.map_err(io)? as u64 > MOST_BYTES {
        return Err(io(std::io::Error::other(format!(
            "it has more than {} MiB of inputs",
            MOST_BYTES >> 20
        ))));
    }
    let contexts = if bytes.starts_with(b"{") { of_log } else { of_csv }(path, &bytes, worker.schema())?;
    for (line, context) in &contexts {
        if let Err(reason) = worker.accepts(context) {
            let expected =
                format!("a context that {} can measure here", worker.experiment().optimization.name);
            let (found, hint) = (format!("{context}: {reason}"), "change it or take it out");
            return Err(LogError::malformed(path, (*line, 0), expected, found, hint));
        }
    }
    Ok(contexts.into_iter().map(|(_, context)| context).collect())
}

/// Returns the inputs of a log; their lines are unknown.
fn of_log(path: &Path, bytes: &[u8], schema: &Schema) -> Result<Vec<(u64, Context)>, LogError> {
    let log = ah_types::log::read_bytes(path, bytes, ReadOptions::default())?;
    let fits = |context: Context| match context.row(schema) {
        Ok(_) => Ok((0, context)),
        Err(e) => {
            let (expected, hint) = ("a column for each feature", "see ah-collect list");
            Err(LogError::malformed(path, (2, 0), expected, e.to_string(), hint))
        }
    };
    (0..log.inputs.len()).map(|i| fits(log.context(i))).collect()
}

/// Returns the contexts of a CSV with their lines.
fn of_csv(path: &Path, bytes: &[u8], schema: &Schema) -> Result<Vec<(u64, Context)>, LogError> {
    let csv_error = |e: csv::Error| {
        let line = e.position().map_or(1, csv::Position::line);
        LogError::malformed(path, (line, 0), "CSV", e.to_string(), "mend the line")
    };
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(bytes);
    let header = reader.headers().map_err(csv_error)?.clone();
    if let Some(missing) = schema.features().iter().find(|f| !header.iter().any(|h| h == f.name)) {
        let expected = format!("a column {:?}", missing.name);
        let found = format!("{:?}", header.iter().collect::<Vec<_>>().join(","));
        let hint = "the header names every feature (ah-collect list shows them)";
        return Err(LogError::malformed(path, (1, 0), expected, found, hint));
    }
    let mut contexts = Vec::new();
    for record in reader.records() {
        let record = record.map_err(csv_error)?;
        let line = record.position().map_or(1, csv::Position::line);
        let mut context = Context::new();
        for (column, (name, text)) in (1..).zip(header.iter().zip(&record)) {
            // A column that is not a feature has text.
            let is_number = schema.get(name).is_some_and(|f| f.kind == FeatureKind::Numerical);
            let value = match text.parse::<f64>() {
                _ if !is_number => Value::from(text),
                Ok(x) if x.is_finite() => Value::Number(x),
                _ => {
                    let (expected, found) = (format!("a number for {name:?}"), format!("{text:?}"));
                    return Err(LogError::malformed(path, (line, column), expected, found, "mend it"));
                }
            };
            context.set(name, value);
        }
        contexts.push((line, context));
    }
    if contexts.is_empty() {
        let hint = "add one line for each context";
        return Err(LogError::malformed(path, (1, 0), "at least one context", "none", hint));
    }
    Ok(contexts)
}
