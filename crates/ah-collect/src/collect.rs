//! A run: plan → measure → append.
//!
//! Every worker takes the next input of one plan and measures it; this thread writes what comes
//! back, one input at a time, so a crash costs the inputs in hand and nothing else.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use ah_types::log::{Collection, LogError, LogWriter, Metadata};
use ah_types::timing::TimingPolicy;
use ah_types::{Context, OptimizationError, Outcome};

use crate::outcomes::{Outcomes, Record};
use crate::plan::{Plan, Planned, Shard};
use crate::progress::Progress;
use crate::summary::Summary;
use ah_measure::{Failure, Measurement, Runner, Subject, measure};

/// Inputs skipped in a row before a run gives up: something is wrong with all of them.
const MAX_SKIPPED: u32 = 500;

/// What a run is to do.
#[derive(Clone, Debug)]
pub struct Options {
    /// The log.
    pub output: PathBuf,
    /// How choices are timed.
    pub policy: TimingPolicy,
    /// The seed of the inputs.
    pub seed: u64,
    /// Inputs that the log is to hold at the end; `None`: no limit.
    pub num_samples: Option<u64>,
    /// No input is begun after this time.
    pub max_time: Option<Duration>,
    /// The part of the sequence that is this run's.
    pub shard: Shard,
    /// Exactly these contexts, instead of the sequence.
    pub inputs: Option<Vec<Context>>,
    /// Show how far the run is.
    pub progress: bool,
}

impl Options {
    /// Into this log, without limits, under this policy, with seed 0.
    pub fn new(output: impl Into<PathBuf>, policy: TimingPolicy) -> Self {
        Self {
            output: output.into(),
            policy,
            seed: 0,
            num_samples: None,
            max_time: None,
            shard: Shard::default(),
            inputs: None,
            progress: false,
        }
    }
}

