//! Writes measurements: times into the log, outcomes without a time into the file beside it.

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
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
use crate::plan::{EarlierInputs, PlannedInput};
use crate::summary::NO_CHOICE;
use crate::worker::Worker;

/// Appends inputs to a log.
pub(crate) struct Appender {
    log: LogWriter,
    outcomes: OutcomesFile,
    pub(crate) eligibility: Arc<Eligibility>,
    policy: TimingPolicy,
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
        let metadata = metadata(options, worker);
        let (mut log, torn_line) =
            LogWriter::open(path, &metadata, &worker.schema, None, "write to another file (-o)")?;
        let file = File::open(path).map_err(Error::io(path, "open"))?;
        let mut outcomes = OutcomesFile::open(path)?;
        lock_for_run(path, &outcomes.file)?;
        let records = outcomes.read()?;
        let earlier = EarlierInputs::new(log.read()?.as_ref(), &records, &worker.eligibility);
        let appender = Self {
            log,
            outcomes,
            eligibility: Arc::clone(&worker.eligibility),
            policy: options.policy,
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
            Ok(measurement) => self.append_outcomes(&input.planned, measurement)?,
            Err(failure) => {
                self.outcomes.append(&[OutcomeRecord::of_input(&input.planned.text, failure)])?;
                failure.to_string()
            }
        };
        // The greater one: a log that was cut while it was written to is found at the next input.
        self.length = self.length.max(length(&self.file));
        Ok(shown)
    }

    fn append_outcomes(&mut self, planned: &PlannedInput, measured: &Measurement) -> Result<String, Error> {
        let choices = &self.eligibility.choices;
        let refusals = self.eligibility.refusals(&planned.context).unwrap_or_default();
        let mut rows = Vec::new();
        let mut failures = Vec::new();
        for (at, (choice, outcome)) in choices.iter().zip(&measured.outcomes).enumerate() {
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
        if planned.rows.is_none() && measured.is_skipped() {
            // Only this record shows a resumed run that the input was tried.
            records.push(OutcomeRecord::of_input(&planned.text, &Failure::skipped(NO_CHOICE)));
        }
        // First the reasons: a kill between the two writes costs rows, which the next run measures again.
        self.outcomes.append(&records)?;
        if !rows.is_empty() {
            self.log.append_input(&planned.context, rows)?;
        }
        Ok(match measured.winner() {
            Some((choice, ms)) => format!("{} {}", choices[choice.index()], shown::time(ms)),
            None => "no choice could be measured".to_owned(),
        })
    }
}

/// Locks the file of outcomes until it is closed, so that two collectors do not measure the same inputs. The system releases the
/// lock also after a `kill -9`.
fn lock_for_run(log: &Path, outcomes: &File) -> Result<(), Error> {
    let another = "another collector measures into this log; wait until it ends, or write to another file (-o), with a part of \
                   the work for each (--shard 1/2 and --shard 2/2)";
    outcomes.try_lock().map_err(|error| {
        Error::io(log, "lock")(match error {
            TryLockError::WouldBlock => io::Error::other(another),
            TryLockError::Error(source) => source,
        })
    })
}

/// Whether this path still names the open file.
fn is_at(file: &File, path: &Path) -> bool {
    let identity = |metadata: io::Result<std::fs::Metadata>| metadata.ok().map(|m| (m.dev(), m.ino()));
    let open = identity(file.metadata());
    open.is_some() && open == identity(std::fs::metadata(path))
}

/// The first line of the log.
fn metadata(options: &Options, worker: &Worker) -> Metadata {
    let Worker { optimization, description, .. } = worker;
    let mut decision_ns = description.decision_ns.clone();
    decision_ns.insert("rust".to_owned(), ah_measure::decision_ns());
    let collection = Collection {
        format: 1,
        device: Some(worker.device.clone()),
        timing: Some(options.policy),
        seed: options.seed,
        eligible: optimization.eligible.clone(),
        fallback: optimization.fallback.clone(),
        feature_ms: optimization.feature_ms.clone(),
        decision_ns,
        collected: Some(true),
        date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string()[..10].to_owned(),
        commands_hash: description.commands_hash.clone(),
        tool: concat!("ah-collect ", env!("CARGO_PKG_VERSION")).to_owned(),
        ..Collection::default()
    };
    Metadata::new(&optimization.name, &worker.schema, description.choices.clone(), collection)
}
