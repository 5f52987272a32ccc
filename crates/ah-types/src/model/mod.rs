//! The model: a learned heuristic with all that is needed to decide, to generate code and to
//! learn it again. On disk it is `model.json`; `docs/model-format.md` is the specification.

mod file;
mod validate;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::artefact;
use crate::choice::ChoiceId;
use crate::context::{Context, Scalar, Value};
use crate::derived::Features;
use crate::device::Device;
use crate::expr::{BoolExpr, Part, Row};
use crate::feature::FeatureKind;
use crate::tree::{self, Leaf, LeafUnsure, Place, Ranked, Stuck, Tree};

pub use file::{FORMAT, VERSION};

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
    /// Where a choice can run at all; choices without an entry can everywhere.
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
    /// Takes a choice that the nodes above the leaf support too ([`Leaf::outside`]).
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
    /// `hold-out`, `cross-fitted` or `by dimensions`.
    pub mode: String,
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

/// What a heuristic says of one context.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision<'a> {
    /// Take this choice.
    Choice(&'a Ranked),
    /// Take the fallback.
    Unsure(Unsure),
}

/// Why a heuristic declines.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsure {
    /// The context is outside the domain.
    #[error("the precondition does not hold")]
    Precondition,
    /// A feature that the decision needs has no value.
    #[error("the feature {0:?} is undefined here")]
    Undefined(String),
    /// A feature has a category that training never saw.
    #[error("the feature {0:?} has a category that training never saw")]
    UnknownCategory(String),
    /// The leaf's best choice is not probable enough.
    #[error("low confidence")]
    LowConfidence,
    /// The leaf's best choice may be too slow.
    #[error("unsafe leaf")]
    UnsafeLeaf,
    /// The context is outside of what training saw in the leaf.
    #[error("outside of what was measured")]
    Outside,
    /// No choice of the leaf's ranking is both offered and allowed by the promise.
    #[error("no choice that the promise allows is offered")]
    NoneAllowed,
}

impl Model {
    /// Reads and checks `model.json`.
    ///
    /// # Errors
    /// [`ModelError`] with the file and what is wrong with it.
    pub fn read(path: &Path) -> Result<Self, ModelError> {
        let text = std::fs::read_to_string(path).map_err(|source| ModelError::Io {
            path: path.to_owned(),
            action: "read",
            source,
        })?;
        Self::parse(&text).map_err(|reason| ModelError::Invalid { path: path.to_owned(), reason })
    }

