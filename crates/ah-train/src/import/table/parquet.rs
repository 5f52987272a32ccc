//! Parquet, read row by row through the record API of the crate parquet. It holds one page of each column.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::record::reader::RowIter;
use ::parquet::record::{Field, Row};
use ah_types::shown::quoted;

use super::cell::Cell;
use super::files::file;
use super::rows::Table;
use crate::import::error::{ImportError, RowNaming};

/// A Parquet file.
pub struct Parquet {
    path: PathBuf,
    columns: Vec<String>,
    rows: RowIter<'static>,
    row: Row,
    number: u64,
}

impl Parquet {
    pub fn open(path: &Path) -> Result<Self, ImportError> {
        let reader = SerializedFileReader::new(file(path)?).map_err(|e| broken(path, &e))?;
        let root = reader.metadata().file_metadata().schema_descr().root_schema();
        let columns = root.get_fields().iter().map(|field| field.name().to_owned()).collect();
        let rows = RowIter::from_file_into(Box::new(reader));
        Ok(Self { path: path.to_owned(), columns, rows, row: Row::new(Vec::new()), number: 0 })
    }
}

impl Table for Parquet {
    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn advance(&mut self) -> Result<bool, ImportError> {
        let Some(row) = self.rows.next() else { return Ok(false) };
        self.row = row.map_err(|e| broken(&self.path, &e))?;
        self.number += 1;
        Ok(true)
    }

    fn cell(&self, column: usize) -> Cell<'_> {
        self.row.get_column_iter().nth(column).map_or(Cell::Missing, |(_, field)| cell(field))
    }

    fn number(&self) -> u64 {
        self.number
    }

    fn counted(&self) -> RowNaming {
        RowNaming::Rows
    }
}

fn cell(field: &Field) -> Cell<'_> {
    match field {
        Field::Null => Cell::Missing,
        Field::Bool(b) => Cell::Truth(*b),
        Field::Byte(i) => Cell::Number((*i).into()),
        Field::Short(i) => Cell::Number((*i).into()),
        Field::Int(i) => Cell::Number((*i).into()),
        Field::Long(i) => Cell::Number(*i as f64),
        Field::UByte(i) => Cell::Number((*i).into()),
        Field::UShort(i) => Cell::Number((*i).into()),
        Field::UInt(i) => Cell::Number((*i).into()),
        Field::ULong(i) => Cell::Number(*i as f64),
        Field::Float16(x) => Cell::number(x.to_f64()),
        Field::Float(x) => Cell::number((*x).into()),
        Field::Double(x) => Cell::number(*x),
        // A decimal number of any length; its text is a number.
        Field::Decimal(_) => field.to_string().parse().map_or(Cell::Other(field.to_string()), Cell::number),
        Field::Str(text) => match Cell::untyped(text) {
            Cell::Untyped(_) => Cell::Name(Cow::Borrowed(text)),
            missing => missing,
        },
        Field::Bytes(bytes) => Cell::Name(Cow::Owned(String::from_utf8_lossy(bytes.data()).into_owned())),
        Field::ListInternal(list) => Cell::List(list.elements().iter().map(cell).collect()),
        other => Cell::Other(quoted(&other.to_string())),
    }
}

fn broken(path: &Path, error: &ParquetError) -> ImportError {
    ImportError::unreadable(path, "a Parquet file", error.to_string())
}
