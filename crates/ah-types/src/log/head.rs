//! The head of a log: a line of metadata and a line that names the columns.

use std::io::Read;
use std::path::Path;

use ah_model::shown::{listed, quoted, reason};
use ah_model::{Error, Fault, RowNumber, Schema};
use serde_json::Value as Json;

use super::lines::{Lines, shown};
use super::metadata::{CHOICE_COLUMN, FEEDBACK_COLUMN, LOG_FORMAT, Metadata};

const HINT: &str = "is this a log of AutoHeuristic? `ah-train import` makes one of a table";

pub(super) struct Head {
    pub(super) metadata: Metadata,
    /// The features, in the order of the columns.
    pub(super) schema: Schema,
    /// The names of all columns in order.
    pub(super) columns: Vec<String>,
}

impl Head {
    pub(super) fn read(path: &Path, lines: &mut Lines<impl Read>) -> Result<Self, Error> {
        let at = |line| move |fault: Fault| Error::from(fault.at(path, RowNumber::Line(line)));
        let metadata = match lines.next().map_err(Error::io(path, "read"))? {
            Some((_, line)) => read_metadata(line),
            None => Err(Fault::new("a line of JSON metadata", "an empty file", HINT).at_column(1)),
        };
        let metadata = metadata.map_err(at(1))?;
        let features = metadata.features().map_err(|found| {
            let hint = "rename or remove it in the metadata and in the header";
            at(1)(Fault::new("distinct features", found, hint))
        })?;
        let columns = match lines.next().map_err(Error::io(path, "read"))? {
            Some((_, line)) if !line.is_empty() => read_columns(line, &features),
            _ => Err(Fault::new("a CSV header", "nothing", HINT)),
        };
        let (columns, schema) = columns.map_err(at(2))?;
        Ok(Self { schema, columns, metadata })
    }
}

fn read_metadata(line: &[u8]) -> Result<Metadata, Fault> {
    let mut json: Json = serde_json::from_slice(line).unwrap_or_default();
    // A newer tool may have written other keys too.
    let format = json.pointer("/autoheuristic_rs/format").and_then(Json::as_u64);
    if let Some(format) = format.filter(|format| *format > u64::from(LOG_FORMAT)) {
        let expected = format!("a log of format {LOG_FORMAT}");
        let hint = "a newer version of these tools wrote it; update them";
        return Err(Fault::new(expected, format!("format {format}"), hint));
    }
    serde_json::from_slice(line).map_err(|e| {
        let text = e.to_string();
        // The place is printed separately.
        let why = text.rsplit_once(" at line ").map_or(&*text, |(why, _)| why);
        let why = reason(&why.replace('\n', " "));
        let ours = json.as_object_mut().and_then(|keys| keys.remove("autoheuristic_rs"));
        let (expected, hint) = if ours.is_some() && serde_json::from_value::<Metadata>(json).is_ok() {
            ("under autoheuristic_rs, keys and values of a log", "docs/log-format.md lists them")
        } else {
            ("a JSON object with name, device_capa, numerical_features and categorical_features", HINT)
        };
        Fault::new(expected, format!("{} ({why})", shown(line)), hint).at_column(e.column())
    })
}

/// The names of all columns in order, and the schema of the features among them: all `features`, choice and feedback, each
/// once.
fn read_columns(line: &[u8], features: &Schema) -> Result<(Vec<String>, Schema), Fault> {
    let names = || features.features().iter().map(|feature| feature.name.as_str());
    let mut record = csv::ByteRecord::new();
    let mut reader = csv::ReaderBuilder::new();
    let read = reader.has_headers(false).from_reader(line).read_byte_record(&mut record);
    read.map_err(|e| Fault::new("a CSV header", e.to_string(), "fix it"))?;
    let mut columns = Vec::with_capacity(record.len());
    let mut schema = Schema::default();
    for name in &record {
        let name = String::from_utf8_lossy(name).into_owned();
        let is_new = match features.get(&name) {
            Some(feature) => schema.push(feature.clone()).is_ok(),
            None if matches!(name.as_str(), CHOICE_COLUMN | FEEDBACK_COLUMN) => !columns.contains(&name),
            None => {
                let known = listed(names());
                let expected =
                    format!("a feature of the metadata ({known}), {CHOICE_COLUMN} or {FEEDBACK_COLUMN}");
                let hint = "list it under numerical_features or categorical_features in line 1";
                return Err(Fault::new(expected, format!("the column {}", quoted(&name)), hint));
            }
        };
        if !is_new {
            return Err(Fault::new("distinct columns", format!("{} twice", quoted(&name)), "remove one"));
        }
        columns.push(name);
    }
    let mut all = names().chain([CHOICE_COLUMN, FEEDBACK_COLUMN]);
    match all.find(|name| schema.slot(name).is_none() && !columns.iter().any(|column| column == name)) {
        None => Ok((columns, schema)),
        Some(name) => {
            let found = format!("the columns {}", listed(&columns));
            let hint = "add it, or fix the metadata in line 1";
            Err(Fault::new(format!("a column {}", quoted(name)), found, hint))
        }
    }
}
