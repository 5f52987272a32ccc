//! How a program asks: for which targets, on which kind of device, and what its features and its decisions take.

use std::collections::BTreeMap;

use ah_model::shown::listed;
use ah_model::{Device, Features, Model, Target};
use ah_types::log::Metadata;

use super::added::Overhead;
use super::decision_time::{self, VisitedParts};
use super::footprint::Footprint;

/// How a program asks a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallSite {
    /// The targets; the slowest counts.
    pub targets: Vec<Target>,
    /// The nanoseconds of a small decision where the choices were measured, by language, as the log has them.
    decision_ns: BTreeMap<String, f64>,
    /// The slots of the logged features that take time, with the milliseconds, the most expensive first.
    pub feature_ms: Vec<(usize, f64)>,
    /// True if the device runs while the host decides.
    overlaps: bool,
    /// True if nothing says so: the log names no device, and nobody named the target.
    is_guess: bool,
}

impl CallSite {
    /// Returns how a program of these targets asks, where `feature_ms` are the times of features by name. `is_named`: a person
    /// named the targets.
    pub fn new(
        targets: &[Target],
        is_named: bool,
        feature_ms: &BTreeMap<String, f64>,
        features: &Features,
        metadata: &Metadata,
    ) -> Self {
        let slot = |(name, ms): (&String, &f64)| Some((features.base().slot(name)?, *ms));
        let mut feature_ms: Vec<(usize, f64)> = feature_ms.iter().filter_map(slot).collect();
        feature_ms.retain(|(_, ms)| *ms > 0.0);
        feature_ms.sort_by(|a, b| b.1.total_cmp(&a.1));
        let is_gpu = match metadata.device() {
            Some(device) => matches!(device, Device::Cuda(_)),
            // PyTorch's logs have the capability of a GPU and no device. A table names neither: SpMV formats on a V100
            // take 5 us and more, and a decision that overlaps costs nothing there.
            None => metadata.device_capa != (0, 0) || !is_named,
        };
        Self {
            targets: targets.to_vec(),
            decision_ns: metadata.collection.as_ref().map(|c| c.decision_ns.clone()).unwrap_or_default(),
            feature_ms,
            overlaps: is_gpu,
            is_guess: is_gpu && metadata.device().is_none() && metadata.device_capa == (0, 0),
        }
    }

    /// Returns how a program asks a finished model, by the record of its training, on a log with this metadata.
    pub fn of_model(model: &Model, metadata: &Metadata) -> Self {
        let is_named = model.setting("target", "from").is_some_and(|from: String| from != "default");
        let targets: Vec<Target> = model.setting("target", "value").unwrap_or_default();
        let mut ms: BTreeMap<String, f64> = model.setting("feature_ms", "value").unwrap_or_default();
        if let Some(collection) = &metadata.collection {
            ms.extend(collection.feature_ms.clone());
        }
        Self::new(&targets, is_named, &ms, &model.features, metadata)
    }

    /// Returns what a path of these parts through a model adds to a run.
    pub fn overhead(&self, used: &Footprint, parts: &VisitedParts) -> Overhead {
        let needed = self.feature_ms.iter().filter(|(slot, _)| used.logged.contains(slot));
        let features_ms: f64 = needed.map(|(_, ms)| ms).sum();
        let waited_for = self.targets.iter().filter(|target| target.asks_each_run());
        let ms = waited_for.map(|&t| features_ms + decision_time::milliseconds(t, parts, &self.decision_ns));
        Overhead { ms: ms.fold(0.0, f64::max), overlaps: self.overlaps }
    }

    /// Returns whether every program that asks says which choices it can run.
    pub fn names_choices(&self) -> bool {
        self.targets.iter().all(|target| target.names_choices())
    }

    /// Returns whether no run waits for an answer.
    pub fn is_free(&self) -> bool {
        self.overlaps || !self.targets.iter().any(|target| target.asks_each_run())
    }

    /// Returns a sentence for the user where the log does not say how long decisions take.
    pub fn note(&self) -> Option<String> {
        if self.is_guess && self.targets.iter().any(|target| target.asks_each_run()) {
            return Some(format!(
                "the log names no device, so a decision counts only where it takes longer than the choice, as beside a GPU; where a \
                 CPU runs the choices, --target {} counts all of its time",
                self.targets[0].name()
            ));
        }
        let languages = decision_time::by_our_table(&self.targets, &self.decision_ns);
        (!languages.is_empty()).then(|| {
            format!(
                "the log has no time of a decision in {} (decision_ns), so a table of another machine prices it; ah-collect \
                 and the Python worker log it",
                listed(languages)
            )
        })
    }
}
