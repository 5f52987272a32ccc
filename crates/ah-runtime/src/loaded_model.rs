//! A model file as a [`Heuristic`], without generating code.

use std::path::Path;

use ah_types::device::DeviceMismatch;
use ah_types::model::ModelError;
use ah_types::tree::{LeafUnsure, Stuck};
use ah_types::{ChoiceId, Device, Leaf, Model, Scalar, Tree};

use crate::heuristic::{DeviceGuard, Heuristic, Unsure};

/// A checked model, ready to decide.
#[derive(Clone, Debug)]
pub struct LoadedModel {
    model: Model,
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

    /// The leaf of each tree where these values end.
    fn leaves(&self, values: &[Scalar<'_>]) -> Result<Leaves<'_>, Unsure> {
        let logged = self.model.row(values);
        if let Some(precondition) = &self.model.precondition
            && precondition.typed.eval_bool(&logged) != Some(true)
        {
            return Err(Unsure::Precondition);
        }
        let (first, rest) = self.model.trees.split_first().ok_or(Unsure::NoneAllowed)?;
        let row = self.model.features.row(&logged);
        let end =
            |tree: &'_ Tree| match tree.leaf_index(&row, |slot, category| self.model.knows(slot, category)) {
                Ok(index) => Ok(index),
                Err(Stuck::Undefined(slot)) => Err(Unsure::Undefined(slot)),
                Err(Stuck::UnknownCategory(slot)) => Err(Unsure::UnknownCategory(slot)),
            };
        let mut leaves = Leaves {
            first: first.leaf(end(first)?).ok_or(Unsure::NoneAllowed)?,
            others: [None; ON_STACK],
            more: Vec::new(),
        };
        for (i, tree) in rest.iter().enumerate() {
            let leaf = tree.leaf(end(tree)?).ok_or(Unsure::NoneAllowed)?;
            match leaves.others.get_mut(i) {
                Some(place) => *place = Some(leaf),
                None => leaves.more.push(leaf),
            }
        }
        Ok(leaves)
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

impl<'a> Leaves<'a> {
    fn others(&self) -> impl Iterator<Item = &'a Leaf> {
        self.others.iter().copied().flatten().chain(self.more.iter().copied())
    }

    /// Why a leaf declines, where one does: then all do.
    fn unsure(&self) -> Option<Unsure> {
        let unsure = self.first.unsure.or_else(|| self.others().find_map(|leaf| leaf.unsure))?;
        Some(match unsure {
            LeafUnsure::LowConfidence => Unsure::LowConfidence,
            LeafUnsure::Unsafe => Unsure::UnsafeLeaf,
        })
    }

    /// The vote behind `last`, by score and then by id: the order of [`Model::ranking`], found
    /// without sorting, because nearly always the first or second is taken.
    fn next(&self, last: Option<Vote>) -> Option<Vote> {
        let order = |a: &Vote, b: &Vote| a.score.total_cmp(&b.score).then(a.choice.cmp(&b.choice));
        let votes = self.first.ranking.iter().filter_map(|ranked| {
            let mut vote = Vote { score: ranked.score, choice: ranked.choice, allowed: ranked.allowed };
            for leaf in self.others() {
                let other = leaf.ranking.iter().find(|r| r.choice == ranked.choice)?;
                vote.score += other.score;
                vote.allowed &= other.allowed;
            }
            Some(vote)
        });
        votes.filter(|vote| last.is_none_or(|last| order(vote, &last).is_gt())).min_by(order)
    }

    /// [`Leaf::pick`] for what several trees vote.
    fn pick(&self, fallback: Option<ChoiceId>, offered: impl Fn(ChoiceId) -> bool) -> Option<ChoiceId> {
        let (mut last, mut passed_over) = (None, false);
        while let Some(vote) = self.next(last) {
            last = Some(vote);
            if !offered(vote.choice) {
                continue;
            }
            if vote.allowed {
                return (!passed_over || Some(vote.choice) != fallback).then_some(vote.choice);
            }
            passed_over = true;
        }
        None
    }
}

impl From<Model> for LoadedModel {
    /// `model` must be [valid](Model::validate), as every model that was read is.
    fn from(model: Model) -> Self {
        Self { model }
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
        let leaves = self.leaves(values)?;
        if let Some(unsure) = leaves.unsure() {
            return Err(unsure);
        }
        let (fallback, offered) = (self.model.fallback, |choice: ChoiceId| offered(choice.index()));
        let picked = match &self.model.trees[..] {
            [_] => leaves.first.pick(fallback, offered).map(|ranked| ranked.choice),
            _ => leaves.pick(fallback, offered),
        };
        picked.map(ChoiceId::index).ok_or(Unsure::NoneAllowed)
    }

    fn ranked(&self, values: &[Scalar<'_>], visit: &mut dyn FnMut(usize)) -> Result<(), Unsure> {
        let leaves = self.leaves(values)?;
        if let [_] = &self.model.trees[..] {
            leaves.first.ranking.iter().for_each(|ranked| visit(ranked.choice.index()));
            return Ok(());
        }
        let mut last = None;
        while let Some(vote) = leaves.next(last) {
            visit(vote.choice.index());
            last = Some(vote);
        }
        Ok(())
    }
}
