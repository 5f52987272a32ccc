//! The command line of a decision between functions.

use std::process::ExitCode;
use std::sync::Arc;

use ah_cli::warning;
use ah_measure::{Runner, Subject};
use ah_types::Optimization;

use super::decision::Decision;
use super::functions::{Check, FunctionRunner, Functions};
use crate::cli::{self, Listing, RunFlags, RunnerSource};
use crate::error::CollectError;
use crate::worker::{self, Limits};

impl<T: Clone + Send + 'static> Decision<T> {
    /// Runs the whole program: the command line of `ah-collect` for this decision. It appends to a log,
    /// continues where it stopped, judges a model on fresh inputs (`--use-heuristic`) and describes a log.
    ///
    /// Functions run in a worker process, which is this program started again with `--worker`: a choice
    /// that panics, ends the process or never ends costs only its time on that input. So call this first in
    /// `main`.
    pub fn main(self) -> ExitCode {
        let flags = RunFlags::of_this_process(&self.subject.optimization.description);
        ah_cli::finish(self.run(&flags))
    }

    fn run(self, flags: &RunFlags) -> Result<u8, CollectError> {
        let (subject, functions) = self.validate()?;
        cli::run(&FunctionSource { subject, functions }, flags)
    }
}

/// The one decision of this program.
struct FunctionSource<T> {
    subject: Subject,
    functions: Arc<Functions<T>>,
}

impl<T: Clone + Send + 'static> RunnerSource for FunctionSource<T> {
    fn open(&self, name: Option<&str>, limits: Limits) -> Result<Vec<Box<dyn Runner>>, CollectError> {
        let optimization = &self.subject.optimization;
        if let Some(name) = name.filter(|name| *name != optimization.name) {
            return Err(CollectError::Usage(format!(
                "the model decides {name:?}, this program decides {:?}",
                optimization.name
            )));
        }
        if matches!(self.functions.check, Check::None) {
            warning("no check is given, so a wrong result is not noticed; add .check(...)");
        }
        let worker = worker::start(worker::command([])?, limits, optimization.clone());
        Ok(vec![Box::new(worker.map_err(CollectError::Device)?)])
    }

    fn open_in_worker(&self) -> Result<Box<dyn Runner>, CollectError> {
        Ok(Box::new(FunctionRunner::new(self.subject.clone(), Arc::clone(&self.functions))))
    }

    fn optimization(&self, name: &str) -> Result<Option<Optimization>, CollectError> {
        let optimization = &self.subject.optimization;
        Ok((name == optimization.name).then(|| optimization.clone()))
    }

    fn list(&self) -> Result<Vec<Listing>, CollectError> {
        Ok(vec![Listing::of(&self.subject)])
    }
}
