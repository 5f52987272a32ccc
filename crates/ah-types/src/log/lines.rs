//! Reads the lines of a log block by block. A log larger than memory costs one block and its longest line,
//! and bytes to hash and split are still in the cache (mapping 31 MB page by page took as long as parsing
//! them).

use std::io::Read;
use std::ops::Range;

/// Half of a second-level cache of 512 KiB, so that a block is still cached when it is split.
const BLOCK: usize = 256 * 1024;

/// The first block; each next one is twice as large up to [`BLOCK`], so that a small log costs little.
const FIRST_BLOCK: usize = 4 * 1024;

/// The longest line in bytes: the names of some ten thousand choices. A device file may never end.
pub(super) const MAX_LINE: usize = 16 << 20;

/// Lines with their numbers from 1, without their ends.
pub(super) struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    /// The part of the buffer after the last line.
    unread: Range<usize>,
    line: u64,
    /// Whether the last line so far has a line end; true before the first line.
    pub(super) terminated: bool,
    #[cfg(feature = "hash")]
    digest: blake3::Hasher,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(reader: R) -> Self {
        Self {
            reader,
            buffer: vec![0; FIRST_BLOCK],
            unread: 0..0,
            line: 0,
            terminated: true,
            #[cfg(feature = "hash")]
            digest: blake3::Hasher::new(),
        }
    }

    /// Returns the next line with its number.
    pub(super) fn next(&mut self) -> std::io::Result<Option<(u64, &[u8])>> {
        let mut searched = 0;
        let (line, past) = loop {
            let unread = &self.buffer[self.unread.clone()];
            if let Some(i) = memchr::memchr(b'\n', &unread[searched..]) {
                let end = self.unread.start + searched + i;
                break (self.unread.start..end, end + 1);
            }
            searched = unread.len();
            if self.fill().map_err(|e| self.at_next_line(&e))? == 0 {
                if searched == 0 {
                    return Ok(None);
                }
                self.terminated = false;
                break (self.unread.clone(), self.unread.end);
            }
        };
        self.unread.start = past;
        self.line += 1;
        let text = &self.buffer[line];
        Ok(Some((self.line, text.strip_suffix(b"\r").unwrap_or(text))))
    }

    /// Returns the error with the line that could not be read.
    fn at_next_line(&self, error: &std::io::Error) -> std::io::Error {
        std::io::Error::new(error.kind(), format!("line {}: {error}", self.line + 1))
    }

    /// Moves the unread part to the front and reads more after it; returns 0 at the end.
    fn fill(&mut self) -> std::io::Result<usize> {
        self.buffer.copy_within(self.unread.clone(), 0);
        self.unread = 0..self.unread.len();
        if self.unread.end == self.buffer.len() && self.buffer.len() >= MAX_LINE {
            return Err(invalid("a line of more than 16 MiB; is this a log of AutoHeuristic?"));
        }
        if self.unread.end == self.buffer.len() || self.buffer.len() < BLOCK {
            self.buffer.resize(2 * self.buffer.len(), 0);
        }
        let n = loop {
            match self.reader.read(&mut self.buffer[self.unread.end..]) {
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                result => break result?,
            }
        };
        #[cfg(feature = "hash")]
        self.digest.update(&self.buffer[self.unread.end..self.unread.end + n]);
        self.unread.end += n;
        Ok(n)
    }

    /// Returns BLAKE3 of all bytes so far, in hex; empty without the feature `hash`.
    pub(super) fn hash(&self) -> String {
        #[cfg(feature = "hash")]
        return self.digest.finalize().to_hex().to_string();
        #[cfg(not(feature = "hash"))]
        String::new()
    }
}

/// Returns the error of a file whose bytes are not a log.
pub(super) fn invalid(why: &str) -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns at most `step` bytes a call.
    struct Dribble<'a>(&'a [u8], usize);

    impl Read for Dribble<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let n = self.0.len().min(self.1);
            self.0.take(n as u64).read(into).inspect(|n| self.0 = &self.0[*n..])
        }
    }

    /// Returns the lines, whether the last one has an end, and the hash.
    fn lines(reader: impl Read) -> (Vec<Vec<u8>>, bool, String) {
        let mut lines = Lines::new(reader);
        let mut all = Vec::new();
        while let Some((number, text)) = lines.next().unwrap() {
            all.push(text.to_vec());
            assert_eq!(number, all.len() as u64);
        }
        (all, lines.terminated, lines.hash())
    }

    proptest! {
        #[test]
        fn lines_do_not_depend_on_how_bytes_arrive(
            bytes in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(b'a')], 0..40),
            step in 1_usize..9,
        ) {
            let (found, terminated, hash) = lines(Dribble(&bytes, step));
            let mut wanted: Vec<Vec<u8>> = bytes.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
            if wanted.last().is_some_and(Vec::is_empty) {
                wanted.pop();
            }
            for line in &mut wanted {
                line.pop_if(|b| *b == b'\r');
            }
            prop_assert_eq!(found, wanted);
            prop_assert_eq!(terminated, bytes.is_empty() || bytes.ends_with(b"\n"));
            prop_assert_eq!(hash, lines(bytes.as_slice()).2);
        }
    }

    #[test]
    fn a_line_without_end_is_an_error() {
        let mut lines = Lines::new(std::io::repeat(b'x'));
        let error = lines.next().unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
        assert!(error.to_string().starts_with("line 1: a line of more than 16 MiB"), "{error}");
    }

    #[test]
    fn a_line_may_be_longer_than_a_block() {
        let mut bytes = vec![b'x'; 3 * BLOCK + 7];
        bytes.extend(b"\nb\n");
        assert_eq!(lines(bytes.as_slice()).0, [vec![b'x'; 3 * BLOCK + 7], b"b".to_vec()]);
    }
}
