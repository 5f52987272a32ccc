//! A file of contexts: a log, or CSV whose header names the features.

use std::io::Read as _;
use std::path::Path;

use ah_types::log::{LogError, ReadOptions};
use ah_types::{Context, Feature, FeatureKind, Schema, Value};

use crate::worker::Worker;

/// The largest file of inputs, unpacked.
const MOST_BYTES: u64 = 512 << 20;

/// Reads the contexts of a file. A log has its inputs. In CSV, each further column is a value beside the
/// features; it is not logged, but a command can use it.
pub(crate) fn read_inputs(
    path: &Path,
    worker: &mut Worker,
    schema: &Schema,
) -> Result<Vec<Context>, LogError> {
    let io = |source| LogError::Io { path: path.to_owned(), action: "read", source };
    let mut bytes = Vec::new();
    let read = ah_types::log::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes));
    if read.map_err(io)? as u64 > MOST_BYTES {
        return Err(io(std::io::Error::other(format!(
            "it has more than {} MiB of inputs",
            MOST_BYTES >> 20
        ))));
    }
    let mut file = InputsFile { path, bytes: &bytes, worker };
    if bytes.starts_with(b"{") { file.read_log(schema) } else { file.read_csv(schema) }
}

struct InputsFile<'a> {
    path: &'a Path,
    /// Unpacked.
    bytes: &'a [u8],
    worker: &'a mut Worker,
}

impl InputsFile<'_> {
    fn read_log(&mut self, schema: &Schema) -> Result<Vec<Context>, LogError> {
        let log = ah_types::log::read_bytes(self.path, self.bytes, ReadOptions::default())?;
        let contexts = (0..log.inputs.len()).map(|i| log.context(i));
        let accepted = contexts.map(|context| match context.row(schema) {
            Err(e) => Err(LogError::malformed(
                self.path,
                (2, 0),
                "a column for each feature",
                e.to_string(),
                "see ah-collect list",
            )),
            Ok(_) => self.accept(0, context),
        });
        accepted.collect()
    }

    fn read_csv(&mut self, schema: &Schema) -> Result<Vec<Context>, LogError> {
        let path = self.path;
        let csv_error = |e: csv::Error| {
            let line = e.position().map_or(1, csv::Position::line);
            LogError::malformed(path, (line, 0), "CSV", e.to_string(), "mend the line")
        };
        let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(self.bytes);
        let header = reader.headers().map_err(csv_error)?.clone();
        for feature in schema.features() {
            if !header.iter().any(|h| h == feature.name) {
                let found = format!("{:?}", header.iter().collect::<Vec<_>>().join(","));
                let hint = "the header names every feature (ah-collect list shows them)";
                return Err(LogError::malformed(
                    path,
                    (1, 0),
                    format!("a column {:?}", feature.name),
                    found,
                    hint,
                ));
            }
        }
        let mut contexts = Vec::new();
        for record in reader.records() {
            let record = record.map_err(csv_error)?;
            let line = record.position().map_or(1, csv::Position::line);
            let mut context = Context::new();
            for (column, (name, text)) in (1..).zip(header.iter().zip(&record)) {
                context.set(name, self.value(schema.get(name), text, line, column)?);
            }
            contexts.push(self.accept(line, context)?);
        }
        if contexts.is_empty() {
            let hint = "add one line for each context";
            return Err(LogError::malformed(path, (1, 0), "at least one context", "none", hint));
        }
        Ok(contexts)
    }

    /// Returns the value of a field; a column that is not a feature has text.
    fn value(
        &self,
        feature: Option<&Feature>,
        text: &str,
        line: u64,
        column: usize,
    ) -> Result<Value, LogError> {
        let Some(feature) = feature.filter(|f| f.kind == FeatureKind::Numerical) else {
            return Ok(Value::from(text));
        };
        match text.parse::<f64>() {
            Ok(x) if x.is_finite() => Ok(Value::Number(x)),
            _ => {
                let expected = format!("a number for {:?}", feature.name);
                Err(LogError::malformed(self.path, (line, column), expected, format!("{text:?}"), "mend it"))
            }
        }
    }

    fn accept(&mut self, line: u64, context: Context) -> Result<Context, LogError> {
        match self.worker.accepts(&context) {
            Ok(()) => Ok(context),
            Err(found) => {
                let name = &self.worker.experiment().optimization.name;
                let expected = format!("a context that {name} can measure here");
                let found = format!("{context}: {found}");
                Err(LogError::malformed(self.path, (line, 0), expected, found, "change it or take it out"))
            }
        }
    }
}
