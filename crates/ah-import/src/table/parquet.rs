//! Parquet, read row by row through the record API of the crate parquet. It holds one page of each column.

use std::path::Path;

use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::record::Field;
use ::parquet::record::reader::RowIter;
use ah_types::artefact::open_file;
use ah_types::shown::quoted;

use super::rows::{Row, Table};
use crate::cell::Cell;
use crate::error::{ImportError, RowNumber, io_error};

/// Opens a Parquet file.
pub fn open(path: &Path) -> Result<Table, ImportError> {
    let file = open_file(path).map_err(io_error(path, "read"))?;
    if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        let why = "it is not a regular file, and Parquet is read from its end; save it to one";
        return Err(io_error(path, "read")(std::io::Error::new(std::io::ErrorKind::Unsupported, why)));
    }
    let reader = SerializedFileReader::new(file).map_err(|e| broken(path, &e))?;
    let root = reader.metadata().file_metadata().schema_descr().root_schema();
    let columns = root.get_fields().iter().map(|field| field.name().to_owned()).collect();
    let path = path.to_owned();
    let rows = (1..).zip(RowIter::from_file_into(Box::new(reader))).map(move |(number, row)| {
        let row = row.map_err(|e| broken(&path, &e))?;
        let cells = row.get_column_iter().map(|(_, field)| cell(field)).collect();
        Ok(Row { number: RowNumber::Row(number), cells })
    });
    Ok(Table::new(columns, Box::new(rows)))
}

fn cell(field: &Field) -> Cell {
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
        Field::Str(text) => Cell::text(text.clone()),
        Field::Bytes(bytes) => Cell::Name(String::from_utf8_lossy(bytes.data()).into_owned()),
        Field::ListInternal(list) => Cell::List(list.elements().iter().map(cell).collect()),
        other => Cell::Other(quoted(&other.to_string())),
    }
}

fn broken(path: &Path, error: &ParquetError) -> ImportError {
    ImportError::unreadable(path, "a Parquet file", error.to_string())
}
