//! The runner of an optimization whose choices are commands.

use std::path::Path;
use std::time::Duration;

use ah_measure::sampling::Rng;
use ah_measure::{Bench, Burst, Failure, Runner, Subject, Times, this_cpu};
use ah_types::{ChoiceId, Context, Optimization, OptimizationError, TimingPolicy, Value};
use tempfile::TempDir;

use super::super::drawn;
use super::format::{Clock, CommandChoice, Commands, CommandsFile};
use super::process::{self, Output, Success};
use super::template::CommandTemplate;
use crate::error::CollectError;

/// Programs take long to start, and their times vary: few samples, one run each.
const TIMING: TimingPolicy = TimingPolicy {
    warmup_runs: 1,
    min_samples: 3,
    max_samples: 15,
    target_relative_error: 0.02,
    budget_ms: 3000.0,
    min_sample_ms: 0.0,
    cold: false,
    early_stop_ratio: 3.0,
    burst: 1,
    repetitions: 3,
};

/// Returns the runner of the commands in an optimization's TOML file; `None` if it has none. A command is
/// killed after `limit`.
pub fn open_commands(path: &Path, limit: Duration) -> Result<Option<Box<dyn Runner>>, CollectError> {
    let optimization = Optimization::read(path)?;
    let malformed = |message| OptimizationError::Toml { path: path.to_owned(), message };
    let text = Optimization::read_text(path)?;
    let file: CommandsFile = toml::from_str(&text).map_err(|e| malformed(e.to_string().trim().to_owned()))?;
    let Some(table) = file.commands else { return Ok(None) };
    let commands = table.check(&optimization).map_err(malformed)?;
    let choices: Vec<String> = commands.choices.iter().map(|c| c.name.clone()).collect();
    for named in optimization.fallback.iter().chain(optimization.choices.iter().map(|rule| &rule.name)) {
        if !choices.contains(named) {
            let message = format!("{named:?} is none of the choices: {}", choices.join(", "));
            return Err(malformed(message).into());
        }
    }
    let subject = Subject { optimization, device: this_cpu(), choices, timing: TIMING };
    Ok(Some(Box::new(CommandRunner { subject, commands, limit, input: None, cleanup: Ok(()) })))
}

/// Measures commands.
struct CommandRunner {
    subject: Subject,
    commands: Commands,
    limit: Duration,
    input: Option<LoadedInput>,
    /// The result of the previous input's cleanup.
    cleanup: Result<(), Failure>,
}

struct LoadedInput {
    context: Context,
    /// The commands' own folder, removed with its contents.
    folder: TempDir,
}

impl LoadedInput {
    fn value(&self, name: &str, choice: Option<&CommandChoice>) -> Option<String> {
        if name == "folder" {
            return Some(self.folder.path().display().to_string());
        }
        choice
            .and_then(|choice| choice.parameters.get(name).cloned())
            .or_else(|| self.context.get(name).map(Value::to_string))
    }
}

impl CommandRunner {
    /// Runs one of the commands on the loaded input; succeeds if there is no such command.
    fn run_command(
        &self,
        template: Option<&CommandTemplate>,
        choice: Option<&CommandChoice>,
        output: Output,
    ) -> Result<Option<Success>, Failure> {
        let Some(template) = template else { return Ok(None) };
        let input = self.input.as_ref().ok_or_else(|| Failure::failed("no input is loaded"))?;
        let (command, text) = template.fill(|name| input.value(name, choice)).map_err(Failure::failed)?;
        process::run(command, &text, self.limit, output).map(Some)
    }

    /// Prepares and runs a choice once. Returns milliseconds.
    fn time(&self, choice: &CommandChoice) -> Result<f64, Failure> {
        self.run_command(self.commands.prepare.as_ref(), Some(choice), Output::Dropped)?;
        let clock = self.commands.clock;
        let output = if clock == Clock::Wall { Output::Dropped } else { Output::Kept };
        let run = self.run_command(Some(&choice.command), Some(choice), output)?;
        let Some(Success { elapsed, output }) = run else { return Err(Failure::failed("no command")) };
        let printed = || {
            let line = process::last_line(&output);
            line.and_then(|line| line.parse::<f64>().ok()).filter(|t| t.is_finite() && *t > 0.0).ok_or_else(
                || {
                    let found =
                        line.map_or("nothing".to_owned(), |line| format!("{:?}", process::shorten(line)));
                    Failure::failed(format!("the last line of its output should be its time, found {found}"))
                },
            )
        };
        Ok(match clock {
            Clock::Wall => elapsed.as_secs_f64() * 1e3,
            Clock::PrintedSeconds => printed()? * 1e3,
            Clock::PrintedMilliseconds => printed()?,
            Clock::PrintedMicroseconds => printed()? * 1e-3,
        })
    }

