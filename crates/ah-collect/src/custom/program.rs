//! The command line of a decision between functions.

use ah_model::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use ah_cli::warning;
use ah_measure::Experiment;

use super::decision::Decision;
use super::functions::{Check, FunctionRunner, Functions};
use crate::cli::{self, Program};
use crate::worker::{self, Named, Worker};

impl<T: Clone + Send + 'static> Decision<T> {
    /// Runs the whole program: the command line of `ah-collect` for this decision. It appends to a log
    /// and continues where it stopped.
    ///
    /// Functions run in a worker process, which is this program started again with `serve`: a choice
    /// that panics, ends the process or never ends costs only its time on that input. So call this first in
    /// `main`.
    pub fn main(self) -> ExitCode {
        let name = &self.experiment.optimization.name;
        let about = format!("Measure the choices of {name} on real inputs and append to the log.");
        match self.validate() {
            Ok((experiment, functions)) => cli::main(&Functional { experiment, functions }, &about, ""),
            Err(mistake) => ah_cli::finish(Err(mistake)),
        }
    }
}

/// A program that decides between functions.
struct Functional<T> {
    experiment: Experiment,
    functions: Arc<Functions<T>>,
}

impl<T: Clone + Send + 'static> Program for Functional<T> {
    type Flags = ();

    fn workers(&self, (): &(), limit: Duration) -> Result<Vec<Worker>, Error> {
        if matches!(self.functions.check, Check::None) {
            warning("no check is given, so a wrong result is not noticed; add .check(...)");
        }
        let named = Named::Optimization(Box::new(self.experiment.optimization.clone()));
        Ok(vec![Worker::start(worker::command()?, limit, named, true)?])
    }

    fn serve(&self, (): (), _: Duration) -> std::io::Result<()> {
        let runner = FunctionRunner::new(self.experiment.clone(), Arc::clone(&self.functions));
        ah_measure::serve(Ok::<_, String>(runner))
    }
}
