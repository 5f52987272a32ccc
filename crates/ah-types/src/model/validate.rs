//! The invariants of every model, whoever made it. The generator and the run time rely on nothing else.

use ah_decide::{BLOCK, LEAF, MOST_LEAVES, Masks};

use super::boosters::{MAX_BOOSTERS, ROW_NUMBERS};
use super::data::{MAX_DEPTH, Model};
use super::error::{InvalidModel, ModelPlace};
use std::collections::BTreeSet;

use crate::feature::FeatureKind;
use crate::shown::quoted;
use crate::tree::{Leaf, Node, Test, Tree};

impl Model {
    /// Checks all references and numbers; reading a file does this too.
    ///
    /// # Errors
    /// [`InvalidModel`] with the first mistake.
    pub fn validate(&self) -> Result<(), InvalidModel> {
        let invalid = |problem: String| ModelPlace::Model.error(problem);
        validate(self).map_err(invalid)?;
        validate_tree(self, &self.tree, ModelPlace::Node, |leaf| validate_leaf(self, leaf))?;
        validate_boosters(self).map_err(|problem| invalid(format!("boosters: {problem}")))?;
        let tests = self.tree.tests().chain(self.boosters.iter().flat_map(Tree::tests));
        let columns: BTreeSet<_> = tests.map(|test| test.column().0).collect();
        if columns.len() >= usize::from(LEAF) {
            let found = columns.len();
            return Err(invalid(format!(
                "expected fewer than {LEAF} tested features and sets, found {found}"
            )));
        }
        for (booster, tree) in self.boosters.iter().enumerate() {
            let place = |node| ModelPlace::BoosterNode { booster, node };
            validate_tree(self, tree, place, |row| validate_row(self, row))?;
        }
        Ok(())
    }
}

/// The most choices: generated code numbers them with 16 bits.
const MOST_CHOICES: usize = u16::MAX as usize;

