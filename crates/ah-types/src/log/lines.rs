//! Reads a log line by line. A log larger than memory costs its longest line.

use std::io::{BufRead, BufReader, Read};

use ah_model::shown::quoted;

/// The longest line in bytes: the names of some ten thousand choices. A pipe may never end.
pub(super) const MAX_LINE: usize = 16 << 20;

/// A block of the file: half of a second-level cache of 512 KiB, so that it is still cached when it is split.
const BLOCK: usize = 256 * 1024;

/// Lines with their numbers from 1, without their ends.
pub(super) struct Lines<R> {
    reader: BufReader<Hashed<R>>,
    text: Vec<u8>,
    line: u64,
    /// Whether the last line so far has a line end; true before the first line.
    pub(super) terminated: bool,
}

/// A reader that hashes what passes, in whole blocks: line by line would take four times as long.
struct Hashed<R> {
    reader: R,
    #[cfg(feature = "hash")]
    digest: blake3::Hasher,
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let read = self.reader.read(into)?;
        #[cfg(feature = "hash")]
        self.digest.update(&into[..read]);
        Ok(read)
    }
}

impl<R: Read> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        let hashed = Hashed {
            reader,
            #[cfg(feature = "hash")]
            digest: blake3::Hasher::new(),
        };
        Self { reader: BufReader::with_capacity(BLOCK, hashed), text: Vec::new(), line: 0, terminated: true }
    }

    /// The next line with its number.
    pub(super) fn next(&mut self) -> std::io::Result<Option<(u64, &[u8])>> {
        self.text.clear();
        self.line += 1;
        // One byte more tells a line that is too long.
        let read = self.reader.by_ref().take(MAX_LINE as u64 + 1).read_until(b'\n', &mut self.text);
        read.map_err(|e| std::io::Error::new(e.kind(), format!("line {}: {e}", self.line)))?;
        if self.text.is_empty() {
            return Ok(None);
        }
        if self.text.len() > MAX_LINE {
            let why =
                format!("line {}: a line of more than 16 MiB; is this a log of AutoHeuristic?", self.line);
            return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, why));
        }
        let line = self.text.strip_suffix(b"\n");
        self.terminated = line.is_some();
        let line = line.unwrap_or(&self.text);
        Ok(Some((self.line, line.strip_suffix(b"\r").unwrap_or(line))))
    }

    /// BLAKE3 of all bytes, in hex, behind the last line; empty without the feature `hash`.
    pub(super) fn hash(&self) -> String {
        #[cfg(feature = "hash")]
        return self.reader.get_ref().digest.finalize().to_hex().to_string();
        #[cfg(not(feature = "hash"))]
        String::new()
    }
}

/// A line, or a part of one, in quotes for an error message.
pub(super) fn shown(bytes: &[u8]) -> String {
    if bytes.is_empty() { "nothing".to_owned() } else { quoted(&String::from_utf8_lossy(bytes)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_numbers_and_lose_their_ends() {
        let mut lines = Lines::new(&b"a\r\n\nb"[..]);
        for (number, text) in [(1, "a"), (2, ""), (3, "b")] {
            assert_eq!(lines.next().unwrap(), Some((number, text.as_bytes())));
            assert_eq!(lines.terminated, number < 3);
        }
        assert!(lines.next().unwrap().is_none());
    }

    #[test]
    fn a_line_without_end_is_an_error() {
        let mut lines = Lines::new(std::io::repeat(b'x'));
        let error = lines.next().unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
        assert!(error.to_string().starts_with("line 1: a line of more than 16 MiB"), "{error}");
    }
}
