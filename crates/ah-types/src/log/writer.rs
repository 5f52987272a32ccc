//! Appending to a log so that a crash costs at most the input in hand and two
//! processes never interleave lines.
//!
//! One input is one `write` of whole lines to a file opened for appending, under an exclusive
//! lock. What a crash can leave is a last line without its end; opening cuts it off and says so.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::metadata::{Metadata, differences};
use super::{CHOICE_COLUMN, FEEDBACK_COLUMN, LogError, rows};
use crate::context::{Context, Value};
use crate::feature::Schema;
use crate::number;

/// A log open for appending.
#[derive(Debug)]
pub struct LogWriter {
    path: PathBuf,
    file: File,
    schema: Schema,
}

/// What opening an existing log found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resumed {
    /// The torn last line that was cut off.
    pub cut: Option<String>,
    /// The distinct inputs that the log holds, as their features' text joined by commas, in order.
    pub inputs: Vec<String>,
}

impl LogWriter {
    /// Opens the log at `path` for appending, or makes it with this metadata and the features'
    /// order of `schema`. A file that is there must have agreeing metadata.
    ///
    /// # Errors
    /// [`LogError::Metadata`] names each key that differs with both values; I/O errors name the file.
    pub fn open(path: &Path, metadata: &Metadata, schema: &Schema) -> Result<(Self, Resumed), LogError> {
        let io = |action| move |source| LogError::Io { path: path.to_owned(), action, source };
        if let Some(folder) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(io("make the folder of"))?;
        }
        let mut file =
            OpenOptions::new().read(true).append(true).create(true).open(path).map_err(io("open"))?;
        file.lock().map_err(io("lock"))?;
        let cut = cut_torn_line(&mut file).map_err(io("mend"))?;
        let mut resumed = Resumed { cut, inputs: Vec::new() };
        let length = file.metadata().map_err(io("read"))?.len();
        let mut writer = Self { path: path.to_owned(), file, schema: schema.clone() };
        if length == 0 {
            writer.append(&writer.head(metadata))?;
        } else {
            resumed.inputs = writer.check(metadata)?;
        }
        writer.file.unlock().map_err(io("unlock"))?;
        Ok((writer, resumed))
    }

    /// Appends the samples of one input: (choice, feedback in milliseconds; infinite for a failure).
    ///
    /// # Errors
    /// I/O errors; the log then holds none of these rows or ends in a torn line that the next
    /// [`open`](Self::open) cuts off.
    pub fn append_input<'a>(
        &mut self,
        context: &Context,
        samples: impl IntoIterator<Item = (&'a str, f64)>,
    ) -> Result<(), LogError> {
        let prefix = row_prefix(context, &self.schema);
        let mut text = String::new();
        for (choice, feedback) in samples {
            if let Some(broken) = [prefix.as_str(), choice].into_iter().find(|s| s.contains(['\n', '\r'])) {
                return Err(LogError::Malformed {
                    place: super::Place { path: self.path.clone(), line: 0, column: 0 },
                    expected: "names and values of one line".to_owned(),
                    found: format!("{broken:?}"),
                    hint: "rename it".to_owned(),
                });
            }
            let _ = writeln!(text, "{prefix},{},{}", rows::quote(choice), number::format(feedback));
        }
        let io = |path: &Path, action, source| LogError::Io { path: path.to_owned(), action, source };
        self.file.lock().map_err(|e| io(&self.path, "lock", e))?;
        // Another process may have been killed in the middle of its write since the log was opened.
        let mended = cut_torn_line(&mut self.file).map_err(|e| io(&self.path, "mend", e));
        let result = mended.and_then(|_| self.append(&text));
        self.file.unlock().map_err(|e| io(&self.path, "unlock", e))?;
        result
    }

    fn append(&self, text: &str) -> Result<(), LogError> {
        (&self.file)
            .write_all(text.as_bytes())
            .and_then(|()| self.file.sync_data())
            .map_err(|source| LogError::Io { path: self.path.clone(), action: "write", source })
    }

    fn head(&self, metadata: &Metadata) -> String {
        let json = serde_json::to_string(metadata).unwrap_or_default();
        let mut names: Vec<_> = self.schema.features().iter().map(|f| rows::quote(&f.name)).collect();
        names.extend([CHOICE_COLUMN.into(), FEEDBACK_COLUMN.into()]);
        format!("{json}\n{}\n", names.join(","))
    }

    /// Compares the metadata, takes over the log's own order of columns, and lists its inputs.
    fn check(&mut self, metadata: &Metadata) -> Result<Vec<String>, LogError> {
        let log = match super::read(&[&self.path]) {
            Ok(log) => log,
            // A head without rows: only its metadata and columns matter.
            Err(LogError::Empty { .. }) => return self.check_head(metadata).map(|()| Vec::new()),
            Err(e) => return Err(e),
        };
        self.agree(&log.metadata, metadata)?;
        self.schema = log.schema;
        Ok(log.inputs.into_iter().map(|i| i.text.into_string()).collect())
    }

    fn check_head(&self, metadata: &Metadata) -> Result<(), LogError> {
        let text = std::fs::read_to_string(&self.path).map_err(|source| LogError::Io {
            path: self.path.clone(),
            action: "read",
            source,
        })?;
        let first = text.lines().next().unwrap_or_default();
        match serde_json::from_str(first) {
            Ok(existing) => self.agree(&existing, metadata),
            Err(_) => Ok(()),
        }
    }

    fn agree(&self, existing: &Metadata, metadata: &Metadata) -> Result<(), LogError> {
        let found = differences(existing, metadata);
        if found.is_empty() {
            return Ok(());
        }
        Err(LogError::Metadata {
            path: self.path.clone(),
            other: "this run's".to_owned(),
            differences: found,
            hint: "write to another file (-o), or run with what the log was begun with",
        })
    }
}

