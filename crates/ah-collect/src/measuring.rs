//! The middle of a run: one thread for each runner takes inputs from one queue until the queue ends.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Instant;

use ah_measure::{Failure, Measurement, Planned, Runner, measure_some};
use ah_types::{ChoiceId, Context, Outcome, TimingPolicy, median};

use crate::adaptive::AdaptivePlan;
use crate::error::CollectError;
use crate::plan::{InputQueue, PlannedInput};

/// A run gives up after this many skipped inputs in a row: their cause is probably the same.
const MAX_SKIPPED: u32 = 500;

/// The queue of a run and its limits.
pub(crate) struct LimitedQueue {
    pub queue: InputQueue,
    /// The plan of an adaptive run, which takes its inputs from `queue`.
    pub adaptive: Option<AdaptivePlan>,
    /// The number of inputs that may still be measured.
    pub left: Option<u64>,
    /// No input starts after this.
    pub deadline: Option<Instant>,
}

impl LimitedQueue {
    fn next(&mut self, runner: &dyn Runner) -> Result<Option<PlannedInput>, Failure> {
        if self.left == Some(0) || self.deadline.is_some_and(|d| Instant::now() >= d) {
            return Ok(None);
        }
        let planned = match &mut self.adaptive {
            Some(plan) => plan.next(&mut self.queue, runner)?,
            None => self.queue.next(runner)?,
        };
        if planned.is_some() {
            self.left = self.left.map(|n| n - 1);
        }
        Ok(planned)
    }

    /// Returns `input` and inputs that are likely to come after it, at most `most` in all.
    fn upcoming(&mut self, input: &PlannedInput, runner: &dyn Runner, most: usize) -> Vec<PlannedInput> {
        let left = self.left.map_or(usize::MAX, |left| usize::try_from(left).unwrap_or(usize::MAX));
        let others = (most - 1).min(left);
        let mut inputs = vec![input.clone()];
        match &self.adaptive {
            Some(plan) => inputs.extend(plan.upcoming().take(others)),
            None => inputs.extend(self.queue.upcoming(runner, others).take(others).cloned()),
        }
        inputs
    }

    /// Notes the result of an input. An input that was skipped does not count. If a choice was skipped, other inputs
    /// may lack its rows for the same reason.
    fn note(&mut self, input: &PlannedInput, result: &Result<Measurement, Failure>, policy: &TimingPolicy) {
        let Ok(measurement) = result else {
            self.left = self.left.map(|n| n + 1);
            return;
        };
        if let Some(plan) = &mut self.adaptive {
            // The medians that a resumed run finds in the log.
            let time = |outcome: &Outcome| match outcome {
                Outcome::Measured { feedback } => median(&policy.rows(feedback)),
                _ => outcome.median(),
            };
            plan.note(input, &measurement.outcomes.iter().map(time).collect::<Vec<_>>());
            return;
        }
        for (choice, outcome) in measurement.outcomes.iter().enumerate() {
            if matches!(outcome, Outcome::Skipped { .. }) {
                let done = self.queue.note_skip(choice);
                self.left = self.left.map(|n| n.saturating_sub(done));
            }
        }
    }
}

/// An input and its measurement. An error is the reason why the whole input was skipped.
pub(crate) struct MeasuredInput {
    pub planned: PlannedInput,
    /// The input in a few words.
    pub label: String,
    pub result: Result<Measurement, Failure>,
}

impl MeasuredInput {
    /// Returns the reason why the device can no longer be used.
    fn lost_device(&self) -> Option<&str> {
        match &self.result {
            Ok(measurement) => measurement.lost.as_deref(),
            Err(Failure::DeviceLost(reason)) => Some(reason),
            Err(_) => None,
        }
    }
}

