//! `ah-collect`: see `ah-collect --help` and the library's documentation.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ah_cli::ShellCommand;
use ah_cli::status;
use ah_collect::backend::{self, Backend};
use ah_collect::cli::{self, Listing, MergeFlags, ReportFlags, RunFlags, RunnerSource};
use ah_collect::worker::{self, Limits};
use ah_collect::{CollectError, CudaSource, replay};
use ah_measure::Runner;
use ah_types::Optimization;
use ah_types::log::Log;
use clap::{Parser, ValueEnum};

#[global_allocator]
static MEMORY: ah_cli::Memory = ah_cli::Memory::new();

fn main() -> ExitCode {
    let flags: Flags = ah_cli::arguments::parse();
    flags.run.terminal.apply();
    ah_cli::finish(match &flags.command {
        Some(Command::Merge(merge)) => cli::merge_logs(merge),
        Some(Command::Report(report)) => cli::report_log(report),
        Some(Command::Shell(command)) => {
            command.print::<Flags>().map(|()| ah_cli::exit::SUCCESS).map_err(CollectError::from)
        }
        None => cli::run(&flags, &flags.run),
    })
}

/// Measure the candidate kernels of an optimization on real inputs and append to the log.
///
/// The same command continues an interrupted run where it stopped. Failures and skips are kept with
/// their reasons in <OUTPUT>.outcomes.jsonl.
#[derive(Debug, Parser)]
#[command(
    name = "ah-collect",
    version,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = EXAMPLES,
    mut_arg("verbose", |arg| arg.help("Print details too: a line for each input"))
)]
struct Flags {
    #[command(subcommand)]
    command: Option<Command>,
    /// The optimization to measure (--list shows all)
    #[arg(long, required_unless_present_any = ["list", "describe", "use_heuristic", "optimization", "replay"])]
    name: Option<String>,
    #[command(flatten)]
    run: RunFlags,
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
    /// An optimization of your own (TOML) instead of the built-in one of its name
    #[arg(long, value_name = "FILE")]
    optimization: Option<PathBuf>,
    /// Take the times from this log instead of a device, to compare ways of collecting
    #[arg(long, value_name = "LOG", conflicts_with_all = ["backend", "device", "devices", "isolate"])]
    replay: Option<PathBuf>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Merge the logs of several machines into one log, and report whether the machines agree
    Merge(MergeFlags),
    /// Write a page about a log: coverage, noise, winners that change, drift of the machine
    Report(ReportFlags),
    #[command(flatten)]
    Shell(ShellCommand),
}

const EXAMPLES: &str = "\
Examples:
  Measure for two minutes; the same command continues an interrupted run:
    ah-collect --name mm --max-seconds 120
  A kernel or commands of your own, described in a file:
    ah-collect --optimization own.toml -o own.txt
  The contents of a log:
    ah-collect --describe train.txt
  Judge a model on 50 fresh inputs:
    ah-collect --use-heuristic model.json --num-samples 50";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum BackendFlag {
    Auto,
    Cpu,
    Cuda,
    /// A device that misbehaves on purpose.
    #[value(hide = true)]
    Fake,
}

/// Refuses the optimization that was `found` in a file if it is not the `expected` one.
fn expect_name(expected: Option<&str>, found: &str, path: &Path, is: &str) -> Result<(), CollectError> {
    match expected {
        Some(expected) if expected != found => Err(CollectError::Usage(format!(
            "{} {is} the optimization {found:?}, expected {expected:?}; leave --name out, or give another file",
            path.display()
        ))),
        _ => Ok(()),
    }
}

impl Flags {
    fn backend(&self) -> Backend {
        match self.backend {
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
        }
    }

    /// Returns the optimization of --optimization; a `name` given elsewhere must agree with it.
    fn own(&self, name: Option<&str>) -> Result<Option<Optimization>, CollectError> {
        let Some(path) = &self.optimization else { return Ok(None) };
        let optimization = Optimization::read(path)?;
        expect_name(name.or(self.name.as_deref()), &optimization.name, path, "is")?;
        Ok(Some(optimization))
    }

    /// Returns the optimization `name`, or the one of --name or --optimization.
    fn chosen(&self, name: Option<&str>, backend: Backend) -> Result<Optimization, CollectError> {
        if let Some(own) = self.own(name)? {
            return Ok(own);
        }
        let name = name.or(self.name.as_deref()).ok_or_else(|| {
            CollectError::Usage("give the optimization: --name NAME (--list shows all)".to_owned())
        })?;
        Ok(backend::optimization(name, backend)?)
    }

    /// Returns the kernel of --optimization, if its choices are configurations of one.
    fn cuda_source(&self, name: Option<&str>) -> Result<Option<CudaSource>, CollectError> {
        match (&self.optimization, self.own(name)?) {
            (Some(path), Some(_)) => CudaSource::read(path),
            _ => Ok(None),
        }
    }