/// A run cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    /// A log cannot be read or written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// There is no such optimization.
    #[error(transparent)]
    Optimization(#[from] OptimizationError),
    /// The model cannot be read.
    #[error(transparent)]
    Model(#[from] ah_types::ModelError),
    /// The device or backend asked for is not there or does not work.
    #[error("{0}")]
    Device(String),
    /// What was asked for makes no sense here.
    #[error("{0}")]
    Usage(String),
    /// There is nothing to judge or to write.
    #[error("{0}")]
    TooLittle(String),
    /// Standard output cannot be written.
    #[cfg(feature = "cli")]
    #[error(transparent)]
    Output(#[from] ah_cli::OutputError),
}

#[cfg(feature = "cli")]
impl ah_cli::Failure for CollectError {
    fn exit_code(&self) -> u8 {
        use ah_cli::exit;
        match self {
            Self::Log(e) => e.exit_code(),
            Self::Model(e) => e.exit_code(),
            Self::Optimization(e) => e.exit_code(),
            Self::Device(_) => exit::DEVICE,
            Self::Usage(_) => exit::USAGE,
            Self::TooLittle(_) => exit::TOO_LITTLE,
            Self::Output(e) => e.exit_code(),
        }
    }
}

/// Measures until a limit is reached, the inputs end or `stop` is set, with one worker for each
/// runner. The runners must be of one optimization on devices of one kind.
///
/// # Errors
/// The log cannot be written or belongs to another run; the device is lost; no input can be made.
pub fn collect(
    runners: &mut [Box<dyn Runner>],
    options: &Options,
    stop: &AtomicBool,
) -> Result<Summary, CollectError> {
    let Some(first) = runners.first() else {
        return Err(CollectError::Usage("no runner was given".to_owned()));
    };
    let Subject { optimization, device, choices, .. } = first.subject().clone();
    let schema = optimization.schema()?;
    let collection = Collection {
        format: 1,
        device: device.clone(),
        timing: options.policy,
        seed: options.seed,
        tool: concat!("ah-collect ", env!("CARGO_PKG_VERSION")).to_owned(),
    };
    let metadata = Metadata::new(&optimization.name, &schema, choices.clone(), collection);
    if let Some(other) = runners.iter().map(|r| &r.subject().device).find(|other| **other != device) {
        return Err(CollectError::Device(format!(
            "one log holds one kind of device, found {device} and {other}; write a log for each"
        )));
    }

    let (mut log, cut) = LogWriter::open(&options.output, &metadata, &schema)?;
    let measured = log.inputs()?;
    let (outcomes, skipped) = Outcomes::open(&options.output)?;
    let mut writer = Writer { log, outcomes, choices, policy: options.policy };
    let mut summary = Summary {
        resumed: measured.len() as u64,
        cut,
        workers: u32::try_from(runners.len()).unwrap_or(u32::MAX),
        ..Summary::default()
    };
    let seen = measured.into_iter().chain(skipped).collect();
    let plan = Plan::new(options.inputs.clone(), options.seed, options.shard, seen, schema);
    let goal = match (options.num_samples, plan.remaining()) {
        (Some(n), Some(left)) => Some(n.min(left + summary.resumed)),
        (n, left) => n.or(left.map(|left| left + summary.resumed)),
    };
    let mut progress = if options.progress {
        Progress::new(summary.resumed, goal, options.max_time)
    } else {
        Progress::silent()
    };
    if let Some(cut) = &summary.cut {
        let shown: String = cut.chars().take(60).collect();
        progress.say(&format!(
            "{}: the last line was torn ({shown:?}); it was cut off, and the run goes on",
            options.output.display()
        ));
    }
    if summary.resumed > 0 {
        progress.say(&format!("{} holds {} inputs already", options.output.display(), summary.resumed));
    }

    let start = Instant::now();
    let turns = Mutex::new(Turns {
        plan,
        left: options.num_samples.map(|n| n.saturating_sub(summary.resumed)),
        deadline: options.max_time.map(|t| start + t),
    });
    let abort = AtomicBool::new(false);
    let result = std::thread::scope(|scope| {
        let (send, receive) = mpsc::channel();
        for runner in &mut *runners {
            let (send, turns, abort) = (send.clone(), &turns, &abort);
            scope.spawn(move || {
                work(runner.as_mut(), turns, options.policy, &send, || {
                    stop.load(Ordering::Relaxed) || abort.load(Ordering::Relaxed)
                });
            });
        }
        drop(send);
        let mut skipped_in_a_row = 0;
        let result = receive.iter().try_for_each(|done: Done| {
            let done = match done {
                Done::Input(done) => done,
                Done::NoInput(failure) => {
                    return Err(CollectError::Device(format!("no input can be drawn: {failure}")));
                }
            };
            skipped_in_a_row = if done.result.is_err() { skipped_in_a_row + 1 } else { 0 };
            let last = writer.write(&done, &mut summary)?;
            progress.step(&format!("{} {last}", done.label));
            if skipped_in_a_row >= MAX_SKIPPED {
                return Err(CollectError::Device(format!("{MAX_SKIPPED} inputs in a row {last}")));
            }
            match done.lost() {
                Some(reason) => Err(CollectError::Device(format!("the device is lost: {reason}"))),
                None => Ok(()),
            }
        });
        abort.store(true, Ordering::Relaxed);
        result
    });
    progress.finish();
    summary.elapsed = start.elapsed();
    summary.interrupted = stop.load(Ordering::Relaxed);
    result.map(|()| summary)
}

/// What the workers share.
struct Turns {
    plan: Plan,
    /// Inputs that may still be measured.
    left: Option<u64>,
    deadline: Option<Instant>,
}

impl Turns {
    fn next(&mut self, runner: &dyn Runner) -> Result<Option<Planned>, Failure> {
        if self.left == Some(0) || self.deadline.is_some_and(|d| Instant::now() >= d) {
            return Ok(None);
        }
        let planned = self.plan.next(runner)?;
        if planned.is_some() {
            self.left = self.left.map(|n| n - 1);
        }
        Ok(planned)
    }
}

/// What a worker says.
enum Done {
    Input(Box<DoneInput>),
    /// It cannot draw inputs, and ends.
    NoInput(Failure),
}

/// An input that a worker is done with.
struct DoneInput {
    planned: Planned,
    label: String,
    result: Result<Measurement, Failure>,
}

impl DoneInput {
    fn lost(&self) -> Option<&str> {
        match &self.result {
            Ok(measurement) => measurement.lost.as_deref(),
            Err(Failure::DeviceLost(reason)) => Some(reason),
            Err(_) => None,
        }
    }
}

/// A worker's life: the next input, until there is none.
fn work(
    runner: &mut dyn Runner,
    turns: &Mutex<Turns>,
    policy: TimingPolicy,
    send: &mpsc::Sender<Done>,
    stop: impl Fn() -> bool,
) {
    while !stop() {
        let turn = || turns.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let planned = match turn().next(runner) {
            Ok(Some(planned)) => planned,
            Ok(None) => return,
            Err(failure) => {
                let _ = send.send(Done::NoInput(failure));
                return;
            }
        };
        let result = measure(runner, &planned.context, planned.rng.clone(), &policy);
        if result.is_err() {
            let mut turns = turn();
            turns.left = turns.left.map(|n| n + 1);
        }
        let input = DoneInput { label: runner.label(&planned.context), planned, result };
        let lost = input.lost().is_some();
        if send.send(Done::Input(Box::new(input))).is_err() || lost {
            return;
        }
    }
}

/// Where measurements go.
struct Writer {
    log: LogWriter,
    outcomes: Outcomes,
    choices: Vec<String>,
    policy: TimingPolicy,
}

impl Writer {
    /// Appends what came of an input and says it in a few words.
    fn write(&mut self, done: &DoneInput, summary: &mut Summary) -> Result<String, CollectError> {
        let input = || done.planned.text.clone();
        let measurement = match &done.result {
            Ok(measurement) => measurement,
            Err(failure) => {
                let reason = failure.reason().to_owned();
                *summary.skipped_inputs.entry(reason.clone()).or_default() += 1;
                let outcome = Outcome::skipped(reason);
                self.outcomes.append([Record { input: input(), choice: None, outcome }])?;
                return Ok(format!("{failure}"));
            }
        };
        let mut rows = Vec::new();
        for (choice, outcome) in self.choices.iter().zip(&measurement.outcomes) {
            match outcome {
                Outcome::Measured { feedback } => {
                    rows.extend(self.policy.rows(feedback).into_iter().map(|ms| (choice.as_str(), ms)));
                }
                Outcome::Failed { .. } => rows.push((choice.as_str(), f64::INFINITY)),
                Outcome::Skipped { .. } => {}
            }
        }
        if rows.is_empty() {
            // Only here does a resumed run learn that this input was tried.
            let outcome = Outcome::skipped("no choice is offered");
            self.outcomes.append([Record { input: input(), choice: None, outcome }])?;
        } else {
            self.log.append_input(&done.planned.context, rows)?;
        }
        let without_time = self.choices.iter().zip(&measurement.outcomes).filter_map(|(choice, outcome)| {
            let reason = !matches!(outcome, Outcome::Measured { .. });
            reason.then(|| Record { input: input(), choice: Some(choice.clone()), outcome: outcome.clone() })
        });
        self.outcomes.append(without_time)?;
        summary.count(&self.choices, measurement);
        Ok(match measurement.winner() {
            Some((choice, ms)) => format!("{} {ms:.4} ms", self.choices[choice.index()]),
            None => "no choice could be measured".to_owned(),
        })
    }
}
