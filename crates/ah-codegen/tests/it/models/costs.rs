//! Random cost formulas.

use ah_model::expr::{Binary, Expr, Type, Unary};
use ah_model::{CostClass, Costs};
use ah_model::{Feature, FeatureKind, Features, Node, Precondition, Schema, Tree};
use rand::Rng;
use rand_pcg::Pcg64;

use super::expressions::expression;
use super::names::distinct;

/// The most leaves of a tree on a formula without boosters.
const LEAVES: usize = 16;

/// A formula for this many choices. Without boosters the scores of the tree become factors; of a larger tree there is none.
pub fn costs(
    rng: &mut Pcg64,
    features: &Features,
    choices: usize,
    tree: &mut Tree,
    has_boosters: bool,
) -> Option<Costs> {
    if !rng.random_bool(0.5) || !has_boosters && tree.leaves().count() > LEAVES {
        return None;
    }
    let logged = features.base();
    let count = rng.random_range(0..3);
    let names = distinct(rng, count);
    let parameters = names.iter().map(Feature::numerical);
    let schema = Schema::new(logged.features().iter().cloned().chain(parameters)).ok()?;
    let mut terms = vec!["1".to_owned()];
    for _ in 0..rng.random_range(0..4) {
        terms.push(term(rng, &schema, logged, &names).to_string());
    }
    let mut classes = Vec::new();
    for _ in 0..rng.random_range(0..3) {
        let when = expression(rng, logged, &mut Vec::new(), Type::Bool, 2).to_string();
        classes.push(Some(Precondition::new(when, logged).ok()?));
    }
    classes.push(None);
    let mut row = || -> Vec<f64> {
        let sizes = names.iter().map(|_| f64::from(1 << rng.random_range(0..8)));
        let sizes: Vec<f64> = sizes.collect();
        let coefficient = |at: usize| match rng.random_range(0..4) {
            0 if at > 0 => 0.0,
            _ => (1.0 + rng.random::<f64>()) * f64::powi(10.0, rng.random_range(-6..1)),
        };
        sizes.into_iter().chain((0..terms.len()).map(coefficient)).collect()
    };
    let class = |condition| CostClass { condition, rows: (0..choices).map(|_| row()).collect() };
    let classes = classes.into_iter().map(class).collect();
    let costs = Costs::new(logged, names.clone(), terms.clone(), classes).ok()?;
    for node in tree.nodes.iter_mut().filter(|_| !has_boosters) {
        if let Node::Leaf(leaf) = node {
            leaf.ranking.iter_mut().for_each(|ranked| {
                (ranked.score, ranked.allowed) = (0.5 + rng.random::<f64>(), true);
            });
        }
    }
    Some(costs)
}

/// Padded work, or the absolute value of any number.
fn term(rng: &mut Pcg64, schema: &Schema, logged: &Schema, names: &[String]) -> Expr<String> {
    let numbers = logged.features().iter().filter(|feature| feature.kind == FeatureKind::Numerical);
    let numbers: Vec<&Feature> = numbers.collect();
    if numbers.is_empty() || names.is_empty() || rng.random_bool(0.3) {
        let typed = expression(rng, schema, &mut Vec::new(), Type::Number, 2);
        return Expr::Unary(Unary::Abs, Box::new(typed));
    }
    let x = Expr::Feature(numbers[rng.random_range(0..numbers.len())].name.clone());
    let size = Expr::Feature(names[rng.random_range(0..names.len())].clone());
    let tiles = Expr::Unary(Unary::Ceil, Box::new(Expr::binary(Binary::Div, x, size.clone())));
    Expr::binary(Binary::Mul, tiles, size)
}
