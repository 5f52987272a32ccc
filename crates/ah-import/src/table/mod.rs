//! Opens tables: one file a format, each with a function that returns a [`Table`].

mod arff;
mod aslib;
mod delimited;
mod feature_steps;
mod json;
#[cfg(feature = "parquet")]
mod parquet;
mod rows;

use std::io::{BufRead, BufReader};
use std::path::Path;

pub use rows::{Defaults, FeatureTimes, Row, Table};

use crate::error::{ImportError, io_error};
use crate::params::Format;

/// Opens the table in a file.
pub fn open(path: &Path, format: Option<Format>) -> Result<Table, ImportError> {
    match format.map_or_else(|| format_of(path), Ok)? {
        Format::Aslib => aslib::open(path),
        Format::Csv => {
            let mut text = text(path)?;
            // PyTorch writes JSON lines to a .txt, and cubecl to a .log.
            let lines =
                format.is_none() && text.fill_buf().map_err(io_error(path, "read"))?.starts_with(b"{");
            if lines { json::open_lines(path, text) } else { delimited::open(path, text) }
        }
        Format::Jsonl => json::open_lines(path, text(path)?),
        Format::Json => json::open_document(path, text(path)?),
        #[cfg(feature = "parquet")]
        Format::Parquet => parquet::open(path),
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => Err(ImportError::Unreadable {
            path: path.to_owned(),
            expected: "a build of ah-train with the feature parquet".to_owned(),
            found: "one without".to_owned(),
            hint: "build with `--features parquet`, or write the table as CSV",
        }),
    }
}

/// Returns the text of a file, unpacked where it is gzip.
fn text(path: &Path) -> Result<Box<dyn BufRead>, ImportError> {
    let bytes = ah_types::log::open(path).map_err(io_error(path, "read"))?;
    Ok(Box::new(BufReader::with_capacity(256 * 1024, bytes)))
}

/// Returns the format by the ending of a file's name; `.gz` may follow.
fn format_of(path: &Path) -> Result<Format, ImportError> {
    if aslib::folder(path).is_some() {
        return Ok(Format::Aslib);
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("csv" | "tsv" | "tab" | "txt" | "log") => Ok(Format::Csv),
        Some("jsonl" | "ndjson") => Ok(Format::Jsonl),
        Some("json") => Ok(Format::Json),
        Some("parquet" | "pq") => Ok(Format::Parquet),
        _ => Err(ImportError::unreadable(
            path,
            "a name that ends in .csv, .tsv, .jsonl, .json or .parquet, or the folder of an ASlib scenario",
            format!("{name:?}"),
        )),
    }
}
