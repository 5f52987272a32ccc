//! Imports tables of timings: any file with features, choices and times becomes a log to learn from.
//!
//! 1. [`ImportParams`] are the flags.
//! 2. `table` opens a file as rows of cells: one file a format. `preset` has the flags that the files of a tool need, `tools` reads the
//!    three whose names need code.
//! 3. `roles` finds the columns that the flags name; `time_columns` asks what those of times hold.
//! 4. `row` makes each row an input, a choice and times; `times` defines what a time may be, `quantity` what a number is: a time in a
//!    unit, a rate in a unit, or a question.
//! 5. `contents` reads all rows once: inputs and choices are kept once each, a time takes 16 bytes. `texts` finds which columns are
//!    numbers.
//! 6. `warnings` are what the tables leave open, `watched` what their other columns say about it, `differences` what changes times.
//! 7. `log` writes them. Nothing is written before every row is read.
#![forbid(unsafe_code)]

mod cell;
mod column;
mod condition;
mod contents;
mod differences;
mod error;
mod log;
mod named;
mod number;
mod params;
mod preset;
mod quantity;
mod report;
mod roles;
mod row;
mod table;
mod texts;
mod time_columns;
mod times;
mod tools;
mod unit;
mod warnings;
mod watched;
mod words;

pub use ah_model::Error;
pub use number::Decimal;
pub use params::{Format, ImportParams};
pub use preset::text as preset_text;
pub use report::ImportReport;
pub use unit::Unit;

/// Writes a log made of the tables of `params`. Nothing is written if a table has an error.
///
/// # Errors
/// [`Error`] with the file, the row and the column.
pub fn import(params: &ImportParams) -> Result<ImportReport, Error> {
    params.check()?;
    params.tool.as_deref().map(preset_text).transpose()?;
    let contents = contents::Contents::read(params)?;
    let warnings = log::write(params, &contents)?;
    let mut report = ImportReport::new(&contents, params);
    report.warnings.extend(warnings);
    Ok(report)
}
