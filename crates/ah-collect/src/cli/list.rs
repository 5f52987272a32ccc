//! `ah-collect list`: what can be measured.

use ah_cli::{exit, stdout};
use serde_json::json;

use super::program::Program;
use crate::error::CollectError;

/// The flags of `ah-collect list`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:\n  Everything that can be measured here:\n    ah-collect list")]
pub(super) struct ListFlags<F: clap::Args> {
    #[command(flatten)]
    source: F,
    /// Print the list as JSON
    #[arg(long)]
    json: bool,
}

impl<F: clap::Args> ListFlags<F> {
    pub fn run<P: Program<Flags = F>>(self, program: &P) -> Result<u8, CollectError> {
        let list = program.list(&self.source)?;
        let text = match self.json {
            true => format!("{}\n", json!(list)),
            false => list.iter().map(|listing| format!("{listing}\n")).collect(),
        };
        stdout(&text)?;
        Ok(exit::SUCCESS)
    }
}
