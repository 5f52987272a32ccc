//! The command line of `ah-collect`: raw flags, checked once, handed to the library.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ah_cli::{exit, stdout};
use ah_measure::{Runner, sampling};
use ah_types::timing::TimingPolicy;
use ah_types::{Model, Optimization, log};
use clap::{Parser, ValueEnum};

use ah_collect::backend::{self, Backend};
use ah_collect::facts::{Facts, Noise};
use ah_collect::plan::{self, Shard};
use ah_collect::worker::{self, Limits, Worker};
use ah_collect::{CollectError, Options, collect, judge, list};

/// Inputs that a run measures when neither --num-samples nor --max-seconds says otherwise.
const NUM_SAMPLES: u64 = 1000;
/// Inputs that --use-heuristic judges on unless --num-samples says otherwise.
const JUDGED: u64 = 50;
/// The seed of --use-heuristic, so that its inputs are not those of a log collected with the default.
const JUDGE_SEED: u64 = 1000;

/// Measure the candidate kernels of an optimization on real inputs and append to the log.
///
/// A run that was cut off goes on where it stood when the same command is given again. Failures
/// and skips are kept with their reasons in <OUTPUT>.outcomes.jsonl.
#[derive(Debug, Parser)]
#[command(name = "ah-collect", version)]
pub struct Cli {
    /// The optimization to measure (--list shows all)
    #[arg(long, required_unless_present_any = ["list", "describe", "use_heuristic", "optimization"])]
    name: Option<String>,
    /// The log to append to
    #[arg(long, short, default_value = "train.txt", value_name = "FILE")]
    output: PathBuf,
    /// Where to measure; auto takes a GPU where there is one
    #[arg(long, value_enum, default_value_t = BackendFlag::Auto)]
    backend: BackendFlag,
    /// The index of the device
    #[arg(long, default_value_t = 0, value_name = "N")]
    device: u32,
    /// Inputs that the log is to hold at the end [default: 1000, or no limit with --max-seconds]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    num_samples: Option<u64>,
    /// Rows that each choice gets on each input, each from its share of the samples
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    num_reps: Option<u32>,
    /// Begin no input after this many seconds
    #[arg(long, value_name = "S", value_parser = seconds)]
    max_seconds: Option<Duration>,
    /// The seed of the inputs: the same seed gives the same inputs
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Measure exactly the contexts of this file: CSV whose header names the features, or a log
    #[arg(long, value_name = "FILE")]
    inputs: Option<PathBuf>,
    /// Measure one part of the sequence, so that several machines share it: 1/4 is the first of four
    #[arg(long, value_name = "I/N", default_value = "1/1")]
    shard: String,
    /// Measure in a worker process that is restarted after a hang or a crash (with CUDA always)
    #[arg(long)]
    isolate: bool,
    /// Seconds that a worker process may take for one step before its choice counts as hung
    #[arg(long, value_name = "S", value_parser = seconds, default_value = "20")]
    hang_seconds: Duration,
    /// The devices to measure on at once, one worker process each, into one log
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', conflicts_with = "device")]
    devices: Vec<u32>,
    /// Serve one parent over standard input and output.
    #[arg(long, hide = true)]
    worker: bool,
    /// Show the optimizations with their choices and features
    #[arg(long)]
    list: bool,
    /// Say what a log holds; with a second log of the same inputs, also how well times repeat
    #[arg(long, value_name = "LOG", num_args = 1..=2)]
    describe: Vec<PathBuf>,
    /// Judge this model on fresh inputs, measuring every choice there; nothing is written
    #[arg(long, value_name = "MODEL")]
    use_heuristic: Option<PathBuf>,
    /// An optimization of your own (TOML) instead of the built-in one of its name
    #[arg(long, value_name = "FILE")]
    optimization: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum BackendFlag {
    Auto,
    Cpu,
    Cuda,
    /// A device that misbehaves on purpose.
    #[value(hide = true)]
    Fake,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "expected a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(seconds).map_err(|e| e.to_string())
}

/// Runs the command line and returns the [exit code](exit).
///
/// # Errors
/// Whatever keeps it from its work.
pub fn run(cli: &Cli) -> Result<u8, CollectError> {
    if let Some((log, repeat)) = cli.describe.split_first() {
        return cli.describe(log, repeat.first());
    }
    let backend = cli.backend();
    if cli.worker {
        // Ctrl-C reaches the whole group; the parent decides when its workers end.
        let _ = ctrlc::set_handler(|| {});
        let runner =
            cli.optimization(None, backend).and_then(|o| backend::open(o, backend, cli.device, true));
        // An error here means that the parent is gone, and with it whoever would read it.
        let _ = worker::serve(runner);
        return Ok(exit::SUCCESS);
    }
    if cli.list {
        let lines = list::list(cli.name.as_deref(), backend, cli.device)?;
        stdout(&format!("{lines}\n"))?;
        return Ok(exit::SUCCESS);
    }
    match &cli.use_heuristic {
        Some(path) => cli.judge(&Model::read(path)?, backend),
        None => cli.collect(backend),
    }
}

impl Cli {
    fn backend(&self) -> Backend {
        match self.backend {
            BackendFlag::Cpu => Backend::Cpu,
            BackendFlag::Cuda => Backend::Cuda,
            BackendFlag::Fake => Backend::Fake,
            BackendFlag::Auto => {
                let (backend, why) = Backend::auto();
                if let Some(why) = why {
                    eprintln!("measuring on the CPU: {why}");
                }
                backend
            }
        }
    }

