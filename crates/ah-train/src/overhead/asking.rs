//! How a program asks: for which targets, on which kind of device, and what its features and its decisions take.

use std::collections::{BTreeMap, BTreeSet};

use ah_types::log::Metadata;
use ah_types::shown::listed;
use ah_types::{Device, Features, Model, Target};

use super::added::Overhead;
use super::decision_time::{self, VisitedParts};
use super::model_use::ModelUse;

/// How a program asks a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asking {
    /// The targets; the slowest counts.
    pub targets: Vec<Target>,
    /// The nanoseconds of a small decision where the choices were measured, by language, as the log has them.
    decision_ns: BTreeMap<String, f64>,
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
    /// Returns how a program of these targets asks, where `feature_ms` are the times of features by name. `is_named`: a person
    /// named the targets.
    pub fn new(
        targets: &[Target],
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
            // PyTorch's logs have the capability of a GPU and no device. A table names neither: SpMV formats on a V100
            // take 5 us and more, and a decision that overlaps costs nothing there.
            None => metadata.device_capa != (0, 0) || !is_named,
        };
        Self {
            targets: targets.to_vec(),
            decision_ns: metadata.collection.as_ref().map(|c| c.decision_ns.clone()).unwrap_or_default(),
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
        let is_named = setting("target", "from").is_some_and(|from| from.as_str() != Some("default"));
        let targets: Vec<Target> = serde_json::from_value(recorded("target")).unwrap_or_default();
        let mut ms: BTreeMap<String, f64> =
            serde_json::from_value(recorded("feature_ms")).unwrap_or_default();
        if let Some(collection) = &metadata.collection {
            ms.extend(collection.feature_ms.clone());
        }
        Self::new(&targets, is_named, &ms, &model.features, metadata)
    }

    /// Returns what a model adds to a run that asks it: the mean over the inputs that it was learned from.
    pub fn overhead(&self, used: &ModelUse) -> Overhead {
        self.of_parts(self.features_ms(used), &used.parts)
    }

    /// Returns what a model adds to a run, by the path of its input.
    pub fn costs(&self, used: &ModelUse) -> PathCosts {
        let features_ms = self.features_ms(used);
        PathCosts {
            paths: used.paths.iter().map(|parts| self.of_parts(features_ms, parts)).collect(),
            mean: self.overhead(used),
        }
    }

    /// Returns what a path of these parts through a model adds to a run.
    pub fn of_path(&self, used: &ModelUse, parts: &VisitedParts) -> Overhead {
        self.of_parts(self.features_ms(used), parts)
    }

    /// Returns whether no run waits for an answer.
    pub fn is_free(&self) -> bool {
        self.overlaps || !self.targets.iter().any(|target| target.asks_each_run())
    }

    fn of_parts(&self, features_ms: f64, parts: &VisitedParts) -> Overhead {
        let waited_for = self.targets.iter().filter(|target| target.asks_each_run());
        let ms = waited_for.map(|&target| features_ms + self.decision_ms(target, parts));
        Overhead { ms: ms.fold(0.0, f64::max), overlaps: self.overlaps }
    }

    /// Returns the milliseconds of a decision that visits these parts, the features left out.
    pub fn decision_ms(&self, target: Target, parts: &VisitedParts) -> f64 {
        decision_time::milliseconds(target, parts, &self.decision_ns)
    }

    /// Returns a sentence for the user where the log does not say how long decisions take.
    pub fn note(&self) -> Option<String> {
        let languages = decision_time::by_our_table(&self.targets, &self.decision_ns);
        (!languages.is_empty()).then(|| {
            format!(
                "the log has no time of a decision in {} (decision_ns), so a table of another machine prices it; ah-collect \
                 and the Python worker log it",
                listed(languages)
            )
        })
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

/// What asking one model adds to a run, by the path that an input takes through its readable tree.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PathCosts {
    /// By node.
    paths: Vec<Overhead>,
    mean: Overhead,
}

impl PathCosts {
    /// Returns what an input pays that reaches this node; the mean of all paths where the node is not known.
    pub fn at(&self, node: Option<usize>) -> Overhead {
        node.and_then(|node| self.paths.get(node)).copied().unwrap_or(self.mean)
    }
}
