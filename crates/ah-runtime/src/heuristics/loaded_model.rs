//! A model file as a [`Heuristic`], without generated code.

use std::cmp::Ordering;
use std::path::Path;
use std::sync::Arc;

use ah_types::device::DeviceMismatch;
use ah_types::model::ModelError;
use ah_types::model::OutsidePolicy;
use ah_types::tree::{LeafUnsure, Place, pick};
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

    /// The leaf of each tree in which these values end.
    fn ends(&self, values: &[Scalar<'_>]) -> Result<Ends<'_>, Unsure> {
        let mut decision = self.compiled.decide(values);
        if !decision.precondition_holds() {
            return Err(Unsure::Precondition);
        }
        let watches = self.model.outside != OutsidePolicy::Decide;
        Ends::new(self.model.trees.len(), |tree| {
            let leaf = self.model.trees[tree].leaf(decision.leaf(tree)?).ok_or(Unsure::NoneAllowed)?;
            Ok((leaf, watches && leaf.is_outside(values)))
        })
    }

    fn decide_by(
        &self,
        values: &[Scalar<'_>],
        offered: impl Fn(&Ends<'_>, ChoiceId) -> bool,
    ) -> Result<usize, Unsure> {
        let (model, ends) = (&self.model, self.ends(values)?);
        let unsure = ends.unsure(model.outside);
        let offered = |choice| model.is_eligible(choice, values) && offered(&ends, choice);
        let picked = ends.pick(model.fallback, unsure.is_some(), offered);
        picked.map(ChoiceId::index).ok_or(unsure.unwrap_or(Unsure::NoneAllowed))
    }
}

/// A leaf, and whether the values are outside of what training saw there.
type End<'a> = (&'a Leaf, bool);

/// Trees beyond the first whose leaves are on the stack; the learner makes at most a few.
const ON_STACK: usize = 7;

/// Where a context ends: one leaf in each tree.
struct Ends<'a> {
    first: End<'a>,
    others: [Option<End<'a>>; ON_STACK],
    more: Vec<End<'a>>,
}

/// The order of [`Model::ranking`]: by score and then by id.
fn order(a: &Place, b: &Place) -> Ordering {
    a.score.total_cmp(&b.score).then(a.choice.cmp(&b.choice))
}

impl<'a> Ends<'a> {
    fn new(trees: usize, mut end: impl FnMut(usize) -> Result<End<'a>, Unsure>) -> Result<Self, Unsure> {
        let mut ends = Ends { first: end(0)?, others: [None; ON_STACK], more: Vec::new() };
        for tree in 1..trees {
            match ends.others.get_mut(tree - 1) {
                Some(place) => *place = Some(end(tree)?),
                None => ends.more.push(end(tree)?),
            }
        }
        Ok(ends)
    }

    fn others(&self) -> impl Iterator<Item = End<'a>> {
        self.others.iter().copied().flatten().chain(self.more.iter().copied())
    }

    fn all(&self) -> impl Iterator<Item = End<'a>> {
        std::iter::once(self.first).chain(self.others())
    }

    /// Why these leaves decline, where one does.
    fn unsure(&self, outside: OutsidePolicy) -> Option<Unsure> {
        let declined = self.all().find_map(|(leaf, _)| leaf.unsure).map(|reason| match reason {
            LeafUnsure::LowConfidence => Unsure::LowConfidence,
            LeafUnsure::Unsafe => Unsure::UnsafeLeaf,
        });
        let is_outside = || outside == OutsidePolicy::Decline && self.all().any(|(_, outside)| outside);
        declined.or_else(|| is_outside().then_some(Unsure::Outside))
    }

    /// The votes on these choices, in the order of the first leaf's ranking.
    fn votes(&self, offered: impl Fn(ChoiceId) -> bool) -> impl Iterator<Item = Place> {
        let (first, outside) = self.first;
        first.places(outside).filter(move |place| offered(place.choice)).filter_map(|mut vote| {
            for (leaf, outside) in self.others() {
                let other = leaf.places(outside).find(|p| p.choice == vote.choice)?;
                vote.score += other.score;
                vote.allowed &= other.allowed;
            }
            Some(vote)
        })
    }

    /// [`pick`] among what several trees vote, without sorting: that takes a cube of the choices.
    fn pick(
        &self,
        fallback: Option<ChoiceId>,
        declines: bool,
        offered: impl Fn(ChoiceId) -> bool,
    ) -> Option<ChoiceId> {
        if self.others[0].is_none() {
            let places = self.first.0.places(self.first.1);
            return pick(places.map(|p| Place { allowed: p.allowed && !declines, ..p }), fallback, offered);
        }
        // The best of the allowed choices, and of the others.
        let mut best: [Option<Place>; 2] = [None; 2];
        for vote in self.votes(&offered) {
            let best = &mut best[usize::from(!vote.allowed || declines)];
            if best.is_none_or(|best| order(&vote, &best).is_lt()) {
                *best = Some(vote);
            }
        }
        // The walk of `pick` over three places gives the same: what was passed over, the best, the rest.
        let mut walk: [Option<Place>; 2] = best;
        walk.sort_by(|a, b| match (a, b) {
            (Some(a), Some(b)) => order(a, b),
            (a, b) => b.is_some().cmp(&a.is_some()),
        });
        let allowed = |p: Place| Place { allowed: p.allowed && !declines, ..p };
        pick(walk.into_iter().flatten().map(allowed), fallback, offered)
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
        self.decide_by(values, |_, choice| offered(choice.index()))
    }

    fn choose(&self, values: &[Scalar<'_>]) -> Result<usize, Unsure> {
        let fallback = self.model.fallback;
        self.decide_by(values, |ends, choice| {
            Some(choice) == fallback || ends.all().all(|(leaf, _)| leaf.is_usual(choice))
        })
    }

    fn ranked(&self, values: &[Scalar<'_>], visit: &mut dyn FnMut(usize)) -> Result<(), Unsure> {
        let ends = self.ends(values)?;
        if self.model.trees.len() == 1 {
            ends.votes(|_| true).for_each(|place| visit(place.choice.index()));
            return Ok(());
        }
        let mut votes: Vec<Place> = ends.votes(|_| true).collect();
        votes.sort_by(order);
        votes.iter().for_each(|vote| visit(vote.choice.index()));
        Ok(())
    }
}