    /// Checks the text of a `model.json`.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        file::parse(text)
    }

    /// The text of its `model.json`; the same model gives the same bytes.
    #[must_use]
    pub fn to_json(&self) -> String {
        file::print(self)
    }

    /// Checks all references and numbers, as reading does.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn validate(&self) -> Result<(), String> {
        validate::validate(self)
    }

    /// Writes `model.json` beside its place and renames it.
    ///
    /// # Errors
    /// [`ModelError`] when the model is not valid or cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), ModelError> {
        self.validate().map_err(|reason| ModelError::Invalid { path: path.to_owned(), reason })?;
        artefact::write_atomic(path, self.to_json().as_bytes()).map_err(|source| ModelError::Io {
            path: path.to_owned(),
            action: "write",
            source,
        })
    }

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

    /// These values of the logged features, as the model's expressions see them.
    #[must_use]
    pub fn row<'a, R: Row + ?Sized>(&'a self, values: &'a R) -> LoggedRow<'a, R> {
        LoggedRow { model: self, values }
    }

    /// What to choose among the offered choices. `values` are those of the logged features, by slot. A choice
    /// that is not [eligible](Self::is_eligible) here counts as not offered.
    pub fn decide(&self, values: &[Value], mut offered: impl FnMut(ChoiceId) -> bool) -> Decision<'_> {
        self.decide_by(values, |_, choice| offered(choice))
    }

    /// What to choose where the program does not say what it offers: the fallback, and the choices that
    /// training measured on [nearly every input](Leaf::is_usual) of the leaf.
    #[must_use]
    pub fn choose(&self, values: &[Value]) -> Decision<'_> {
        self.decide_by(values, |leaves, choice| {
            Some(choice) == self.fallback || leaves.iter().all(|(leaf, _)| leaf.is_usual(choice))
        })
    }

    fn decide_by(
        &self,
        values: &[Value],
        mut offered: impl FnMut(&[(&Leaf, bool)], ChoiceId) -> bool,
    ) -> Decision<'_> {
        let leaves = match self.leaves(values) {
            Ok(leaves) => leaves,
            Err(unsure) => return Decision::Unsure(unsure),
        };
        let unsure = leaves.iter().find_map(|(leaf, _)| leaf.unsure);
        let declines = unsure.is_some() || self.declines_outside(&leaves);
        let votes = votes(&leaves).into_iter().map(|p| Place { allowed: p.allowed && !declines, ..p });
        let offered = |choice| self.is_eligible(choice, values) && offered(&leaves, choice);
        match tree::pick(votes, self.fallback, offered).and_then(|choice| leaves[0].0.ranked(choice)) {
            Some(ranked) => Decision::Choice(ranked),
            None => Decision::Unsure(match unsure {
                Some(LeafUnsure::LowConfidence) => Unsure::LowConfidence,
                Some(LeafUnsure::Unsafe) => Unsure::UnsafeLeaf,
                None if declines => Unsure::Outside,
                None => Unsure::NoneAllowed,
            }),
        }
    }

    /// All choices that the heuristic ranks here, best first.
    ///
    /// Several trees vote: a choice's score is the sum of its scores in the trees' leaves, added in
    /// the order of the trees; it must be in every leaf's ranking, and be allowed in each. Of
    /// equal sums the first choice by id comes first.
    ///
    /// # Errors
    /// Why there is no ranking: as [`decide`](Self::decide); where one leaf declines, all do.
    pub fn ranking(&self, values: &[Value]) -> Result<Vec<Place>, Unsure> {
        let leaves = self.leaves(values)?;
        match leaves.iter().find_map(|(leaf, _)| leaf.unsure) {
            Some(LeafUnsure::LowConfidence) => Err(Unsure::LowConfidence),
            Some(LeafUnsure::Unsafe) => Err(Unsure::UnsafeLeaf),
            None if self.declines_outside(&leaves) => Err(Unsure::Outside),
            None => Ok(votes(&leaves)),
        }
    }

    /// True where `choice` can run on an input with these values, as far as the model knows. An undefined
    /// condition counts as false.
    #[must_use]
    pub fn is_eligible<R: Row + ?Sized>(&self, choice: ChoiceId, values: &R) -> bool {
        let condition = self.eligible.get(&choice);
        condition.is_none_or(|c| c.typed.eval(&self.row(values)) == Some(true))
    }

    fn declines_outside(&self, leaves: &[(&Leaf, bool)]) -> bool {
        self.outside == OutsidePolicy::Decline && leaves.iter().any(|(_, outside)| *outside)
    }

    /// The leaf of each tree where these values end, and whether they are outside what training saw there.
    fn leaves(&self, values: &[Value]) -> Result<Vec<(&Leaf, bool)>, Unsure> {
        if let Some(precondition) = &self.precondition
            && precondition.typed.eval(&self.row(values)) != Some(true)
        {
            return Err(Unsure::Precondition);
        }
        let logged = self.row(values);
        let row = self.features.row(&logged);
        let leaf = |tree| {
            let leaf = self.leaf_of_row(tree, &row)?;
            Ok((leaf, self.outside != OutsidePolicy::Decide && leaf.is_outside(values)))
        };
        (0..self.trees.len()).map(leaf).collect()
    }

    /// The leaf of the (first) tree where these values end.
    ///
    /// # Errors
    /// Why there is none.
    pub fn leaf(&self, values: &[Value]) -> Result<&Leaf, Unsure> {
        self.leaves(values).map(|leaves| leaves[0].0)
    }

    /// True where a logged feature is outside what training saw in the leaf (of one tree) where
    /// these values end: the decision there is an extrapolation. False without a leaf.
    #[must_use]
    pub fn is_outside(&self, values: &[Value]) -> bool {
        let row = self.features.row(values);
        (0..self.trees.len()).any(|tree| self.leaf_of_row(tree, &row).is_ok_and(|leaf| leaf.is_outside(&row)))
    }

    fn leaf_of_row(&self, tree: usize, row: &(impl Row + ?Sized)) -> Result<&Leaf, Unsure> {
        let tree = &self.trees[tree];
        let name = |slot: usize| self.features.all().features()[slot].name.clone();
        match tree.leaf_index(row, |slot, category| self.knows(slot, category)) {
            Ok(index) => tree.leaf(index).ok_or(Unsure::NoneAllowed),
            Err(Stuck::Undefined(slot)) => Err(Unsure::Undefined(name(slot))),
            Err(Stuck::UnknownCategory(slot)) => Err(Unsure::UnknownCategory(name(slot))),
        }
    }

    /// The values of the logged features in a context, by slot. A feature that is missing or of
    /// the other kind becomes NaN (a number) or the empty category, so that it is *unsure*
    /// wherever it is needed.
    #[must_use]
    pub fn values(&self, context: &Context) -> Vec<Value> {
        let features = self.features.base().features();
        let value = |f: &crate::feature::Feature| match (context.get(&f.name), f.kind) {
            (Some(v), kind) if v.kind() == kind => v.clone(),
            (_, FeatureKind::Numerical) => Value::Number(f64::NAN),
            (_, FeatureKind::Categorical) => Value::from(""),
        };
        features.iter().map(value).collect()
    }
}

