//! What `ah-collect` itself measures: shipped kernels, what a file describes, or a program of the user.

use std::fmt;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use ah_cli::status;
use ah_kernels::{ServeFn, cpu, cuda};
use ah_model::Error;
use ah_types::Optimization;
use clap::ValueEnum;

use crate::cli::{self, LIMIT, Program, listing, listing_of};
use crate::custom::{CustomChoices, OptimizationFile};
use crate::worker::{self, Named, Worker};

const ABOUT: &str = "\
Measure the candidate kernels of an optimization on real inputs and append to the log.

The same command continues an interrupted run where it stopped. Failures and skips are kept with
their reasons in <OUTPUT>.outcomes.jsonl.";

const EXAMPLES: &str = "\
Examples:
  Measure for two minutes; the same command continues an interrupted run:
    ah-collect --name mm --max-seconds 120
  A kernel or commands of your own, described in a file:
    ah-collect --optimization own.toml -o own.txt";

/// The flags and subcommands, for completions and man pages.
pub fn command() -> clap::Command {
    cli::command::<ToolFlags>(ABOUT, EXAMPLES)
}

/// Runs `ah-collect`.
pub fn main() -> ExitCode {
    cli::main(Tool, ABOUT, EXAMPLES)
}

struct Tool;

/// The flags that name what is measured.
#[derive(Clone, Debug, clap::Args)]
struct ToolFlags {
    /// The optimization to measure (ah-collect list shows all)
    #[arg(long, conflicts_with = "optimization")]
    name: Option<String>,
    /// An optimization of your own (TOML)
    #[arg(long, value_name = "FILE")]
    optimization: Option<PathBuf>,
    /// Where to measure; auto takes a GPU if there is one
    #[arg(long, value_enum, default_value_t = Backend::Auto)]
    backend: Backend,
    /// The index of the device [default: 0], or of several to measure on at once, one worker process each, into one log
    #[arg(long, value_name = "N,N,...", value_delimiter = ',')]
    device: Vec<u32>,
    /// A program that measures choices of its own: a command that speaks the protocol of docs/workers.md. With --device,
    /// one is started for each, with CUDA_VISIBLE_DEVICES
    #[arg(long, value_name = "COMMAND", conflicts_with = "backend")]
    worker: Option<String>,
}

/// Where kernels run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Backend {
    Auto,
    Cpu,
    Cuda,
}

impl Backend {
    /// The worker of shipped kernels.
    fn serve_fn(self, optimization: Optimization, device: u32) -> Result<ServeFn, Error> {
        let name = optimization.name.clone();
        let serve = match self {
            Self::Cuda => cuda::serve_fn(optimization, device),
            Self::Cpu | Self::Auto => cpu::serve_fn(optimization),
        };
        serve.ok_or_else(|| {
            Error::Usage(format!(
                "nothing measures {name} with --backend {self}; ah-collect list shows what can be measured, and \
                 --worker takes a program of your own (docs/workers.md)"
            ))
        })
    }
}

/// As on the command line.
impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&format!("{self:?}").to_lowercase())
    }
}

impl ToolFlags {
    /// The file of --optimization, or the built-in one of --name.
    fn file(&self) -> Result<OptimizationFile, Error> {
        match (&self.optimization, &self.name) {
            (Some(path), _) => OptimizationFile::read(path),
            (None, Some(name)) => {
                Ok(OptimizationFile { optimization: Optimization::built_in(name)?, choices: None })
            }
            (None, None) => {
                Err(Error::Usage("give the optimization: --name NAME (ah-collect list shows all)".to_owned()))
            }
        }
    }

    /// The device to measure on: a GPU if there is one and kernels for it.
    fn backend(&self, file: &OptimizationFile) -> Result<Backend, Error> {
        let (needed, why) = match file.choices {
            Some(CustomChoices::Cuda(_)) => (Backend::Cuda, "[cuda] describes a kernel for a GPU"),
            Some(CustomChoices::Commands(_)) => (Backend::Cpu, "[commands] runs on the processor"),
            None => (self.backend, ""),
        };
        if self.backend != Backend::Auto && self.backend != needed {
            let found = self.backend;
            return Err(Error::Usage(format!("{why}, found --backend {found}; leave --backend out")));
        }
        if needed != Backend::Auto {
            return Ok(needed);
        }
        let reason = match no_gpu() {
            None if cuda::serve_fn(file.optimization.clone(), 0).is_some() => return Ok(Backend::Cuda),
            None => format!("nothing measures {} on a GPU", file.optimization.name),
            Some(reason) => reason,
        };
        status(&format!("taking the CPU: {reason}\n"));
        Ok(Backend::Cpu)
    }
}

