//! `ah-collect check-worker`: whether a program speaks the protocol of workers.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use ah_cli::{exit, printable, stdout};

use super::collect::seconds;
use crate::conformance;
use crate::error::CollectError;
use crate::process_group;
use crate::worker::{Limits, Named, Worker};

/// The flags of `ah-collect check-worker`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:\n  A worker in Python:\n    ah-collect check-worker -- python3 worker.py")]
pub(super) struct CheckWorkerFlags {
    /// Ask about the contexts of this file: CSV whose header names the features, or a log
    #[arg(long, value_name = "FILE")]
    inputs: Option<PathBuf>,
    /// Seconds that the worker may take for a line
    #[arg(long, value_name = "S", value_parser = seconds, default_value = "20")]
    hang_seconds: Duration,
    /// The worker: a program and its arguments
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl CheckWorkerFlags {
    pub fn run(self) -> Result<u8, CollectError> {
        let limits = Limits { answer: self.hang_seconds, ..Limits::default() };
        process_group::start_guard();
        let start = || {
            let mut command = Command::new(&self.command[0]);
            command.args(&self.command[1..]);
            // A worker without a name gets it from --name later.
            let named = Named::Unless("unnamed".to_owned());
            Worker::start(command, limits, named, true).map_err(|e| e.to_string())
        };
        let (mut lines, mut faults) = (Ok(()), 0);
        let mut each = |finding| {
            let line = match finding {
                Ok(found) => format!("ok     {found}"),
                Err(fault) => {
                    faults += 1;
                    format!("fault  {fault}")
                }
            };
            if lines.is_ok() {
                lines = stdout(&format!("{}\n", printable(&line)));
            }
        };
        if let Err(fault) = conformance::check(start, self.inputs.as_deref(), &mut each) {
            each(Err(fault));
        }
        lines?;
        Ok(if faults > 0 { exit::CHECK_FAILED } else { exit::SUCCESS })
    }
}
