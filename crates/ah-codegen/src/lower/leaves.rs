//! The leaves in the form of the code.

use ah_types::{ChoiceId, Leaf, LeafUnsure, Model, OutsidePolicy, Place};
use serde::Serialize;

/// A leaf for inputs inside its ranges, or for those outside.
pub struct LoweredLeaf<'m> {
    /// The leaf with its evidence.
    pub leaf: &'m Leaf,
    /// The reason why it declines if the fallback is offered.
    pub declines: Option<Reason>,
    /// The choice for a program that does not list its choices, if every choice is eligible.
    pub best: Option<ChoiceId>,
    /// The choices, best first.
    pub ranking: Vec<LoweredPlace>,
    /// The position of the leaf for inputs outside of this leaf's ranges.
    pub outside: Option<usize>,
}

/// A choice's place in the ranking of a leaf.
#[derive(Clone, Copy)]
pub struct LoweredPlace {
    pub choice: ChoiceId,
    /// The term that trees that vote add.
    pub score: f64,
    /// False if it is skipped.
    pub allowed: bool,
    /// The share of the leaf's inputs on which it wins.
    pub share: f64,
    /// True if a program is expected to offer it.
    pub usual: bool,
}

/// The reason why a leaf declines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Reason {
    /// The best choice is not probable enough.
    LowConfidence,
    /// The best choice may be too slow.
    UnsafeLeaf,
    /// The input is outside of the leaf's ranges.
    Outside,
}

/// Returns the leaves of all trees, tree by tree in the order of the nodes, followed by those for inputs
/// outside.
pub(super) fn leaves(model: &Model) -> Vec<LoweredLeaf<'_>> {
    let all = || model.trees.iter().flat_map(|tree| tree.leaves().map(|(_, leaf)| leaf));
    let mut leaves: Vec<LoweredLeaf<'_>> = all().map(|leaf| lowered(model, leaf, false)).collect();
    for (i, leaf) in all().enumerate() {
        let differs = match model.outside {
            OutsidePolicy::Decide => false,
            OutsidePolicy::Safe => !leaf.outside.is_empty(),
            OutsidePolicy::Decline => true,
        };
        // Without ranges nothing is outside.
        if differs && leaf.ranges.iter().any(Option::is_some) {
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
