//! A table, read row by row, whatever its format.

mod cell;
mod delimited;
mod files;
mod json;
#[cfg(feature = "parquet")]
mod parquet;
mod rows;

use std::path::Path;

pub use cell::Cell;
pub use rows::{Table, place};

use super::error::ImportError;
use super::params::Format;

/// Opens the table in a file.
pub fn open(path: &Path, format: Option<Format>) -> Result<Box<dyn Table>, ImportError> {
    let format = match format {
        Some(format) => format,
        None => format_of(path)?,
    };
    Ok(match format {
        Format::Csv => Box::new(delimited::Delimited::open(path)?),
        Format::Jsonl => Box::new(json::JsonLines::open(path)?),
        Format::Json => Box::new(json::JsonRows::open(path)?),
        #[cfg(feature = "parquet")]
        Format::Parquet => Box::new(parquet::Parquet::open(path)?),
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => {
            return Err(ImportError::Unreadable {
                path: path.to_owned(),
                expected: "a build of ah-train with the feature parquet".to_owned(),
                found: "one without".to_owned(),
                hint: "build with `--features parquet`, or write the table as CSV",
            });
        }
    })
}

/// Returns the format by the ending of a file's name; `.gz` may follow.
fn format_of(path: &Path) -> Result<Format, ImportError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("csv" | "tsv" | "tab" | "txt") => Ok(Format::Csv),
        Some("jsonl" | "ndjson") => Ok(Format::Jsonl),
        Some("json") => Ok(Format::Json),
        Some("parquet" | "pq") => Ok(Format::Parquet),
        _ => Err(ImportError::unreadable(
            path,
            "a name that ends in .csv, .tsv, .jsonl, .json or .parquet",
            format!("{name:?}"),
        )),
    }
}
