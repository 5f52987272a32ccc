//! Writes measurements: times into the log, skips and failures with their reasons into the file beside it.

mod outcomes;
mod run_lock;

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::time::SystemTime;

use ah_measure::{Failure, Measurement};
use ah_model::{Error, shown};
use ah_types::TimingPolicy;
use ah_types::log::{Collection, LogWriter, Metadata};

use crate::cli::Options;
use crate::measuring::MeasuredInput;
use crate::plan::EarlierInputs;
use crate::summary::NO_CHOICE;
use crate::worker::Worker;
use outcomes::{OutcomeRecord, OutcomesFile};
use run_lock::{RunLock, is_at};

/// Appends inputs to a log.
pub(crate) struct Appender {
    log: LogWriter,
    outcomes: OutcomesFile,
    pub(crate) choices: Vec<String>,
    policy: TimingPolicy,
    _lock: RunLock,
    path: PathBuf,
    /// The log. One that is removed or moved during a run would take all further rows with it.
    file: File,
    /// The bytes of the log after the last append. It never gets shorter.
    length: u64,
}

impl Appender {
    /// Opens the log of `options` and the file of outcomes beside it, or creates both. Also returns the inputs of earlier
    /// runs, and the torn last line, which was cut off the log.
    pub(crate) fn open(
        options: &Options,
        worker: &Worker,
    ) -> Result<(Self, EarlierInputs, Option<String>), Error> {
        let (path, policy, experiment) = (&options.output, options.policy, &worker.experiment);
        let (mut log, torn_line) = LogWriter::open(path, &metadata(options, worker), &worker.schema, None)?;
        let file = File::open(path).map_err(Error::io(path, "open"))?;
        let mut outcomes = OutcomesFile::open(path)?;
        let lock = RunLock::take(path, options.shard, &outcomes.file)?;
        let choices = experiment.choices.clone();
        let (inputs, skipped) = (outcomes.read()?, outcomes.skipped_choices());
        let earlier = EarlierInputs::new(log.read()?.as_ref(), &choices, inputs, &skipped);
        let (path, length) = (path.clone(), 0);
        Ok((Self { log, outcomes, choices, policy, _lock: lock, path, file, length }, earlier, torn_line))
    }

    /// Appends the result of measuring an input, and returns it in a few words.
    ///
    /// # Errors
    /// I/O errors; the log was removed, moved or cut during the run.
    pub(crate) fn append(&mut self, input: &MeasuredInput) -> Result<String, Error> {
        let length = |file: &File| file.metadata().map_or(0, |metadata| metadata.len());
        if !is_at(&self.file, &self.path) || length(&self.file) < self.length {
            let why = "it was removed, moved or cut during the run; run the same command to begin or continue a log here";
            return Err(Error::io(&self.path, "append to")(io::Error::other(why)));
        }
        let shown = match &input.result {
            Ok(measurement) => self.append_measurement(input, measurement)?,
            Err(failure) => {
                self.append_skip(input, failure.reason())?;
                failure.to_string()
            }
        };
        // The greater one: a log that was cut while it was written to is found at the next input.
        self.length = self.length.max(length(&self.file));
        Ok(shown)
    }

    fn append_measurement(
        &mut self,
        input: &MeasuredInput,
        measurement: &Measurement,
    ) -> Result<String, Error> {
        let outcomes = || self.choices.iter().zip(&measurement.outcomes);
        let (text, logged, mut rows) = (&input.planned.text, &input.planned.rows, Vec::new());
        // If an earlier run left an input incomplete, only its missing rows are appended.
        let has_row = |choice: usize| logged.as_ref().is_some_and(|rows| rows[choice]);
        let missing = outcomes().enumerate().filter(|(choice, _)| !has_row(*choice));
        for (choice, outcome) in missing.map(|(_, outcome)| outcome) {
            match outcome {
                Ok(feedback) => {
                    rows.extend(self.policy.rows(feedback).into_iter().map(|ms| (choice.as_str(), ms)));
                }
                Err(Failure::Failed(_)) => rows.push((choice.as_str(), f64::INFINITY)),
                Err(_) => {}
            }
        }
        let failures = || outcomes().filter_map(|(choice, outcome)| Some((choice, outcome.as_ref().err()?)));
        let records = failures().map(|(choice, failure)| OutcomeRecord::new(text, Some(choice), failure));
        let records: Vec<_> = records.collect();
        let is_known = records.iter().all(Option::is_some);
        if !rows.is_empty() {
            self.log.append_input(&input.planned.context, rows)?;
        } else if is_known && logged.is_none() {
            // Only this record shows a resumed run that the input was tried.
            self.append_skip(input, NO_CHOICE)?;
        }
        self.outcomes.append(records.into_iter().flatten())?;
        Ok(match measurement.winner() {
            Some((choice, ms)) => format!("{} {}", self.choices[choice.index()], shown::time(ms)),
            None => "no choice could be measured".to_owned(),
        })
    }

    /// Records that an input was skipped as a whole.
    fn append_skip(&mut self, input: &MeasuredInput, reason: &str) -> Result<(), Error> {
        self.outcomes.append(OutcomeRecord::new(&input.planned.text, None, &Failure::skipped(reason)))
    }
}

/// Returns the first line of the log.
fn metadata(options: &Options, worker: &Worker) -> Metadata {
    let experiment = &worker.experiment;
    let mut decision_ns = worker.description.decision_ns.clone();
    decision_ns.insert("rust".to_owned(), ah_measure::decision_ns());
    let collection = Collection {
        format: 1,
        device: Some(experiment.device.clone()),
        timing: Some(options.policy),
        seed: options.seed,
        eligible: experiment.optimization.eligible(),
        fallback: experiment.optimization.fallback.clone(),
        feature_ms: experiment.optimization.feature_ms.clone(),
        decision_ns,
        date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string()[..10].to_owned(),
        commands_hash: experiment.commands_hash.clone(),
        tool: concat!("ah-collect ", env!("CARGO_PKG_VERSION")).to_owned(),
        ..Collection::default()
    };
    Metadata::new(&experiment.optimization.name, &worker.schema, experiment.choices.clone(), collection)
}
