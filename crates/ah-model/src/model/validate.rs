//! The invariants of every model. The generator and the run time rely on nothing else.

use std::collections::HashSet;

use ah_decide::{BLOCK, LEAF, MOST_LEAVES, Masks};

use super::boosters::{MAX_BOOSTERS, ROW_NUMBERS};
use super::costs::{CostClass, Costs};
use super::data::{MAX_DEPTH, Model};
use crate::fault::Invalid;
use crate::feature::FeatureKind;
use crate::shown::quoted;
use crate::tree::{Column, Leaf, Node, Test, Tree};

/// The message as the error of a function, unless the condition holds.
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(format!($($message)+));
        }
    };
}

impl Model {
    /// Checks all references and numbers; reading a file does this too.
    ///
    /// # Errors
    /// [`Invalid`] with the first mistake.
    pub fn validate(&self) -> Result<(), Invalid> {
        validate(self).map_err(Invalid)
    }
}

fn validate(model: &Model) -> Result<(), String> {
    validate_names(model)?;
    validate_purpose(model).map_err(|problem| format!("purpose: {problem}"))?;
    validate_tree(model, &model.tree, |leaf| validate_leaf(model, leaf))?;
    validate_costs(model).map_err(|problem| format!("costs: {problem}"))?;
    validate_boosters(model).map_err(|problem| format!("boosters: {problem}"))?;
    let columns = Model::columns(model.tests()).len();
    ensure!(
        columns < usize::from(LEAF),
        "expected fewer than {LEAF} tested features and sets, found {columns}"
    );
    for (booster, tree) in model.boosters.iter().enumerate() {
        validate_tree(model, tree, |row| validate_row(model, row))
            .map_err(|problem| format!("booster {booster}: {problem}"))?;
    }
    Ok(())
}

fn validate_purpose(model: &Model) -> Result<(), String> {
    let purpose = &model.purpose;
    let limit = purpose.max_slowdown;
    ensure!(limit >= 1.0 && limit.is_finite(), "expected a max_slowdown of at least 1, found {limit}");
    let runs = purpose.runs_per_decision.unwrap_or(1.0);
    ensure!(runs >= 1.0 && runs.is_finite(), "expected runs_per_decision of at least 1, found {runs}");
    for (name, time) in purpose.feature_ms.iter().chain(&purpose.decision_ns) {
        let is_time = *time >= 0.0 && time.is_finite();
        ensure!(is_time, "expected a time of {} of at least 0, found {time}", quoted(name));
    }
    Ok(())
}

/// The most choices: generated code numbers them with 16 bits.
const MOST_CHOICES: usize = u16::MAX as usize;

fn validate_names(model: &Model) -> Result<(), String> {
    let choices = &model.choices;
    let slots = model.features.all();
    ensure!(!choices.is_empty(), "expected at least one choice, found none");
    ensure!(
        choices.len() <= MOST_CHOICES,
        "expected at most {MOST_CHOICES} choices, found {}",
        choices.len()
    );
    if let Some(pair) = choices.windows(2).find(|pair| pair[0] >= pair[1]) {
        let [a, b] = [0, 1].map(|i| quoted(&pair[i]));
        return Err(format!("expected sorted, distinct choices, found {a} before {b}"));
    }
    if let Some(id) = model.fallback {
        let is_choice = id.index() < choices.len();
        ensure!(is_choice, "the fallback is not a choice: no choice has id {}", id.index());
    }
    for id in model.eligible.keys() {
        ensure!(id.index() < choices.len(), "no choice has id {}", id.index());
    }
    let features = slots.len();
    let found = model.categories.len();
    ensure!(features == found, "expected categories for {features} features, found {found}");
    for (feature, categories) in slots.features().iter().zip(&model.categories) {
        let name = quoted(&feature.name);
        let is_number = feature.kind == FeatureKind::Numerical;
        ensure!(!is_number || categories.is_empty(), "the numerical feature {name} has categories");
        ensure!(is_set(categories), "the categories of {name} are not sorted and distinct");
    }
    for &slot in &model.missing {
        let feature = slots.features().get(slot);
        let feature = feature.ok_or_else(|| format!("missing: no feature has slot {slot}"))?;
        let name = quoted(&feature.name);
        ensure!(
            feature.kind == FeatureKind::Numerical,
            "missing: {name} is categorical; its missing value is the category \"\" among its categories"
        );
        ensure!(
            !feature.integer,
            "missing: {name} is an integer in generated code, which has no missing value"
        );
    }
    Ok(())
}

