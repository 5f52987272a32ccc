//! The leaves as code holds them.

use ah_types::{ChoiceId, Leaf, LeafUnsure, Model, OutsidePolicy, Place};
use serde::Serialize;

/// A leaf, either for inputs inside of what training saw there or for those outside.
pub struct LoweredLeaf<'m> {
    /// What training saw.
    pub leaf: &'m Leaf,
    /// Why it declines, wherever the fallback is offered.
    pub declines: Option<Reason>,
    /// What it takes where the program does not say what it offers and every choice is eligible.
    pub best: Option<ChoiceId>,
    /// The choices, best first.
    pub ranking: Vec<LoweredPlace>,
    /// The position of the leaf that holds instead for inputs outside of this leaf's ranges.
    pub outside: Option<usize>,
}

/// A choice's place in the ranking of a leaf.
#[derive(Clone, Copy)]
pub struct LoweredPlace {
    /// The choice.
    pub choice: ChoiceId,
    /// What trees that vote add.
    pub score: f64,
    /// False where it is passed over.
    pub allowed: bool,
    /// The share of the leaf's inputs that it wins.
    pub share: f64,
    /// True where a program can be expected to offer it.
    pub usual: bool,
}

/// Why a leaf declines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Reason {
    /// The best choice is not probable enough.
    LowConfidence,
    /// The best choice may be too slow.
    UnsafeLeaf,
    /// The input is outside of what training saw.
    Outside,
}

/// Returns the leaves of all trees, tree by tree in the order of the nodes; after them those for inputs outside.
pub(super) fn leaves(model: &Model) -> Vec<LoweredLeaf<'_>> {
    let all = || model.trees.iter().flat_map(|tree| tree.leaves().map(|(_, leaf)| leaf));
    let mut leaves: Vec<LoweredLeaf<'_>> = all().map(|leaf| lowered(model, leaf, false)).collect();
    for (i, leaf) in all().enumerate() {
        let differs = match model.outside {
            OutsidePolicy::Decide => false,
            OutsidePolicy::Safe => !leaf.outside.is_empty(),
            OutsidePolicy::Decline => leaf.ranges.iter().any(Option::is_some),
        };
        if differs {
            leaves[i].outside = Some(leaves.len());
            leaves.push(lowered(model, leaf, true));
        }
    }
    leaves
}

fn lowered<'m>(model: &Model, leaf: &'m Leaf, outside: bool) -> LoweredLeaf<'m> {
    let declines = match leaf.unsure {
        Some(LeafUnsure::LowConfidence) => Some(Reason::LowConfidence),
        Some(LeafUnsure::Unsafe) => Some(Reason::UnsafeLeaf),
        None if outside && model.outside == OutsidePolicy::Decline => Some(Reason::Outside),
        None => None,
    };
    let place = |place: Place| {
        let ranked = leaf.ranked(place.choice);
        LoweredPlace {
            choice: place.choice,
            score: place.score,
            allowed: place.allowed,
            share: ranked.map_or(0.0, |ranked| ranked.probability),
            usual: ranked.is_some_and(|ranked| ranked.usual),
        }
    };
    let best = leaf.choose(model.fallback, outside).filter(|_| declines.is_none());
    LoweredLeaf {
        leaf,
        declines,
        best: best.map(|ranked| ranked.choice),
        ranking: leaf.places(outside).map(place).collect(),
        outside: None,
    }
}
