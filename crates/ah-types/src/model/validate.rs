//! What must hold of every model, whoever made it: the generator and the run time trust nothing else.

use super::Model;
use crate::feature::FeatureKind;
use crate::tree::{Leaf, Node, Test, Tree};

/// Deeper trees are refused: no learner makes them, and generated branches nest this deep.
const MAX_DEPTH: usize = 64;

pub(super) fn validate(model: &Model) -> Result<(), String> {
    if model.choices.is_empty() {
        return Err("expected at least one choice, found none".to_owned());
    }
    if let Some(pair) = model.choices.windows(2).find(|w| w[0] >= w[1]) {
        return Err(format!("expected sorted, distinct choices, found {:?} before {:?}", pair[0], pair[1]));
    }
    let slots = model.features.all();
    if model.categories.len() != slots.len() {
        return Err(format!(
            "expected categories for {} features, found {}",
            slots.len(),
            model.categories.len()
        ));
    }
    for (feature, categories) in slots.features().iter().zip(&model.categories) {
        if feature.kind == FeatureKind::Numerical && !categories.is_empty() {
            return Err(format!("the numerical feature {:?} has categories", feature.name));
        }
        if categories.windows(2).any(|w| w[0] >= w[1]) {
            return Err(format!("the categories of {:?} are not sorted and distinct", feature.name));
        }
    }
    if model.trees.is_empty() {
        return Err("expected at least one tree, found none".to_owned());
    }
    if let Some(id) = model.eligible.keys().find(|id| id.index() >= model.choices.len()) {
        return Err(format!("no choice has id {}", id.0));
    }
    for (i, tree) in model.trees.iter().enumerate() {
        validate_tree(model, tree).map_err(|reason| format!("tree {i}: {reason}"))?;
    }
    Ok(())
}

fn validate_tree(model: &Model, tree: &Tree) -> Result<(), String> {
    let count = tree.nodes.len();
    if count == 0 {
        return Err("expected at least one node, found none".to_owned());
    }
    let mut depths: Vec<Option<usize>> = vec![None; count];
    depths[0] = Some(0);
    for (i, node) in tree.nodes.iter().enumerate() {
        let Some(depth) = depths[i] else {
            return Err(format!("node {i} is no child of a node before it"));
        };
        if depth > MAX_DEPTH {
            return Err(format!("node {i} is deeper than {MAX_DEPTH}"));
        }
        match node {
            Node::Leaf(leaf) => validate_leaf(model, leaf).map_err(|reason| format!("node {i}: {reason}"))?,
            Node::Split { test, left, right } => {
                validate_test(model, test).map_err(|reason| format!("node {i}: {reason}"))?;
                for &child in [left, right] {
                    let child = child as usize;
                    if child <= i || child >= count {
                        return Err(format!(
                            "node {i}: expected children from {} to {}, found {child}",
                            i + 1,
                            count - 1
                        ));
                    }
                    if depths[child].replace(depth + 1).is_some() {
                        return Err(format!("node {child} is the child of two nodes"));
                    }
                }
            }
        }
    }
    Ok(())
}

fn validate_test(model: &Model, test: &Test) -> Result<(), String> {
    let feature = model
        .features
        .all()
        .features()
        .get(test.slot())
        .ok_or_else(|| format!("no feature has slot {}", test.slot()))?;
    match test {
        Test::Numerical { threshold, .. } => {
            if feature.kind != FeatureKind::Numerical {
                return Err(format!("a threshold on the categorical feature {:?}", feature.name));
            }
            if !threshold.is_finite() {
                return Err(format!("expected a finite threshold on {:?}, found {threshold}", feature.name));
            }
        }
        Test::Categorical { slot, category } => {
            if feature.kind != FeatureKind::Categorical {
                return Err(format!("a category for the numerical feature {:?}", feature.name));
            }
            if !model.knows(*slot, category) {
                return Err(format!("{category:?} is none of the categories of {:?}", feature.name));
            }
        }
    }
    Ok(())
}

fn validate_leaf(model: &Model, leaf: &Leaf) -> Result<(), String> {
    let features = model.features.base().len();
    if !leaf.ranges.is_empty() && leaf.ranges.len() != features {
        return Err(format!("expected the ranges of {features} features, found {}", leaf.ranges.len()));
    }
    let mut seen = vec![false; model.choices.len()];
    for ranked in &leaf.ranking {
        let id = ranked.choice.index();
        if id >= seen.len() {
            return Err(format!("no choice has id {id}"));
        }
        if std::mem::replace(&mut seen[id], true) {
            return Err(format!("{:?} is ranked twice", model.choices[id]));
        }
        if ranked.measured > leaf.samples {
            return Err(format!(
                "{:?} was measured on {} of {} inputs",
                model.choices[id], ranked.measured, leaf.samples
            ));
        }
        if ranked.usual && ranked.measured == 0 {
            return Err(format!("{:?} is usual and was never measured in this leaf", model.choices[id]));
        }
        let numbers = [ranked.score, ranked.probability];
        let bounds = [ranked.slowdown, ranked.worst, ranked.worst_over_fallback];
        if numbers.iter().any(|x| !x.is_finite()) || bounds.iter().any(|x| x.is_nan()) {
            return Err(format!("expected numbers for {:?}, found NaN or infinity", model.choices[id]));
        }
    }
    validate_places(model, leaf, false)?;
    validate_places(model, leaf, true)
}

/// What training never measured in a leaf comes last there and is not allowed.
fn validate_places(model: &Model, leaf: &Leaf, outside: bool) -> Result<(), String> {
    let mut seen = vec![false; model.choices.len()];
    let mut unmeasured = None;
    for place in leaf.places(outside) {
        let name = || &model.choices[place.choice.index()];
        let Some(ranked) = leaf.ranked(place.choice) else {
            return Err(format!("{:?} is ranked outside and not inside", name()));
        };
        if std::mem::replace(&mut seen[place.choice.index()], true) {
            return Err(format!("{:?} is ranked twice outside", name()));
        }
        if !place.score.is_finite() {
            return Err(format!("expected a number for {:?}, found {}", name(), place.score));
        }
        match (ranked.measured, unmeasured) {
            (0, _) if place.allowed => {
                return Err(format!("{:?} is allowed and was never measured in this leaf", name()));
            }
            (0, _) => unmeasured = Some(name()),
            (_, Some(before)) => {
                return Err(format!(
                    "{before:?}, never measured in this leaf, is ranked before {:?}",
                    name()
                ));
            }
            (_, None) => {}
        }
    }
    Ok(())
}
