//! The command line of a decision between functions.

use std::process::ExitCode;
use std::sync::Arc;

use ah_cli::warning;
use ah_measure::{Runner, Subject};

use super::decision::Decision;
use super::functions::{Check, FunctionRunner, Functions};
use crate::cli::{self, Listing, NoFlags, Program, Source};
use crate::error::CollectError;
use crate::worker::{self, Limits, Named};

impl<T: Clone + Send + 'static> Decision<T> {
    /// Runs the whole program: the command line of `ah-collect` for this decision. It appends to a log,
    /// continues where it stopped, and reports about a log.
    ///
    /// Functions run in a worker process, which is this program started again with `serve`: a choice
    /// that panics, ends the process or never ends costs only its time on that input. So call this first in
    /// `main`.
    pub fn main(self) -> ExitCode {
        let about = self.subject.optimization.description.clone();
        match self.validate() {
            Ok((subject, functions)) => cli::main(&Functional { subject, functions }, &about, ""),
            Err(mistake) => ah_cli::finish(Err(mistake)),
        }
    }
}

/// A program that decides between functions.
#[derive(Clone)]
struct Functional<T> {
    subject: Subject,
    functions: Arc<Functions<T>>,
}

impl<T: Clone + Send + 'static> Program for Functional<T> {
    type Flags = NoFlags;

    fn source(&self, _: NoFlags) -> Result<Box<dyn Source>, CollectError> {
        let (subject, functions) = (self.subject.clone(), Arc::clone(&self.functions));
        Ok(Box::new(Self { subject, functions }))
    }
}

impl<T: Clone + Send + 'static> Source for Functional<T> {
    fn open(self: Box<Self>, limits: Limits) -> Result<Vec<Box<dyn Runner>>, CollectError> {
        if matches!(self.functions.check, Check::None) {
            warning("no check is given, so a wrong result is not noticed; add .check(...)");
        }
        let named = Named::Optimization(Box::new(self.subject.optimization));
        let worker = worker::start(worker::command()?, limits, named, true)?;
        Ok(vec![Box::new(worker)])
    }

    fn open_in_worker(self: Box<Self>) -> Result<Box<dyn Runner>, CollectError> {
        Ok(Box::new(FunctionRunner::new(self.subject, self.functions)))
    }

    fn list(self: Box<Self>) -> Result<Vec<Listing>, CollectError> {
        Ok(vec![Listing::of(&self.subject)])
    }
}
