//! What a collecting program measures, how its flags name it, and `ah-collect list`, which shows it.

use std::fmt::{self, Debug};
use std::time::Duration;

use ah_cli::{exit, stdout};
use ah_measure::Experiment;
use ah_types::Optimization;
use serde::Serialize;
use serde_json::json;

use crate::error::CollectError;
use crate::units::count;
use crate::worker::{Limits, Worker};

/// A program that measures something.
pub(crate) trait Program {
    /// The flags that name what is measured, and where.
    type Flags: clap::Args + Debug;

    /// Starts a worker for each device.
    ///
    /// # Errors
    /// The flags contradict each other, or a worker does not start.
    fn workers(&self, flags: &Self::Flags, limits: Limits) -> Result<Vec<Worker>, CollectError>;

    /// Serves a collector as the worker that [`workers`](Self::workers) starts. A command is ended after `limit`.
    ///
    /// # Errors
    /// The collector is gone, so nobody reads the error.
    fn serve(&self, flags: Self::Flags, limit: Duration) -> std::io::Result<()>;

    /// Returns what can be measured.
    ///
    /// # Errors
    /// As [`workers`](Self::workers).
    fn list(&self, flags: &Self::Flags) -> Result<Vec<Listing>, CollectError> {
        let workers = self.workers(flags, Limits::default())?;
        Ok(workers.iter().map(|worker| Listing::of(worker.experiment())).collect())
    }
}

/// The flags of a program that measures one thing.
#[derive(Debug, clap::Args)]
pub(crate) struct NoFlags {}

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
    /// Returns the listing of an optimization; without `choices` for one that is not measured here.
    pub fn new(optimization: &Optimization, choices: Option<Vec<String>>) -> Self {
        let fallback = choices.as_deref().and_then(|choices| optimization.fallback_among(choices));
        Self {
            name: optimization.name.clone(),
            description: optimization.description.clone(),
            features: optimization.features.iter().map(|f| f.name.clone()).collect(),
            fallback: fallback.map(str::to_owned),
            device: None,
            choices,
        }
    }

    /// Returns the listing of a worker's experiment.
    pub fn of(experiment: &Experiment) -> Self {
        let device = Some(experiment.device.to_string());
        Self { device, ..Self::new(&experiment.optimization, Some(experiment.choices.clone())) }
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
        stdout(&match self.json {
            true => format!("{}\n", json!(list)),
            false => list.iter().map(|listing| format!("{listing}\n")).collect(),
        })?;
        Ok(exit::SUCCESS)
    }
}
