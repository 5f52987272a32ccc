//! Opens the files of tables.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use crate::import::error::{ImportError, io_error};

/// Returns the text of a file, unpacked where it is gzip.
pub fn text(path: &Path) -> Result<Box<dyn BufRead>, ImportError> {
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