/// The ranking of one leaf, or what several leaves vote.
fn votes(leaves: &[(&Leaf, bool)]) -> Vec<Place> {
    let ((first, outside), others) = leaves.split_first().expect("a model has at least one tree");
    let mut votes: Vec<Place> = first.places(*outside).collect();
    for (leaf, outside) in others {
        votes.retain_mut(|vote| {
            let Some(other) = leaf.places(*outside).find(|p| p.choice == vote.choice) else { return false };
            vote.score += other.score;
            vote.allowed &= other.allowed;
            true
        });
    }
    if !others.is_empty() {
        votes.sort_by(|a, b| a.score.total_cmp(&b.score).then(a.choice.cmp(&b.choice)));
    }
    votes
}

/// See [`Model::row`].
#[derive(Clone, Copy, Debug)]
pub struct LoggedRow<'a, R: ?Sized> {
    model: &'a Model,
    values: &'a R,
}

impl<R: Row + ?Sized> LoggedRow<'_, R> {
    fn is_categorical(&self, slot: usize) -> bool {
        let feature = self.model.features.base().features().get(slot);
        feature.is_some_and(|f| f.kind == FeatureKind::Categorical)
    }
}

/// A value of the other kind is undefined.
impl<R: Row + ?Sized> Row for LoggedRow<'_, R> {
    #[inline]
    fn scalar(&self, slot: usize) -> Option<Scalar<'_>> {
        let is_number = |value: &Scalar<'_>| matches!(value, Scalar::Number(_));
        self.values.scalar(slot).filter(|value| is_number(value) != self.is_categorical(slot))
    }

    #[inline]
    fn number(&self, slot: usize) -> f64 {
        if self.is_categorical(slot) { f64::NAN } else { self.values.number(slot) }
    }

    #[inline]
    fn category(&self, slot: usize) -> Option<&str> {
        self.values.category(slot).filter(|_| self.is_categorical(slot))
    }

    fn tells_apart(&self, category: &str) -> bool {
        self.model.names(category)
    }
}

/// A model cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The file cannot be read or written.
    #[error("{}: cannot {action} the model: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// `read` or `write`.
        action: &'static str,
        /// Why.
        source: std::io::Error,
    },
    /// It is not the model that it should be.
    #[error("{}: not a valid model: {reason}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}
