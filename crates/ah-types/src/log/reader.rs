//! Reading logs: the whole file into memory, then line by line into interned inputs, interned
//! choices and one small record a sample.
//!
//! Rows of one input share all their bytes up to the choice, so an input is found by hashing
//! that prefix and its features are parsed once, not once a sample.

use std::hash::BuildHasher;
#[cfg(feature = "gzip")]
use std::io::Read;
use std::path::{Path, PathBuf};

use rustc_hash::{FxBuildHasher, FxHashMap};

use super::metadata::{Metadata, differences};
use super::rows;
use super::{CHOICE_COLUMN, FEEDBACK_COLUMN, LogError, Place};
use crate::choice::ChoiceId;
use crate::context::{Context, Value};
use crate::feature::{FeatureKind, Schema};

/// One or several logs with the same metadata.
#[derive(Clone, Debug)]
pub struct Log {
    /// Of the first file.
    pub metadata: Metadata,
    /// The features, in the order of the first file's header.
    pub schema: Schema,
    /// All choices by name, sorted: a [`ChoiceId`] is a position here.
    pub choices: Vec<String>,
    /// The distinct contexts, in order of first appearance.
    pub inputs: Vec<Input>,
    /// All samples, in order.
    pub samples: Vec<Sample>,
    /// The files.
    pub sources: Vec<Source>,
    /// What was passed over.
    pub dirt: Dirt,
}

/// One distinct context.
#[derive(Clone, Debug)]
pub struct Input {
    /// The values by slot of the schema.
    pub values: Box<[Value]>,
    /// The features' text as it stands in the log, joined by commas.
    pub text: Box<str>,
}

/// One timing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The position of its input.
    pub input: u32,
    /// Its choice.
    pub choice: ChoiceId,
    /// Milliseconds; infinite where the choice failed.
    pub feedback: f64,
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// As it was given.
    pub path: PathBuf,
    /// BLAKE3 of its (unpacked) bytes, in hex; empty without the feature `hash`.
    pub hash: String,
    /// Its rows.
    pub rows: u64,
    /// The inputs that no file before it held.
    pub new_inputs: u64,
}

/// What was passed over while reading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dirt {
    /// Lines without text.
    pub blank_lines: u64,
    /// Rows passed over because of `skip_bad_rows`; the first few as errors.
    pub bad_rows: u64,
    /// Up to five of their errors.
    pub examples: Vec<String>,
    /// Files whose last line lacks its end, so that its number may be cut short.
    pub unterminated: Vec<PathBuf>,
}

/// How to read.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadOptions {
    /// Pass over malformed rows and count them, instead of ending with an error.
    pub skip_bad_rows: bool,
    /// Read only so many rows of each file.
    pub max_rows: Option<u64>,
}

impl Log {
    /// The context of an input.
    #[must_use]
    pub fn context(&self, input: usize) -> Context {
        let names = self.schema.features().iter().map(|f| f.name.as_str());
        names.zip(self.inputs[input].values.iter().cloned()).collect()
    }

    /// The id of the choice of this name.
    #[must_use]
    pub fn choice_id(&self, name: &str) -> Option<ChoiceId> {
        let position = self.choices.binary_search_by(|c| c.as_str().cmp(name)).ok()?;
        u32::try_from(position).ok().map(ChoiceId)
    }

    /// The name of a choice.
    #[must_use]
    pub fn choice_name(&self, id: ChoiceId) -> &str {
        &self.choices[id.index()]
    }
}

/// Reads one or several logs (plain or gzip) as one.
///
/// # Errors
/// [`LogError`] with file, line, column, expected and found.
pub fn read(paths: &[impl AsRef<Path>]) -> Result<Log, LogError> {
    read_with(paths, ReadOptions::default())
}

/// [`read`] with options.
///
/// # Errors
/// As [`read`]; with `skip_bad_rows`, malformed rows are counted instead.
///
/// # Panics
/// When `paths` is empty.
pub fn read_with(paths: &[impl AsRef<Path>], options: ReadOptions) -> Result<Log, LogError> {
    assert!(!paths.is_empty(), "give at least one log");
    let mut merged: Option<Merger> = None;
    for path in paths {
        let path = path.as_ref();
        let bytes = load(path)?;
        File { path, bytes: &bytes }.read_into(&mut merged, options)?;
    }
    let Some(merger) = merged else { unreachable!("every file either makes a merger or fails") };
    if merger.samples.is_empty() {
        return Err(LogError::Empty { path: paths[0].as_ref().to_owned() });
    }
    Ok(merger.finish())
}

