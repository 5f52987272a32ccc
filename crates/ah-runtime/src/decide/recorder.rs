//! Appends a running program's measurements to a log, in the format of `ah-collect`.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ah_types::log::{Collection, LogWriter, Metadata};
use ah_types::timing::TimingPolicy;
use ah_types::{Context, Device, LogError, Outcome, Scalar, Schema};

/// The log of one decision point. The file is opened at the first append.
#[derive(Debug)]
pub(super) struct Recorder {
    path: PathBuf,
    metadata: Metadata,
    schema: Schema,
    writer: Mutex<Option<LogWriter>>,
}

/// Measurements were not appended to the log.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The log cannot be written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A log needs every feature of a context.
    #[error("the feature {0:?} has no value of its kind, so the measurement is not in the log")]
    Undefined(String),
    /// The decision point has no choice of this name.
    #[error("the choice {found:?} is none of the decision point's: {}", known.join(", "))]
    UnknownChoice {
        /// Its name.
        found: String,
        /// The names that exist.
        known: Vec<String>,
    },
}

impl Recorder {
    pub(super) fn new(
        path: PathBuf,
        optimization: &str,
        schema: &Schema,
        choices: &[String],
        device: &Device,
        timing: TimingPolicy,
    ) -> Self {
        let collection = Collection {
            format: 1,
            device: device.clone(),
            timing,
            // The program's own inputs; none is drawn.
            seed: 0,
            tool: concat!("ah-runtime ", env!("CARGO_PKG_VERSION")).to_owned(),
        };
        Self {
            path,
            metadata: Metadata::new(optimization, schema, choices.to_vec(), collection),
            schema: schema.clone(),
            writer: Mutex::new(None),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Appends all samples of one input. A skipped choice has no row; a failed one has `inf`.
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
                Outcome::Measured { feedback } => samples.extend(feedback.into_iter().map(|ms| (choice, ms))),
                Outcome::Failed { .. } => samples.push((choice, f64::INFINITY)),
                Outcome::Skipped { .. } => {}
            }
        }
        if samples.is_empty() {
            return Ok(());
        }
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let writer = match &mut *writer {
            Some(writer) => writer,
            empty => {
                let (opened, cut) = LogWriter::open(&self.path, &self.metadata, &self.schema)?;
                if let Some(cut) = cut {
                    log::warn!("{}: cut off a torn last line: {cut:?}", self.path.display());
                }
                empty.insert(opened)
            }
        };
        Ok(writer.append_input(&context, samples)?)
    }
}