    /// The optimization `name`, or that of --name or --optimization.
    fn optimization(&self, name: Option<&str>, backend: Backend) -> Result<Optimization, CollectError> {
        let name = name.or(self.name.as_deref());
        let Some(path) = &self.optimization else {
            let Some(name) = name else {
                return Err(CollectError::Usage(
                    "say what to measure: --name NAME (--list shows all)".to_owned(),
                ));
            };
            return Ok(backend::optimization(name, backend)?);
        };
        let optimization = Optimization::read(path)?;
        match name {
            Some(name) if name != optimization.name => Err(CollectError::Usage(format!(
                "{} is the optimization {:?}, expected {name:?}",
                path.display(),
                optimization.name
            ))),
            _ => Ok(optimization),
        }
    }

    /// A runner for each device.
    fn open(&self, name: Option<&str>, backend: Backend) -> Result<Vec<Box<dyn Runner>>, CollectError> {
        let optimization = self.optimization(name, backend)?;
        let devices = if self.devices.is_empty() { &[self.device][..] } else { &self.devices };
        let isolated = self.isolate || backend == Backend::Cuda || devices.len() > 1;
        let open = |device: &u32| {
            if isolated {
                self.worker(&optimization, backend, *device)
            } else {
                backend::open(optimization.clone(), backend, *device, false)
            }
        };
        devices.iter().map(open).collect()
    }

    fn worker(
        &self,
        optimization: &Optimization,
        backend: Backend,
        device: u32,
    ) -> Result<Box<dyn Runner>, CollectError> {
        let program = std::env::current_exe()
            .map_err(|e| CollectError::Device(format!("cannot find this program to start a worker: {e}")))?;
        let mut command = Command::new(program);
        command.args(["--worker", "--name", &optimization.name, "--backend", backend.name(), "--device"]);
        command.arg(device.to_string());
        if let Some(path) = &self.optimization {
            command.arg("--optimization").arg(path);
        }
        let limits = Limits { answer: self.hang_seconds, ..Limits::default() };
        let worker = Worker::start(command, limits, optimization.clone()).map_err(CollectError::Device)?;
        Ok(Box::new(worker))
    }

    fn policy(&self, runner: &dyn Runner) -> TimingPolicy {
        let mut policy = runner.subject().timing;
        if let Some(repetitions) = self.num_reps {
            policy.repetitions = repetitions;
            policy.min_samples = policy.min_samples.max(repetitions);
            policy.max_samples = policy.max_samples.max(repetitions);
        }
        policy
    }

