//! How a program asks: in which forms, on which kind of device, and what its features cost.

use std::collections::{BTreeMap, BTreeSet};

use ah_types::log::Metadata;
use ah_types::{DecisionForm, Device, Features, Model};

use super::decision_time;
use super::overhead::Overhead;
use super::visited::ModelUse;

/// How a program asks a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asking {
    /// The forms; the slowest counts.
    pub forms: Vec<DecisionForm>,
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

/// The groups of features that are computed together, by name.
pub type FeatureGroups = BTreeMap<String, Vec<String>>;

impl Asking {
    /// Returns how a program asks in these forms, where `feature_ms` are the times of features and of groups by name. `is_named`:
    /// a person named the forms.
    pub fn new(
        forms: &[DecisionForm],
        is_named: bool,
        (feature_ms, groups): (&BTreeMap<String, f64>, &FeatureGroups),
        features: &Features,
        metadata: &Metadata,
    ) -> Self {
        let slot = |name: &String| features.base().slot(name);
        let time = |(name, ms): (&String, &f64)| FeatureTime {
            slots: match groups.get(name) {
                Some(names) => names.iter().filter_map(slot).collect(),
                None => slot(name).into_iter().collect(),
            },
            ms: *ms,
        };
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
        let forms: Vec<DecisionForm> = serde_json::from_value(recorded("for")).unwrap_or_default();
        let mut ms: BTreeMap<String, f64> =
            serde_json::from_value(recorded("feature_ms")).unwrap_or_default();
        let mut groups: FeatureGroups =
            serde_json::from_value(recorded("feature_groups")).unwrap_or_default();
        if let Some(collection) = &metadata.collection {
            ms.extend(collection.feature_ms.clone());
            groups.extend(collection.feature_groups.clone());
        }
        Self::new(&forms, is_named, (&ms, &groups), &model.features, metadata)
    }

    /// Returns the same where a program asks in one form alone.
    pub fn in_form(&self, form: DecisionForm) -> Self {
        Self { forms: vec![form], ..self.clone() }
    }

    /// Returns what a model adds to every run that asks it.
    pub fn overhead(&self, used: &ModelUse) -> Overhead {
        // PyTorch asks while a model compiles, so a run waits for nothing.
        let is_waited_for = |form: &&DecisionForm| **form != DecisionForm::Pytorch;
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

#[cfg(test)]
mod tests {
    use ah_types::{Feature, Schema};

    use super::*;

    #[test]
    fn a_group_of_features_is_paid_once() {
        let schema = Schema::new(["a", "b", "c", "d"].map(Feature::numerical)).unwrap();
        let features = Features::new(schema, &[]).unwrap();
        let metadata =
            r#"{"name": "x", "device_capa": [0, 0], "numerical_features": [], "categorical_features": []}"#;
        let metadata: Metadata = serde_json::from_str(metadata).unwrap();
        let owned = |names: [&str; 2]| names.map(str::to_owned).to_vec();
        let groups: FeatureGroups =
            [("walk".to_owned(), owned(["a", "b"])), ("read".to_owned(), owned(["b", "no such"]))].into();
        let ms = [("walk", 5.0), ("read", 2.0), ("c", 1.0), ("unknown", 9.0)];
        let ms: BTreeMap<String, f64> = ms.map(|(name, ms)| (name.to_owned(), ms)).into();
        let asking = Asking::new(&[DecisionForm::Rust], true, (&ms, &groups), &features, &metadata);
        let of = |slots: &[usize]| {
            asking.features_ms(&ModelUse { logged: slots.iter().copied().collect(), ..ModelUse::default() })
        };
        assert_eq!(
            [of(&[]), of(&[3]), of(&[2]), of(&[0]), of(&[1]), of(&[0, 1, 2])],
            [0.0, 0.0, 1.0, 5.0, 7.0, 8.0]
        );
        let expensive: Vec<f64> = asking.expensive().iter().map(|time| time.ms).collect();
        assert_eq!(expensive, [5.0, 2.0, 1.0]);
    }
}