/// The features' text of a context as it stands in a row, joined by commas: the key of an input.
///
/// A feature that the context lacks is left empty.
#[must_use]
pub(crate) fn row_prefix(context: &Context, schema: &Schema) -> String {
    let fields = schema.features().iter().map(|f| {
        let text = context.get(&f.name).map(Value::to_string).unwrap_or_default();
        rows::quote(&text).into_owned()
    });
    fields.collect::<Vec<_>>().join(",")
}

/// Cuts off what stands behind the last newline and returns it.
fn cut_torn_line(file: &mut File) -> std::io::Result<Option<String>> {
    const BLOCK: u64 = 64 * 1024;
    let length = file.seek(SeekFrom::End(0))?;
    if length > 0 {
        let mut last = [0];
        file.seek(SeekFrom::Start(length - 1))?;
        file.read_exact(&mut last)?;
        if last == *b"\n" {
            return Ok(None);
        }
    }
    let mut tail = Vec::new();
    let mut start = length;
    loop {
        if start == 0 {
            break;
        }
        let from = start.saturating_sub(BLOCK);
        let mut block = vec![0; usize::try_from(start - from).unwrap_or_default()];
        file.seek(SeekFrom::Start(from))?;
        file.read_exact(&mut block)?;
        block.extend_from_slice(&tail);
        tail = block;
        start = from;
        if memchr::memchr(b'\n', &tail).is_some() {
            break;
        }
    }
    let keep = memchr::memrchr(b'\n', &tail).map_or(0, |i| i + 1);
    if keep == tail.len() {
        return Ok(None);
    }
    let torn = String::from_utf8_lossy(&tail[keep..]).into_owned();
    file.set_len(start + keep as u64)?;
    Ok(Some(torn))
}

impl Context {
    /// The context's features as one row of a log, joined by commas, in the order of `schema`.
    #[must_use]
    pub fn log_text(&self, schema: &Schema) -> String {
        row_prefix(self, schema)
    }
}
