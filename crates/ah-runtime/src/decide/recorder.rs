//! Appends a running program's measurements to a log, in the format of `ah-collect`.

use std::path::PathBuf;
use std::sync::Mutex;

use ah_model::{Context, Error, Scalar, Schema};
use ah_types::log::{LogWriter, Metadata};
use ah_types::{Failure, Outcome, TimingPolicy};

use crate::files;
use crate::lock::lock;

/// The log of one decision point. The first append opens the file.
#[derive(Debug)]
pub(super) struct Recorder {
    /// `None` if the user has no folder for it.
    pub(super) path: Option<PathBuf>,
    pub(super) timing: Option<TimingPolicy>,
    pub(super) log: Mutex<Option<LogWriter>>,
}

impl Recorder {
    /// Appends all samples of one input; `metadata` is that of a log to be opened. A skipped choice has no row; a
    /// failed one has `inf`. An input is lost, with an error, if another process holds the log's lock for longer than
    /// [`files::PATIENCE`].
    pub(super) fn append<'a>(
        &self,
        schema: &Schema,
        values: &[Scalar<'_>],
        outcomes: impl IntoIterator<Item = (&'a str, Outcome)>,
        metadata: impl FnOnce() -> Metadata,
    ) -> Result<(), Error> {
        let mut context = Context::new();
        for (slot, feature) in schema.features().iter().enumerate() {
            let value = values.get(slot).map(|scalar| scalar.to_value());
            let defined = value
                .filter(|v| v.kind() == feature.kind && v.as_scalar().number().is_none_or(f64::is_finite));
            let value = defined.ok_or_else(|| {
                let name = &feature.name;
                Error::Usage(format!(
                    "the feature {name:?} has no value of its kind, so the measurement is not in the log"
                ))
            })?;
            context.set(&feature.name, value);
        }
        let mut samples = Vec::new();
        for (choice, outcome) in outcomes {
            match outcome {
                Ok(feedback) => samples.extend(feedback.into_iter().map(|ms| (choice, ms))),
                Err(Failure::Failed(_)) => samples.push((choice, f64::INFINITY)),
                Err(_) => {}
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

    /// The place of the log, in a sentence.
    pub(super) fn describe(&self) -> String {
        match &self.path {
            Some(path) => format!("collects into {}", path.display()),
            None => "collects, but has no folder for the log: set AUTOHEURISTIC_LOG_PATH".to_owned(),
        }
    }

    fn open(&self, schema: &Schema, metadata: impl FnOnce() -> Metadata) -> Result<LogWriter, Error> {
        let no_folder = || Error::Usage("no folder for the log: set AUTOHEURISTIC_LOG_PATH".to_owned());
        let path = self.path.as_deref().ok_or_else(no_folder)?;
        files::expect_regular(path).map_err(Error::io(path, "open"))?;
        let elsewhere = "set another AUTOHEURISTIC_LOG_PATH";
        let opened = LogWriter::open(path, &metadata(), schema, Some(files::PATIENCE), elsewhere);
        let (writer, torn) = opened?;
        if let Some(torn) = torn {
            log::warn!("{}: cut off a torn last line: {torn:?}", path.display());
        }
        Ok(writer)
    }
}
