//! Each device as if it had never been measured (`--test-split device`).

use serde::Serialize;

use super::decisions;
use super::metrics::Metrics;
use crate::data::devices::LoggedDevice;
use crate::data::split::Partition;
use crate::error::TrainError;
use crate::model::model;
use crate::overhead::ModelUse;
use crate::promise::Trainer;

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
    pub fn all(trainer: &Trainer<'_>, parts: &Partition) -> Result<Vec<Self>, TrainError> {
        let dataset = trainer.dataset;
        let logged = dataset.features.base();
        let report = |device: &LoggedDevice| {
            let is_here =
                |input: &u32| device.measured(logged, &dataset.table.inputs[*input as usize].values);
            let (there, others): (Vec<u32>, Vec<u32>) = parts.training.iter().copied().partition(is_here);
            let test: Vec<u32> = parts.held_out.iter().copied().filter(is_here).collect();
            let judge = |training: &[u32]| -> Result<Metrics, TrainError> {
                let features = dataset.ranked(training);
                let trainer = Trainer { features: &features, ..*trainer };
                let heuristic = trainer.learn_without_promise(training)?;
                let model = model(&trainer, &heuristic);
                let (table, fallback) = dataset.judging(heuristic.fallback);
                let judged = decisions::decide(&model, logged, table, &test);
                let overhead = trainer.plan.asking.overhead(&ModelUse::of_model(&model));
                Ok(Metrics::new(table, &judged, fallback, trainer.plan.max_slowdown, &overhead))
            };
            let (never_measured, learned_there) = (judge(&others)?, judge(&there)?);
            Ok(Self { device: device.name(), never_measured, learned_there })
        };
        dataset.devices.iter().map(report).collect()
    }
}
