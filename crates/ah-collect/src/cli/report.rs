//! `ah-collect report`: the facts of a log.

use std::path::PathBuf;

use ah_cli::{exit, status, stdout};
use ah_model::Error;
use ah_types::LogOptimization;
use ah_types::log::{ReadOptions, read_with};

use crate::report::facts;

/// The flags of `ah-collect report`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:\n  What a log has:\n    ah-collect report train.txt")]
pub(super) struct ReportFlags {
    /// The logs, plain or gzip, read as one
    #[arg(required = true, value_name = "LOG")]
    logs: Vec<PathBuf>,
    /// Leave malformed rows out and count them
    #[arg(long)]
    skip_bad_rows: bool,
}

impl ReportFlags {
    pub fn run(self) -> Result<u8, Error> {
        let log = read_with(
            &self.logs,
            ReadOptions { skip_bad_rows: self.skip_bad_rows, ..ReadOptions::default() },
        )?;
        let LogOptimization { optimization, note, .. } = LogOptimization::new(&log);
        note.iter().for_each(|note| status(&format!("note: {note}\n")));
        stdout(&format!("{}\n", facts(&log, &optimization).join("\n")))?;
        Ok(exit::SUCCESS)
    }
}
