//! A run: plan → measure → append.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use ah_measure::{Failure, Measurement};
use ah_model::{Error, FeatureKind};

use crate::append::Appender;
use crate::measuring::{MeasuredInput, measure_inputs};
use crate::options::Options;
use crate::plan::{Plan, PlannedInput};
use crate::progress::Progress;
use crate::summary::{NO_CHOICE, Summary};
use crate::units::count;
use crate::worker::{Worker, difference};

/// A run gives up after this many skipped inputs in a row: their cause is probably the same.
const MAX_SKIPPED: u32 = 500;

/// A run gives up after this many inputs in a row that fail, each with all its choices.
const MAX_FAILED: usize = 10;

/// A run gives up after this many inputs in a row on which the fallback is not measured: nothing can be compared with what
/// the program does today.
const MAX_WITHOUT_FALLBACK: u32 = 10;

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
    progress: &Progress,
) -> Result<Summary, Error> {
    let first = common_subject(workers)?;
    let (appender, earlier, torn_line) = Appender::open(options, first)?;
    let done = earlier.done();
    let short = earlier.short();
    let plan = Plan::new(options, earlier, first.schema.clone());
    progress.start(done, plan.goal(), options.max_seconds);
    let log = options.output.display();
    if let Some(line) = torn_line {
        let shown: String = line.chars().take(60).collect();
        progress.warning(&format!("{log}: the last line was torn and is cut off: {shown:?}"));
    }
    if done > 0 {
        progress.message(&format!("{log} holds {} already", count(done, "input")));
    }
    if short > 0 {
        progress.message(&format!("{log}: measuring the missing choices of {}", count(short, "input")));
    }
    let numerical = first.schema.features().iter().filter(|feature| feature.kind == FeatureKind::Numerical);
    let mut record = Record {
        appender,
        progress: progress.clone(),
        summary: Summary::new(workers.len()),
        undefined: numerical.map(|feature| feature.name.clone()).collect(),
        failed: Vec::new(),
        skipped_in_a_row: 0,
        resumes: done > 0,
        fallback: FallbackWatch::of(first),
    };
    let start = Instant::now();
    workers.iter_mut().for_each(|worker| worker.begin_run(progress, plan.deadline));
    let result = measure_inputs(workers, &plan, stop, |input| record.take(input)).and_then(|()| record.end());
    progress.finish();
    if record.summary.measured > 0 {
        let inputs = count(record.summary.measured, "input");
        for name in &record.undefined {
            progress.warning(&format!(
                "the feature {name:?} is NaN on each of the {inputs} of this run, so no heuristic can use it; correct the \
                 function that computes it, or take it out"
            ));
        }
    }
    record.summary.elapsed = start.elapsed();
    record.summary.interrupted = stop.load(Ordering::Relaxed);
    result.map(|()| record.summary)
}

/// The first worker, if all have devices of one kind and describe the same: an outcome belongs to a choice by position.
fn common_subject(workers: &[Worker]) -> Result<&Worker, Error> {
    let first = &workers[0];
    if let Some(what) = workers.iter().find_map(|w| difference(&first.description, &w.description)) {
        return Err(Error::Device(format!(
            "one log holds one kind of device, and the workers of two devices differ: one describes {what}; write a log for each"
        )));
    }
    Ok(first)
}

/// Where measured inputs go.
///
/// Inputs that fail, each with all its choices, wait until another input has a time: ten in a row show that the worker or the
/// machine is at fault, and then nothing of them is recorded.
struct Record {
    appender: Appender,
    progress: Progress,
    summary: Summary,
    /// The numerical features that were NaN on every input so far.
    undefined: BTreeSet<String>,
    failed: Vec<MeasuredInput>,
    skipped_in_a_row: u32,
    /// Whether an earlier run measured an input.
    resumes: bool,
    /// `None` if the decision names none.
    fallback: Option<FallbackWatch>,
}

/// Whether the fallback is measured.
struct FallbackWatch {
    name: String,
    /// Its position among the choices.
    position: usize,
    /// Whether it had an outcome on some input of this run.
    is_measured: bool,
    /// The last inputs in a row without an outcome.
    unmeasured_in_a_row: u32,
    reason: String,
}

impl FallbackWatch {
    fn of(worker: &Worker) -> Option<Self> {
        let choices = &worker.description.choices;
        let name = worker.optimization.fallback_among(choices)?.to_owned();
        let position = choices.iter().position(|choice| *choice == name)?;
        Some(Self { name, position, is_measured: false, unmeasured_in_a_row: 0, reason: String::new() })
    }

    /// Notes an input. Its failure is an outcome only if the fallback works elsewhere, in this run or before.
    fn note(&mut self, measurement: &Measurement, worked_before: bool) {
        let works = worked_before || self.is_measured;
        match &measurement.outcomes[self.position] {
            Err(failure)
                if matches!((failure, works), (Failure::Unmeasured(_), _) | (Failure::Failed(_), false)) =>
            {
                self.unmeasured_in_a_row += 1;
                failure.reason().clone_into(&mut self.reason);
            }
            _ => {
                self.is_measured = true;
                self.unmeasured_in_a_row = 0;
            }
        }
    }

