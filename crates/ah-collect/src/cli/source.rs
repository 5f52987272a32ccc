//! What a collecting program measures, and how its flags name it.

use std::fmt::{self, Debug};

use ah_measure::{Runner, Subject};
use ah_types::Optimization;
use serde::Serialize;

use crate::error::CollectError;
use crate::units::count;
use crate::worker::Limits;

/// A program that measures something.
pub(crate) trait Program {
    /// The flags that name what is measured, and where.
    type Flags: clap::Args + Debug;

    /// Returns what the flags name.
    fn source(&self, flags: Self::Flags) -> Result<Box<dyn Source>, CollectError>;
}

/// The flags of a program that measures one thing.
#[derive(Debug, clap::Args)]
pub(crate) struct NoFlags {}

/// What is measured.
pub(crate) trait Source {
    /// Opens one runner for each device.
    fn open(self: Box<Self>, limits: Limits) -> Result<Vec<Box<dyn Runner>>, CollectError>;

    /// Opens the runner of a process that was started as a worker.
    fn open_in_worker(self: Box<Self>) -> Result<Box<dyn Runner>, CollectError>;

    /// Returns what can be measured.
    fn list(self: Box<Self>) -> Result<Vec<Listing>, CollectError>;
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