    /// Returns the runner of --optimization, if its choices are commands.
    fn commands(&self, name: Option<&str>) -> Result<Option<Box<dyn Runner>>, CollectError> {
        #[cfg(unix)]
        if let (Some(path), Some(_)) = (&self.optimization, self.own(name)?) {
            return ah_collect::open_commands(path, self.run.hang_seconds);
        }
        let _ = name;
        Ok(None)
    }

    fn worker(
        &self,
        optimization: &Optimization,
        backend: Backend,
        device: u32,
        limits: Limits,
    ) -> Result<Box<dyn Runner>, CollectError> {
        let mut arguments = vec!["--name".to_owned(), optimization.name.clone()];
        arguments.extend(["--backend".to_owned(), backend.name().to_owned()]);
        arguments.extend(["--device".to_owned(), device.to_string()]);
        let mut command = worker::command(arguments)?;
        if let Some(path) = &self.optimization {
            command.arg("--optimization").arg(path);
        }
        let worker = worker::start(command, limits, optimization.clone()).map_err(CollectError::Device)?;
        Ok(Box::new(worker))
    }
}

impl RunnerSource for Flags {
    fn open(&self, name: Option<&str>, limits: Limits) -> Result<Vec<Box<dyn Runner>>, CollectError> {
        MEMORY.let_callers_handle_it();
        if let (Some(model), Some(found)) = (&self.run.use_heuristic, name) {
            expect_name(self.name.as_deref(), found, model, "is a heuristic for")?;
        }
        if let Some(log) = &self.replay {
            let runner = replay::open(log, self.own(name)?)?;
            expect_name(self.name.as_deref(), &runner.subject().optimization.name, log, "is a log of")?;
            return Ok(vec![runner]);
        }
        if let Some(commands) = self.commands(name)? {
            return Ok(vec![commands]);
        }
        let backend = match (self.cuda_source(name)?, self.backend) {
            (None, _) => self.backend(),
            (Some(_), BackendFlag::Auto | BackendFlag::Cuda) => Backend::Cuda,
            (Some(_), other) => {
                return Err(CollectError::Usage(format!(
                    "[cuda] describes a kernel for a GPU, found --backend {other:?}; leave --backend out"
                )));
            }
        };
        let optimization = self.chosen(name, backend)?;
        let devices = match self.devices.as_slice() {
            [] => &[self.device],
            devices => devices,
        };
        let isolated = self.isolate || backend == Backend::Cuda || devices.len() > 1;
        let open = |device: &u32| {
            if isolated {
                self.worker(&optimization, backend, *device, limits)
            } else {
                backend::open(optimization.clone(), backend, *device, false)
            }
        };
        devices.iter().map(open).collect()
    }

    fn open_in_worker(&self) -> Result<Box<dyn Runner>, CollectError> {
        MEMORY.let_callers_handle_it();
        if let Some(source) = self.cuda_source(None)? {
            return source.open(self.device);
        }
        let backend = self.backend();
        backend::open(self.chosen(None, backend)?, backend, self.device, true)
    }

    fn optimization(&self, name: &str) -> Result<Option<Optimization>, CollectError> {
        Ok(match &self.optimization {
            Some(path) => Some(Optimization::read(path)?),
            None => Optimization::built_in(name).ok(),
        })
    }

    fn work(&self, log: &Log) -> Option<String> {
        self.cuda_source(None).ok().flatten()?.work(log)
    }

    fn list(&self) -> Result<Vec<Listing>, CollectError> {
        if let Some(source) = self.cuda_source(None)? {
            return Ok(vec![Listing::with_choices(&self.chosen(None, Backend::Cuda)?, source.choices())]);
        }
        if let Some(commands) = self.commands(None)? {
            return Ok(vec![Listing::of(commands.subject())]);
        }
        let backend = self.backend();
        let optimizations = match (&self.name, backend) {
            _ if self.optimization.is_some() => vec![self.chosen(None, backend)?],
            (Some(name), _) => vec![backend::optimization(name, backend)?],
            (None, Backend::Fake) => vec![backend::optimization("fake", backend)?],
            (None, _) => {
                let all = Optimization::built_in_names().map(|name| backend::optimization(name, backend));
                all.collect::<Result<_, _>>()?
            }
        };
        let list = |optimization: Optimization| match backend::open(
            optimization.clone(),
            backend,
            self.device,
            false,
        ) {
            Ok(runner) => Ok(Listing::of(runner.subject())),
            Err(CollectError::Usage(_)) => Ok(Listing::unmeasured(&optimization)),
            Err(e) => Err(e),
        };
        optimizations.into_iter().map(list).collect()
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn every_help_text_has_examples_that_are_valid() {
        Flags::command().debug_assert();
        assert_eq!(ah_cli::arguments::wrong_examples(&Flags::command()), Vec::<String>::new());
    }
}
