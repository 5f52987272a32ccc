//! `ah-collect merge`: the logs of several machines as one.

use std::path::PathBuf;

use ah_cli::arguments::one_of;
use ah_cli::{exit, stdout};
use ah_types::log::merge::{Disagreement, MergeOptions, merge};
use serde_json::json;

use crate::append::expect_idle;
use crate::error::CollectError;

/// The flags of `ah-collect merge`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct MergeFlags {
    /// The logs; an input that several hold is taken from the first of them
    #[arg(required = true, value_name = "LOG")]
    logs: Vec<PathBuf>,
    /// The merged log, which is replaced if it exists
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// What to do with a machine whose times differ on the inputs that several machines measured: merge nothing,
    /// divide its times by the ratio that these inputs show, or keep them
    #[arg(long, value_name = "ANSWER", default_value = "refuse", value_parser = one_of(DISAGREEMENT))]
    disagreement: Disagreement,
    /// Machines agree up to this relative difference
    #[arg(long, value_name = "SHARE", default_value_t = MergeOptions::default().tolerance, value_parser = tolerance)]
    tolerance: f64,
    /// Leave malformed rows out and count them
    #[arg(long)]
    skip_bad_rows: bool,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  The logs of two machines:
    ah-collect merge a.txt b.txt -o train.txt";

const DISAGREEMENT: [(&str, Disagreement); 3] =
    [("refuse", Disagreement::Refuse), ("scale", Disagreement::Scale), ("keep", Disagreement::Keep)];

fn tolerance(text: &str) -> Result<f64, String> {
    let valid = text.parse().ok().filter(|share| (0.0..1.0).contains(share));
    valid.ok_or_else(|| format!("expected a share from 0 to below 1, for example 0.02, found {text:?}"))
}

impl MergeFlags {
    pub fn run(self) -> Result<u8, CollectError> {
        self.logs.iter().try_for_each(|log| expect_idle(log))?;
        let options = MergeOptions {
            disagreement: self.disagreement,
            tolerance: self.tolerance,
            skip_bad_rows: self.skip_bad_rows,
        };
        let tool = concat!("ah-collect ", env!("CARGO_PKG_VERSION"));
        let report = merge(&self.logs, &self.output, tool, options)?;
        let text = match self.json {
            true => json!({ "log": self.output, "report": report }).to_string(),
            false => format!("{}: {report}", self.output.display()),
        };
        stdout(&format!("{text}\n"))?;
        Ok(exit::SUCCESS)
    }
}
