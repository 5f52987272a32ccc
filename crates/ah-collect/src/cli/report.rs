//! `ah-collect report`: a page about a log, or its facts as text or JSON.

use std::path::PathBuf;

use ah_cli::{exit, keep_foreign, keep_inputs, page, status, stdout};
use ah_model::{Error, artefact};
use ah_types::log::{ReadOptions, read_with};
use ah_types::{LogOptimization, Optimization};
use serde_json::json;

use crate::report::LogReport;

const EXAMPLES: &str = "\
Examples:
  A page to look at:
    ah-collect report train.txt -o report.html
  A few lines:
    ah-collect report train.txt --text";

/// The flags of `ah-collect report`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ReportFlags {
    /// The logs, plain or gzip, read as one
    #[arg(required = true, value_name = "LOG")]
    logs: Vec<PathBuf>,
    /// Where to write the page
    #[arg(long, short, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,
    /// Print the facts instead
    #[arg(long, conflicts_with = "output")]
    text: bool,
    /// Print the facts as JSON instead
    #[arg(long, conflicts_with_all = ["output", "text"])]
    json: bool,
    /// The optimization of the log (TOML), which names the fallback
    #[arg(long, value_name = "FILE")]
    optimization: Option<PathBuf>,
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
        let optimization = match &self.optimization {
            Some(path) => Optimization::read(path)?,
            None => {
                let found = LogOptimization::new(&log);
                found.note.iter().for_each(|note| status(&format!("note: {note}\n")));
                found.optimization
            }
        };
        let report = LogReport::of(&log, &optimization);
        if self.text || self.json {
            stdout(&if self.json { format!("{}\n", json!(report)) } else { format!("{report}\n") })?;
            return Ok(exit::SUCCESS);
        }
        keep_inputs("output", &self.output, &self.logs)?;
        keep_foreign("output", &self.output, page::MARK)?;
        let (body, script) = (include_str!("report/body.html"), include_str!("report/page.js"));
        let page = page::html(&log.metadata.name, body, script, &json!(report).to_string());
        artefact::write_atomic(&self.output, page.as_bytes()).map_err(Error::io(&self.output, "write"))?;
        status(&format!("wrote {}\n", self.output.display()));
        Ok(exit::SUCCESS)
    }
}
