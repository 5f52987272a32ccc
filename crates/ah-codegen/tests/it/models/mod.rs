//! Random models: all kinds of splits and expressions, shallow and deep trees, hostile names. The tests and
//! the fuzz target use them.

#![allow(dead_code)] // Each user needs some of it.

mod boosters;
mod costs;
mod expressions;
mod names;
mod trees;

use ah_model::expr::{self, Binary, Expr, Type};
use ah_model::{
    ChoiceId, DerivedFeature, Feature, FeatureKind, Features, Model, Precondition, Schema, Tree, Value,
};
use rand::Rng;
use rand::seq::IndexedRandom;
use rand_pcg::Pcg64;

use boosters::{boosters, scoring};
use costs::costs;
use expressions::{expression, number};
use names::distinct;
#[allow(unused_imports)]
pub use names::{ODD, name};
#[allow(unused_imports)]
pub use trees::with_leaves;
use trees::{grow, sort};

/// A random model; `heuristic` becomes the name of what is generated.
pub fn model(rng: &mut Pcg64, heuristic: &str, depth: usize, most_nodes: usize) -> Model {
    let count = rng.random_range(1..8);
    // Callers can tell them apart.
    let mut keys = std::collections::BTreeSet::new();
    let mut is_new = |name: &String| {
        let key = |c: char| match c {
            '*' | '/' | '+' | '%' => c,
            c if c.is_alphanumeric() => c.to_ascii_lowercase(),
            _ => ' ',
        };
        let key: String = name.chars().take(60).map(key).collect();
        keys.insert(key.split_whitespace().collect::<String>())
    };
    let names: Vec<String> = distinct(rng, count).into_iter().filter(|name| is_new(name)).collect();
    let base: Vec<Feature> = names
        .into_iter()
        .map(|n| match rng.random_range(0..3) {
            0 => Feature { integer: true, unit: Some(name(rng)), ..Feature::numerical(n) },
            1 => Feature { description: Some(name(rng)), ..Feature::numerical(n) },
            _ => Feature::categorical(n),
        })
        .collect();
    let mut schema = Schema::new(base.clone()).unwrap();
    let (mut derived, mut parts) = (Vec::new(), Vec::new());
    for i in 0..rng.random_range(0..6) {
        let ty = *[Type::Number, Type::Number, Type::Bool, Type::Category].choose(rng).unwrap();
        let expr = expression(rng, &schema, &mut parts, ty, 3);
        let d = DerivedFeature {
            name: format!("{}{i}~", &name(rng).chars().take(30).collect::<String>()),
            expression: expr.to_string(),
        };
        let mut all = derived.clone();
        all.push(d);
        if let Ok(features) = Features::new(Schema::new(base.clone()).unwrap(), &all) {
            schema = features.all().clone();
            derived = all;
        }
    }
    let precondition = rng.random_bool(0.3).then(|| {
        let only = Schema::new(base.clone()).unwrap();
        let expr = expression(rng, &only, &mut Vec::new(), Type::Bool, 2);
        let expr = if rng.random_bool(0.5) {
            Expr::Binary(Binary::Or, Box::new(Expr::Bool(true)), Box::new(expr))
        } else {
            expr
        };
        let expression = expr.to_string();
        Precondition { typed: expr::parse(&expression).unwrap().resolve_bool(&only).unwrap(), expression }
    });
    let features = Features::new(Schema::new(base).unwrap(), &derived).unwrap();
    let categories: Vec<Vec<String>> = features
        .all()
        .features()
        .iter()
        .enumerate()
        .map(|(slot, f)| {
            match (f.kind, slot.checked_sub(features.base().len()).map(|i| features.derived()[i].1.ty())) {
                (FeatureKind::Numerical, _) => Vec::new(),
                (_, Some(Type::Bool)) => {
                    let all: &[&[&str]] = &[
                        &["False", "True"],
                        &["True"],
                        &["False"],
                        &["False", "True", "banana"],
                        &["banana"],
                    ];
                    all.choose(rng).unwrap().iter().map(|&s| s.to_owned()).collect()
                }
                _ => {
                    let count = rng.random_range(1..5);
                    distinct(rng, count)
                }
            }
        })
        .collect();
    let missing = (0..features.all().len()).filter(|&slot| {
        let feature = &features.all().features()[slot];
        feature.kind == FeatureKind::Numerical && !feature.integer && rng.random_bool(0.3)
    });
    let missing = missing.collect();
    let count = match rng.random_range(0..4) {
        0 => 1,
        1 => rng.random_range(1..301),
        _ => rng.random_range(2..9),
    };
    let choices = distinct(rng, count);
    let fallback = rng.random_bool(0.7).then(|| ChoiceId(rng.random_range(0..choices.len() as u32)));
    let with_conditions = if rng.random_bool(0.3) { rng.random_range(1..4) } else { 0 };
    let mut parts = Vec::new();
    let eligible = (0..with_conditions.min(choices.len()))
        .map(|_| {
            let typed = expression(rng, features.base(), &mut parts, Type::Bool, 2);
            let expression = typed.to_string();
            let typed = expr::parse(&expression).unwrap().resolve_bool(features.base()).unwrap();
            (ChoiceId(rng.random_range(0..choices.len() as u32)), Precondition { expression, typed })
        })
        .collect();
    let mut nodes = Vec::new();
    let has_boosters = rng.random_bool(0.35);
    grow(rng, &features, &categories, choices.len(), depth, most_nodes, &mut nodes);
    let mut tree = Tree { nodes };
    let boosters =
        if has_boosters { boosters(rng, &features, &categories, choices.len()) } else { Vec::new() };
    let has_boosters = !boosters.is_empty();
    let costs = costs(rng, &features, choices.len(), &mut tree, has_boosters);
    // Without boosters or a formula, a ranking is in the order of the scores.
    if !has_boosters && costs.is_none() {
        sort(&mut tree);
    }
    let (unit, margin) = if has_boosters { scoring(rng) } else { (Model::default().unit, None) };
    let model = Model {
        heuristic: heuristic.to_owned(),
        optimization: name(rng),
        features,
        categories,
        missing,
        precondition,
        device_capa: (9, 0),
        choices,
        fallback,
        eligible,
        costs,
        tree,
        boosters,
        unit,
        margin,
        ..Model::default()
    };
    // A model counts only after it was written and read back.
    let text = model.to_json();
    let read = Model::parse(&text).expect("a valid model");
    assert_eq!(read.to_json(), text, "a model that was read is written in the same bytes");
    read
}