    /// Returns a name in a command that has no value in this context.
    fn missing_value(&self, context: &Context) -> Option<String> {
        let Commands { setup, prepare, check, cleanup, choices, .. } = &self.commands;
        let unknown = |name: &&str| *name != "folder" && context.get(name).is_none();
        let mut of_input = [setup, cleanup].into_iter().flatten().flat_map(CommandTemplate::names);
        if let Some(name) = of_input.find(unknown) {
            return Some(format!("{{{name}}} has no value; add a column of this name to --inputs"));
        }
        choices.iter().find_map(|choice| {
            let templates = [prepare, check].into_iter().flatten().chain([&choice.command]);
            let mut names = templates.flat_map(CommandTemplate::names).filter(unknown);
            let name = names.find(|name| !choice.parameters.contains_key(*name))?;
            Some(format!(
                "{{{name}}} has no value for the choice {:?}; make it a parameter of the choice, or add a column of \
                 this name to --inputs",
                choice.name
            ))
        })
    }
}

impl Runner for CommandRunner {
    fn subject(&self) -> &Subject {
        &self.subject
    }

    fn draw(&self, rng: &mut Rng) -> Result<Context, Failure> {
        let context = drawn::draw(&self.subject.optimization, &self.commands.inputs, "commands.inputs", rng)?;
        match self.missing_value(&context) {
            Some(mistake) => Err(Failure::failed(mistake)),
            None => Ok(context),
        }
    }

    fn accepts(&self, context: &Context) -> Result<(), String> {
        self.missing_value(context).map_or(Ok(()), Err)
    }

    fn label(&self, context: &Context) -> String {
        context.to_string()
    }

    fn load(&mut self, context: &Context, _: Rng) -> Result<(), Failure> {
        self.unload();
        std::mem::replace(&mut self.cleanup, Ok(()))?;
        let folder = tempfile::Builder::new().prefix("ah-collect-").tempdir();
        let folder = folder.map_err(|e| Failure::skipped(format!("no folder can be made: {e}")))?;
        self.input = Some(LoadedInput { context: context.clone(), folder });
        let setup = self.run_command(self.commands.setup.as_ref(), None, Output::Dropped);
        setup.map(|_| ()).map_err(|failure| Failure::skipped(format!("setup: {}", failure.reason())))
    }

    fn unload(&mut self) {
        if self.input.is_some() {
            let cleanup = self.run_command(self.commands.cleanup.as_ref(), None, Output::Dropped);
            // A failed cleanup would spoil the next inputs, so the run ends there.
            self.cleanup = cleanup
                .map(|_| ())
                .map_err(|failure| Failure::DeviceLost(format!("cleanup: {}", failure.reason())));
            self.input = None;
        }
    }
}

impl Bench for CommandRunner {
    fn check(&mut self, choice: ChoiceId) -> Result<(), Failure> {
        let choice = &self.commands.choices[choice.index()];
        self.time(choice)?;
        let check = self.run_command(self.commands.check.as_ref(), Some(choice), Output::Dropped);
        check.map(|_| ()).map_err(|failure| Failure::failed(format!("wrong result: {}", failure.reason())))
    }

    fn run(&mut self, choice: ChoiceId, burst: Burst) -> Result<Times, Failure> {
        let choice = &self.commands.choices[choice.index()];
        let sample = |_| {
            let times = (0..burst.runs).map(|_| self.time(choice)).collect::<Result<Vec<_>, _>>()?;
            Ok(times.iter().sum::<f64>() / f64::from(burst.runs))
        };
        (0..burst.samples).map(sample).collect()
    }
}
