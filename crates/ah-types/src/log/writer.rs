//! Appends to a log so that a crash costs at most the input in progress, and two processes never interleave
//! lines.
//!
//! One input is one `write` of whole lines to a file opened for appending, under an exclusive lock. A crash
//! can only leave a last line without its end; opening the log cuts it and reports it.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ah_model::artefact::GZIP;
use ah_model::shown::{quoted, whole};
use ah_model::{Context, Error, Fault, RowNumber, Schema};

use super::data::Log;
use super::head::Head;
use super::lines::{Lines, MAX_LINE};
use super::metadata::{CHOICE_COLUMN, FEEDBACK_COLUMN, Metadata, differences};
use super::quote::{context_text, quote};
use super::reader::read;

/// Many inputs are written in blocks of about this many bytes.
const BLOCK: usize = 4 << 20;

/// A log open for appending.
#[derive(Debug)]
pub struct LogWriter {
    path: PathBuf,
    file: File,
    schema: Schema,
    /// The longest wait for the lock; `None` waits without limit.
    patience: Option<Duration>,
    /// How a user of this program names another log.
    elsewhere: &'static str,
}

impl LogWriter {
    /// Opens the log at `path` for appending, or creates it with this metadata and the order of the
    /// features in `schema`. An existing file must have the same metadata; its order of columns stays. Also
    /// returns the torn last line that was cut, if there was one.
    ///
    /// Only the head and the end are read, so the cost does not grow with the log, and a file that is not
    /// such a log stays unchanged.
    ///
    /// This call and every append wait at most `patience` for another process's lock; with `None` they wait without limit.
    /// Errors advise `elsewhere`, which is how a user of this program names another log: "write to another file (-o)".
    ///
    /// # Errors
    /// [`Error::Metadata`] names each key that differs with both values; [`Error::Malformed`] means
    /// that the file is not a log; I/O errors name the file. After one of the kind `TimedOut`, nothing is written.
    pub fn open(
        path: &Path,
        metadata: &Metadata,
        schema: &Schema,
        patience: Option<Duration>,
        elsewhere: &'static str,
    ) -> Result<(Self, Option<String>), Error> {
        if let Some(folder) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(Error::io(path, "make the folder of"))?;
        }
        let file = OpenOptions::new().read(true).append(true).create(true).open(path);
        let file = file.map_err(Error::io(path, "open"))?;
        let mut writer = Self { path: path.to_owned(), file, schema: schema.clone(), patience, elsewhere };
        let cut = writer.locked(|writer| writer.resume(metadata))?;
        Ok((writer, cut))
    }

    /// Reads the log; `None` if it has no row yet.
    ///
    /// # Errors
    /// A row that cannot be read.
    pub fn read(&mut self) -> Result<Option<Log>, Error> {
        match self.locked(|writer| read(&[&writer.path])) {
            Ok(log) => Ok(Some(log)),
            Err(Error::TooLittle(_)) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Appends the samples of one input: (choice, feedback in milliseconds; infinite for a failure).
    ///
    /// # Errors
    /// I/O errors. After a failed write, on a full disk for example, the file is cut back: the log then has
    /// none of these rows. If even that fails, the log ends in a torn line, which the next
    /// [`open`](Self::open) cuts.
    pub fn append_input<'a>(
        &mut self,
        context: &Context,
        samples: impl IntoIterator<Item = (&'a str, f64)>,
    ) -> Result<(), Error> {
        self.append_inputs([(context_text(context, &self.schema), samples)])
    }

    /// Appends the samples of many inputs like [`append_input`](Self::append_input). Each input is the
    /// [text](context_text) of its features in the order of [`schema`](Self::schema).
    ///
    /// # Errors
    /// [`Error::Malformed`] for a name or value of several lines; I/O errors like [`append_input`](Self::append_input).
    pub fn append_inputs<'a, S: IntoIterator<Item = (&'a str, f64)>>(
        &mut self,
        inputs: impl IntoIterator<Item = (String, S)>,
    ) -> Result<(), Error> {
        let mut rows = String::new();
        for (input, samples) in inputs {
            for (choice, feedback) in samples {
                if let Some(broken) = [&*input, choice].into_iter().find(|s| s.contains(['\n', '\r'])) {
                    let fault = Fault::new("names and values of one line", quoted(broken), "rename it");
                    return Err(fault.of_file(&self.path).into());
                }
                let _ = writeln!(rows, "{input},{},{feedback}", quote(choice));
            }
            if rows.len() >= BLOCK {
                self.append_rows(&std::mem::take(&mut rows))?;
            }
        }
        self.append_rows(&rows)
    }

    fn append_rows(&mut self, rows: &str) -> Result<(), Error> {
        self.locked(|writer| {
            // Another process may have been killed during its write since this one opened the log.
            cut_torn_line(&mut writer.file).map_err(Error::io(&writer.path, "repair"))?;
            writer.append(rows)
        })
    }

    /// The features in the order of the log's header.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Runs `work` alone among all processes that append to the log.
    fn locked<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        let locked = self.patience.map_or_else(|| self.file.lock(), |most| lock_within(&self.file, most));
        locked.map_err(Error::io(&self.path, "lock"))?;
        let result = work(self);
        self.file.unlock().map_err(Error::io(&self.path, "unlock"))?;
        result
    }

    /// Writes the head of a new log, or checks an existing one and adopts its order of columns.
    fn resume(&mut self, metadata: &Metadata) -> Result<Option<String>, Error> {
        let repeated = |found| Fault::new("distinct features", found, "rename it");
        metadata.features().map_err(|found| repeated(found).at(&self.path, RowNumber::Line(1)))?;
        let head = self.head(metadata);
        // A device has no length, and reading it might never end.
        let length = self.file.metadata().map_err(Error::io(&self.path, "read"))?.len();
        let mut begin = Vec::with_capacity(head.len());
        let read = (&self.file).take(length.min(head.len() as u64)).read_to_end(&mut begin);
        read.map_err(Error::io(&self.path, "read"))?;
        if begin.is_empty() {
            return self.append(&head).map(|()| None);
        }
        if begin.len() < head.len() && head.as_bytes().starts_with(&begin) {
            // The remainder of a crash in the first write.
            self.file.set_len(0).map_err(Error::io(&self.path, "repair"))?;
            self.append(&head)?;
            return Ok(Some(String::from_utf8_lossy(&begin).into_owned()));
        }
        if begin.starts_with(GZIP) {
            let why = format!("it is packed with gzip; unpack it, or {}", self.elsewhere);
            let source = std::io::Error::new(ErrorKind::Unsupported, why);
            return Err(Error::io(&self.path, "append")(source));
        }
        self.file.rewind().map_err(Error::io(&self.path, "read"))?;
        let mut lines = Lines::new((&self.file).take(2 * MAX_LINE as u64));
        let found = Head::read(&self.path, &mut lines)?;
        if !lines.terminated {
            let expected = "a header with its line end";
            let hint = "end the line, or delete the file";
            let fault = Fault::new(expected, "the end of the file", hint);
            return Err(fault.at(&self.path, RowNumber::Line(2)).into());
        }
        self.agree(&found.metadata, metadata)?;
        self.schema = found.schema;
        cut_torn_line(&mut self.file).map_err(Error::io(&self.path, "repair"))
    }

    /// Appends all of `text`, or nothing.
    fn append(&self, text: &str) -> Result<(), Error> {
        let length = self.file.metadata().map_err(Error::io(&self.path, "read"))?.len();
        let written = (&self.file).write_all(text.as_bytes()).and_then(|()| self.file.sync_data());
        if written.is_err() {
            // Best effort: the error to report is the write's.
            let _ = self.file.set_len(length);
        }
        written.map_err(Error::io(&self.path, "write"))
    }

    fn head(&self, metadata: &Metadata) -> String {
        let json = serde_json::to_string(metadata).unwrap_or_default();
        let mut names: Vec<_> = self.schema.features().iter().map(|f| quote(&f.name)).collect();
        names.extend([CHOICE_COLUMN.into(), FEEDBACK_COLUMN.into()]);
        format!("{json}\n{}\n", names.join(","))
    }

    fn agree(&self, existing: &Metadata, metadata: &Metadata) -> Result<(), Error> {
        if existing.name != metadata.name {
            let expected = whole(&metadata.name);
            let found = whole(&existing.name);
            return Err(Error::Invalid(format!(
                "{}: the log is of {found}, this run measures {expected}; {}",
                self.path.display(),
                self.elsewhere
            )));
        }
        let found = differences(existing, metadata);
        if found.is_empty() {
            return Ok(());
        }
        Err(Error::Metadata {
            path: self.path.clone(),
            other: "this run's".to_owned(),
            differences: found,
            hint: format!("{}, or use the settings that the log began with", self.elsewhere),
        })
    }
}

/// Locks a file that other processes lock too; gives up after `patience`. The system releases the lock of a killed process.
fn lock_within(file: &File, patience: Duration) -> std::io::Result<()> {
    let begin = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(e)) => return Err(e),
            Err(TryLockError::WouldBlock) if begin.elapsed() >= patience => {
                return Err(std::io::Error::new(ErrorKind::TimedOut, "another process holds its lock"));
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// Cuts the bytes after the last newline and returns them.
fn cut_torn_line(file: &mut File) -> std::io::Result<Option<String>> {
    let length = file.seek(SeekFrom::End(0))?;
    let mut last = [b'\n'];
    if length > 0 {
        file.seek(SeekFrom::Start(length - 1))?;
        file.read_exact(&mut last)?;
    }
    if last == *b"\n" {
        return Ok(None);
    }
    // No line of a log is longer.
    let start = length.saturating_sub(MAX_LINE as u64);
    let mut tail = Vec::new();
    file.seek(SeekFrom::Start(start))?;
    file.read_to_end(&mut tail)?;
    let keep = memchr::memrchr(b'\n', &tail).map_or(0, |i| i + 1);
    file.set_len(start + keep as u64)?;
    Ok(Some(String::from_utf8_lossy(&tail[keep..]).into_owned()))
}
