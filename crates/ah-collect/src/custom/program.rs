//! The command line of a decision between functions.

use ah_model::Error;
use std::process::ExitCode;
use std::time::Duration;

use ah_cli::warning;

use super::decision::Decision;
use super::functions::{Check, FunctionRunner};
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
        let name = &self.runner.experiment.optimization.name;
        let about = format!("Measure the choices of {name} on real inputs and append to the log.");
        match self.validate() {
            Ok(runner) => cli::main(runner, &about, ""),
            Err(mistake) => ah_cli::finish(Err(mistake)),
        }
    }
}

impl<T: Clone + Send + 'static> Program for FunctionRunner<T> {
    type Flags = ();

    fn workers(&self, (): &(), limit: Duration) -> Result<Vec<Worker>, Error> {
        if matches!(self.check, Check::None) {
            warning("no check is given, so a wrong result is not noticed; add .check(...)");
        }
        let named = Named::Optimization(Box::new(self.experiment.optimization.clone()));
        Ok(vec![Worker::start(worker::command()?, limit, named, true)?])
    }

    fn serve(mut self, (): (), _: Duration) -> std::io::Result<()> {
        self.time_features();
        ah_measure::serve(Ok::<_, String>(self))
    }
}
