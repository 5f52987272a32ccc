//! Faults of tables.

use ah_model::Fault;

/// The fault of a row.
pub(crate) fn bad_row(expected: impl Into<String>, found: impl Into<String>) -> Fault {
    Fault::new(expected, found, "fix the row, or skip such rows with --skip-bad-rows")
}

/// The fault of a row for which there is something better to do than to skip it.
pub(crate) fn bad_row_or(hint: &str, expected: impl Into<String>, found: impl Into<String>) -> Fault {
    let fault = bad_row(expected, found);
    Fault { hint: format!("{hint}, or {}", fault.hint), ..fault }
}

/// The fault of a whole file.
pub(crate) fn bad_file(expected: impl Into<String>, found: impl Into<String>) -> Fault {
    Fault::new(expected, found, "fix the file, or name its format with --format")
}