/// Checks the form of a tree and its tests; `leaf` checks a leaf.
fn validate_tree<L>(
    model: &Model,
    tree: &Tree<L>,
    leaf: impl Fn(&L) -> Result<(), String>,
) -> Result<(), String> {
    let count = tree.nodes.len();
    ensure!(count > 0, "node 0: expected at least one node, found none");
    let mut depths: Vec<Option<usize>> = vec![None; count];
    depths[0] = Some(0);
    let mut check = |i: usize, node: &Node<L>| {
        let depth = depths[i].ok_or("expected a child of an earlier node, found one without a parent")?;
        ensure!(depth <= MAX_DEPTH, "expected a depth of at most {MAX_DEPTH}, found {depth}");
        match node {
            Node::Leaf(content) => leaf(content),
            Node::Split { test, right } => {
                validate_test(model, test)?;
                for child in [i + 1, *right as usize] {
                    let most = count - 1;
                    ensure!(
                        child > i && child <= most,
                        "expected children from {} to {most}, found {child}",
                        i + 1
                    );
                    let is_first = depths[child].replace(depth + 1).is_none();
                    ensure!(is_first, "its child {child} is the child of two nodes");
                }
                Ok(())
            }
        }
    };
    let mut nodes = tree.nodes.iter().enumerate();
    nodes.try_for_each(|(i, node)| check(i, node).map_err(|problem| format!("node {i}: {problem}")))
}

/// The most terms, and the most numbers of a choice in them.
const MAX_TERMS: usize = 64;

/// The most leaves of a tree whose leaves have factors: people read them.
const MAX_LEAVES: usize = 16;

/// Checks what reading a formula does not.
fn validate_costs(model: &Model) -> Result<(), String> {
    let Some(Costs { parameters, terms, classes }) = &model.costs else { return Ok(()) };
    let numbers = parameters.len() + terms.len();
    let is_allowed = !terms.is_empty() && numbers <= MAX_TERMS;
    ensure!(is_allowed, "expected 1 to {MAX_TERMS} terms and parameters, found {numbers}");
    let leaves = model.tree.leaves().count();
    ensure!(
        !model.boosters.is_empty() || leaves <= MAX_LEAVES,
        "expected a tree of at most {MAX_LEAVES} leaves without boosters, found {leaves}"
    );
    ensure!(!classes.is_empty(), "expected at least one class, found none");
    for (number, CostClass { condition, rows }) in classes.iter().enumerate() {
        let is_last = number + 1 == classes.len();
        ensure!(condition.is_none() == is_last, "expected a condition for each class but the last");
        for row in rows {
            let is_sound = row.len() == numbers && row.iter().all(|x| x.is_finite());
            ensure!(is_sound, "expected rows of {numbers} finite numbers, found {row:?}");
        }
        let choices = model.choices.len();
        ensure!(rows.len() == choices, "expected rows of {choices} choices, found {}", rows.len());
    }
    Ok(())
}

/// Checks what all boosters share.
fn validate_boosters(model: &Model) -> Result<(), String> {
    let count = model.boosters.len();
    let unit = model.unit;
    if let Some(margin) = model.margin {
        let is_sound = margin.abs() <= MOST_MARGIN;
        ensure!(is_sound, "expected a margin from -{MOST_MARGIN} to {MOST_MARGIN}, found {margin}");
        ensure!(count > 0, "expected no margin without them, found {margin}");
    }
    if count == 0 {
        return Ok(());
    }
    ensure!(count <= MAX_BOOSTERS, "expected at most {MAX_BOOSTERS} trees, found {count}");
    let is_power_of_two = UNITS.contains(&unit) && unit.to_bits().trailing_zeros() >= 52;
    ensure!(is_power_of_two, "expected a power of two from 2^-40 to 1 as the unit, found {unit}");
    for (booster, tree) in model.boosters.iter().enumerate() {
        let leaves = tree.leaves().count();
        ensure!(
            leaves <= MOST_LEAVES,
            "booster {booster}: expected at most {MOST_LEAVES} leaves, found {leaves}"
        );
    }
    let columns = model.booster_columns();
    let tests = model.boosters.iter().flat_map(Tree::tests);
    let place = |test: &Test| columns.partition_point(|other| **other < test.column);
    let thresholds: HashSet<_> = tests.map(|test| (place(test), test.threshold.to_bits())).collect();
    let rows = thresholds.len() + columns.len();
    let bytes = rows * count.div_ceil(BLOCK) * size_of::<Masks>();
    ensure!(
        bytes <= MOST_MASK_BYTES,
        "expected masks of at most {MOST_MASK_BYTES} bytes, found {bytes}; learn fewer or smaller trees"
    );
    Ok(())
}

