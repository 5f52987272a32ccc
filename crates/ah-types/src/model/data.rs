//! What a model consists of.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::choice::ChoiceId;
use crate::context::{Context, Value};
use crate::derived::Features;
use crate::device::Device;
use crate::expr::{BoolExpr, Part};
use crate::feature::{Feature, FeatureKind};
use crate::tree::Tree;

/// A learned heuristic, checked: slots, choices and nodes refer to things that exist.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The heuristic's name, for example `SimpleHeuristic`.
    pub heuristic: String,
    /// The optimization that it decides.
    pub optimization: String,
    /// Logged and derived features.
    pub features: Features,
    /// The categories that training saw, by slot (of logged and derived features), sorted; empty for numbers.
    pub categories: Vec<Vec<String>>,
    /// The domain; outside it the heuristic is unsure.
    pub precondition: Option<Precondition>,
    /// The device that it is valid for; `None` where the log does not say.
    pub device: Option<Device>,
    /// PyTorch's identity of the device: `shared_memory` in bytes.
    pub shared_memory: Option<u64>,
    /// PyTorch's identity of the device: compute capability.
    pub device_capa: (u32, u32),
    /// Names of the choices, sorted: a [`ChoiceId`] is a position here.
    pub choices: Vec<String>,
    /// What the program does when the heuristic is unsure.
    pub fallback: Option<ChoiceId>,
    /// Where a choice can run at all; choices without an entry can run everywhere.
    pub eligible: BTreeMap<ChoiceId, Precondition>,
    /// What to do outside of what training saw in a leaf.
    pub outside: OutsidePolicy,
    /// One tree, or several that vote with their scores.
    pub trees: Vec<Tree>,
    /// What is promised of the decisions.
    pub promise: Option<Promise>,
    /// Where it comes from.
    pub provenance: Provenance,
}

/// A truth value over the logged features, as text and resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct Precondition {
    /// The expression's text.
    pub expression: String,
    /// Over the slots of the logged features.
    pub typed: BoolExpr,
}

/// What a heuristic does with an input that is outside of what training saw in its leaf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutsidePolicy {
    /// Decides as inside.
    #[default]
    Decide,
    /// Takes a choice that the nodes above the leaf support too ([`Leaf::outside`](crate::Leaf::outside)).
    Safe,
    /// Declines.
    Decline,
}

/// What calibration showed: "on inputs drawn like the calibration inputs, with this confidence,
/// at most `target` of them are more than `limit` times slower than the fallback".
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Promise {
    /// The promised share of inputs, for example 0.01.
    pub target: f64,
    /// With this confidence, for example 0.95.
    pub confidence: f64,
    /// An input counts when the choice takes more than this many times the fallback's time.
    pub limit: f64,
    /// How the calibration inputs were kept from the fit.
    pub mode: CalibrationMode,
    /// The share that was tested; half the target by dimensions.
    pub tested: f64,
    /// The level of the test.
    pub level: f64,
    /// Inputs that it was calibrated on.
    pub inputs: u64,
    /// Distinct groups (shapes) among them.
    pub groups: u64,
    /// Of these inputs, those that counted.
    pub violations: u64,
    /// Of these, those whose runs are clearly apart: even the fallback's slowest run, times the
    /// limit, is faster than the choice's fastest. The rest may be noise.
    pub clear: u64,
    /// Runs of a choice on an input: their median over the calibration inputs.
    pub runs: u64,
    /// The calibrated price: a choice is taken where its risk of being too slow is at most this
    /// times what it saves in log time over the fallback; `null`: always decides.
    pub threshold: Option<f64>,
}

/// How calibration keeps its inputs from the fit that they judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CalibrationMode {
    /// The fit never sees them. The promise is then a theorem.
    #[serde(rename = "hold-out")]
    HoldOut,
    /// Ten folds by input, then a fit on all inputs. The promise is an estimate.
    #[serde(rename = "cross-fitted")]
    CrossFitted,
    /// Ten folds by combination of dimensions: an estimate for new shapes.
    #[serde(rename = "by dimensions")]
    ByDimensions,
}

impl CalibrationMode {
    /// Returns the name that stands in the model file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::HoldOut => "hold-out",
            Self::CrossFitted => "cross-fitted",
            Self::ByDimensions => "by dimensions",
        }
    }
}

impl std::fmt::Display for CalibrationMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Where a model comes from: enough to learn it again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// For example `ah-train 0.1.0`.
    pub tool: String,
    /// The logs, in order.
    pub logs: Vec<LogRecord>,
    /// The seed of all random draws.
    pub seed: u64,
    /// The learner and its parameters.
    pub parameters: serde_json::Map<String, serde_json::Value>,
    /// Held-out metrics.
    pub metrics: serde_json::Map<String, serde_json::Value>,
}

/// A log that a model was learned from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogRecord {
    /// The file's name without its folder.
    pub file: String,
    /// BLAKE3 of its unpacked bytes, in hex.
    pub blake3: String,
    /// Its rows.
    pub rows: u64,
}

impl Model {
    /// The name of a choice.
    #[must_use]
    pub fn choice_name(&self, id: ChoiceId) -> &str {
        &self.choices[id.index()]
    }

    /// The id of the choice of this name.
    #[must_use]
    pub fn choice_id(&self, name: &str) -> Option<ChoiceId> {
        let position = self.choices.binary_search_by(|c| c.as_str().cmp(name)).ok()?;
        u32::try_from(position).ok().map(ChoiceId)
    }

    /// True where training saw this category in this slot.
    #[must_use]
    pub fn knows(&self, slot: usize, category: &str) -> bool {
        self.categories[slot].binary_search_by(|c| c.as_str().cmp(category)).is_ok()
    }

    /// Calls `f` with every category that the model names, some more than once: truth values first, then
    /// what training saw in some feature, then what an expression mentions. Generated code tells only
    /// these apart.
    pub fn for_each_name<'a>(&'a self, f: &mut impl FnMut(&'a str)) {
        ["False", "True"].into_iter().for_each(&mut *f);
        self.categories.iter().flatten().for_each(|name| f(name));
        let mut text = |part: Part<'a>| {
            if let Part::Text(text) = part {
                f(text);
            }
        };
        self.features.derived().iter().for_each(|(_, typed)| typed.for_each_part(&mut text));
        self.precondition.iter().chain(self.eligible.values()).for_each(|p| p.typed.for_each_part(&mut text));
    }

    /// True where the model [names](Self::for_each_name) this category.
    #[must_use]
    pub fn names(&self, category: &str) -> bool {
        let mut found = false;
        self.for_each_name(&mut |name| found |= name == category);
        found
    }

    /// The values of the logged features in a context, by slot. A feature that is missing or of
    /// the other kind becomes NaN (a number) or the empty category, so that it is *unsure*
    /// wherever it is needed.
    #[must_use]
    pub fn values(&self, context: &Context) -> Vec<Value> {
        let features = self.features.base().features();
        let value = |f: &Feature| match (context.get(&f.name), f.kind) {
            (Some(v), kind) if v.kind() == kind => v.clone(),
            (_, FeatureKind::Numerical) => Value::Number(f64::NAN),
            (_, FeatureKind::Categorical) => Value::from(""),
        };
        features.iter().map(value).collect()
    }
}
