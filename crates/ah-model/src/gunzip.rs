//! Unpacks gzip, up to a ratio that no measured log and no model reaches.

use std::io::{Error, ErrorKind, Read, Take};

use flate2::read::MultiGzDecoder;

/// The greatest number of bytes for each packed byte. Gzip itself reaches 1032, PyTorch's logs 80, ours 16.
const MAX_RATIO: u64 = 128;
/// The ratio is not checked up to this many unpacked bytes.
const UNCHECKED: u64 = 64 << 20;

/// The unpacked bytes of a gzip file.
///
/// A file of more than 64 MiB that unpacks to more than 128 times its size is an error: it was made to fill memory.
pub(crate) struct Gunzip<R> {
    decoder: MultiGzDecoder<Take<R>>,
    unpacked: u64,
}

impl<R: Read> Gunzip<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { decoder: MultiGzDecoder::new(reader.take(u64::MAX)), unpacked: 0 }
    }
}

impl<R: Read> Read for Gunzip<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let read = self.decoder.read(into)?;
        self.unpacked += read as u64;
        let packed = u64::MAX - self.decoder.get_ref().limit();
        if self.unpacked > UNCHECKED && self.unpacked > MAX_RATIO * packed {
            let why = format!(
                "it unpacks to more than {MAX_RATIO} times its size, as no measured log does; if it is one, unpack it first (gunzip)"
            );
            return Err(Error::new(ErrorKind::InvalidData, why));
        }
        Ok(read)
    }
}