/// Why there is no GPU, if there is none.
fn no_gpu() -> Option<String> {
    cuda::count().err().map(|e| e.to_string())
}

impl Program for Tool {
    type Flags = ToolFlags;

    fn workers(&self, flags: &ToolFlags, limit: Duration) -> Result<Vec<Worker>, Error> {
        // Two workers of one device would time each other.
        Error::require_distinct("device", "device", &flags.device, u32::to_string)?;
        if let Some(text) = &flags.worker {
            let words = shlex::split(text).filter(|words| !words.is_empty());
            let words = words.ok_or_else(|| {
                Error::Usage(format!(
                    "--worker: expected a command, with each quotation mark closed, found {text:?}"
                ))
            })?;
            let named = match &flags.optimization {
                Some(_) => Named::Optimization(Box::new(flags.file()?.optimization)),
                None => Named::ByWorker(flags.name.clone()),
            };
            let start = |device: Option<&u32>| {
                let mut command = Command::new(&words[0]);
                command.args(&words[1..]);
                command.envs(device.map(|device| ("CUDA_VISIBLE_DEVICES", device.to_string())));
                command.stderr(if ah_cli::is_verbose() { Stdio::inherit() } else { Stdio::piped() });
                Worker::start(command, limit, named.clone())
            };
            let devices = flags.device.iter().map(Some);
            return devices.chain(flags.device.is_empty().then_some(None)).map(start).collect();
        }
        let file = flags.file()?;
        let backend = flags.backend(&file)?;
        let OptimizationFile { optimization, choices } = file;
        let answer = match choices {
            // The worker itself ends a command that takes too long; an answer takes up to three.
            Some(CustomChoices::Commands(_)) => 3 * limit + Duration::from_secs(5),
            _ => limit,
        };
        let devices = if flags.device.is_empty() { vec![0] } else { flags.device.clone() };
        if let Some(device) = devices.iter().find(|device| backend == Backend::Cpu && **device > 0) {
            return Err(Error::Device(format!("the CPU is device 0, found --device {device}")));
        }
        if choices.is_none() {
            drop(backend.serve_fn(optimization.clone(), 0)?);
        }
        let start = |device: u32| {
            let mut command = worker::command()?;
            command.args(["--backend", &backend.to_string(), "--device", &device.to_string()]);
            command.arg("--hang-seconds").arg(limit.as_secs_f64().to_string());
            match &flags.optimization {
                Some(path) => command.arg("--optimization").arg(path),
                None => command.args(["--name", &optimization.name]),
            };
            let named = Named::Optimization(Box::new(optimization.clone()));
            Worker::start(command, answer, named)
        };
        devices.into_iter().map(start).collect()
    }

    fn serve(self, flags: ToolFlags, limit: Duration) -> std::io::Result<()> {
        let served = flags.file().and_then(|file| {
            let device = flags.device.first().copied().unwrap_or(0);
            Ok(match file.choices {
                Some(CustomChoices::Commands(commands)) => commands.serve_fn(file.optimization, limit),
                Some(CustomChoices::Cuda(kernel)) => kernel.serve_fn(file.optimization, device),
                None => flags.backend(&file)?.serve_fn(file.optimization, device)?,
            })
        });
        match served {
            Ok(serve) => serve(),
            Err(mistake) => ah_measure::refuse(mistake),
        }
    }

    fn list(&self, flags: &ToolFlags) -> Result<String, Error> {
        if flags.optimization.is_some()
            && let OptimizationFile { optimization, choices: Some(choices) } = flags.file()?
        {
            return Ok(listing(&optimization, Some(&choices.names()), None));
        }
        let list = |flags: &ToolFlags| match self.workers(flags, LIMIT) {
            Ok(workers) => Ok(workers.iter().map(listing_of).collect()),
            Err(Error::Usage(_)) if flags.name.is_some() => {
                Ok(listing(&flags.file()?.optimization, None, None))
            }
            Err(e) => Err(e),
        };
        if flags.worker.is_some() || flags.name.is_some() || flags.optimization.is_some() {
            return list(flags);
        }
        let mut flags = flags.clone();
        if let Some(reason) = no_gpu().filter(|_| flags.backend == Backend::Auto) {
            status(&format!("taking the CPU: {reason}\n"));
            flags.backend = Backend::Cpu;
        }
        let all = Optimization::built_in_names()
            .map(|name| list(&ToolFlags { name: Some(name.to_owned()), ..flags.clone() }));
        all.collect()
    }
}
