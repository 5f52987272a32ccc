//! Imports tables of timings: any file with features, choices and times becomes a log to learn from.
//!
//! 1. [`ImportParams`] are the flags.
//! 2. `table` opens a file as rows of cells: one file a format. `tools` knows the files of three autotuners.
//! 3. `roles` finds the columns that the flags name.
//! 4. `row` makes each row an input, a choice and times; `times` defines what a time may be.
//! 5. `contents` reads all rows once: inputs and choices are kept once each, a time takes 16 bytes.
//! 6. `log` writes them. Nothing is written before every row is read.
#![forbid(unsafe_code)]

mod cell;
mod contents;
mod error;
mod log;
mod params;
mod report;
mod roles;
mod row;
mod table;
mod times;
mod tools;

pub use ah_model::Error;
pub use params::{Format, ImportParams, Unit};
pub use report::ImportReport;

/// Writes a log made of the tables of `params`. Nothing is written if a table has an error.
///
/// # Errors
/// [`Error`] with the file, the row and the column.
pub fn import(params: &ImportParams) -> Result<ImportReport, Error> {
    params.check()?;
    let contents = contents::Contents::read(params)?;
    log::write(params, &contents)?;
    Ok(contents.report(params))
}
