//! A run: plan → measure → append.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use ah_measure::{Runner, Subject};

use crate::adaptive::AdaptivePlan;
use crate::append::Appender;
use crate::error::CollectError;
use crate::measuring::{LimitedQueue, measure_inputs};
use crate::observer::Observer;
use crate::options::Options;
use crate::plan::InputQueue;
use crate::summary::Summary;
use crate::undefined_features::UndefinedFeatures;
use crate::units;

/// Measures with all runners at once and appends each input to the log as soon as it is done. Ends at a
/// limit of `options`, when the inputs end, or when `stop` is set. The runners are of one optimization on
/// devices of one kind. A crash costs only the inputs in progress.
///
/// # Errors
/// The log cannot be written or belongs to another run; the device is lost; no input can be made.
pub fn collect(
    runners: &mut [Box<dyn Runner>],
    options: &Options,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Summary, CollectError> {
    let subject = common_subject(runners)?;
    let mut appender = Appender::open(options, &subject)?;
    let mut summary = Summary::new(appender.earlier.done(), runners.len());
    let queue = plan(options, &subject, &appender, observer)?;
    let mut undefined = UndefinedFeatures::new(&subject.optimization.schema()?);
    let result = measure_inputs(runners, queue, options.policy, stop, |input| {
        let result = appender.append(input)?;
        summary.count(&subject.choices, &input.result, input.planned.wanted.is_none());
        if input.result.is_ok() {
            undefined.note(&input.planned.context);
        }
        observer.input_done(&format!("{} {result}", input.label));
        Ok(())
    });
    observer.finish();
    undefined.warnings().for_each(|warning| observer.warning(&warning));
    summary.finish(stop.load(Ordering::Relaxed));
    result.map(|()| summary)
}

/// Returns the subject of all runners.
fn common_subject(runners: &[Box<dyn Runner>]) -> Result<Subject, CollectError> {
    let Some(first) = runners.first() else {
        return Err(CollectError::Usage("no runner was given".to_owned()));
    };
    let device = &first.subject().device;
    if let Some(other) = runners.iter().map(|r| &r.subject().device).find(|other| *other != device) {
        return Err(CollectError::Device(format!(
            "one log holds one kind of device, found {device} and {other}; write a log for each"
        )));
    }
    let subject = first.subject().clone();
    let optimization = &subject.optimization;
    ah_measure::check_eligibility(optimization)
        .map_err(|e| CollectError::Usage(format!("{}: {e}", optimization.name)))?;
    Ok(subject)
}

/// Returns the inputs that this run measures. Tells the observer how many there are and what an earlier run
/// left.
fn plan(
    options: &Options,
    subject: &Subject,
    appender: &Appender,
    observer: &mut dyn Observer,
) -> Result<LimitedQueue, CollectError> {
    let schema = subject.optimization.schema()?;
    let earlier = &appender.earlier;
    let mut queue =
        InputQueue::new(options.inputs.clone(), options.seed, options.shard, earlier.clone(), schema.clone())
            .with_draws(options.draws);
    let (done, short) = (earlier.done(), earlier.short());
    let goal = options.num_samples.into_iter().chain(queue.remaining().map(|left| left + done)).min();
    observer.start(done, goal, options.max_time);
    let log = options.output.display();
    if let Some(line) = &appender.torn_line {
        let shown: String = line.chars().take(60).collect();
        observer.warning(&format!("{log}: the last line was torn and is cut off: {shown:?}"));
    }
    if done > 0 {
        observer.message(&format!("{log} holds {} already", units::count(done, "input")));
    }
    if short > 0 {
        observer
            .message(&format!("{log}: measuring the missing choices of {}", units::count(short, "input")));
    }
    let adaptive = options.adaptive.then(|| {
        let objective = subject.optimization.training.objective.unwrap_or_default();
        let (part, choices) = (options.random_part, &subject.choices);
        AdaptivePlan::new(part, earlier.clone(), schema, choices, objective, options.seed, goal)
    });
    if adaptive.is_some() {
        queue = queue.with_earlier_inputs();
    }
    Ok(LimitedQueue {
        queue,
        adaptive,
        left: options.num_samples.map(|n| n.saturating_sub(done)),
        deadline: options.max_time.map(|t| Instant::now() + t),
    })
}
