//! What `ah-collect` itself measures: shipped kernels, or what a file or a log describes.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ah_cli::status;
use ah_measure::Runner;
use ah_types::Optimization;
use clap::ValueEnum;

use super::source::{Listing, Program, Source};
use crate::backend::Backend;
use crate::custom::{CustomChoices, OptimizationFile};
use crate::error::CollectError;
use crate::replay::Replay;
use crate::worker::{self, Limits, Named};

const ABOUT: &str = "\
Measure the candidate kernels of an optimization on real inputs and append to the log.

The same command continues an interrupted run where it stopped. Failures and skips are kept with
their reasons in <OUTPUT>.outcomes.jsonl.";

const EXAMPLES: &str = "\
Examples:
  Measure for two minutes; the same command continues an interrupted run:
    ah-collect --name mm --max-seconds 120
  A kernel or commands of your own, described in a file:
    ah-collect --optimization own.toml -o own.txt
  The contents of a log:
    ah-collect report train.txt --text";

/// Runs `ah-collect`. `before_measuring` is called before kernels allocate memory.
pub fn main(before_measuring: fn()) -> ExitCode {
    super::main(&Tool { before_measuring }, ABOUT, EXAMPLES)
}

struct Tool {
    before_measuring: fn(),
}

/// The flags that name what is measured.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct ToolFlags {
    /// The optimization to measure (ah-collect list shows all)
    #[arg(long)]
    name: Option<String>,
    /// An optimization of your own (TOML) instead of the built-in one of its name
    #[arg(long, value_name = "FILE")]
    optimization: Option<PathBuf>,
    /// Where to measure; auto takes a GPU if there is one
    #[arg(long, value_enum, default_value_t = BackendFlag::Auto)]
    backend: BackendFlag,
    /// The index of the device
    #[arg(long, default_value_t = 0, value_name = "N")]
    device: u32,
    /// The devices to measure on at once, one worker process each, into one log
    #[arg(long, value_name = "N,N,...", value_delimiter = ',', conflicts_with = "device")]
    devices: Vec<u32>,
    /// Measure in a worker process that is restarted after a hang or a crash (with CUDA always)
    #[arg(long)]
    isolate: bool,
    /// A program that measures choices of its own: a command that speaks the protocol of docs/workers.md. With --devices,
    /// one is started for each, with CUDA_VISIBLE_DEVICES
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["backend", "device", "isolate"])]
    worker: Option<String>,
    /// Take the times from this log instead of a device, to compare ways of collecting
    #[arg(long, value_name = "LOG", conflicts_with_all = ["backend", "device", "devices", "isolate", "worker"])]
    replay: Option<PathBuf>,
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

impl Program for Tool {
    type Flags = ToolFlags;

    fn source(&self, flags: ToolFlags) -> Result<Box<dyn Source>, CollectError> {
        (self.before_measuring)();
        let file = flags.optimization.as_deref().map(OptimizationFile::read).transpose()?;
        if let (Some(file), Some(name)) = (&file, &flags.name) {
            expect_name(name, &file.optimization.name, &file.path, "is")?;
        }
        Ok(Box::new(ToolSource { flags, file }))
    }
}

/// The flags, with the file of --optimization.
struct ToolSource {
    flags: ToolFlags,
    file: Option<OptimizationFile>,
}

impl ToolSource {
    fn backend(&self) -> Result<Backend, CollectError> {
        let is_source = self.file.as_ref().is_some_and(|file| matches!(file.choices, CustomChoices::Cuda(_)));
        Ok(match self.flags.backend {
            BackendFlag::Auto | BackendFlag::Cuda if is_source => Backend::Cuda,
            other if is_source => {
                return Err(CollectError::Usage(format!(
                    "[cuda] describes a kernel for a GPU, found --backend {other:?}; leave --backend out"
                )));
            }
            BackendFlag::Cpu => Backend::Cpu,
            BackendFlag::Cuda => Backend::Cuda,
            BackendFlag::Fake => Backend::Fake,
            BackendFlag::Auto => {
                let (backend, reason) = Backend::auto();
                if let Some(reason) = reason {
                    status(&format!("taking the CPU: {reason}\n"));
                }
                backend
            }
        })
    }

    /// Returns the optimization of --optimization or --name.
    fn optimization(&self, backend: Backend) -> Result<Optimization, CollectError> {
        match (&self.file, &self.flags.name) {
            (Some(file), _) => Ok(file.optimization.clone()),
            (None, Some(name)) => Ok(backend.optimization(name)?),
            (None, None) => Err(CollectError::Usage(
                "give the optimization: --name NAME (ah-collect list shows all)".to_owned(),
            )),
        }
    }

    fn replay(&self, log: &Path) -> Result<Box<dyn Runner>, CollectError> {
        let runner = Replay::open(log, self.file.as_ref().map(|file| file.optimization.clone()))?;
        if let Some(name) = &self.flags.name {
            expect_name(name, &runner.subject().optimization.name, log, "is a log of")?;
        }
        Ok(runner)
    }

