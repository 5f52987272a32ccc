//! The head of a log: a line of metadata and a line that names the columns.

use std::io::Read;
use std::path::Path;

use serde_json::Value as Json;

use super::error::{LogError, io_error, shown};
use super::lines::Lines;
use super::metadata::{CHOICE_COLUMN, FEEDBACK_COLUMN, LOG_FORMAT, Metadata};
use crate::feature::Schema;
use crate::shown::{listed, quoted, reason};

const HINT: &str = "is this a log of AutoHeuristic? `ah-train import` makes one of a table";

pub(super) struct Head {
    pub(super) metadata: Metadata,
    /// The features, in the order of the columns.
    pub(super) schema: Schema,
    /// The names of all columns in order.
    pub(super) columns: Vec<String>,
}

impl Head {
    pub(super) fn read(path: &Path, lines: &mut Lines<impl Read>) -> Result<Self, LogError> {
        let metadata = match lines.next().map_err(io_error(path, "read"))? {
            Some((_, line)) => read_metadata(path, line)?,
            None => {
                let (expected, found) = ("a line of JSON metadata", "an empty file");
                return Err(LogError::malformed(path, (1, 1), expected, found, HINT));
            }
        };
        let (columns, schema) = match lines.next().map_err(io_error(path, "read"))? {
            Some((_, line)) if !line.is_empty() => read_columns(path, line, &metadata)?,
            _ => return Err(LogError::malformed(path, (2, 0), "a CSV header", "nothing", HINT)),
        };
        Ok(Self { metadata, schema, columns })
    }
}

fn read_metadata(path: &Path, line: &[u8]) -> Result<Metadata, LogError> {
    if let Some(format) = newer_format(line) {
        return Err(LogError::malformed(
            path,
            (1, 0),
            format!("a log of format {LOG_FORMAT}"),
            format!("format {format}"),
            "a newer version of these tools wrote it; update them",
        ));
    }
    serde_json::from_slice(line).map_err(|e| {
        let text = e.to_string();
        // The place is printed separately.
        let why = text.rsplit_once(" at line ").map_or(&*text, |(why, _)| why);
        let why = reason(&why.replace('\n', " "));
        let (expected, hint) = if is_right_without_collection(line) {
            ("under autoheuristic_rs, keys and values of a log", "docs/log-format.md lists them")
        } else {
            ("a JSON object with name, device_capa, numerical_features and categorical_features", HINT)
        };
        LogError::malformed(
            path,
            (1, e.column()),
            expected,
            format!("{} ({why})", shown(line, "nothing")),
            hint,
        )
    })
}

/// Returns the names of all columns in order, and the schema of the features among them: all features of the metadata,
/// choice and feedback, each once.
fn read_columns(path: &Path, line: &[u8], metadata: &Metadata) -> Result<(Vec<String>, Schema), LogError> {
    let kinds = metadata.kinds().map_err(|found| {
        let hint = "rename or remove it in the metadata and in the header";
        LogError::malformed(path, (1, 0), "distinct features", found, hint)
    })?;
    let features = || metadata.numerical_features.iter().chain(&metadata.categorical_features);
    let mut record = csv::ByteRecord::new();
    let mut reader = csv::ReaderBuilder::new();
    let read = reader.has_headers(false).from_reader(line).read_byte_record(&mut record);
    read.map_err(|e| LogError::malformed(path, (2, 0), "a CSV header", e.to_string(), "mend it"))?;
    let (mut columns, mut schema) = (Vec::with_capacity(record.len()), Schema::default());
    for name in &record {
        let name = String::from_utf8_lossy(name).into_owned();
        let is_new = match kinds.get(name.as_str()) {
            Some(&kind) => schema.push(metadata.feature(&name, kind)).is_ok(),
            None if matches!(name.as_str(), CHOICE_COLUMN | FEEDBACK_COLUMN) => !columns.contains(&name),
            None => {
                return Err(LogError::malformed(
                    path,
                    (2, 0),
                    format!(
                        "a feature of the metadata ({}), {CHOICE_COLUMN} or {FEEDBACK_COLUMN}",
                        listed(features())
                    ),
                    format!("the column {}", quoted(&name)),
                    "list it under numerical_features or categorical_features in line 1",
                ));
            }
        };
        if !is_new {
            let found = format!("{} twice", quoted(&name));
            return Err(LogError::malformed(path, (2, 0), "distinct columns", found, "remove one"));
        }
        columns.push(name);
    }
    for name in features().map(String::as_str).chain([CHOICE_COLUMN, FEEDBACK_COLUMN]) {
        if schema.slot(name).is_none() && !columns.iter().any(|column| column == name) {
            return Err(LogError::malformed(
                path,
                (2, 0),
                format!("a column {}", quoted(name)),
                format!("the columns {}", listed(&columns)),
                "add it, or mend the metadata in line 1",
            ));
        }
    }
    Ok((columns, schema))
}

/// Returns the format of a log that a newer tool wrote. Its other keys may be new too.
fn newer_format(line: &[u8]) -> Option<u64> {
    #[derive(serde::Deserialize)]
    struct Versioned {
        autoheuristic_rs: Version,
    }
    #[derive(serde::Deserialize)]
    struct Version {
        format: u64,
    }
    let found: Versioned = serde_json::from_slice(line).ok()?;
    Some(found.autoheuristic_rs.format).filter(|format| *format > u64::from(LOG_FORMAT))
}

/// Returns whether this line would be the metadata of a log if it had no key `autoheuristic_rs`.
fn is_right_without_collection(line: &[u8]) -> bool {
    let Ok(Json::Object(mut keys)) = serde_json::from_slice(line) else { return false };
    keys.remove("autoheuristic_rs").is_some()
        && serde_json::from_value::<Metadata>(Json::Object(keys)).is_ok()
}