fn validate(model: &Model) -> Result<(), String> {
    if model.choices.is_empty() {
        return Err("expected at least one choice, found none".to_owned());
    }
    if model.choices.len() > MOST_CHOICES {
        return Err(format!("expected at most {MOST_CHOICES} choices, found {}", model.choices.len()));
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
    for &slot in &model.missing {
        let feature =
            slots.features().get(slot).ok_or_else(|| format!("missing: no feature has slot {slot}"))?;
        let name = quoted(&feature.name);
        if feature.kind == FeatureKind::Categorical {
            return Err(format!(
                "missing: {name} is categorical; its missing value is the category \"\" among its categories"
            ));
        }
        if feature.integer {
            return Err(format!(
                "missing: {name} is an integer in generated code, which has no missing value"
            ));
        }
    }
    Ok(())
}

/// Checks the form of a tree and its tests; `leaf` checks a leaf.
fn validate_tree<L>(
    model: &Model,
    tree: &Tree<L>,
    place: impl Fn(usize) -> ModelPlace,
    leaf: impl Fn(&L) -> Result<(), String>,
) -> Result<(), InvalidModel> {
    let count = tree.nodes.len();
    if count == 0 {
        return Err(place(0).error("expected at least one node, found none"));
    }
    let mut depths: Vec<Option<usize>> = vec![None; count];
    depths[0] = Some(0);
    for (i, node) in tree.nodes.iter().enumerate() {
        let invalid = |problem: String| place(i).error(problem);
        let Some(depth) = depths[i] else {
            return Err(invalid(
                "expected a child of an earlier node, found one without a parent".to_owned(),
            ));
        };
        if depth > MAX_DEPTH {
            return Err(invalid(format!("expected a depth of at most {MAX_DEPTH}, found {depth}")));
        }
        match node {
            Node::Leaf(content) => leaf(content).map_err(invalid)?,
            Node::Split { test, left, right } => {
                validate_test(model, test).map_err(invalid)?;
                for child in [*left as usize, *right as usize] {
                    if child <= i || child >= count {
                        let range = format!("{} to {}", i + 1, count - 1);
                        return Err(invalid(format!("expected children from {range}, found {child}")));
                    }
                    if depths[child].replace(depth + 1).is_some() {
                        return Err(invalid(format!("its child {child} is the child of two nodes")));
                    }
                }
            }
        }
    }
    Ok(())
}

/// Checks what all boosters share.
fn validate_boosters(model: &Model) -> Result<(), String> {
    let (count, unit) = (model.boosters.len(), model.unit);
    if let Some(margin) = model.margin.filter(|margin| margin.is_nan() || margin.abs() > MOST_MARGIN) {
        return Err(format!("expected a margin from -{MOST_MARGIN} to {MOST_MARGIN}, found {margin}"));
    }
    if count == 0 {
        return model
            .margin
            .map_or(Ok(()), |margin| Err(format!("expected no margin without them, found {margin}")));
    }
    if count > MAX_BOOSTERS {
        return Err(format!("expected at most {MAX_BOOSTERS} trees, found {count}"));
    }
    if !UNITS.contains(&unit) || unit.to_bits().trailing_zeros() < 52 {
        return Err(format!("expected a power of two from 2^-40 to 1 as the unit, found {unit}"));
    }
    let is_preorder = |(at, node): (usize, &Node<_>)| match node {
        Node::Split { left, .. } => *left as usize == at + 1,
        Node::Leaf(_) => true,
    };
    if let Some((booster, leaves)) = model
        .boosters
        .iter()
        .map(|tree| tree.leaves().count())
        .enumerate()
        .find(|(_, leaves)| *leaves > MOST_LEAVES)
    {
        return Err(format!("booster {booster}: expected at most {MOST_LEAVES} leaves, found {leaves}"));
    }
    let tests = || model.boosters.iter().flat_map(Tree::tests);
    let columns = tests().map(|test| test.column().0).collect::<BTreeSet<_>>().len();
    let bytes = (tests().count() + columns) * count.div_ceil(BLOCK) * size_of::<Masks>();
    if bytes > MOST_MASK_BYTES {
        return Err(format!(
            "expected masks of at most {MOST_MASK_BYTES} bytes, found {bytes}; learn fewer or smaller trees"
        ));
    }
    match model.boosters.iter().position(|tree| !tree.nodes.iter().enumerate().all(is_preorder)) {
        Some(booster) => Err(format!("booster {booster}: expected each left child right after its parent")),
        None => Ok(()),
    }
}

/// The most bytes of leaf masks, which grow with the product of trees and splits. 192 trees of 64 leaves need 18.6 million.
const MOST_MASK_BYTES: usize = 24 << 20;

/// The greatest margin. Scores of one unit and this margin keep 32 bits below the point.
const MOST_MARGIN: f64 = (1 << 20) as f64;

/// The units of boosters: sums of their numbers are finite, and so small that scores do not lose digits.
const UNITS: std::ops::RangeInclusive<f64> = 1.0 / (1_u64 << 40) as f64..=1.0;

fn validate_row(model: &Model, row: &[i8]) -> Result<(), String> {
    let length = model.choices.len();
    if row.len() != length {
        return Err(format!("expected a row of {length} numbers, found {}", row.len()));
    }
    match row.iter().find(|number| !ROW_NUMBERS.contains(number)) {
        None => Ok(()),
        Some(number) => {
            let (least, most) = (ROW_NUMBERS.start(), ROW_NUMBERS.end());
            Err(format!("expected numbers from {least} to {most}, found {number}"))
        }
    }
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
        Test::Categorical { categories, .. } => {
            if feature.kind != FeatureKind::Categorical {
                return Err(format!("a category for the numerical feature {name}"));
            }
            if categories.is_empty() {
                return Err(format!("expected at least one category of {name}, found none"));
            }
            if !categories.is_sorted_by(|a, b| a < b) {
                return Err(format!("the tested categories of {name} are not sorted and distinct"));
            }
            if let Some(category) = categories.iter().find(|category| !model.knows(slot, category)) {
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
        if ranked.measured == 0 {
            return Err(format!("{} is ranked and was never measured in this leaf", quoted(name)));
        }
        let numbers = [ranked.score, ranked.probability];
        let bounds = [ranked.slowdown, ranked.worst, ranked.worst_over_fallback];
        if numbers.iter().any(|x| !x.is_finite()) || bounds.iter().any(|x| x.is_nan()) {
            return Err(format!("expected numbers for {}, found NaN or infinity", quoted(name)));
        }
    }
    // The boosters change the order.
    if model.boosters.is_empty() && !leaf.ranking.is_sorted_by(|a, b| a.score <= b.score) {
        return Err("expected the ranking in the order of the scores".to_owned());
    }
    Ok(())
}