    /// Fails if the fallback was not measured on [`MAX_WITHOUT_FALLBACK`] inputs in a row.
    fn expect_measured(&self, most: u32) -> Result<(), Error> {
        if self.unmeasured_in_a_row < most {
            return Ok(());
        }
        let Self { name, reason, .. } = self;
        let inputs = count(self.unmeasured_in_a_row.into(), "input");
        Err(Error::Device(format!(
            "the fallback {name:?} could not be measured on the last {inputs}, so nothing can be compared with it: {reason}"
        )))
    }
}

/// Why an input, or the first of its choices that is offered, has no time; `None` if a choice has one, or nothing can
/// be measured here.
fn failure(result: &Result<Measurement, Failure>) -> Option<&Failure> {
    match result {
        Err(Failure::Skipped(_)) => None,
        Err(failure) => Some(failure),
        Ok(measurement) if measurement.winner().is_some() => None,
        Ok(measurement) => measurement.outcomes.iter().find_map(|outcome| match outcome {
            Ok(_) | Err(Failure::Skipped(_)) => None,
            Err(failure) => Some(failure),
        }),
    }
}

impl Record {
    /// Takes an input: appends it, or lets it wait.
    fn take(&mut self, input: MeasuredInput) -> Result<(), Error> {
        if let Some(reason) = input.lost_device().map(str::to_owned) {
            // The rest is for another run.
            self.append(&input)?;
            return Err(Error::Device(format!("nothing more can be measured: {reason}")));
        }
        if let Some(failure) = failure(&input.result) {
            let is_fault_of_choices = matches!(failure, Failure::Failed(_));
            self.failed.push(input);
            if self.failed.len() < MAX_FAILED {
                return Ok(());
            }
            let why = format!(
                "{MAX_FAILED} inputs in a row failed, each with all its choices, and nothing of them is recorded; the \
                 first one: {}",
                self.first_failure()
            );
            return Err(if is_fault_of_choices { Error::TooLittle(why) } else { Error::Device(why) });
        }
        match &input.result {
            Ok(measurement) if !measurement.is_skipped() => {
                self.skipped_in_a_row = 0;
                self.fallback.iter_mut().for_each(|fallback| fallback.note(measurement, self.resumes));
                self.append_failed()?;
                self.append(&input)?;
                self.fallback.as_ref().map_or(Ok(()), |watch| watch.expect_measured(MAX_WITHOUT_FALLBACK))
            }
            result => {
                self.skipped_in_a_row += 1;
                self.append(&input)?;
                if self.skipped_in_a_row < MAX_SKIPPED {
                    return Ok(());
                }
                let reason = result.as_ref().err().map_or(NO_CHOICE, Failure::reason);
                let last = format!("the last one {}: {reason}", input.planned.text);
                Err(Error::Device(format!("{MAX_SKIPPED} inputs in a row skipped, {last}")))
            }
        }
    }

    /// Ends the run.
    ///
    /// # Errors
    /// Every input failed, and nothing is known to work; the fallback was measured on no input.
    fn end(&mut self) -> Result<(), Error> {
        if !self.failed.is_empty() && !self.resumes && self.summary.measured == 0 {
            let failed = count(self.failed.len() as u64, "input");
            return Err(Error::TooLittle(format!(
                "nothing has a time, and nothing is recorded: {failed} failed; the first one: {}",
                self.first_failure()
            )));
        }
        self.append_failed()?;
        match &self.fallback {
            Some(fallback) if !fallback.is_measured => fallback.expect_measured(1),
            _ => Ok(()),
        }
    }

    /// The reason of the first input that waits: what follows it is often its consequence.
    fn first_failure(&self) -> &str {
        self.failed.first().and_then(|first| failure(&first.result)).map_or("", Failure::reason)
    }

    fn append_failed(&mut self) -> Result<(), Error> {
        let failed = std::mem::take(&mut self.failed);
        failed.iter().try_for_each(|input| self.append(input))
    }

    fn append(&mut self, input: &MeasuredInput) -> Result<(), Error> {
        let result = self.appender.append(input)?;
        self.summary.count(&self.appender.eligibility.choices, &input.result);
        if input.result.is_ok() {
            let context = &input.planned.context;
            self.undefined.retain(|name| context.number(name).is_none_or(f64::is_nan));
        }
        // First what is new: a terminal cuts a long line at its end.
        let PlannedInput { context, text, flaw, .. } = &input.planned;
        let shown = if flaw.is_some() { format!("{text:?}") } else { context.to_string() };
        self.progress.input_done(&format!("{result}: {shown}"));
        Ok(())
    }
}
