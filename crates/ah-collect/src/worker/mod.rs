//! Measures in separate processes that speak an open protocol, so that any program can be measured, and a bad kernel
//! costs only its choice on one input.
//!
//! `docs/workers.md` defines the protocol, and `protocol` has its messages. [`Worker`] is the parent's side, a
//! [`Runner`](ah_measure::Runner) like any other: it starts a `process` and, if that does not answer in time, dies, or
//! loses its device, ends it, starts another one, makes the same input again, and reports the current choice as failed
//! (`link`). The samples of the other choices are kept. [`serve`] is a child in Rust. `--backend fake` proves all this
//! without a GPU.

mod child;
mod conformance;
mod description;
mod link;
mod parent;
mod process;
mod protocol;
#[cfg(any(test, feature = "fuzzing"))]
mod scripted;

use std::process::Command;

use crate::error::CollectError;

pub use child::serve;
pub use conformance::check;
pub use description::Named;
pub use parent::Worker;
#[cfg(feature = "kernels")]
pub use process::command_of;
pub use process::{Limits, command};
#[cfg(feature = "fuzzing")]
pub use scripted::measure_scripted;

/// Starts `command`, a program that speaks the protocol. With `shows_errors`, its standard error is that of this process.
pub fn start(
    command: Command,
    limits: Limits,
    named: Named,
    shows_errors: bool,
) -> Result<Worker, CollectError> {
    Worker::over(link::Link::new(command, limits, shows_errors), named)
}