/// The bytes of a file, unpacked where it is gzip (told by its first bytes, not by its name).
fn load(path: &Path) -> Result<Vec<u8>, LogError> {
    let io = |source| LogError::Io { path: path.to_owned(), action: "read", source };
    if path.is_dir() {
        return Err(io(std::io::Error::new(
            std::io::ErrorKind::IsADirectory,
            "it is a directory; give the log inside it",
        )));
    }
    let bytes = std::fs::read(path).map_err(io)?;
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(bytes);
    }
    unpack(&bytes).map_err(io)
}

#[cfg(feature = "gzip")]
fn unpack(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut plain = Vec::with_capacity(bytes.len() * 12);
    flate2::read::MultiGzDecoder::new(bytes).read_to_end(&mut plain)?;
    Ok(plain)
}

#[cfg(not(feature = "gzip"))]
fn unpack(_: &[u8]) -> std::io::Result<Vec<u8>> {
    Err(std::io::Error::new(std::io::ErrorKind::Unsupported, "it is packed with gzip; unpack it first"))
}

#[cfg(feature = "hash")]
fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

#[cfg(not(feature = "hash"))]
fn hash(_: &[u8]) -> String {
    String::new()
}

/// Everything read so far.
struct Merger {
    metadata: Metadata,
    schema: Schema,
    choices: Vec<String>,
    choice_ids: FxHashMap<String, u32>,
    inputs: Vec<Input>,
    input_ids: FxHashMap<Box<str>, u32>,
    samples: Vec<Sample>,
    sources: Vec<Source>,
    dirt: Dirt,
    hasher: FxBuildHasher,
}

impl Merger {
    /// Choices get ids by name, so that ids do not depend on the order of rows.
    fn finish(mut self) -> Log {
        let mut order: Vec<usize> = (0..self.choices.len()).collect();
        order.sort_by(|&a, &b| self.choices[a].cmp(&self.choices[b]));
        let mut new_id = vec![0; order.len()];
        for (new, &old) in (0_u32..).zip(&order) {
            new_id[old] = new;
        }
        for sample in &mut self.samples {
            sample.choice = ChoiceId(new_id[sample.choice.index()]);
        }
        let choices = order.iter().map(|&old| std::mem::take(&mut self.choices[old])).collect();
        Log {
            metadata: self.metadata,
            schema: self.schema,
            choices,
            inputs: self.inputs,
            samples: self.samples,
            sources: self.sources,
            dirt: self.dirt,
        }
    }
}

/// What a column holds.
enum Column {
    Feature { slot: usize, kind: FeatureKind },
    Choice,
    Feedback,
}

struct File<'a> {
    path: &'a Path,
    bytes: &'a [u8],
}

