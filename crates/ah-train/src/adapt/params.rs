//! The parameters of an adaptation.

use std::path::PathBuf;

use crate::error::TrainError;
#[cfg(feature = "cli")]
use crate::params::share;

/// The parameters of an adaptation.
// On the command line, the doc comments are the help texts.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct AdaptParams {
    /// The model, learned on another device or on other shapes.
    pub model: PathBuf,
    /// The new logs, plain or gzip, merged in this order.
    #[cfg_attr(feature = "cli", arg(required = true, value_name = "NEW_LOG"))]
    pub logs: Vec<PathBuf>,
    /// The share of inputs to promise, such as 5% or 0.05 [default: the model's; with too few inputs for it, the
    /// least of 1, 2, 5, 10 and 20 % that they can show].
    #[cfg_attr(feature = "cli", arg(long, value_name = "SHARE", value_parser = share))]
    pub max_risk: Option<f64>,
    /// The seed of all splits.
    #[cfg_attr(feature = "cli", arg(long, default_value_t = 0, value_name = "N"))]
    pub seed: u64,
    /// Skip malformed rows and count them.
    #[cfg_attr(feature = "cli", arg(long))]
    pub skip_bad_rows: bool,
}

impl AdaptParams {
    /// Checks the share.
    ///
    /// # Errors
    /// [`TrainError::Parameter`] if it is not above 0 and below 1.
    pub(super) fn check(&self) -> Result<(), TrainError> {
        match self.max_risk {
            Some(share) if !(share > 0.0 && share < 1.0) => {
                Err(TrainError::parameter("--max-risk", "a share above 0 and below 1", share))
            }
            _ => Ok(()),
        }
    }
}