/// The most bytes of leaf masks, which grow with the product of trees and thresholds: 6.7 million for the 370 trees of the forward
/// convolutions.
const MOST_MASK_BYTES: usize = 128 << 20;

/// The greatest margin. Scores of one unit and this margin keep 32 bits below the point.
const MOST_MARGIN: f64 = (1 << 20) as f64;

/// The units of boosters: sums of their numbers are finite, and so small that scores do not lose digits.
const UNITS: std::ops::RangeInclusive<f64> = 1.0 / (1_u64 << 40) as f64..=1.0;

fn is_set(categories: &[String]) -> bool {
    categories.is_sorted_by(|a, b| a < b)
}

fn validate_row(model: &Model, row: &[i8]) -> Result<(), String> {
    let length = model.choices.len();
    let found = row.len();
    ensure!(found == length, "expected a row of {length} numbers, found {found}");
    let least = ROW_NUMBERS.start();
    let most = ROW_NUMBERS.end();
    for number in row {
        ensure!(ROW_NUMBERS.contains(number), "expected numbers from {least} to {most}, found {number}");
    }
    Ok(())
}

fn validate_test(model: &Model, test: &Test) -> Result<(), String> {
    let Test { column: Column { slot, categories }, threshold } = test;
    let feature = model.features.all().features().get(*slot);
    let feature = feature.ok_or_else(|| format!("no feature has slot {slot}"))?;
    let name = quoted(&feature.name);
    let Some(categories) = categories else {
        ensure!(feature.kind == FeatureKind::Numerical, "a threshold on the categorical feature {name}");
        ensure!(threshold.is_finite(), "expected a finite threshold on {name}, found {threshold}");
        return Ok(());
    };
    ensure!(feature.kind == FeatureKind::Categorical, "a category for the numerical feature {name}");
    ensure!(*threshold == 0.0, "expected the threshold 0 for the categories of {name}, found {threshold}");
    ensure!(!categories.is_empty(), "expected at least one category of {name}, found none");
    ensure!(is_set(categories), "the tested categories of {name} are not sorted and distinct");
    for category in categories.iter() {
        let is_known = model.knows(*slot, category);
        ensure!(is_known, "{} is none of the categories of {name}", quoted(category));
    }
    Ok(())
}

fn validate_leaf(model: &Model, leaf: &Leaf) -> Result<(), String> {
    let mut is_ranked = vec![false; model.choices.len()];
    for ranked in &leaf.ranking {
        let id = ranked.choice.index();
        let name = model.choices.get(id).ok_or_else(|| format!("no choice has id {id}"))?;
        ensure!(!std::mem::replace(&mut is_ranked[id], true), "{} is ranked twice", quoted(name));
        let measured = ranked.measured;
        let samples = leaf.samples;
        ensure!(measured <= samples, "{} was measured on {measured} of {samples} inputs", quoted(name));
        ensure!(measured > 0, "{} is ranked and was never measured in this leaf", quoted(name));
        let numbers = [ranked.score, ranked.probability];
        let bounds = [ranked.slowdown, ranked.worst, ranked.worst_over_fallback];
        let are_numbers = numbers.iter().all(|x| x.is_finite()) && !bounds.iter().any(|x| x.is_nan());
        ensure!(are_numbers, "expected numbers for {}, found NaN or infinity", quoted(name));
    }
    let is_factor = model.costs.is_some() && model.boosters.is_empty();
    let factors_are_sound = leaf.ranking.iter().all(|ranked| ranked.score > 0.0 && ranked.allowed);
    ensure!(
        !is_factor || factors_are_sound,
        "expected factors above 0 of allowed choices, because the tree stands on a formula"
    );
    // The boosters and the formula change the order.
    let is_sorted = leaf.ranking.is_sorted_by(|a, b| a.score <= b.score);
    ensure!(
        model.costs.is_some() || !model.boosters.is_empty() || is_sorted,
        "expected the ranking in the order of the scores"
    );
    Ok(())
}
