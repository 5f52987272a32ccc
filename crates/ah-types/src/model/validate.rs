//! The invariants of every model, whoever made it. The generator and the run time rely on nothing else.

use super::boosted_file;
use super::data::{MAX_DEPTH, Model};
use super::error::{InvalidModel, ModelPlace};
use crate::feature::FeatureKind;
use crate::shown::quoted;
use crate::tree::{Leaf, Node, Test, Tree};

impl Model {
    /// Checks all references and numbers; reading a file does this too.
    ///
    /// # Errors
    /// [`InvalidModel`] with the first mistake.
    pub fn validate(&self) -> Result<(), InvalidModel> {
        validate(self).map_err(|problem| ModelPlace::Model.error(problem))?;
        for (i, tree) in self.trees.iter().enumerate() {
            validate_tree(self, i, tree)?;
        }
        let boosted = self.boosted.as_ref().map(|boosted| boosted_file::validate(self, boosted));
        boosted.unwrap_or(Ok(())).map_err(|problem| ModelPlace::Model.error(format!("boosted: {problem}")))
    }
}

fn validate(model: &Model) -> Result<(), String> {
    if model.choices.is_empty() {
        return Err("expected at least one choice, found none".to_owned());
    }
    if let Some(pair) = model.choices.windows(2).find(|pair| pair[0] >= pair[1]) {
        let [a, b] = [0, 1].map(|i| quoted(&pair[i]));
        return Err(format!("expected sorted, distinct choices, found {a} before {b}"));
    }
    if let Some(id) = model.fallback.filter(|id| id.index() >= model.choices.len()) {
        return Err(format!("the fallback is not a choice: no choice has id {}", id.index()));
    }
    if let Some(id) = model.eligible.keys().find(|id| id.index() >= model.choices.len()) {
        return Err(format!("no choice has id {}", id.index()));
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
            return Err(format!("the numerical feature {} has categories", quoted(&feature.name)));
        }
        if !categories.is_sorted_by(|a, b| a < b) {
            return Err(format!("the categories of {} are not sorted and distinct", quoted(&feature.name)));
        }
    }
    if model.trees.is_empty() {
        return Err("expected at least one tree, found none".to_owned());
    }
    Ok(())
}

fn validate_tree(model: &Model, position: usize, tree: &Tree) -> Result<(), InvalidModel> {
    let count = tree.nodes.len();
    if count == 0 {
        return Err(ModelPlace::Tree(position).error("expected at least one node, found none"));
    }
    let mut depths: Vec<Option<usize>> = vec![None; count];
    depths[0] = Some(0);
    for (i, node) in tree.nodes.iter().enumerate() {
        let place = ModelPlace::Node { tree: position, node: i };
        let Some(depth) = depths[i] else {
            return Err(place.error("expected a child of an earlier node, found one without a parent"));
        };
        if depth > MAX_DEPTH {
            return Err(place.error(format!("expected a depth of at most {MAX_DEPTH}, found {depth}")));
        }
        match node {
            Node::Leaf(leaf) => validate_leaf(model, leaf).map_err(|problem| place.error(problem))?,
            Node::Split { test, left, right } => {
                validate_test(model, test).map_err(|problem| place.error(problem))?;
                for child in [*left as usize, *right as usize] {
                    if child <= i || child >= count {
                        let range = format!("{} to {}", i + 1, count - 1);
                        return Err(place.error(format!("expected children from {range}, found {child}")));
                    }
                    if depths[child].replace(depth + 1).is_some() {
                        return Err(place.error(format!("its child {child} is the child of two nodes")));
                    }
                }
            }
        }
    }
    Ok(())
}

fn validate_test(model: &Model, test: &Test) -> Result<(), String> {
    let slot = test.slot();
    let feature = model.features.all().features().get(slot);
    let feature = feature.ok_or_else(|| format!("no feature has slot {slot}"))?;
    let name = quoted(&feature.name);
    match test {
        Test::Numerical { threshold, .. } => {
            if feature.kind != FeatureKind::Numerical {
                return Err(format!("a threshold on the categorical feature {name}"));
            }
            if !threshold.is_finite() {
                return Err(format!("expected a finite threshold on {name}, found {threshold}"));
            }
        }
        Test::Categorical { category, .. } => {
            if feature.kind != FeatureKind::Categorical {
                return Err(format!("a category for the numerical feature {name}"));
            }
            if !model.knows(slot, category) {
                return Err(format!("{} is none of the categories of {name}", quoted(category)));
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
    let mut is_ranked = vec![false; model.choices.len()];
    for ranked in &leaf.ranking {
        let id = ranked.choice.index();
        let name = model.choices.get(id).ok_or_else(|| format!("no choice has id {id}"))?;
        if std::mem::replace(&mut is_ranked[id], true) {
            return Err(format!("{} is ranked twice", quoted(name)));
        }
        if ranked.measured > leaf.samples {
            let (measured, samples) = (ranked.measured, leaf.samples);
            return Err(format!("{} was measured on {measured} of {samples} inputs", quoted(name)));
        }
        if ranked.usual && ranked.measured == 0 {
            return Err(format!("{} is usual and was never measured in this leaf", quoted(name)));
        }
        let numbers = [ranked.score, ranked.probability];
        let bounds = [ranked.slowdown, ranked.worst, ranked.worst_over_fallback];
        if numbers.iter().any(|x| !x.is_finite()) || bounds.iter().any(|x| x.is_nan()) {
            return Err(format!("expected numbers for {}, found NaN or infinity", quoted(name)));
        }
    }
    validate_places(model, leaf, false)?;
    validate_places(model, leaf, true)
}

/// Checks that a choice that training never measured in a leaf comes last there and is not allowed.
fn validate_places(model: &Model, leaf: &Leaf, outside: bool) -> Result<(), String> {
    let mut is_placed = vec![false; model.choices.len()];
    let mut unmeasured = None;
    for place in leaf.places(outside) {
        let id = place.choice.index();
        let name = quoted(model.choices.get(id).ok_or_else(|| format!("no choice has id {id}"))?);
        let ranked = leaf.ranked(place.choice).ok_or(format!("{name} is ranked outside and not inside"))?;
        if std::mem::replace(&mut is_placed[id], true) {
            return Err(format!("{name} is ranked twice outside"));
        }
        if !place.score.is_finite() {
            return Err(format!("expected a number for {name}, found {}", place.score));
        }
        match (ranked.measured, &unmeasured) {
            (0, _) if place.allowed => {
                return Err(format!("{name} is allowed and was never measured in this leaf"));
            }
            (0, _) => unmeasured = Some(name),
            (_, Some(before)) => {
                return Err(format!("{before}, never measured in this leaf, is ranked before {name}"));
            }
            (_, None) => {}
        }
    }
    Ok(())
}
