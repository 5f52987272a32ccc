//! What a collecting program measures, and how its flags name it.

use std::fmt::Debug;
use std::time::Duration;

use ah_model::{Device, Error};
use ah_types::Optimization;

use crate::units::count;
use crate::worker::Worker;

/// The default of `--hang-seconds`. A first check may compile its kernel; NVRTC takes up to some seconds.
pub(crate) const LIMIT: Duration = Duration::from_secs(20);

/// A program that measures something.
pub(crate) trait Program: Sized {
    /// The flags that name what is measured, and where.
    type Flags: clap::Args + Debug;

    /// Starts a worker for each device, at least one, which has this long for the next line of an answer.
    ///
    /// # Errors
    /// The flags contradict each other, or a worker does not start.
    fn workers(&self, flags: &Self::Flags, limit: Duration) -> Result<Vec<Worker>, Error>;

    /// Serves a collector as the worker that [`workers`](Self::workers) starts. A command is ended after `limit`.
    ///
    /// # Errors
    /// The collector is gone, so nobody reads the error.
    fn serve(self, flags: Self::Flags, limit: Duration) -> std::io::Result<()>;

    /// Describes what can be measured.
    ///
    /// # Errors
    /// As [`workers`](Self::workers).
    fn list(&self, flags: &Self::Flags) -> Result<String, Error> {
        Ok(self.workers(flags, LIMIT)?.iter().map(listing_of).collect())
    }
}

/// The lines of `list` about a worker.
pub(crate) fn listing_of(worker: &Worker) -> String {
    listing(&worker.optimization, Some(&worker.description.choices), Some(&worker.device))
}

/// The lines of `list` about an optimization, without choices if it is not measured here.
pub(crate) fn listing(
    optimization: &Optimization,
    choices: Option<&[String]>,
    device: Option<&Device>,
) -> String {
    let Optimization { name, description, features, .. } = optimization;
    let features: Vec<&str> = features.iter().map(|f| f.name.as_str()).collect();
    let head = format!("{name}: {description}\n  features: {}\n", features.join(", "));
    let Some(choices) = choices else { return head + "  not measured with this --backend\n" };
    let fallback = optimization.fallback_among(choices).unwrap_or("the best single choice");
    let number = count(choices.len() as u64, "choice");
    let on = device.map(|device| format!(" on {device}")).unwrap_or_default();
    let choices: String = choices.iter().map(|choice| format!("    {choice}\n")).collect();
    format!("{head}  fallback: {fallback}\n  {number}{on}:\n{choices}")
}
