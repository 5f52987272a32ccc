//! Appends a running program's measurements to a log, in the format of `ah-collect`.

use std::path::PathBuf;
use std::sync::Mutex;

use ah_types::log::{Collection, LOG_FORMAT, LogError, LogWriter, Metadata};
use ah_types::{Context, Outcome, Scalar, Schema, TimingPolicy};

use crate::files;
use crate::sync::lock;
use crate::warnings::Warnings;

/// The log of one decision point. The first append opens the file.
#[derive(Debug)]
pub(super) struct Recorder {
    /// `None` if the user has no folder for it.
    pub(super) path: Option<PathBuf>,
    pub(super) timing: Option<TimingPolicy>,
    pub(super) log: Mutex<Option<LogWriter>>,
    pub(super) warnings: Warnings,
}

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
    /// Appends all samples of one input; `metadata` completes that of a log to be opened. A skipped choice has no row; a
    /// failed one has `inf`. An input is lost, with an error, if another process holds the log's lock for longer than
    /// [`files::PATIENCE`].
    pub(super) fn append<'a>(
        &self,
        schema: &Schema,
        values: &[Scalar<'_>],
        outcomes: impl IntoIterator<Item = (&'a str, Outcome)>,
        metadata: impl FnOnce(Collection) -> Metadata,
    ) -> Result<(), RecordError> {
        let mut context = Context::new();
        for (slot, feature) in schema.features().iter().enumerate() {
            let value = values.get(slot).map(|scalar| scalar.to_value());
            let defined = value
                .filter(|v| v.kind() == feature.kind && v.as_scalar().number().is_none_or(f64::is_finite));
            let value = defined.ok_or_else(|| RecordError::Undefined(feature.name.clone()))?;
            context.set(&feature.name, value);
        }
        let mut samples = Vec::new();
        for (choice, outcome) in outcomes {
            match outcome {
                Outcome::Measured { feedback } => samples.extend(feedback.into_iter().map(|ms| (choice, ms))),
                Outcome::Failed { .. } => samples.push((choice, f64::INFINITY)),
                Outcome::Skipped { .. } => {}
            }
        }
        if samples.is_empty() {
            return Ok(());
        }
        let mut log = lock(&self.log);
        let writer = match &mut *log {
            Some(writer) => writer,
            closed => closed.insert(self.open(schema, metadata)?),
        };
        writer.append_input(&context, samples)?;
        Ok(())
    }

    fn open(
        &self,
        schema: &Schema,
        metadata: impl FnOnce(Collection) -> Metadata,
    ) -> Result<LogWriter, RecordError> {
        let path = self.path.as_deref().ok_or(RecordError::NoFolder)?;
        files::expect_regular(path).map_err(LogError::io(path, "open"))?;
        let metadata = metadata(Collection {
            format: LOG_FORMAT,
            timing: self.timing,
            tool: concat!("ah-runtime ", env!("CARGO_PKG_VERSION")).to_owned(),
            // The program's own inputs; none is drawn.
            ..Collection::default()
        });
        let (writer, torn) = LogWriter::open(path, &metadata, schema, Some(files::PATIENCE))?;
        if let Some(torn) = torn {
            log::warn!("{}: cut off a torn last line: {torn:?}", path.display());
        }
        Ok(writer)
    }
}
