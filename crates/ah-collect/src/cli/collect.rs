//! `ah-collect collect`: measures and appends to a log.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ah_cli::{exit, status, warning};
use ah_model::Error;
use ah_types::TimingPolicy;

use super::program::Program;
use crate::collect;
use crate::options::Options;
use crate::plan;
use crate::process_group;
use crate::progress::Progress;
use crate::units::seconds;

/// Inputs that a run measures without a limit of its own.
const NUM_SAMPLES: u64 = 1000;

/// The flags of `ah-collect collect`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:\n  Measure for two minutes:\n    ah-collect collect --max-seconds 120")]
pub(super) struct CollectFlags<F: clap::Args> {
    #[command(flatten)]
    source: F,
    #[command(flatten)]
    options: Options,
    /// Rows of the log for each choice on each input; each is the mean of a part of the samples
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    num_reps: Option<u32>,
    /// Measure exactly the contexts of this file: CSV whose header names the features, or a log
    #[arg(long, value_name = "FILE")]
    inputs: Option<PathBuf>,
    /// Seconds that one step of a choice may take before the choice counts as hung
    #[arg(long, value_name = "S", value_parser = seconds, default_value = "20")]
    hang_seconds: Duration,
}

impl<F: clap::Args> CollectFlags<F> {
    pub fn run<P: Program<Flags = F>>(self, program: &P) -> Result<u8, Error> {
        process_group::start_guard();
        let mut workers = program.workers(&self.source, self.hang_seconds)?;
        let worker = &mut workers[0];
        let listed = self.inputs.as_ref().map(|path| plan::read_inputs(path, worker)).transpose()?;
        let mut options = self.options;
        let has_limit = listed.is_some() || options.max_seconds.is_some() || options.draws.is_some();
        options.num_samples = options.num_samples.or((!has_limit).then_some(NUM_SAMPLES));
        options.policy = policy(worker.description.timing, self.num_reps);
        options.listed = listed;
        let stop = stop_on_signal();
        let summary = collect::collect(&mut workers, &options, &stop, &Progress::new())?;
        status(&format!("{summary}\nlog: {}\n", options.output.display()));
        Ok(if summary.interrupted { exit::INTERRUPTED } else { exit::SUCCESS })
    }
}

/// The timing policy of a worker, changed by the flags. A row is made of at least two samples.
fn policy(mut policy: TimingPolicy, repetitions: Option<u32>) -> TimingPolicy {
    if let Some(repetitions) = repetitions {
        policy.repetitions = repetitions;
        policy.min_samples = policy.min_samples.max(2 * repetitions);
        policy.max_samples = policy.max_samples.max(2 * repetitions);
    }
    policy
}

/// A flag that the first SIGINT or SIGTERM sets; a second one ends the process at once.
fn stop_on_signal() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let handled = ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            // The guard ends the workers.
            std::process::exit(i32::from(exit::INTERRUPTED));
        }
        status("ending after the current input; press again to end at once\n");
    });
    if let Err(e) = handled {
        warning(&format!("signals are not handled, Ctrl-C ends at once: {e}"));
    }
    stop
}
