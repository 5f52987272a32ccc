//! The middle of a run: one thread for each device takes inputs from the plan until it ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use ah_measure::{Failure, Measurement};
use ah_model::Error;

use crate::plan::{Plan, PlannedInput};
use crate::worker::Worker;

/// An input and its measurement. An error is the reason why the whole input was not measured.
pub(crate) struct MeasuredInput {
    pub planned: PlannedInput,
    pub result: Result<Measurement, Failure>,
}

impl MeasuredInput {
    /// The reason why the device can no longer be used.
    pub fn lost_device(&self) -> Option<&str> {
        match &self.result {
            Ok(measurement) => measurement.lost.as_deref(),
            Err(Failure::DeviceLost(reason)) => Some(reason),
            Err(_) => None,
        }
    }
}

/// Measures the inputs of `plan` with all workers at once, and calls `each` on this thread with every
/// input as soon as it is done. Ends when the plan ends, when `stop` is set, or at the first error.
///
/// # Errors
/// Those of `each`; no input can be drawn.
pub(crate) fn measure_inputs(
    workers: &mut [Worker],
    plan: &Plan,
    stop: &AtomicBool,
    mut each: impl FnMut(MeasuredInput) -> Result<(), Error>,
) -> Result<(), Error> {
    let abort = AtomicBool::new(false);
    let ended = || stop.load(Ordering::Relaxed) || abort.load(Ordering::Relaxed);
    std::thread::scope(|scope| {
        let (send, receive) = mpsc::channel();
        for worker in workers {
            let send = send.clone();
            let work = move || take_inputs(worker, plan, &send, ended);
            std::thread::Builder::new().spawn_scoped(scope, work).map_err(|e| {
                abort.store(true, Ordering::Relaxed);
                Error::Device(format!("cannot start a thread for each device: {e}"))
            })?;
        }
        drop(send);
        let no_input = |e: Failure| Error::Device(format!("no input can be drawn: {}", e.reason()));
        let result = receive.iter().try_for_each(|input| each(input.map_err(no_input)?));
        abort.store(true, Ordering::Relaxed);
        result
    })
}

/// Runs on one thread. Sends each input when it is done, or the reason why none can be drawn.
fn take_inputs(
    worker: &mut Worker,
    plan: &Plan,
    send: &mpsc::Sender<Result<MeasuredInput, Failure>>,
    ended: impl Fn() -> bool,
) {
    while !ended()
        && let Some(next) = plan.next(worker).transpose()
    {
        let input = next.map(|planned| {
            plan.compile(worker, &planned);
            let result = match &planned.flaw {
                Some(flaw) => Err(flaw.clone()),
                None => worker.measure(&planned.context, planned.seed, &plan.options.policy),
            };
            plan.note(&result);
            MeasuredInput { planned, result }
        });
        let goes_on = input.as_ref().is_ok_and(|input| input.lost_device().is_none());
        if send.send(input).is_err() || !goes_on {
            return;
        }
    }
}
