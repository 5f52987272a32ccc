//! A run: plan → measure → append.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use ah_measure::{Failure, Measurement};
use ah_model::{Error, FeatureKind};

use crate::append::Appender;
use crate::cli::{Options, progress};
use crate::measuring::{MeasuredInput, measure_inputs};
use crate::plan::{Plan, PlannedInput};
use crate::summary::Summary;
use crate::units::count;
use crate::worker::{Worker, difference};

/// A run gives up after this many skipped inputs in a row: their cause is probably the same.
const MAX_SKIPPED: u32 = 500;

/// A run gives up after this many inputs in a row that fail, each with all its choices.
const MAX_FAILED: usize = 10;

/// Measures with all workers at once and appends each input to the log as soon as it is done. Ends at a
/// limit of `options`, when the inputs end, or when `stop` is set. The workers are of one optimization on
/// devices of one kind. A crash costs only the inputs in progress.
///
/// # Errors
/// The log cannot be written or belongs to another run; the device is lost; no input can be made or measured.
pub(crate) fn collect(
    workers: &mut [Worker],
    options: &Options,
    stop: &AtomicBool,
) -> Result<Summary, Error> {
    let first = common_subject(workers)?;
    let (appender, earlier, torn_line) = Appender::open(options, first)?;
    let (done, short) = (earlier.done(), earlier.short());
    let plan = Plan::new(options, earlier, first.schema.clone());
    progress::start(done, plan.goal(), options.max_seconds);
    let log = options.output.display();
    if let Some(line) = torn_line {
        let shown: String = line.chars().take(60).collect();
        progress::warning(&format!("{log}: the last line was torn and is cut off: {shown:?}"));
    }
    if done > 0 {
        progress::message(&format!("{log} holds {} already", count(done, "input")));
    }
    if short > 0 {
        progress::message(&format!("{log}: measuring the missing choices of {}", count(short, "input")));
    }
    let numerical = first.schema.features().iter().filter(|feature| feature.kind == FeatureKind::Numerical);
    let mut record = Record {
        appender,
        summary: Summary::new(done, workers.len()),
        undefined: numerical.map(|feature| feature.name.clone()).collect(),
        failed: Vec::new(),
        skipped_in_a_row: 0,
        is_known_to_work: done > 0,
    };
    let start = Instant::now();
    let result = measure_inputs(workers, &plan, options.policy, stop, |input| record.take(input));
    let result = result.and_then(|()| record.end());
    progress::finish();
    if record.summary.measured > 0 {
        let inputs = count(record.summary.measured, "input");
        for name in &record.undefined {
            progress::warning(&format!(
                "the feature {name:?} is NaN on each of the {inputs} of this run, so no heuristic can use it; mend the \
                 function that computes it, or take it out"
            ));
        }
    }
    record.summary.elapsed = start.elapsed();
    record.summary.interrupted = stop.load(Ordering::Relaxed);
    result.map(|()| record.summary)
}

/// Returns the first worker, if all have devices of one kind and describe the same: outcomes are told by position.
fn common_subject(workers: &[Worker]) -> Result<&Worker, Error> {
    let (first, others) =
        workers.split_first().ok_or_else(|| Error::Usage("there is nothing to measure".to_owned()))?;
    let device = &first.experiment.device;
    if let Some(other) = others.iter().map(|w| &w.experiment.device).find(|other| *other != device) {
        return Err(Error::Device(format!(
            "one log holds one kind of device, found {device} and {other}; write a log for each"
        )));
    }
    if let Some(what) = others.iter().find_map(|w| difference(&first.description, &w.description)) {
        return Err(Error::Device(format!("the workers of two devices differ: one describes {what}")));
    }
    Ok(first)
}

/// Where measured inputs go.
///
/// Inputs that fail, each with all its choices, wait until another input has a time: ten in a row show that the worker or the
/// machine is at fault, and then nothing of them is recorded.
struct Record {
    appender: Appender,
    summary: Summary,
    /// The numerical features that were NaN on every input so far.
    undefined: BTreeSet<String>,
    failed: Vec<MeasuredInput>,
    skipped_in_a_row: u32,
    /// Whether an input had a time, in this run or before.
    is_known_to_work: bool,
}

/// Returns the first reason why an input, or each of its choices, failed; `None` if a choice has a time, or nothing can be
/// measured here.
fn failed(result: &Result<Measurement, Failure>) -> Option<String> {
    match result {
        Err(Failure::Skipped(_)) => None,
        Err(failure) => Some(failure.reason().to_owned()),
        Ok(measurement) if measurement.winner().is_some() => None,
        Ok(measurement) => measurement.outcomes.iter().find_map(|outcome| match outcome {
            Ok(_) | Err(Failure::Skipped(_)) => None,
            Err(failure) => Some(failure.reason().to_owned()),
        }),
    }
}

impl Record {
    /// Takes an input: appends it, or lets it wait.
    fn take(&mut self, input: MeasuredInput) -> Result<(), Error> {
        let lost = input.lost_device().map(str::to_owned);
        if let Some(reason) = lost {
            // What is known of it is appended; the rest is for another run.
            if input.result.is_ok() {
                self.append(&input)?;
            }
            return Err(Error::Device(format!("nothing more can be measured: {reason}")));
        }
        if let Some(reason) = failed(&input.result) {
            self.failed.push(input);
            if self.failed.len() < MAX_FAILED {
                return Ok(());
            }
            return Err(Error::Device(format!(
                "{MAX_FAILED} inputs in a row failed, each with all its choices, and nothing of them is recorded; the \
                 last one: {reason}"
            )));
        }
        if input.result.as_ref().is_ok_and(|measurement| measurement.winner().is_some()) {
            self.is_known_to_work = true;
            self.skipped_in_a_row = 0;
            self.append_failed()?;
            return self.append(&input);
        }
        self.skipped_in_a_row += 1;
        self.append(&input)?;
        match &input.result {
            // The plan counts those with a flaw.
            Err(failure) if self.skipped_in_a_row >= MAX_SKIPPED && input.planned.flaw.is_none() => {
                Err(Error::Device(format!("{MAX_SKIPPED} inputs in a row {failure}")))
            }
            _ => Ok(()),
        }
    }

    /// Ends the run.
    ///
    /// # Errors
    /// Every input failed, and nothing is known to work.
    fn end(&mut self) -> Result<(), Error> {
        if let Some(last) = self.failed.last().filter(|_| !self.is_known_to_work)
            && let Some(reason) = failed(&last.result)
        {
            let failed = count(self.failed.len() as u64, "input");
            return Err(Error::TooLittle(format!(
                "nothing has a time, and nothing is recorded: {failed} failed; the last one: {reason}"
            )));
        }
        self.append_failed()
    }

    fn append_failed(&mut self) -> Result<(), Error> {
        let failed = std::mem::take(&mut self.failed);
        failed.iter().try_for_each(|input| self.append(input))
    }

    fn append(&mut self, input: &MeasuredInput) -> Result<(), Error> {
        let result = self.appender.append(input)?;
        self.summary.count(&self.appender.choices, &input.result);
        if input.result.is_ok() {
            let context = &input.planned.context;
            self.undefined.retain(|name| context.number(name).is_none_or(f64::is_nan));
        }
        // First what is new: a terminal cuts a long line at its end.
        let PlannedInput { context, text, flaw, .. } = &input.planned;
        let shown = if flaw.is_some() { format!("{text:?}") } else { context.to_string() };
        progress::input_done(&format!("{result}: {shown}"));
        Ok(())
    }
}