/// Ids of the prefixes and choices of one file by hash of their bytes. The bytes are compared
/// too, so equal hashes cannot mix two inputs up.
struct Interned<'a> {
    table: FxHashMap<u64, Vec<(&'a [u8], u32)>>,
    last: Option<(&'a [u8], u32)>,
}

impl<'a> Interned<'a> {
    fn new() -> Self {
        Self { table: FxHashMap::default(), last: None }
    }

    /// The id for these bytes; rows of one input mostly follow each other, so the last one is tried first.
    fn get<E>(
        &mut self,
        bytes: &'a [u8],
        hasher: FxBuildHasher,
        make: impl FnOnce() -> Result<u32, E>,
    ) -> Result<u32, E> {
        if let Some((last, id)) = self.last
            && last == bytes
        {
            return Ok(id);
        }
        let slot = self.table.entry(hasher.hash_one(bytes)).or_default();
        let id = match slot.iter().find(|(b, _)| *b == bytes) {
            Some((_, id)) => *id,
            None => {
                let id = make()?;
                slot.push((bytes, id));
                id
            }
        };
        self.last = Some((bytes, id));
        Ok(id)
    }
}

impl<'a> File<'a> {
    fn malformed(
        &self,
        line: u64,
        column: usize,
        expected: impl Into<String>,
        found: impl Into<String>,
        hint: impl Into<String>,
    ) -> LogError {
        LogError::Malformed {
            place: Place { path: self.path.to_owned(), line, column: column as u64 },
            expected: expected.into(),
            found: found.into(),
            hint: hint.into(),
        }
    }

    fn read_into(&self, merged: &mut Option<Merger>, options: ReadOptions) -> Result<(), LogError> {
        let mut lines = Lines { bytes: self.bytes, line: 0 };
        let metadata = self.metadata(lines.next().unwrap_or_default().1)?;
        let header = match lines.next() {
            Some((_, text)) if !text.is_empty() => text,
            _ => {
                return Err(self.malformed(
                    2,
                    0,
                    "a CSV header",
                    "nothing",
                    "is this a log of AutoHeuristic?",
                ));
            }
        };
        let (names, columns_by_name) = self.header(header, &metadata)?;
        let merger = match merged {
            Some(merger) => {
                self.agree(merger, &metadata)?;
                merger
            }
            None => {
                let features = names.iter().map(|name| {
                    let kind = metadata.kind_of(name).unwrap_or(FeatureKind::Numerical);
                    crate::feature::Feature { kind, ..crate::feature::Feature::numerical(name) }
                });
                let schema = Schema::new(features).map_err(|e| {
                    self.malformed(2, 0, "distinct columns", format!("{:?} twice", e.0), "mend the header")
                })?;
                merged.insert(Merger {
                    metadata,
                    schema,
                    choices: Vec::new(),
                    choice_ids: FxHashMap::default(),
                    inputs: Vec::new(),
                    input_ids: FxHashMap::default(),
                    samples: Vec::with_capacity(self.bytes.len() / 100),
                    sources: Vec::new(),
                    dirt: Dirt::default(),
                    hasher: FxBuildHasher,
                })
            }
        };
        let columns: Vec<Column> = columns_by_name
            .into_iter()
            .map(|name| match name.as_str() {
                CHOICE_COLUMN => Column::Choice,
                FEEDBACK_COLUMN => Column::Feedback,
                _ => {
                    let slot = merger.schema.slot(&name).unwrap_or_default();
                    Column::Feature { slot, kind: merger.schema.features()[slot].kind }
                }
            })
            .collect();
        let inputs_before = merger.inputs.len();
        let rows = self.rows(&columns, lines, merger, options)?;
        if !self.bytes.ends_with(b"\n") {
            merger.dirt.unterminated.push(self.path.to_owned());
        }
        let hash = hash(self.bytes);
        let new_inputs = (merger.inputs.len() - inputs_before) as u64;
        merger.sources.push(Source { path: self.path.to_owned(), hash, rows, new_inputs });
        Ok(())
    }

    fn metadata(&self, line: &[u8]) -> Result<Metadata, LogError> {
        const HINT: &str = "is this a log of AutoHeuristic?";
        if self.bytes.is_empty() {
            return Err(self.malformed(1, 1, "a line of JSON metadata", "an empty file", HINT));
        }
        serde_json::from_slice(line).map_err(|e| {
            self.malformed(
                1,
                e.column(),
                "a JSON object with name, device_capa, numerical_features and categorical_features",
                shown(line, &e.to_string()),
                HINT,
            )
        })
    }

    /// The features' names in order, and all columns' names in order.
    fn header(&self, line: &[u8], metadata: &Metadata) -> Result<(Vec<String>, Vec<String>), LogError> {
        let mut ranges = Vec::new();
        rows::split(line, &mut ranges)
            .map_err(|at| self.malformed(2, at + 1, "a CSV header", "an unclosed quote", "close it"))?;
        let mut columns: Vec<String> = Vec::with_capacity(ranges.len());
        for range in ranges {
            let name = String::from_utf8_lossy(&rows::unquote(&line[range.clone()])).into_owned();
            let known = name == CHOICE_COLUMN || name == FEEDBACK_COLUMN || metadata.kind_of(&name).is_some();
            if !known {
                let features: Vec<&str> = metadata
                    .numerical_features
                    .iter()
                    .chain(&metadata.categorical_features)
                    .map(String::as_str)
                    .collect();
                return Err(self.malformed(
                    2,
                    range.start + 1,
                    format!(
                        "a feature of the metadata ({}), {CHOICE_COLUMN} or {FEEDBACK_COLUMN}",
                        features.join(", ")
                    ),
                    format!("the column {name:?}"),
                    "list it under numerical_features or categorical_features in line 1",
                ));
            }
            if columns.contains(&name) {
                return Err(self.malformed(
                    2,
                    range.start + 1,
                    "distinct columns",
                    format!("{name:?} twice"),
                    "remove one",
                ));
            }
            columns.push(name);
        }
        let wanted = metadata.numerical_features.iter().chain(&metadata.categorical_features);
        for name in wanted.map(String::as_str).chain([CHOICE_COLUMN, FEEDBACK_COLUMN]) {
            if !columns.iter().any(|c| c == name) {
                return Err(self.malformed(
                    2,
                    0,
                    format!("a column {name:?}"),
                    format!("the columns {}", columns.join(", ")),
                    "add it, or mend the metadata in line 1",
                ));
            }
        }
        let names =
            columns.iter().filter(|c| *c != CHOICE_COLUMN && *c != FEEDBACK_COLUMN).cloned().collect();
        Ok((names, columns))
    }

    fn agree(&self, merger: &Merger, metadata: &Metadata) -> Result<(), LogError> {
        let mut found = differences(&merger.metadata, metadata);
        // Parts of one seeded sequence, or several seeds, may be merged.
        found.retain(|d| d.key != "autoheuristic_rs.seed" && d.key != "choices");
        if found.is_empty() {
            return Ok(());
        }
        Err(LogError::Metadata {
            path: self.path.to_owned(),
            other: merger.sources.first().map_or_else(String::new, |s| s.path.display().to_string()),
            differences: found,
            hint: "logs of different devices or features cannot be merged; learn from each alone",
        })
    }

    fn rows(
        &self,
        columns: &[Column],
        lines: Lines<'a>,
        merger: &mut Merger,
        options: ReadOptions,
    ) -> Result<u64, LogError> {
        let mut state = Rows {
            file: self,
            columns,
            // Where choice and feedback come last, in this order, a row is prefix, choice, feedback.
            prefix: matches!(columns, [.., Column::Choice, Column::Feedback]),
            inputs: Interned::new(),
            choices: Interned::new(),
            fields: Vec::new(),
        };
        let mut rows = 0;
        for (line, text) in lines {
            if text.iter().all(u8::is_ascii_whitespace) {
                merger.dirt.blank_lines += 1;
                continue;
            }
            if options.max_rows.is_some_and(|max| rows >= max) {
                break;
            }
            match state.row(line, text, merger) {
                Ok(()) => rows += 1,
                Err(error) if options.skip_bad_rows => {
                    merger.dirt.bad_rows += 1;
                    if merger.dirt.examples.len() < 5 {
                        merger.dirt.examples.push(error.to_string());
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(rows)
    }
}

const SKIP_HINT: &str = "mend the row, or pass over such rows with --skip-bad-rows";

struct Rows<'f, 'a> {
    file: &'f File<'a>,
    columns: &'f [Column],
    prefix: bool,
    inputs: Interned<'a>,
    choices: Interned<'a>,
    fields: Vec<std::ops::Range<usize>>,
}

impl<'a> Rows<'_, 'a> {
    fn row(&mut self, line: u64, text: &'a [u8], merger: &mut Merger) -> Result<(), LogError> {
        let tail = (self.prefix && memchr::memchr(b'"', text).is_none()).then(|| {
            let second = memchr::memrchr(b',', text)?;
            let first = memchr::memrchr(b',', &text[..second])?;
            Some((&text[..first], &text[first + 1..second], &text[second + 1..], second + 1))
        });
        let (input, choice, feedback, column) = match tail.flatten() {
            Some((prefix, choice, feedback, column)) => {
                // A prefix seen before has the right number of fields; a new one is split and checked.
                let hasher = merger.hasher;
                let input = self.inputs.get(prefix, hasher, || {
                    self.file.input(self.columns, line, text, &mut self.fields, merger)
                })?;
                (input, choice, feedback, column)
            }
            None => {
                let input = self.file.input(self.columns, line, text, &mut self.fields, merger)?;
                let field = |wanted: fn(&Column) -> bool| {
                    let i = self.columns.iter().position(wanted).unwrap_or_default();
                    self.fields[i].clone()
                };
                let (c, f) =
                    (field(|c| matches!(c, Column::Choice)), field(|c| matches!(c, Column::Feedback)));
                (input, &text[c], &text[f.clone()], f.start)
            }
        };
        let feedback = self.file.feedback(line, column, feedback)?;
        let hasher = merger.hasher;
        let choice = self.choices.get(choice, hasher, || self.file.choice(line, choice, merger))?;
        merger.samples.push(Sample { input, choice: ChoiceId(choice), feedback });
        Ok(())
    }
}

impl File<'_> {
    fn choice(&self, line: u64, raw: &[u8], merger: &mut Merger) -> Result<u32, LogError> {
        let name = rows::unquote(raw);
        let name = std::str::from_utf8(&name).map_err(|_| {
            self.malformed(
                line,
                0,
                "a choice's name in UTF-8",
                format!("{:?}", String::from_utf8_lossy(raw)),
                SKIP_HINT,
            )
        })?;
        if name.is_empty() {
            return Err(self.malformed(line, 0, "a choice's name", "nothing", SKIP_HINT));
        }
        if let Some(id) = merger.choice_ids.get(name) {
            return Ok(*id);
        }
        let id = count(merger.choices.len());
        merger.choices.push(name.to_owned());
        merger.choice_ids.insert(name.to_owned(), id);
        Ok(id)
    }

    fn feedback(&self, line: u64, column: usize, raw: &[u8]) -> Result<f64, LogError> {
        let text = rows::unquote(raw);
        let value = std::str::from_utf8(&text).ok().and_then(|t| t.trim().parse::<f64>().ok());
        match value {
            Some(x) if x > 0.0 => Ok(x),
            _ => Err(self.malformed(
                line,
                column + 1,
                "a time in milliseconds above 0, or inf",
                shown(raw, "nothing"),
                SKIP_HINT,
            )),
        }
    }

    /// The id of the input in this row; its features are parsed when it is new.
    fn input(
        &self,
        columns: &[Column],
        line: u64,
        text: &[u8],
        fields: &mut Vec<std::ops::Range<usize>>,
        merger: &mut Merger,
    ) -> Result<u32, LogError> {
        rows::split(text, fields).map_err(|at| {
            self.malformed(line, at + 1, "a closed quote", shown(&text[at..], "nothing"), SKIP_HINT)
        })?;
        if fields.len() != columns.len() {
            return Err(self.malformed(
                line,
                0,
                format!("{} fields", columns.len()),
                fields.len().to_string(),
                SKIP_HINT,
            ));
        }
        let mut values: Vec<Option<Value>> = vec![None; merger.schema.len()];
        let mut raw: Vec<&[u8]> = vec![b""; merger.schema.len()];
        for (column, range) in columns.iter().zip(fields.iter()) {
            let Column::Feature { slot, kind } = *column else { continue };
            let field = rows::unquote(&text[range.clone()]);
            let name = || &merger.schema.features()[slot].name;
            let field = std::str::from_utf8(&field).map_err(|_| {
                self.malformed(
                    line,
                    range.start + 1,
                    format!("{} in UTF-8", name()),
                    shown(&text[range.clone()], "nothing"),
                    SKIP_HINT,
                )
            })?;
            values[slot] = Some(match kind {
                FeatureKind::Categorical => Value::from(field),
                FeatureKind::Numerical => match field.trim().parse::<f64>() {
                    Ok(x) if !x.is_nan() => Value::Number(x),
                    _ => {
                        return Err(self.malformed(
                            line,
                            range.start + 1,
                            format!("a number for {}", name()),
                            shown(field.as_bytes(), "nothing"),
                            SKIP_HINT,
                        ));
                    }
                },
            });
            raw[slot] = &text[range.clone()];
        }
        // In the order of the first file's header, so that files with other orders agree.
        let key =
            raw.iter().map(|r| String::from_utf8_lossy(r)).collect::<Vec<_>>().join(",").into_boxed_str();
        if let Some(id) = merger.input_ids.get(&key) {
            return Ok(*id);
        }
        let id = count(merger.inputs.len());
        merger.input_ids.insert(key.clone(), id);
        merger.inputs.push(Input { values: values.into_iter().flatten().collect(), text: key });
        Ok(id)
    }
}

/// Ids are u32: a log of 2^32 inputs would not fit into memory.
fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Bytes for an error message: quoted, at most 60 characters.
fn shown(bytes: &[u8], nothing: &str) -> String {
    if bytes.is_empty() {
        return nothing.to_owned();
    }
    let text = String::from_utf8_lossy(bytes);
    let mut shown: String = text.chars().take(60).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    format!("{shown:?}")
}

/// Lines with their numbers from 1, without their ends.
struct Lines<'a> {
    bytes: &'a [u8],
    line: u64,
}

impl<'a> Iterator for Lines<'a> {
    type Item = (u64, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        if self.bytes.is_empty() {
            return None;
        }
        self.line += 1;
        let (line, rest) = match memchr::memchr(b'\n', self.bytes) {
            Some(i) => (&self.bytes[..i], &self.bytes[i + 1..]),
            None => (self.bytes, &[][..]),
        };
        self.bytes = rest;
        Some((self.line, line.strip_suffix(b"\r").unwrap_or(line)))
    }
}
