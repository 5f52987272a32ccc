//! Opens the files of tables.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use ah_types::log;

use crate::import::error::{ImportError, io_error};

/// Returns the text of a file, unpacked where it is gzip.
pub fn text(path: &Path) -> Result<Box<dyn BufRead>, ImportError> {
    file(path)?;
    let bytes = log::open(path).map_err(io_error(path, "read"))?;
    Ok(Box::new(BufReader::with_capacity(256 * 1024, bytes)))
}

/// Returns a file that can be read twice.
pub fn file(path: &Path) -> Result<File, ImportError> {
    let file = File::open(path).map_err(io_error(path, "read"))?;
    let metadata = file.metadata().map_err(io_error(path, "read"))?;
    if metadata.is_file() {
        return Ok(file);
    }
    let why = "it is not a regular file; a table is read twice, so save it to one";
    Err(io_error(path, "read")(std::io::Error::new(std::io::ErrorKind::Unsupported, why)))
}
