//! Each device as if it had never been measured (`--test-split device`).

use ah_types::log::LoggedDevice;
use serde::Serialize;

use super::metrics::Metrics;
use crate::prepared::Prepared;
use crate::promise::{ALWAYS, Recipe};

/// What a device loses on its test part; both heuristics always decide.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceReport {
    /// The device.
    pub device: String,
    /// Learned from the other devices' training parts.
    pub never_measured: Metrics,
    /// Learned from its own training part.
    pub learned_there: Metrics,
}

impl DeviceReport {
    /// Judges each device. The shapes of the test part are in no training part.
    pub fn all(recipe: &Recipe<'_>, prepared: &Prepared) -> Vec<Self> {
        let (dataset, parts) = (recipe.dataset, &prepared.parts);
        let logged = dataset.features.base();
        let report = |device: &LoggedDevice| {
            let is_here =
                |input: &u32| device.measured(logged, &dataset.table.inputs[*input as usize].values);
            let (there, others): (Vec<u32>, Vec<u32>) = parts.training.iter().copied().partition(is_here);
            let test: Vec<u32> = parts.held_out.iter().copied().filter(is_here).collect();
            let judge = |training| {
                Metrics::of_model(prepared, &recipe.learn_without_promise(training, ALWAYS), &test)
            };
            let (never_measured, learned_there) = (judge(&others), judge(&there));
            Self { device: device.name(), never_measured, learned_there }
        };
        dataset.devices.iter().map(report).collect()
    }
}
