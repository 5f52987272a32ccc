//! Appends a running program's measurements to a log, in the format of `ah-collect`.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Display;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ah_types::log::{Collection, LogError, LogWriter, Metadata};
use ah_types::{Context, Device, Outcome, Scalar, Schema, TimingPolicy};

use crate::files;
use crate::warnings::Warnings;

/// The log of one decision point. The first append opens the file.
#[derive(Debug)]
pub(super) struct Recorder {
    /// `None` if the user has no folder for it.
    path: Option<PathBuf>,
    metadata: Metadata,
    schema: Schema,
    log: Mutex<OpenLog>,
    /// True if a variable of the environment asks for this log.
    pub(super) is_requested: bool,
    warnings: Warnings,
}

#[derive(Debug, Default)]
struct OpenLog {
    writer: Option<LogWriter>,
    /// Inputs that wait for another process's lock.
    waiting: VecDeque<LoggedInput>,
}

/// One input: its context, and the feedback of choices.
type LoggedInput = (Context, Vec<(String, f64)>);

/// Most inputs that wait; the oldest gives way.
const MAX_WAITING: usize = 1000;

/// Measurements were not appended to the log.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The messages show the fields.
pub enum RecordError {
    /// The log cannot be written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The user has no cache folder, and no other path was given.
    #[error("no folder for the log: set AUTOHEURISTIC_LOG_PATH")]
    NoFolder,
    /// A log needs every feature of a context.
    #[error("the feature {0:?} has no value of its kind, so the measurement is not in the log")]
    Undefined(String),
    /// The decision point has no choice of this name.
    #[error("the choice {found:?} is none of the decision point's: {}", known.join(", "))]
    UnknownChoice { found: String, known: Vec<String> },
}

impl Recorder {
    pub(super) fn new(
        path: Option<PathBuf>,
        optimization: &str,
        schema: &Schema,
        choices: &[String],
        fallback: &str,
        device: &Device,
        timing: Option<TimingPolicy>,
    ) -> Self {
        let collection = Collection {
            format: 1,
            device: Some(device.clone()),
            timing,
            // The program's own inputs; none is drawn.
            eligible: BTreeMap::new(),
            fallback: vec![fallback.to_owned()],
            seed: 0,
            feature_ms: BTreeMap::new(),
            decision_ns: BTreeMap::new(),
            date: String::new(),
            commands_hash: None,
            timeout_ms: None,
            random_part: None,
            tool: concat!("ah-runtime ", env!("CARGO_PKG_VERSION")).to_owned(),
        };
        Self {
            path,
            metadata: Metadata::new(optimization, schema, choices.to_vec(), collection),
            schema: schema.clone(),
            log: Mutex::default(),
            is_requested: false,
            warnings: Warnings::default(),
        }
    }

    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    pub(super) fn warn(&self, warning: impl Display) {
        if self.is_requested {
            self.warnings.warn_user(warning);
        } else {
            self.warnings.warn(warning);
        }
    }

    /// Appends all samples of one input. A skipped choice has no row; a failed one has `inf`. While another process
    /// holds the log's lock, inputs wait in memory for the next append.
    pub(super) fn append<'a>(
        &self,
        values: &[Scalar<'_>],
        outcomes: impl IntoIterator<Item = (&'a str, Outcome)>,
    ) -> Result<(), RecordError> {
        let mut context = Context::new();
        for (slot, feature) in self.schema.features().iter().enumerate() {
            let value = values.get(slot).map(|scalar| scalar.to_value());
            let defined = value
                .filter(|v| v.kind() == feature.kind && v.as_scalar().number().is_none_or(f64::is_finite));
            let value = defined.ok_or_else(|| RecordError::Undefined(feature.name.clone()))?;
            context.set(&feature.name, value);
        }
        let mut samples = Vec::new();
        for (choice, outcome) in outcomes {
            match outcome {
                Outcome::Measured { feedback } => {
                    samples.extend(feedback.into_iter().map(|ms| (choice.to_owned(), ms)));
                }
                Outcome::Failed { .. } => samples.push((choice.to_owned(), f64::INFINITY)),
                Outcome::Skipped { .. } => {}
            }
        }
        if samples.is_empty() {
            return Ok(());
        }
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        if log.waiting.len() == MAX_WAITING {
            log.waiting.pop_front();
            self.warn(format!("{MAX_WAITING} inputs wait for the log's lock; the oldest are lost"));
        }
        log.waiting.push_back((context, samples));
        match self.write(&mut log) {
            Err(RecordError::Log(error)) if timed_out(&error) => {
                self.warn(format!("{error}; the measurements wait in memory"));
                Ok(())
            }
            written => written,
        }
    }

    /// Writes the waiting inputs. An input that cannot be written is dropped, unless it only waits for the lock.
    fn write(&self, log: &mut OpenLog) -> Result<(), RecordError> {
        if log.waiting.is_empty() {
            return Ok(());
        }
        if log.writer.is_none() {
            log.writer = Some(self.open().inspect_err(|error| {
                if !matches!(error, RecordError::Log(error) if timed_out(error)) {
                    log.waiting.clear();
                }
            })?);
        }
        while let (Some(writer), Some((context, samples))) = (&mut log.writer, log.waiting.front()) {
            let samples = samples.iter().map(|(choice, ms)| (choice.as_str(), *ms));
            let written = writer.append_input(context, samples);
            if !written.as_ref().is_err_and(timed_out) {
                log.waiting.pop_front();
            }
            written?;
        }
        Ok(())
    }

    fn open(&self) -> Result<LogWriter, RecordError> {
        let path = self.path().ok_or(RecordError::NoFolder)?;
        let regular = files::expect_regular(path);
        regular.map_err(|source| LogError::Io { path: path.to_owned(), action: "open", source })?;
        let (writer, torn) =
            LogWriter::open_within(path, &self.metadata, &self.schema, Some(files::PATIENCE))?;
        if let Some(torn) = torn {
            log::warn!("{}: cut off a torn last line: {torn:?}", path.display());
        }
        Ok(writer)
    }
}

fn timed_out(error: &LogError) -> bool {
    matches!(error, LogError::Io { source, .. } if source.kind() == ErrorKind::TimedOut)
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let mut log = std::mem::take(self.log.get_mut().unwrap_or_else(PoisonError::into_inner));
        if let Err(error) = self.write(&mut log) {
            self.warn(format!("{error}; {} inputs are lost", log.waiting.len()));
        }
    }
}
