//! Measures in a separate process, so that a bad kernel costs only its choice on one input.
//!
//! [`serve`] is the child: it has the device, reads one request a line from its standard input and writes
//! one answer a line to its standard output (`protocol`). [`Worker`] is the parent's side, a
//! [`Runner`](ah_measure::Runner) like any other. If the child does not answer in time, dies, or loses its
//! device, the parent ends it, starts another one, makes the same input again, and reports the current
//! choice as failed. The samples of the other choices are kept. `--backend fake` proves all this without a
//! GPU.

mod child;
mod parent;
mod process;
mod protocol;

use std::process::Command;

use ah_types::Optimization;

pub use child::serve;
pub use parent::Worker;
pub use process::{Limits, command};

/// Starts `command`, a program that calls [`serve`].
pub fn start(command: Command, limits: Limits, optimization: Optimization) -> Result<Worker, String> {
    Worker::over(process::Link::new(command, limits), optimization)
}
