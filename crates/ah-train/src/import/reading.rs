//! One reading of all tables, row by row.

use super::error::{ImportError, RowPlace};
use super::params::ImportParams;
use super::roles::Roles;
use super::row::RowReader;
use super::table;

/// Gets each row: its reader, the index of the table, and the row's place.
type RowVisitor<'a> = dyn FnMut(&RowReader, usize, &dyn Fn() -> RowPlace) -> Result<(), ImportError> + 'a;

/// Rows that `--skip-bad-rows` passed over.
#[derive(Debug, Default)]
pub struct SkippedRows {
    pub count: u64,
    /// The first five, as errors.
    pub examples: Vec<String>,
}

impl SkippedRows {
    fn add(&mut self, error: &ImportError) {
        const EXAMPLES: usize = 5;
        self.count += 1;
        if self.examples.len() < EXAMPLES {
            self.examples.push(error.to_string());
        }
    }
}

/// Reads all tables and calls `visit` with the index of the table and the place of each row.
///
/// # Errors
/// The first row that cannot be imported, unless such rows are to be skipped; errors of `visit`.
pub fn each_row(params: &ImportParams, visit: &mut RowVisitor<'_>) -> Result<SkippedRows, ImportError> {
    let mut skipped = SkippedRows::default();
    for (index, path) in params.tables.iter().enumerate() {
        let mut table = table::open(path, params.format)?;
        let mut reader = RowReader::new(Roles::find(path, &*table, params)?);
        loop {
            let row = match table.advance() {
                Ok(false) => break,
                Ok(true) => reader.read(&*table).map_err(|fault| {
                    let place = table::place(&*table, path);
                    ImportError::Row { place, fault: Box::new(fault) }
                }),
                Err(e) => Err(e),
            };
            match row {
                Ok(()) => visit(&reader, index, &|| table::place(&*table, path))?,
                Err(e @ ImportError::Row { .. }) if params.skip_bad_rows => skipped.add(&e),
                Err(e) => return Err(e),
            }
        }
    }
    Ok(skipped)
}
