//! `ah-collect list`: what can be measured.

use std::fmt;

use ah_cli::{exit, stdout};
use ah_measure::Subject;
use ah_types::Optimization;
use serde::Serialize;
use serde_json::json;

use super::Program;
use super::collect::CollectFlags;
use crate::error::CollectError;
use crate::units::count;

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
    /// Returns the flags of a bare call with --list.
    pub fn new(collect: CollectFlags<F>) -> Self {
        Self { source: collect.source, json: collect.measure.json }
    }

    pub fn run<P: Program<Flags = F>>(self, program: &P) -> Result<u8, CollectError> {
        let list = program.source(self.source, None)?.list()?;
        let text = match self.json {
            true => format!("{}\n", json!(list)),
            false => list.iter().map(|listing| format!("{listing}\n")).collect(),
        };
        stdout(&text)?;
        Ok(exit::SUCCESS)
    }
}

/// An optimization that can be measured.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Listing {
    name: String,
    description: String,
    features: Vec<String>,
    /// The first fallback that is among the choices.
    fallback: Option<String>,
    device: Option<String>,
    choices: Option<Vec<String>>,
}

impl Listing {
    /// Returns the listing of an optimization that is not measured here.
    pub fn unmeasured(optimization: &Optimization) -> Self {
        Self {
            name: optimization.name.clone(),
            description: optimization.description.clone(),
            features: optimization.features.iter().map(|f| f.name.clone()).collect(),
            fallback: None,
            device: None,
            choices: None,
        }
    }

    /// Returns the listing of an optimization with these choices.
    pub fn with_choices(optimization: &Optimization, choices: Vec<String>) -> Self {
        let fallback = optimization.fallback_among(&choices).map(str::to_owned);
        Self { fallback, choices: Some(choices), ..Self::unmeasured(optimization) }
    }

    /// Returns the listing of a runner's subject.
    pub fn of(subject: &Subject) -> Self {
        let device = Some(subject.device.to_string());
        Self { device, ..Self::with_choices(&subject.optimization, subject.choices.clone()) }
    }
}

impl fmt::Display for Listing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}\n  features: {}", self.name, self.description, self.features.join(", "))?;
        let Some(choices) = &self.choices else { return write!(f, "\n  not measured with this --backend") };
        let fallback = self.fallback.as_deref().unwrap_or("the best single choice");
        write!(f, "\n  fallback: {fallback}\n  {}", count(choices.len() as u64, "choice"))?;
        if let Some(device) = &self.device {
            write!(f, " on {device}")?;
        }
        write!(f, ":")?;
        choices.iter().try_for_each(|choice| write!(f, "\n    {choice}"))
    }
}