    fn isolated(
        &self,
        backend: Backend,
        device: u32,
        limits: Limits,
    ) -> Result<Box<dyn Runner>, CollectError> {
        let optimization = self.optimization(backend)?;
        let mut command = worker::command()?;
        command.args(["--name", &optimization.name, "--backend", backend.name()]);
        command.args(["--device", &device.to_string()]);
        if let Some(path) = &self.flags.optimization {
            command.arg("--optimization").arg(path);
        }
        Ok(Box::new(worker::start(command, limits, Named::Optimization(Box::new(optimization)), true)?))
    }

    /// Starts the workers of --worker.
    fn external_workers(&self, command: &str, limits: Limits) -> Result<Vec<Box<dyn Runner>>, CollectError> {
        let start = |device: Option<&u32>| {
            let mut command = worker::command_of(command).map_err(CollectError::Usage)?;
            if let Some(device) = device {
                command.env("CUDA_VISIBLE_DEVICES", device.to_string());
            }
            let named = match (&self.file, &self.flags.name) {
                (Some(file), _) => Named::Optimization(Box::new(file.optimization.clone())),
                (None, Some(name)) => Named::Name(name.clone()),
                (None, None) => Named::ByWorker,
            };
            let worker = worker::start(command, limits, named, ah_cli::is_verbose())?;
            Ok(Box::new(worker) as Box<dyn Runner>)
        };
        match self.flags.devices.as_slice() {
            [] => Ok(vec![start(None)?]),
            devices => devices.iter().map(|device| start(Some(device))).collect(),
        }
    }
}

impl Source for ToolSource {
    fn open(self: Box<Self>, limits: Limits) -> Result<Vec<Box<dyn Runner>>, CollectError> {
        if let Some(log) = &self.flags.replay {
            return Ok(vec![self.replay(log)?]);
        }
        if let Some(command) = &self.flags.worker {
            return self.external_workers(command, limits);
        }
        let this = match *self {
            #[cfg(unix)]
            Self {
                file: Some(OptimizationFile { optimization, choices: CustomChoices::Commands(commands), .. }),
                ..
            } => return Ok(vec![commands.open(optimization, limits.answer)]),
            this => this,
        };
        let backend = this.backend()?;
        let devices = match this.flags.devices.as_slice() {
            [] => &[this.flags.device],
            devices => devices,
        };
        let is_isolated = this.flags.isolate || backend == Backend::Cuda || devices.len() > 1;
        let open = |device: &u32| {
            if is_isolated {
                this.isolated(backend, *device, limits)
            } else {
                backend.open(this.optimization(backend)?, *device, false)
            }
        };
        devices.iter().map(open).collect()
    }

    fn open_in_worker(self: Box<Self>) -> Result<Box<dyn Runner>, CollectError> {
        let backend = self.backend()?;
        match *self {
            Self {
                file: Some(OptimizationFile { optimization, choices: CustomChoices::Cuda(kernel), .. }),
                flags,
                ..
            } => kernel.open(optimization, flags.device),
            this => backend.open(this.optimization(backend)?, this.flags.device, true),
        }
    }

    fn list(self: Box<Self>) -> Result<Vec<Listing>, CollectError> {
        if let Some(command) = &self.flags.worker {
            let workers = self.external_workers(command, Limits::default())?;
            return Ok(workers.iter().map(|worker| Listing::of(worker.subject())).collect());
        }
        if let Some(file) = &self.file
            && let Some(choices) = file.choices.names()
        {
            return Ok(vec![Listing::with_choices(&file.optimization, choices)]);
        }
        let backend = self.backend()?;
        let optimizations = match backend {
            Backend::Fake => vec![backend.optimization("fake")?],
            _ if self.file.is_some() || self.flags.name.is_some() => vec![self.optimization(backend)?],
            _ => {
                let all = Optimization::built_in_names().map(|name| backend.optimization(name));
                all.collect::<Result<_, _>>()?
            }
        };
        let list =
            |optimization: Optimization| match backend.open(optimization.clone(), self.flags.device, false) {
                Ok(runner) => Ok(Listing::of(runner.subject())),
                Err(CollectError::Usage(_)) => Ok(Listing::unmeasured(&optimization)),
                Err(e) => Err(e),
            };
        optimizations.into_iter().map(list).collect()
    }
}

/// Refuses the optimization that was `found` in a file if it is not the `expected` one.
fn expect_name(expected: &str, found: &str, path: &Path, is: &str) -> Result<(), CollectError> {
    if expected == found {
        return Ok(());
    }
    Err(CollectError::Usage(format!(
        "{} {is} the optimization {found:?}, expected {expected:?}; leave --name out, or give another file",
        path.display()
    )))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn every_help_text_has_examples_that_are_valid() {
        let command = super::super::Cli::<ToolFlags>::command().after_help(EXAMPLES);
        command.clone().debug_assert();
        assert_eq!(ah_cli::arguments::wrong_examples(&command), Vec::<String>::new());
    }
}
