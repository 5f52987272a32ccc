//! A model file as a [`Heuristic`], without generated code.

use std::cmp::Ordering;
use std::path::Path;
use std::sync::Arc;

use ah_types::device::DeviceMismatch;
use ah_types::model::ModelError;
use ah_types::tree::LeafUnsure;
use ah_types::{ChoiceId, Device, Leaf, Model, Scalar};

use super::compiled::CompiledModel;
use super::device_guard::DeviceGuard;
use super::heuristic::{Heuristic, Unsure};

/// A checked model, ready to decide.
#[derive(Clone, Debug)]
pub struct LoadedModel {
    model: Model,
    compiled: Arc<CompiledModel>,
}

impl LoadedModel {
    /// Reads and checks a `model.json`.
    ///
    /// # Errors
    /// [`ModelError`] names the file and what is wrong with it.
    pub fn read(path: &Path) -> Result<Self, ModelError> {
        Model::read(path).map(Self::from)
    }

    /// The model.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Calls `f` with what says in which leaf of a tree these values end.
    fn with_leaves<'m, T>(
        &'m self,
        values: &[Scalar<'_>],
        f: impl FnOnce(&mut LeafOf<'_, 'm>) -> Result<T, Unsure>,
    ) -> Result<T, Unsure> {
        let trees = &self.model.trees;
        let mut decision = self.compiled.decide(values);
        if !decision.precondition_holds() {
            return Err(Unsure::Precondition);
        }
        f(&mut |tree| trees[tree].leaf(decision.leaf(tree)?).ok_or(Unsure::NoneAllowed))
    }
}

/// The leaf of a tree in which the values end.
type LeafOf<'a, 'm> = dyn FnMut(usize) -> Result<&'m Leaf, Unsure> + 'a;

/// The leaf, unless it declines; where one of several declines, all do.
fn sure(leaf: &Leaf) -> Result<&Leaf, Unsure> {
    match leaf.unsure {
        None => Ok(leaf),
        Some(LeafUnsure::LowConfidence) => Err(Unsure::LowConfidence),
        Some(LeafUnsure::Unsafe) => Err(Unsure::UnsafeLeaf),
    }
}

/// Trees beyond the first whose leaves lie on the stack; the learner makes at most a few.
const ON_STACK: usize = 7;

/// Where a context ends: one leaf in each tree.
struct Leaves<'a> {
    first: &'a Leaf,
    others: [Option<&'a Leaf>; ON_STACK],
    more: Vec<&'a Leaf>,
}

/// A choice that stands in the ranking of every leaf.
#[derive(Clone, Copy)]
struct Vote {
    score: f64,
    choice: ChoiceId,
    allowed: bool,
}

impl Vote {
    /// By score and then by id: the order of [`Model::ranking`].
    fn order(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then(self.choice.cmp(&other.choice))
    }
}

impl<'a> Leaves<'a> {
    fn new(trees: usize, mut leaf: impl FnMut(usize) -> Result<&'a Leaf, Unsure>) -> Result<Self, Unsure> {
        let mut leaves = Leaves { first: leaf(0)?, others: [None; ON_STACK], more: Vec::new() };
        for tree in 1..trees {
            match leaves.others.get_mut(tree - 1) {
                Some(place) => *place = Some(leaf(tree)?),
                None => leaves.more.push(leaf(tree)?),
            }
        }
        Ok(leaves)
    }

    fn others(&self) -> impl Iterator<Item = &'a Leaf> {
        self.others.iter().copied().flatten().chain(self.more.iter().copied())
    }

    /// The votes on these choices, in the order of the first leaf's ranking.
    fn votes(&self, offered: impl Fn(ChoiceId) -> bool) -> impl Iterator<Item = Vote> {
        self.first.ranking.iter().filter(move |ranked| offered(ranked.choice)).filter_map(|ranked| {
            let mut vote = Vote { score: ranked.score, choice: ranked.choice, allowed: ranked.allowed };
            for leaf in self.others() {
                let other = leaf.ranking.iter().find(|r| r.choice == ranked.choice)?;
                vote.score += other.score;
                vote.allowed &= other.allowed;
            }
            Some(vote)
        })
    }

    /// [`Leaf::pick`] for what several trees vote.
    fn pick(&self, fallback: Option<ChoiceId>, offered: impl Fn(ChoiceId) -> bool) -> Option<ChoiceId> {
        // The best of those that are allowed, and of those that are not.
        let mut best: [Option<Vote>; 2] = [None; 2];
        for vote in self.votes(offered) {
            let best = &mut best[usize::from(!vote.allowed)];
            if best.is_none_or(|best| vote.order(&best).is_lt()) {
                *best = Some(vote);
            }
        }
        let [Some(best), passed_over] = best else { return None };
        let passed_over = passed_over.is_some_and(|other| other.order(&best).is_lt());
        (!passed_over || Some(best.choice) != fallback).then_some(best.choice)
    }
}

impl From<Model> for LoadedModel {
    /// `model` must be [valid](Model::validate), as every model that was read is.
    fn from(model: Model) -> Self {
        Self { compiled: Arc::new(CompiledModel::new(&model)), model }
    }
}

impl Heuristic for LoadedModel {
    fn name(&self) -> &str {
        &self.model.heuristic
    }

    fn optimization(&self) -> &str {
        &self.model.optimization
    }

    fn features(&self) -> Vec<&str> {
        self.model.features.base().features().iter().map(|f| f.name.as_str()).collect()
    }

    fn derived(&self) -> Vec<&str> {
        self.model.features.derived().iter().map(|(d, _)| d.name.as_str()).collect()
    }

    fn choices(&self) -> Vec<&str> {
        self.model.choices.iter().map(String::as_str).collect()
    }

    fn admits(&self, device: &Device) -> Result<(), DeviceMismatch> {
        match &self.model.device {
            Some(learned) => learned.admits(device),
            None => DeviceGuard::Capability {
                capability: self.model.device_capa,
                shared_memory: self.model.shared_memory,
            }
            .admits(device),
        }
    }

    fn decide(&self, values: &[Scalar<'_>], offered: &dyn Fn(usize) -> bool) -> Result<usize, Unsure> {
        let (fallback, offered) = (self.model.fallback, |choice: ChoiceId| offered(choice.index()));
        self.with_leaves(values, |leaf| {
            let picked = match self.model.trees.len() {
                1 => sure(leaf(0)?)?.pick(fallback, offered).map(|ranked| ranked.choice),
                trees => Leaves::new(trees, |tree| sure(leaf(tree)?))?.pick(fallback, offered),
            };
            picked.map(ChoiceId::index).ok_or(Unsure::NoneAllowed)
        })
    }

    fn ranked(&self, values: &[Scalar<'_>], visit: &mut dyn FnMut(usize)) -> Result<(), Unsure> {
        self.with_leaves(values, |leaf| {
            if self.model.trees.len() == 1 {
                leaf(0)?.ranking.iter().for_each(|ranked| visit(ranked.choice.index()));
                return Ok(());
            }
            let leaves = Leaves::new(self.model.trees.len(), leaf)?;
            let mut votes: Vec<Vote> = leaves.votes(|_| true).collect();
            votes.sort_by(Vote::order);
            votes.iter().for_each(|vote| visit(vote.choice.index()));
            Ok(())
        })
    }
}
