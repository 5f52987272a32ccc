//! Imports tables of timings: any file with features, choices and times becomes a log to learn from.
//!
//! 1. [`ImportParams`] are the flags; `check` refuses those that do not fit together.
//! 2. `table` opens a file as rows of cells: CSV, JSON lines, Parquet, or the JSON of a tool that
//!    `benchmarks` knows.
//! 3. `roles` finds the columns that the flags name.
//! 4. `row` makes each row an input, a choice and times; `times` defines what a time may be.
//! 5. `reading` reads all tables once. `kinds` uses it first: it finds every error, and which features are
//!    numerical.
//! 6. `write` uses it again and writes the log. `repetitions` finds rows that contradict each other,
//!    `device` the device in the log's metadata.
//!
//! Reading twice bounds the memory: no row is kept.

mod benchmarks;
mod device;
mod error;
mod kinds;
mod params;
mod reading;
mod repetitions;
mod report;
mod roles;
mod row;
mod table;
mod times;
mod write;

pub use error::{ImportError, RowPlace};
pub use params::{Format, ImportParams, Unit};
pub use report::ImportReport;

/// Writes a log made of the tables of `params`. Nothing is written if a table has an error.
///
/// # Errors
/// [`ImportError`] with the file, the row and the column.
pub fn import(params: &ImportParams) -> Result<ImportReport, ImportError> {
    params.check()?;
    let schema = kinds::find(params)?;
    write::log(params, &schema)
}
