//! The integration tests of `ah-codegen`: one binary, which links once.

mod c_limits;
mod cli;
mod equality;
mod hostile;
mod hostile_names;
mod inductor;
mod models;
mod package;
#[path = "../../../ah-model/tests/it/reference.rs"]
mod reference;
mod triton;

use std::io::Write;

/// Reports a part of a test that this machine cannot run. The test harness hides the output of a passing test,
/// but not direct writes to standard error.
fn skipped(reason: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {reason}");
}
