//! The parts of a model.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::boosters::ScoreTree;
use super::costs::Costs;
use super::precondition::Precondition;
use super::purpose::Purpose;
use crate::choice::ChoiceId;
use crate::context::{Context, Value};
use crate::derived::Features;
use crate::device::{Device, Identity, capability_identity};
use crate::feature::{Feature, FeatureKind};
use crate::tree::{Test, Tree, contains};

/// Deeper trees are refused: no learner makes them, and generated branches would nest as deep.
pub(super) const MAX_DEPTH: usize = 64;

/// A learned heuristic. Slots, choices and nodes refer only to existing things once it is validated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    /// The heuristic's name, for example `SimpleHeuristic`.
    pub heuristic: String,
    /// The optimization that it decides.
    pub optimization: String,
    /// Logged and derived features.
    pub features: Features,
    /// The categories of the training data, by slot (of logged and derived features), sorted; empty for
    /// numbers.
    pub categories: Vec<Vec<String>>,
    /// The slots of the numbers that training saw missing. Where one of them is undefined, tests count it as minus
    /// infinity.
    pub missing: BTreeSet<usize>,
    /// The domain; outside it the heuristic is unsure.
    pub precondition: Option<Precondition>,
    /// The device for which it is valid; `None` if the log does not name it.
    pub device: Option<Device>,
    /// PyTorch's identity of the device: `shared_memory` in bytes.
    pub shared_memory: Option<u64>,
    /// PyTorch's identity of the device: compute capability.
    pub device_capa: (u32, u32),
    /// Names of the choices, sorted: a [`ChoiceId`] is a position here.
    pub choices: Vec<String>,
    /// What the program does when the heuristic is unsure.
    pub fallback: Option<ChoiceId>,
    /// The condition under which a choice can run; choices without an entry can run everywhere.
    pub eligible: BTreeMap<ChoiceId, Precondition>,
    /// The formula of each choice's time, under the trees.
    pub costs: Option<Costs>,
    /// The tree that people read. Its leaves rank the choices; on a formula without boosters a leaf's score is a factor of the cost.
    pub tree: Tree,
    /// Trees that add to the scores of a leaf.
    pub boosters: Vec<ScoreTree>,
    /// What a number of 1 in a booster's row is worth: a power of two.
    pub unit: f64,
    /// What a choice must save against the fallback to be allowed, in the unit of the scores. `None`: the leaf alone decides.
    pub margin: Option<f64>,
    /// The promise about the decisions.
    pub promise: Option<Promise>,
    /// What it was learned for.
    pub purpose: Purpose,
    /// The origin of the model. Nothing is decided by it: comments of generated code and pages print its figures, and warnings know
    /// its logs.
    pub provenance: Provenance,
}

/// The result of calibration: "on inputs drawn like the calibration inputs, with this confidence, at most
/// `target` of them are more than `limit` times slower than the fallback".
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Promise {
    /// The promised share of inputs, for example 0.01.
    pub target: f64,
    /// The confidence, for example 0.95.
    pub confidence: f64,
    /// An input counts if the choice takes more than this many times the fallback's time.
    pub limit: f64,
    /// How the calibration inputs were kept out of the fit.
    pub mode: PromiseMode,
    /// The number of calibration inputs.
    pub inputs: u64,
    /// The effective number of independent inputs among them: by weight, and inputs that are held out together as one.
    pub groups: u64,
    /// The number of these inputs that counted.
    pub violations: u64,
    /// What a choice must save by its score to be allowed. `null`: always decides, or never.
    pub threshold: Option<f64>,
}

/// How the inputs that calibrate the promise are kept out of the fit that they judge: by ten folds, then a fit on all inputs, so the
/// promise is an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PromiseMode {
    /// Folds by input.
    CrossFitted,
    /// Folds by group, where several inputs are one piece of evidence: for new groups.
    ByGroup,
}

/// Prints the name in the model file.
impl std::fmt::Display for PromiseMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(f)
    }
}

/// The origin of a model: enough to learn it again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// For example `ah-train 0.1.0`.
    pub tool: String,
    /// The logs, in order.
    pub logs: Vec<LogRecord>,
    /// The sources of the choices when they were measured, where a person named them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<SourceRecord>,
    /// The seed of all random draws.
    pub seed: u64,
    /// The learner and its parameters.
    pub parameters: serde_json::Map<String, serde_json::Value>,
    /// Held-out metrics.
    pub metrics: serde_json::Map<String, serde_json::Value>,
}

/// A file with the source of choices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceRecord {
    /// The file, as it was named.
    pub file: String,
    /// BLAKE3 of its bytes, in hex.
    pub blake3: String,
}

/// A log that a model was learned from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogRecord {
    /// The file's name without its folder, as it is unpacked.
    pub file: String,
    /// BLAKE3 of its unpacked bytes, in hex.
    pub blake3: String,
    /// The day of measuring, `2026-11-24`; empty if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub date: String,
    /// Its rows.
    pub rows: u64,
}

impl Model {
    /// The number of leaves, those of boosters included.
    pub fn leaf_count(&self) -> usize {
        self.tree.leaves().count() + self.boosters.iter().map(|tree| tree.leaves().count()).sum::<usize>()
    }

    /// The tests of all trees.
    pub fn tests(&self) -> impl Iterator<Item = &Test> {
        self.tree.tests().chain(self.boosters.iter().flat_map(Tree::tests))
    }

    /// The slots of the features that trees and conditions read, themselves or through derived features.
    pub fn reads(&self) -> BTreeSet<usize> {
        let mut reads: BTreeSet<usize> = self.tests().map(|test| test.column.slot).collect();
        for condition in self.precondition.iter().chain(self.eligible.values()) {
            condition.typed.for_each_feature(&mut |slot| _ = reads.insert(slot.index));
        }
        if let Some(costs) = &self.costs {
            reads.extend(costs.reads(self.features.base().len()));
        }
        // A derived feature uses only features before it.
        for (at, (_, typed)) in self.features.derived().iter().enumerate().rev() {
            if reads.contains(&(self.features.base().len() + at)) {
                typed.for_each_feature(&mut |slot| _ = reads.insert(slot.index));
            }
        }
        reads
    }

    /// The identity of the device that the model was learned on.
    pub fn identity(&self) -> Identity {
        let by_capability = || capability_identity(self.device_capa, self.shared_memory);
        self.device.as_ref().map_or_else(by_capability, Device::identity)
    }

    /// The name of a choice.
    pub fn choice_name(&self, id: ChoiceId) -> &str {
        &self.choices[id.index()]
    }

    /// The id of the choice of this name.
    pub fn choice_id(&self, name: &str) -> Option<ChoiceId> {
        ChoiceId::find(&self.choices, name)
    }

    /// Whether the category is in the training data of this slot.
    pub fn knows(&self, slot: usize, category: &str) -> bool {
        contains(&self.categories[slot], category)
    }

    /// The values of the logged features in a context, by slot. A feature that is missing or of the
    /// other kind becomes NaN (a number) or the empty category. A decision that needs it is *unsure*, unless training
    /// saw it missing too.
    pub fn values(&self, context: &Context) -> Vec<Value> {
        let value = |f: &Feature| match (context.get(&f.name), f.kind) {
            (Some(v), kind) if v.kind() == kind => v.clone(),
            (_, FeatureKind::Numerical) => Value::Number(f64::NAN),
            (_, FeatureKind::Categorical) => Value::from(""),
        };
        self.features.base().features().iter().map(value).collect()
    }
}
