//! The runner of an optimization whose choices are commands.

use std::process::Command;
use std::time::Duration;

use ah_kernels::ServeFn;
use ah_measure::protocol::shorten;
use ah_measure::sampling::Rng;
use ah_measure::{BenchmarkRunner, Burst, Experiment, Failure, Times};
use ah_model::{ChoiceId, Context, this_cpu};
use ah_types::{Optimization, TimingPolicy};
use tempfile::TempDir;

use super::format::{Clock, CommandChoice, Commands};
use super::process;
use crate::custom::combinations::is_identifier;
use crate::process_group::{last_line, start_guard};

impl Commands {
    /// The worker of these commands. A command is killed after `limit`.
    pub(crate) fn serve_fn(self, optimization: Optimization, limit: Duration) -> ServeFn {
        // Programs take long to start, and their times vary: few samples, one run each.
        let timing = TimingPolicy {
            warmup_runs: 1,
            max_samples: 15,
            target_relative_error: 0.02,
            budget_ms: 3000.0,
            min_sample_ms: 0.0,
            ..TimingPolicy::default()
        };
        let experiment = Experiment {
            inputs: Some(self.table.inputs.clone()),
            // A command may print a time that did not pass here.
            simulated: self.table.time != Clock::Wall,
            commands_hash: Some(self.hash.clone()),
            ..Experiment::new(optimization, this_cpu(), self.names(), timing)
        };
        let runner = CommandRunner { experiment, commands: self, limit };
        Box::new(|| {
            start_guard();
            ah_measure::serve(runner)
        })
    }
}

/// Measures commands.
struct CommandRunner {
    experiment: Experiment,
    commands: Commands,
    limit: Duration,
}

/// An input.
struct Input {
    context: Context,
    /// The commands' own folder, removed with its contents.
    folder: TempDir,
}

impl CommandRunner {
    /// Runs a command beside the timed ones, if there is one.
    fn run_other(
        &self,
        script: Option<&String>,
        input: &Input,
        choice: Option<&CommandChoice>,
    ) -> Result<(), Failure> {
        script.map_or(Ok(()), |script| self.run_command(script, input, choice, false).map(|_| ()))
    }

    fn run_command(
        &self,
        script: &str,
        input: &Input,
        choice: Option<&CommandChoice>,
        prints: bool,
    ) -> Result<(Duration, String), Failure> {
        let mut command = Command::new("sh");
        command.args(["-euc", script]).env("folder", input.folder.path());
        let values = input.context.iter().filter(|(name, _)| is_identifier(name));
        command.envs(values.map(|(name, value)| (name, value.to_string())));
        command.envs(choice.into_iter().flat_map(|choice| &choice.parameters));
        // The folder has another name for each input, and reasons that differ in it alone are one.
        let folder = input.folder.path().display().to_string();
        let short = |reason: String| reason.replace(&folder, "$folder");
        process::run(command, script, self.limit, prints).map_err(|failure| match failure {
            Failure::Failed(reason) => Failure::Failed(short(reason)),
            Failure::Unmeasured(reason) => Failure::Unmeasured(short(reason)),
            other => other,
        })
    }

    /// Prepares and runs a choice once. Returns milliseconds.
    fn time(&self, input: &Input, choice: &CommandChoice) -> Result<f64, Failure> {
        self.run_other(self.commands.table.prepare.as_ref(), input, Some(choice))?;
        let printed_unit_ms = match self.commands.table.time {
            Clock::Wall => None,
            Clock::PrintedSeconds => Some(1e3),
            Clock::PrintedMilliseconds => Some(1.0),
            Clock::PrintedMicroseconds => Some(1e-3),
        };
        let (elapsed, output) =
            self.run_command(&choice.command, input, Some(choice), printed_unit_ms.is_some())?;
        let Some(unit_ms) = printed_unit_ms else { return Ok(elapsed.as_secs_f64() * 1e3) };
        let line = last_line(&output);
        let time = line.and_then(|line| line.parse::<f64>().ok()).filter(|t| t.is_finite() && *t > 0.0);
        time.map(|time| time * unit_ms).ok_or_else(|| {
            let found = line.map_or("nothing".to_owned(), |line| format!("{:?}", shorten(line)));
            Failure::failed(format!("the last line of its output should be its time, found {found}"))
        })
    }
}

impl BenchmarkRunner for CommandRunner {
    type Input = Input;

    fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    fn load(&mut self, context: &Context, _: &mut Rng) -> Result<Input, Failure> {
        let folder = tempfile::Builder::new().prefix("ah-collect-").tempdir();
        let folder = folder.map_err(|e| Failure::Unmeasured(format!("no folder can be made: {e}")))?;
        let input = Input { context: context.clone(), folder };
        let setup = self.run_other(self.commands.table.setup.as_ref(), &input, None);
        setup.map(|()| input).map_err(|failure| match failure {
            Failure::Failed(reason) => Failure::Failed(format!("setup: {reason}")),
            failure => Failure::Unmeasured(format!("setup: {}", failure.reason())),
        })
    }

    fn unload(&mut self, input: Input) -> Result<(), Failure> {
        let cleanup = self.run_other(self.commands.table.cleanup.as_ref(), &input, None);
        cleanup.map_err(|failure| Failure::failed(format!("cleanup: {}", failure.reason())))
    }

    fn check(&mut self, input: &mut Input, choice: ChoiceId) -> Result<(), Failure> {
        let choice = &self.commands.choices[choice.index()];
        self.time(input, choice)?;
        let check = self.run_other(self.commands.table.check.as_ref(), input, Some(choice));
        check.map_err(|failure| match failure {
            Failure::Failed(reason) => Failure::Failed(format!("wrong result: {reason}")),
            other => other,
        })
    }

    fn run_benchmark(&mut self, input: &mut Input, choice: ChoiceId, burst: Burst) -> Result<Times, Failure> {
        let choice = &self.commands.choices[choice.index()];
        let sample = |_| {
            let times = (0..burst.runs).map(|_| self.time(input, choice)).collect::<Result<Vec<_>, _>>()?;
            Ok(times.iter().sum::<f64>() / f64::from(burst.runs))
        };
        (0..burst.samples).map(sample).collect()
    }
}
