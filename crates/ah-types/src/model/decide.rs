//! Decides by a model. This file is the reference; `ah-runtime` and generated code decide the same.

use super::boosted::{Added, BoostedTrees};
use super::data::{Model, OutsidePolicy};
use crate::choice::ChoiceId;
use crate::context::{Scalar, Value};
use crate::feature::FeatureKind;
use crate::row::Row;
use crate::tree::{Leaf, RankedChoice};
use crate::unsure::Unsure;
use crate::vote::{Place, Vote, pick};

impl Model {
    /// Returns the values of the logged features as a row for the model's expressions.
    pub fn row<'a, R: Row + ?Sized>(&'a self, values: &'a R) -> LoggedRow<'a, R> {
        LoggedRow { model: self, values }
    }

    /// Returns what to choose among the offered choices. `values` are those of the logged features, by slot. A
    /// choice that is not [eligible](Self::is_eligible) here counts as not offered.
    ///
    /// # Errors
    /// The reason for declining; the program then takes the fallback.
    pub fn decide(
        &self,
        values: &[Value],
        offered: impl FnMut(ChoiceId) -> bool,
    ) -> Result<&RankedChoice, Unsure> {
        let leaves = self.leaves(values)?;
        let choice = self.pick(&leaves, values, offered)?;
        leaves.first.leaf.ranked(choice).ok_or(Unsure::NoneAllowed)
    }

    /// Returns the choice for a program that does not list its choices: it is expected to offer the
    /// fallback, and the choices that training measured on [nearly every input](RankedChoice::usual) of the leaf.
    ///
    /// # Errors
    /// The reason for declining; the program then takes the fallback.
    pub fn choose(&self, values: &[Value]) -> Result<&RankedChoice, Unsure> {
        let leaves = self.leaves(values)?;
        let choice = self.pick_usual(&leaves, values)?;
        leaves.first.leaf.ranked(choice).ok_or(Unsure::NoneAllowed)
    }

    /// Returns all choices that the heuristic ranks here, best first.
    ///
    /// # Errors
    /// The reason for declining, as in [`decide`](Self::decide).
    pub fn ranking(&self, values: &[Value]) -> Result<Vec<Place>, Unsure> {
        let leaves = self.leaves(values)?;
        leaves.unsure(self.outside).map_or_else(|| Ok(leaves.ranking()), Err)
    }

    /// Decides like [`decide`](Self::decide), for values that reach these leaves.
    ///
    /// # Errors
    /// The reason for declining.
    pub fn pick<R: Row + ?Sized>(
        &self,
        leaves: &Leaves<'_>,
        values: &R,
        mut offered: impl FnMut(ChoiceId) -> bool,
    ) -> Result<ChoiceId, Unsure> {
        let unsure = leaves.unsure(self.outside);
        let offered = |choice| self.is_eligible(choice, values) && offered(choice);
        let threshold = if unsure.is_some() { f64::NEG_INFINITY } else { ALLOWED };
        let picked = leaves.pick(threshold, offered);
        picked.ok_or(unsure.unwrap_or(Unsure::NoneAllowed))
    }

    /// Decides like [`choose`](Self::choose), for values that reach these leaves.
    ///
    /// # Errors
    /// The reason for declining.
    pub fn pick_usual<R: Row + ?Sized>(&self, leaves: &Leaves<'_>, values: &R) -> Result<ChoiceId, Unsure> {
        self.pick(leaves, values, |choice| {
            Some(choice) == self.fallback || leaves.all().all(|reached| reached.leaf.is_usual(choice))
        })
    }

    /// Returns true if `choice` can run on an input with these values, as far as the model knows. An
    /// undefined condition counts as false.
    pub fn is_eligible<R: Row + ?Sized>(&self, choice: ChoiceId, values: &R) -> bool {
        let condition = self.eligible.get(&choice);
        condition.is_none_or(|c| c.typed.eval(&self.row(values)) == Some(true))
    }

