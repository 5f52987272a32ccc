//! `ah-collect report`: a page about a log, or a few lines of Markdown.

use std::path::PathBuf;

use ah_cli::page::Page;
use ah_cli::{exit, status};
use ah_types::log::{LogError, ReadOptions, read_with};
use ah_types::{Optimization, artefact};

use crate::describe::LogReport;
use crate::error::CollectError;

const EXAMPLES: &str = "\
Examples:
  A page to look at:
    ah-collect report train.txt -o report.html
  Markdown for a pull request:
    ah-collect report train.txt --markdown";

/// The flags of `ah-collect report`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ReportFlags {
    /// The logs, plain or gzip, read as one
    #[arg(required = true, value_name = "LOG")]
    logs: Vec<PathBuf>,
    /// Where to write the page; Markdown if the name ends in .md
    #[arg(long, short, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,
    /// Print Markdown instead, for a pull request
    #[arg(long, conflicts_with = "output")]
    markdown: bool,
    /// An optimization of your own (TOML), which names the fallback
    #[arg(long, value_name = "FILE")]
    optimization: Option<PathBuf>,
    /// Leave malformed rows out and count them
    #[arg(long)]
    skip_bad_rows: bool,
}

/// Writes the page.
pub fn report_log(flags: &ReportFlags) -> Result<u8, CollectError> {
    let log = read_with(&flags.logs, ReadOptions { skip_bad_rows: flags.skip_bad_rows, max_rows: None })?;
    let optimization = match &flags.optimization {
        Some(path) => Some(Optimization::read(path)?),
        None => Optimization::built_in(&log.metadata.name).ok(),
    };
    let report = LogReport::of(&log, optimization.as_ref());
    if flags.markdown {
        ah_cli::stdout(&report.markdown())?;
        return Ok(exit::SUCCESS);
    }
    let is_markdown = flags.output.extension().is_some_and(|extension| extension == "md");
    let text = if is_markdown { report.markdown() } else { html(&log.metadata.name, &report) };
    artefact::write_atomic(&flags.output, text.as_bytes()).map_err(|source| LogError::Io {
        path: flags.output.clone(),
        action: "write",
        source,
    })?;
    status(&format!("wrote {}\n", flags.output.display()));
    Ok(exit::SUCCESS)
}

/// Returns the page's text. It fetches nothing.
fn html(name: &str, report: &LogReport) -> String {
    let page =
        Page { title: name, body: include_str!("report/body.html"), script: include_str!("report/page.js") };
    page.html(&serde_json::json!(report).to_string())
}
