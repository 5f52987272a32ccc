//! Measuring in a process of its own, so that nothing a kernel does costs more than its choice on
//! one input.
//!
//! [`serve`] is the child: it holds the device and does what it is told, one request a line on its
//! standard input, one answer a line on its standard output (`protocol`). [`Worker`] is the
//! parent's side, a [`Runner`](ah_measure::Runner) like any other. When the child does not answer in
//! time, dies, or says that its device is lost, the parent ends it, starts another one, makes the
//! same input again, and reports the choice in hand as failed; the samples that other choices have
//! are kept. `--backend fake` proves all of it without a GPU.

mod child;
mod parent;
mod protocol;

pub use child::serve;
pub use parent::{Limits, Worker};
