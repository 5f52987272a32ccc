//! How a program asks: in which forms, on which kind of device, and what its features cost.

use std::collections::{BTreeMap, BTreeSet};

use ah_types::log::Metadata;
use ah_types::{Device, Features, Model, Target};

use super::decision_time;
use super::overhead::Overhead;
use super::visited::ModelUse;

/// How a program asks a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asking {
    /// The forms; the slowest counts.
    pub forms: Vec<Target>,
    /// What the logged features take, where it is known.
    feature_times: Vec<FeatureTime>,
    /// True if the device runs while the host decides.
    overlaps: bool,
}

/// The time of computing some features together: a program that needs one of them pays it once.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureTime {
    /// The slots of the features.
    pub slots: BTreeSet<usize>,
    /// Milliseconds.
    pub ms: f64,
}

impl Asking {
    /// Returns how a program asks in these forms, where `feature_ms` are the times of features by name. `is_named`: a person named
    /// the forms.
    pub fn new(
        forms: &[Target],
        is_named: bool,
        feature_ms: &BTreeMap<String, f64>,
        features: &Features,
        metadata: &Metadata,
    ) -> Self {
        let slot = |name: &String| features.base().slot(name);
        let time =
            |(name, ms): (&String, &f64)| FeatureTime { slots: slot(name).into_iter().collect(), ms: *ms };
        let is_gpu = match metadata.device() {
            Some(device) => matches!(device, Device::Cuda(_)),
            // PyTorch's logs have the capability of a GPU and no device. Of a table nobody knows it: SpMV formats on a V100
            // take 5 us and more, and a decision that overlaps costs nothing there.
            None => metadata.device_capa != (0, 0) || !is_named,
        };
        Self {
            forms: forms.to_vec(),
            feature_times: feature_ms
                .iter()
                .map(time)
                .filter(|time| time.ms > 0.0 && !time.slots.is_empty())
                .collect(),
            overlaps: is_gpu,
        }
    }

    /// Returns how a program asks a finished model, by the record of its training, on a log with this metadata.
    pub fn of_model(model: &Model, metadata: &Metadata) -> Self {
        let settings = model.provenance.parameters.get("settings");
        let setting = |name: &str, part: &str| settings?.get(name)?.get(part);
        let recorded = |name: &str| setting(name, "value").cloned().unwrap_or_default();
        let is_named = setting("for", "from").is_some_and(|from| from.as_str() != Some("default"));
        let forms: Vec<Target> = serde_json::from_value(recorded("for")).unwrap_or_default();
        let mut ms: BTreeMap<String, f64> =
            serde_json::from_value(recorded("feature_ms")).unwrap_or_default();
        if let Some(collection) = &metadata.collection {
            ms.extend(collection.feature_ms.clone());
        }
        Self::new(&forms, is_named, &ms, &model.features, metadata)
    }

    /// Returns the same where a program asks in one form alone.
    pub fn in_form(&self, form: Target) -> Self {
        Self { forms: vec![form], ..self.clone() }
    }

    /// Returns what a model adds to every run that asks it.
    pub fn overhead(&self, used: &ModelUse) -> Overhead {
        // PyTorch asks while a model compiles, so a run waits for nothing.
        let is_waited_for = |form: &&Target| form.asks_each_run();
        let waited_for = self.forms.iter().filter(is_waited_for);
        let ms =
            waited_for.map(|&form| self.features_ms(used) + decision_time::milliseconds(form, &used.parts));
        Overhead { ms: ms.fold(0.0, f64::max), overlaps: self.overlaps }
    }

    /// Returns the milliseconds of the features that a model reads.
    pub fn features_ms(&self, used: &ModelUse) -> f64 {
        let needed = |time: &&FeatureTime| !time.slots.is_disjoint(&used.logged);
        self.feature_times.iter().filter(needed).map(|time| time.ms).sum()
    }

    /// Returns the features that take time, the most expensive first.
    pub fn expensive(&self) -> Vec<&FeatureTime> {
        let mut times: Vec<&FeatureTime> = self.feature_times.iter().collect();
        times.sort_by(|a, b| b.ms.total_cmp(&a.ms));
        times
    }
}
