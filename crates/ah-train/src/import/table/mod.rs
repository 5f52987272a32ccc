//! A table, read row by row, whatever its format.

mod cell;
mod delimited;
mod json;
#[cfg(feature = "parquet")]
mod parquet;

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

pub use cell::Cell;

use super::benchmarks::Defaults;
use super::error::{Counted, ImportError, Place, io_error};
use super::params::Format;

/// A table, read row by row.
pub trait Table {
    /// The names of the columns.
    fn columns(&self) -> &[String];

    /// Goes to the next row; false at the end.
    ///
    /// # Errors
    /// [`ImportError::Row`] for a row that can be skipped, any other error where reading ends.
    fn advance(&mut self) -> Result<bool, ImportError>;

    /// A cell of the current row.
    fn cell(&self, column: usize) -> Cell<'_>;

    /// The number of the current row, as `counted` counts.
    fn number(&self) -> u64;

    /// How rows are counted or named.
    fn counted(&self) -> Counted;

    /// What is known of the columns without flags.
    fn defaults(&self) -> Defaults {
        Defaults::default()
    }
}

/// Where the current row of a table stands.
pub fn place(table: &dyn Table, path: &Path) -> Place {
    Place { path: path.to_owned(), number: table.number(), counted: table.counted() }
}

/// Opens the table in a file.
///
/// # Errors
/// [`ImportError`] where the file cannot be read or is not of its format.
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

/// The format by the ending of a file's name; `.gz` may follow.
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

/// The text of a file, unpacked where it is gzip.
fn text(path: &Path) -> Result<Box<dyn BufRead>, ImportError> {
    const GZIP: [u8; 2] = [0x1f, 0x8b];
    let mut file = file(path)?;
    let mut magic = Vec::new();
    (&mut file).take(2).read_to_end(&mut magic).map_err(io_error(path, "read"))?;
    file.seek(SeekFrom::Start(0)).map_err(io_error(path, "read"))?;
    Ok(if magic == GZIP {
        Box::new(BufReader::new(flate2::read::MultiGzDecoder::new(file)))
    } else {
        Box::new(BufReader::with_capacity(256 * 1024, file))
    })
}

/// A file that can be read twice.
fn file(path: &Path) -> Result<File, ImportError> {
    let file = File::open(path).map_err(io_error(path, "read"))?;
    let metadata = file.metadata().map_err(io_error(path, "read"))?;
    if metadata.is_file() {
        return Ok(file);
    }
    let why = "it is no plain file; a table is read twice, so save it to one";
    Err(io_error(path, "read")(std::io::Error::new(std::io::ErrorKind::Unsupported, why)))
}
