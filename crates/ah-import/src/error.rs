//! Faults of tables.

use ah_model::Fault;

/// The fault of a row.
pub(crate) fn bad_row(expected: impl Into<String>, found: impl Into<String>) -> Fault {
    Fault::new(expected, found, "fix the row, or skip such rows with --skip-bad-rows")
}

/// The fault of a whole file.
pub(crate) fn bad_file(expected: impl Into<String>, found: impl Into<String>) -> Fault {
    Fault::new(expected, found, "fix the file, or name its format with --format")
}