/// Contexts to compare: every threshold and its neighbours, numbers beyond 2^53, infinities, NaN,
/// known, mentioned and unknown categories, and random values.
pub fn contexts(rng: &mut Pcg64, model: &Model, random: usize) -> Vec<Vec<Value>> {
    let base = model.features.base().features();
    let numbers = model.tests().filter(|test| test.column.categories.is_none());
    let thresholds: Vec<f64> = numbers.map(|test| test.threshold).collect();
    let texts: Vec<&str> = model
        .categories
        .iter()
        .flatten()
        .map(String::as_str)
        .chain(["", "unknown", "True", "False"])
        .collect();
    let one = |rng: &mut Pcg64, f: &Feature, slot: usize| -> Value {
        if f.kind == FeatureKind::Categorical {
            let known = &model.categories[slot];
            // Such a feature is a truth value in code, which has no third value.
            if !known.is_empty() && known.iter().all(|text| matches!(text.as_str(), "True" | "False")) {
                return Value::from(rng.random::<bool>());
            }
            let pick = if rng.random_bool(0.85) {
                known.choose(rng).map(String::as_str)
            } else {
                texts.choose(rng).copied()
            };
            return Value::from(pick.unwrap_or(""));
        }
        if model.missing.contains(&slot) && rng.random_bool(0.2) {
            return Value::Number(f64::NAN);
        }
        let near = thresholds.choose(rng).copied().filter(|_| rng.random_bool(0.6));
        let x = match near {
            Some(t) => *[t, t.next_up(), t.next_down()].choose(rng).unwrap(),
            None if rng.random_bool(0.1) => {
                *[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0].choose(rng).unwrap()
            }
            None => number(rng),
        };
        if !f.integer {
            return Value::Number(x);
        }
        let odd = [i64::MAX, i64::MIN, (1 << 53) + 1, (1 << 53) - 1, -(1 << 53) - 1, 0];
        let whole = if rng.random_bool(0.1) {
            *odd.choose(rng).unwrap()
        } else {
            (x as i64).saturating_add(rng.random_range(-1..2))
        };
        Value::from(whole)
    };
    (0..random + 3 * thresholds.len())
        .map(|_| base.iter().enumerate().map(|(slot, f)| one(rng, f, slot)).collect())
        .collect()
}