    /// Returns true if a logged feature is outside the ranges of the leaf (of any tree) that these values
    /// reach: the decision there is an extrapolation. False if they reach no leaf.
    pub fn is_outside(&self, values: &[Value]) -> bool {
        let row = self.features.row(values);
        (0..self.trees.len()).any(|tree| self.reached(tree, &row).is_ok_and(|leaf| leaf.is_outside(&row)))
    }

    /// Returns the leaf of the first tree that these values reach.
    ///
    /// # Errors
    /// The reason why there is none.
    pub fn leaf(&self, values: &[Value]) -> Result<&Leaf, Unsure> {
        self.leaves(values).map(|leaves| leaves.first.leaf)
    }

    fn leaves(&self, values: &[Value]) -> Result<Leaves<'_>, Unsure> {
        let logged = self.row(values);
        if self.precondition.as_ref().is_some_and(|p| p.typed.eval(&logged) != Some(true)) {
            return Err(Unsure::Precondition);
        }
        let row = self.features.row(&logged);
        Leaves::new(self, values, |tree| self.reached(tree, &row))
    }

    fn reached(&self, tree: usize, row: &(impl Row + ?Sized)) -> Result<&Leaf, Unsure> {
        let tree = &self.trees[tree];
        let index = tree.leaf_index(row, |slot, category| self.knows(slot, category))?;
        tree.leaf(index).ok_or(Unsure::NoneAllowed)
    }
}

/// Leaves of further trees that are kept without allocation; `ah-train` makes three trees at most by default.
const INLINE: usize = 7;

/// The price of an allowed choice in a model: leaves hold no other than 0 and infinity.
const ALLOWED: f64 = 0.0;

/// The leaves that one context reaches, one in each tree. Several [vote](Vote).
///
/// Nothing is allocated for up to eight trees without boosted ones, unless a ranking is asked for.
#[derive(Debug)]
pub struct Leaves<'a> {
    first: ReachedLeaf<'a>,
    others: [Option<ReachedLeaf<'a>>; INLINE],
    more: Vec<ReachedLeaf<'a>>,
    boosted: Option<BoostedSums>,
    fallback: Option<ChoiceId>,
}

/// What boosted trees add to the votes.
#[derive(Debug)]
struct BoostedSums {
    /// By choice.
    scores: Vec<f64>,
    /// The greatest score of a choice that is allowed, beside the fallback.
    most: f64,
}

impl BoostedSums {
    fn new(
        model: &Model,
        boosted: &BoostedTrees,
        row: &impl Row,
        ReachedLeaf { leaf, outside }: ReachedLeaf<'_>,
    ) -> Result<Self, Unsure> {
        let known = |slot: usize, category: &str| model.knows(slot, category);
        let Added { scores, caution } = boosted.added(model.choices.len(), row, known)?;
        let most = boosted.margin.map_or(f64::INFINITY, |margin| {
            let fallback = leaf.places(outside).find(|place| Some(place.choice) == model.fallback);
            fallback.map_or(f64::NEG_INFINITY, |f| f.score + scores[f.choice.index()] - margin * caution)
        });
        Ok(Self { scores, most })
    }

    /// Returns a vote with the boosted trees' votes.
    fn and(&self, vote: Vote, fallback: Option<ChoiceId>) -> Vote {
        let score = vote.score + self.scores[vote.choice.index()];
        let is_allowed = score <= self.most || Some(vote.choice) == fallback;
        Vote { score, price: if is_allowed { vote.price } else { f64::INFINITY }, ..vote }
    }
}

#[derive(Clone, Copy, Debug)]
struct ReachedLeaf<'a> {
    leaf: &'a Leaf,
    /// True if the context is outside the leaf's ranges, and the model's policy treats it differently.
    outside: bool,
}

