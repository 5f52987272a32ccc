//! Appends a running program's measurements to a log, in the format of `ah-collect`.

use std::path::PathBuf;
use std::sync::Mutex;

use ah_model::{Context, Error, Feature, Scalar};
use ah_types::log::{Collection, LOG_FORMAT, LogWriter, Metadata};
use ah_types::{Failure, Outcome, TimingPolicy};

use super::binding::Interface;
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
    /// Appends all samples of one input; returns false if there are none. A skipped choice has no row; a failed one has `inf`. An
    /// input is lost, with an error, if another process holds the log's lock for longer than [`files::PATIENCE`].
    pub(super) fn append<'a>(
        &self,
        point: &Interface,
        values: &[Scalar<'_>],
        outcomes: impl IntoIterator<Item = (&'a str, Outcome)>,
    ) -> Result<bool, Error> {
        let mut samples = Vec::new();
        for (choice, outcome) in outcomes {
            if !point.choices.iter().any(|known| known == choice) {
                let known = point.choices.join(", ");
                return Err(Error::Usage(format!(
                    "the choice {choice:?} is none of the decision point's: {known}"
                )));
            }
            match outcome {
                Ok(feedback) => {
                    if let Some(ms) = feedback.iter().find(|ms| ms.is_nan() || **ms <= 0.0) {
                        return Err(Error::Usage(format!(
                            "the choice {choice:?}: expected a time in milliseconds above 0, found {ms}"
                        )));
                    }
                    samples.extend(feedback.into_iter().map(|ms| (choice, ms)));
                }
                Err(Failure::Failed(_)) => samples.push((choice, f64::INFINITY)),
                Err(_) => {}
            }
        }
        let features = point.features.features();
        if values.len() > features.len() {
            let expected = features.len();
            let found = values.len();
            return Err(Error::Usage(format!(
                "expected {expected} values, one for each feature, found {found}"
            )));
        }
        let mut context = Context::new();
        for (slot, Feature { name, kind, .. }) in features.iter().enumerate() {
            let value = values.get(slot).map(|scalar| scalar.to_value());
            let defined =
                value.filter(|v| v.kind() == *kind && v.as_scalar().number().is_none_or(f64::is_finite));
            let value = defined.ok_or_else(|| {
                Error::Usage(format!(
                    "the feature {name:?} has no value of its kind, so the measurement is not in the log"
                ))
            })?;
            context.set(name, value);
        }
        if samples.is_empty() {
            return Ok(false);
        }
        let mut log = lock(&self.log);
        let writer = match &mut *log {
            Some(writer) => writer,
            closed => closed.insert(self.open(point)?),
        };
        writer.append_input(&context, samples)?;
        Ok(true)
    }

    /// The place of the log, in a sentence.
    pub(super) fn describe(&self) -> String {
        match &self.path {
            Some(path) => format!("collects into {}", path.display()),
            None => "collects, but has no folder for the log: set AUTOHEURISTIC_LOG_PATH".to_owned(),
        }
    }

    fn open(&self, point: &Interface) -> Result<LogWriter, Error> {
        let no_folder = || Error::Usage("no folder for the log: set AUTOHEURISTIC_LOG_PATH".to_owned());
        let path = self.path.as_deref().ok_or_else(no_folder)?;
        files::expect_regular(path).map_err(Error::io(path, "open"))?;
        let collection = Collection {
            format: LOG_FORMAT,
            device: Some(point.device.clone()),
            timing: self.timing,
            fallback: vec![point.fallback_name().to_owned()],
            collected: Some(false),
            tool: concat!("ah-runtime ", env!("CARGO_PKG_VERSION")).to_owned(),
            // The program's own inputs; none is drawn.
            ..Collection::default()
        };
        let metadata = Metadata::new(&point.name, &point.features, point.choices.clone(), collection);
        let elsewhere = "set another AUTOHEURISTIC_LOG_PATH";
        let (writer, torn) =
            LogWriter::open(path, &metadata, &point.features, Some(files::PATIENCE), elsewhere)?;
        if let Some(torn) = torn {
            log::warn!("{}: cut off a torn last line: {torn:?}", path.display());
        }
        Ok(writer)
    }
}