/// Measures the inputs of `queue` on all runners at once, and calls `each` on this thread with every
/// input as soon as it is done. Ends when the queue ends, when `stop` is set, or at the first error.
///
/// # Errors
/// Those of `each`; the device is lost; no input can be drawn, or every input is skipped.
pub(crate) fn measure_inputs(
    runners: &mut [Box<dyn Runner>],
    queue: LimitedQueue,
    policy: TimingPolicy,
    stop: &AtomicBool,
    mut each: impl FnMut(&MeasuredInput) -> Result<(), CollectError>,
) -> Result<(), CollectError> {
    let queue = Mutex::new(queue);
    let abort = AtomicBool::new(false);
    let ended = || stop.load(Ordering::Relaxed) || abort.load(Ordering::Relaxed);
    std::thread::scope(|scope| {
        let (send, receive) = mpsc::channel();
        for runner in runners {
            let (send, queue) = (send.clone(), &queue);
            let work = move || take_inputs(runner.as_mut(), queue, policy, &send, ended);
            std::thread::Builder::new().spawn_scoped(scope, work).map_err(|e| {
                abort.store(true, Ordering::Relaxed);
                CollectError::Device(format!("cannot start a thread for each device: {e}"))
            })?;
        }
        drop(send);
        let mut skipped_in_a_row = 0;
        let result = receive.iter().try_for_each(|drawn| {
            let input =
                drawn.map_err(|e| CollectError::Device(format!("no input can be drawn: {}", e.reason())))?;
            each(&input)?;
            if let Some(reason) = input.lost_device() {
                return Err(CollectError::Device(format!("the device is lost: {reason}")));
            }
            match &input.result {
                Ok(_) => skipped_in_a_row = 0,
                // The queue counts these.
                Err(_) if input.planned.flaw.is_some() => {}
                Err(failure) => {
                    skipped_in_a_row += 1;
                    if skipped_in_a_row >= MAX_SKIPPED {
                        return Err(CollectError::Device(format!("{MAX_SKIPPED} inputs in a row {failure}")));
                    }
                }
            }
            Ok(())
        });
        abort.store(true, Ordering::Relaxed);
        result
    })
}

/// Runs on one thread. Sends each input when it is done, or the reason why none can be drawn.
fn take_inputs(
    runner: &mut dyn Runner,
    queue: &Mutex<LimitedQueue>,
    policy: TimingPolicy,
    send: &mpsc::Sender<Result<MeasuredInput, Failure>>,
    ended: impl Fn() -> bool,
) {
    let mut compiled = HashSet::new();
    while !ended() {
        let planned = match lock(queue).next(runner) {
            Ok(Some(planned)) => planned,
            Ok(None) => return,
            Err(failure) => {
                let _ = send.send(Err(failure));
                return;
            }
        };
        let look_ahead = runner.look_ahead();
        if look_ahead > 0 && planned.flaw.is_none() && !compiled.contains(&planned.text) {
            let inputs = lock(queue).upcoming(&planned, runner, look_ahead);
            runner.compile_ahead(&groups(&inputs));
            compiled = inputs.into_iter().map(|input| input.text).collect();
        }
        let wanted = |choice: usize| planned.wanted.as_ref().is_none_or(|wanted| wanted[choice]);
        let (label, result) = match &planned.flaw {
            Some(reason) => (format!("{:?}", planned.text), Err(Failure::skipped(reason))),
            None => {
                let result = measure_some(runner, &planned.context, planned.seed, &policy, wanted);
                (runner.label(&planned.context), result)
            }
        };
        lock(queue).note(&planned, &result, &policy);
        let input = MeasuredInput { label, planned, result };
        let lost = input.lost_device().is_some();
        if send.send(Ok(input)).is_err() || lost {
            return;
        }
    }
}

/// Groups inputs by their choices.
fn groups(inputs: &[PlannedInput]) -> Vec<Planned> {
    let mut groups: BTreeMap<Option<&Vec<bool>>, Vec<Context>> = BTreeMap::new();
    for input in inputs.iter().filter(|input| input.flaw.is_none()) {
        groups.entry(input.wanted.as_ref()).or_default().push(input.context.clone());
    }
    let ids = |wanted: &Vec<bool>| {
        (0..).map(ChoiceId).zip(wanted).filter(|(_, wanted)| **wanted).map(|(id, _)| id).collect()
    };
    groups.into_iter().map(|(wanted, contexts)| Planned { contexts, choices: wanted.map(ids) }).collect()
}

fn lock(queue: &Mutex<LimitedQueue>) -> MutexGuard<'_, LimitedQueue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}