    fn collect(&self, backend: Backend) -> Result<u8, CollectError> {
        let shard = self.shard.parse::<Shard>().map_err(|e| CollectError::Usage(format!("--shard: {e}")))?;
        let mut runners = self.open(None, backend)?;
        let runner = &runners[0];
        let inputs = match &self.inputs {
            Some(path) => Some(plan::read_inputs(path, &**runner, &runner.subject().optimization.schema()?)?),
            None => None,
        };
        let unlimited = self.max_seconds.is_some() || inputs.is_some();
        let options = Options {
            seed: self.seed.unwrap_or(0),
            num_samples: self.num_samples.or(if unlimited { None } else { Some(NUM_SAMPLES) }),
            max_time: self.max_seconds,
            shard,
            inputs,
            progress: true,
            ..Options::new(&self.output, self.policy(&**runner))
        };
        let stop = stop_on_signal();
        let summary = collect(&mut runners, &options, &stop)?;
        eprintln!("{summary}\nlog: {}", self.output.display());
        Ok(if summary.interrupted { exit::INTERRUPTED } else { exit::SUCCESS })
    }

    fn describe(&self, path: &Path, repeat: Option<&PathBuf>) -> Result<u8, CollectError> {
        let log = log::read(&[path])?;
        let optimization = match &self.optimization {
            Some(path) => Some(Optimization::read(path)?),
            // A log of an optimization that is not built in has no fallback that we know.
            None => Optimization::built_in(&log.metadata.name).ok(),
        };
        stdout(&format!("{}\n", Facts::of(&log, optimization.as_ref())))?;
        if let Some(repeat) = repeat {
            let noise = Noise::between(&log, &log::read(&[repeat])?).ok_or_else(|| {
                CollectError::TooLittle(format!("{} and {} share no input", path.display(), repeat.display()))
            })?;
            stdout(&format!("{noise}\n"))?;
        }
        Ok(exit::SUCCESS)
    }

    fn judge(&self, model: &Model, backend: Backend) -> Result<u8, CollectError> {
        let mut runner = self.open(Some(&model.optimization), backend)?.swap_remove(0);
        if let Some(learned) = &model.device
            && let Err(mismatch) = learned.admits(&runner.subject().device)
        {
            eprintln!(
                "warning: {mismatch}; what follows says little about the device that it was learned on"
            );
        }
        let count = usize::try_from(self.num_samples.unwrap_or(JUDGED)).unwrap_or(usize::MAX);
        let contexts = match &self.inputs {
            Some(path) => {
                let contexts = plan::read_inputs(path, &*runner, &runner.subject().optimization.schema()?)?;
                contexts.into_iter().zip((0..).map(|i| sampling::rng(0, i))).collect()
            }
            None => judge::fresh(&*runner, self.seed.unwrap_or(JUDGE_SEED), count)?,
        };
        let subject = runner.subject();
        let fallback = model
            .fallback
            .map(|id| model.choice_name(id).to_owned())
            .or_else(|| subject.optimization.fallback_among(&subject.choices).map(str::to_owned))
            .ok_or_else(|| CollectError::Usage("the model has no fallback to compare with".to_owned()))?;
        let policy = self.policy(&*runner);
        let stop = stop_on_signal();
        let contexts = contexts.into_iter().take_while(|_| !stop.load(Ordering::Relaxed));
        let each = |judged: &judge::Judged| {
            eprintln!("{}: {} {:.4} ms", judged.label, judged.winner, judged.winner_ms);
        };
        let judgement = judge::judge(&mut *runner, contexts, &policy, &fallback, judge::model(model), each)?;
        stdout(&format!("{judgement}\n"))?;
        Ok(if stop.load(Ordering::Relaxed) { exit::INTERRUPTED } else { exit::SUCCESS })
    }
}

/// Set by the first SIGINT or SIGTERM; a second one ends the process at once.
fn stop_on_signal() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let handled = ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(exit::INTERRUPTED));
        }
        eprintln!("ending after the input in hand (once more: at once)");
    });
    if let Err(e) = handled {
        eprintln!("warning: signals are not handled, Ctrl-C ends at once: {e}");
    }
    stop
}
