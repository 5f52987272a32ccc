//! Writes measurements: times into the log, outcomes without a time into the file beside it.

mod run_lock;

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use ah_measure::{Failure, Measurement};
use ah_model::{Error, shown};
use ah_types::TimingPolicy;
use ah_types::log::{Collection, LogWriter, Metadata};

use crate::eligibility::Eligibility;
use crate::measuring::MeasuredInput;
use crate::options::Options;
use crate::outcomes::{OutcomeRecord, OutcomesFile};
use crate::plan::EarlierInputs;
use crate::summary::NO_CHOICE;
use crate::worker::Worker;
use run_lock::{RunLock, is_at};

/// Appends inputs to a log.
pub(crate) struct Appender {
    log: LogWriter,
    outcomes: OutcomesFile,
    pub(crate) choices: Vec<String>,
    eligibility: Arc<Eligibility>,
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
        let path = &options.output;
        let opened = LogWriter::open(
            path,
            &metadata(options, worker),
            &worker.schema,
            None,
            "write to another file (-o)",
        );
        let (mut log, torn_line) = opened?;
        let file = File::open(path).map_err(Error::io(path, "open"))?;
        let mut outcomes = OutcomesFile::open(path)?;
        let lock = RunLock::take(path, options.shard, &outcomes.file)?;
        let choices = &worker.experiment.choices;
        let records = outcomes.read()?;
        let earlier = EarlierInputs::new(log.read()?.as_ref(), &records, choices, &worker.eligibility);
        let appender = Self {
            log,
            outcomes,
            choices: choices.clone(),
            eligibility: Arc::clone(&worker.eligibility),
            policy: options.policy,
            _lock: lock,
            path: path.clone(),
            file,
            length: 0,
        };
        Ok((appender, earlier, torn_line))
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
                self.outcomes.append(&[OutcomeRecord::of_input(&input.planned.text, failure)])?;
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
        let planned = &input.planned;
        let refusals = self.eligibility.refusals(&planned.context).unwrap_or_default();
        let mut rows = Vec::new();
        let mut failures = Vec::new();
        for (at, (choice, outcome)) in self.choices.iter().zip(&measurement.outcomes).enumerate() {
            // If an earlier run left an input incomplete, only its missing rows are appended.
            if planned.rows.as_ref().is_some_and(|has_row| has_row[at]) {
                continue;
            }
            match outcome {
                Ok(feedback) => {
                    rows.extend(self.policy.rows(feedback).into_iter().map(|ms| (choice.as_str(), ms)));
                }
                // The first line of the log has the condition.
                Err(_) if refusals.get(at).is_some_and(Option::is_some) => {}
                Err(failure) => failures.push((choice.as_str(), failure)),
            }
            if matches!(outcome, Err(Failure::Failed(_))) {
                rows.push((choice.as_str(), f64::INFINITY));
            }
        }
        let mut records = OutcomeRecord::of_choices(&planned.text, failures);
        if planned.rows.is_none() && measurement.is_skipped() {
            // Only this record shows a resumed run that the input was tried.
            records.push(OutcomeRecord::of_input(&planned.text, &Failure::skipped(NO_CHOICE)));
        }
        // First the reasons: a kill between the two writes costs rows, which the next run measures again.
        self.outcomes.append(&records)?;
        if !rows.is_empty() {
            self.log.append_input(&planned.context, rows)?;
        }
        Ok(match measurement.winner() {
            Some((choice, ms)) => format!("{} {}", self.choices[choice.index()], shown::time(ms)),
            None => "no choice could be measured".to_owned(),
        })
    }
}

/// The first line of the log.
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
        collected: Some(true),
        date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string()[..10].to_owned(),
        commands_hash: experiment.commands_hash.clone(),
        tool: concat!("ah-collect ", env!("CARGO_PKG_VERSION")).to_owned(),
        ..Collection::default()
    };
    Metadata::new(&experiment.optimization.name, &worker.schema, experiment.choices.clone(), collection)
}
