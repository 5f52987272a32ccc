//! The model: a learned heuristic with all that is needed to decide, to generate code and to
//! learn it again. On disk it is `model.json`; `docs/model-format.md` is the specification.

mod file;
mod validate;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::artefact;
use crate::choice::ChoiceId;
use crate::context::{Context, Scalar, Value};
use crate::derived::Features;
use crate::device::Device;
use crate::expr::{BoolExpr, Part, Row};
use crate::feature::FeatureKind;
use crate::tree::{Leaf, LeafUnsure, Ranked, Stuck, Tree};

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
        self.precondition.iter().for_each(|p| p.typed.for_each_part(&mut text));
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

    /// What to choose among the offered choices. `values` are those of the logged features, by slot.
    pub fn decide(&self, values: &[Value], offered: impl FnMut(ChoiceId) -> bool) -> Decision<'_> {
        if self.trees.len() > 1 {
            return self.vote(values, offered);
        }
        match self.leaf(values) {
            Err(unsure) => Decision::Unsure(unsure),
            Ok(leaf) => match (leaf.unsure, leaf.pick(self.fallback, offered)) {
                (Some(LeafUnsure::LowConfidence), _) => Decision::Unsure(Unsure::LowConfidence),
                (Some(LeafUnsure::Unsafe), _) => Decision::Unsure(Unsure::UnsafeLeaf),
                (None, Some(ranked)) => Decision::Choice(ranked),
                (None, None) => Decision::Unsure(Unsure::NoneAllowed),
            },
        }
    }

    /// All choices that the heuristic ranks here, best first, and whether each is allowed.
    ///
    /// Several trees vote: a choice's score is the sum of its scores in the trees' leaves, added in
    /// the order of the trees; it must stand in every leaf's ranking, and be allowed in each. Of
    /// equal sums the first choice by id comes first. What a [`Ranked`] says of training is
    /// then the first tree's.
    ///
    /// # Errors
    /// Why there is no ranking: as [`decide`](Self::decide), where one leaf declines, all do.
    pub fn ranking(&self, values: &[Value]) -> Result<Vec<(&Ranked, bool)>, Unsure> {
        let first = self.leaf(values)?;
        if let [_] = &self.trees[..] {
            return match first.unsure {
                Some(LeafUnsure::LowConfidence) => Err(Unsure::LowConfidence),
                Some(LeafUnsure::Unsafe) => Err(Unsure::UnsafeLeaf),
                None => Ok(first.ranking.iter().map(|r| (r, r.allowed)).collect()),
            };
        }
        let logged = self.row(values);
        let row = self.features.row(&logged);
        let mut votes: Vec<(f64, &Ranked, bool)> =
            first.ranking.iter().map(|r| (r.score, r, r.allowed)).collect();
        for tree in 0..self.trees.len() {
            let leaf = self.leaf_of_row(tree, &row)?;
            match leaf.unsure {
                Some(LeafUnsure::LowConfidence) => return Err(Unsure::LowConfidence),
                Some(LeafUnsure::Unsafe) => return Err(Unsure::UnsafeLeaf),
                None if tree == 0 => continue,
                None => {}
            }
            votes.retain_mut(|(score, ranked, allowed)| {
                let Some(other) = leaf.ranking.iter().find(|r| r.choice == ranked.choice) else {
                    return false;
                };
                *score += other.score;
                *allowed &= other.allowed;
                true
            });
        }
        votes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.choice.cmp(&b.1.choice)));
        Ok(votes.into_iter().map(|(_, ranked, allowed)| (ranked, allowed)).collect())
    }

    /// [`decide`](Self::decide) for several trees.
    fn vote(&self, values: &[Value], mut offered: impl FnMut(ChoiceId) -> bool) -> Decision<'_> {
        let ranking = match self.ranking(values) {
            Ok(ranking) => ranking,
            Err(unsure) => return Decision::Unsure(unsure),
        };
        let mut passed_over = false;
        for (ranked, allowed) in ranking {
            if !offered(ranked.choice) {
                continue;
            }
            if !allowed {
                passed_over = true;
            } else if passed_over && Some(ranked.choice) == self.fallback {
                break;
            } else {
                return Decision::Choice(ranked);
            }
        }
        Decision::Unsure(Unsure::NoneAllowed)
    }

    /// The leaf of the (first) tree where these values end.
    ///
    /// # Errors
    /// Why there is none.
    pub fn leaf(&self, values: &[Value]) -> Result<&Leaf, Unsure> {
        if let Some(precondition) = &self.precondition
            && precondition.typed.eval(&self.row(values)) != Some(true)
        {
            return Err(Unsure::Precondition);
        }
        let logged = self.row(values);
        self.leaf_of_row(0, &self.features.row(&logged))
    }

    /// True where a logged feature lies outside what training saw in the leaf (of one tree) where
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