impl<'a> Leaves<'a> {
    /// Collects the leaves of `model` that `leaf` returns for these values, by the position of the tree.
    ///
    /// # Errors
    /// The first error of `leaf`.
    pub fn new<R: Row + ?Sized>(
        model: &Model,
        values: &R,
        mut leaf: impl FnMut(usize) -> Result<&'a Leaf, Unsure>,
    ) -> Result<Self, Unsure> {
        let minds = model.outside != OutsidePolicy::Decide;
        let mut reach = |tree| -> Result<_, Unsure> {
            let leaf = leaf(tree)?;
            Ok(ReachedLeaf { leaf, outside: minds && leaf.is_outside(values) })
        };
        let mut leaves = Leaves {
            first: reach(0)?,
            others: [None; INLINE],
            more: Vec::new(),
            boosted: None,
            fallback: model.fallback,
        };
        for tree in 1..model.trees.len() {
            match leaves.others.get_mut(tree - 1) {
                Some(place) => *place = Some(reach(tree)?),
                None => leaves.more.push(reach(tree)?),
            }
        }
        if let Some(boosted) = &model.boosted {
            let logged = model.row(values);
            let row = model.features.row(&logged);
            leaves.boosted = Some(BoostedSums::new(model, boosted, &row, leaves.first)?);
        }
        Ok(leaves)
    }

    /// Returns all choices that every leaf ranks, best first.
    pub fn ranking(&self) -> Vec<Place> {
        let mut votes: Vec<Vote> = self.votes(|_| true).collect();
        if !self.is_ranked() {
            votes.sort_by(Vote::order);
        }
        votes.iter().map(|vote| vote.place(ALLOWED)).collect()
    }

    /// Returns true if the votes are in order: a single tree has its ranking already.
    fn is_ranked(&self) -> bool {
        self.others[0].is_none() && self.boosted.is_none()
    }

    /// Picks among the votes as [`pick`] does, without sorting. Choices up to this price are allowed.
    fn pick(&self, threshold: f64, mut offered: impl FnMut(ChoiceId) -> bool) -> Option<ChoiceId> {
        let place = |vote: Vote| vote.place(threshold);
        if self.is_ranked() {
            return pick(self.votes(|_| true).map(place), self.fallback, offered);
        }
        // The best of the allowed choices and the best of the others: `pick` needs no more of the sorted
        // ranking.
        let mut best: [Option<Vote>; 2] = [None; 2];
        for vote in self.votes(&mut offered) {
            let best = &mut best[usize::from(!place(vote).allowed)];
            if best.is_none_or(|best| vote.order(&best).is_lt()) {
                *best = Some(vote);
            }
        }
        if let [Some(a), Some(b)] = best
            && b.order(&a).is_lt()
        {
            best.swap(0, 1);
        }
        pick(best.into_iter().flatten().map(place), self.fallback, offered)
    }

    /// Returns the reason why these leaves decline, if one does.
    fn unsure(&self, policy: OutsidePolicy) -> Option<Unsure> {
        let declined = self.all().find_map(|reached| reached.leaf.unsure).map(Unsure::from);
        let outside = || policy == OutsidePolicy::Decline && self.all().any(|reached| reached.outside);
        declined.or_else(|| outside().then_some(Unsure::Outside))
    }

    fn all(&self) -> impl Iterator<Item = ReachedLeaf<'a>> {
        std::iter::once(self.first).chain(self.others())
    }

    fn others(&self) -> impl Iterator<Item = ReachedLeaf<'a>> {
        self.others.iter().copied().flatten().chain(self.more.iter().copied())
    }

    /// Returns the votes on the offered choices, in the order of the first leaf's ranking.
    fn votes(&self, mut offered: impl FnMut(ChoiceId) -> bool) -> impl Iterator<Item = Vote> {
        let ReachedLeaf { leaf, outside } = self.first;
        leaf.places(outside).filter(move |place| offered(place.choice)).filter_map(|first| {
            let votes = self.others().try_fold(first.vote(), |votes, ReachedLeaf { leaf, outside }| {
                let next = leaf.places(outside).find(|place| place.choice == first.choice)?;
                Some(votes.and(next.vote()))
            })?;
            Some(self.boosted.as_ref().map_or(votes, |boosted| boosted.and(votes, self.fallback)))
        })
    }
}

/// A row of a model's logged features; see [`Model::row`].
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
