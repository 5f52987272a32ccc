//! Random expressions over a schema.

use ah_model::expr::{Binary, Comparison, Expr, Type, Unary};
use ah_model::{FeatureKind, Schema};
use rand::Rng;
use rand::seq::IndexedRandom;
use rand_pcg::Pcg64;

use super::names::name;

/// A number that is likely to be a threshold.
pub fn number(rng: &mut Pcg64) -> f64 {
    match rng.random_range(0..8) {
        0 => *[0.0, -0.0, 0.1, 1e300, -1e300, 5e-324, 9_007_199_254_740_993.0, 1e16, 4_503_599_627_370_497.5]
            .choose(rng)
            .unwrap(),
        1 => rng.random_range(-10.0..10.0),
        2 => f64::from(rng.random_range(-64_i32..64)) + 0.5,
        3 => 2.0_f64.powi(rng.random_range(-60..60)),
        _ => f64::from(rng.random_range(-300_i32..5000)),
    }
}

/// A random expression of this type.
///
/// `parts` has numbers of expressions of the same schema. Some of them are parts of this one too, because optimizations repeat them: the
/// generator gives such a part a variable.
pub fn expression(
    rng: &mut Pcg64,
    schema: &Schema,
    parts: &mut Vec<Expr<String>>,
    ty: Type,
    depth: usize,
) -> Expr<String> {
    if ty == Type::Number
        && depth > 0
        && rng.random_bool(0.25)
        && let Some(part) = parts.choose(rng)
    {
        return part.clone();
    }
    let expression = fresh(rng, schema, parts, ty, depth);
    if ty == Type::Number && !matches!(expression, Expr::Number(_) | Expr::Feature(_)) {
        parts.push(expression.clone());
    }
    expression
}

fn fresh(
    rng: &mut Pcg64,
    schema: &Schema,
    parts: &mut Vec<Expr<String>>,
    ty: Type,
    depth: usize,
) -> Expr<String> {
    let of = |kind: FeatureKind| -> Vec<&str> { schema.names(kind).collect() };
    let mut sub = |rng: &mut Pcg64, ty| Box::new(expression(rng, schema, parts, ty, depth.saturating_sub(1)));
    match ty {
        Type::Number => match rng.random_range(0..if depth == 0 { 2 } else { 10 }) {
            0 => Expr::Number(number(rng)),
            1 | 2 => match of(FeatureKind::Numerical).choose(rng) {
                Some(name) => Expr::Feature((*name).to_owned()),
                None => Expr::Number(number(rng)),
            },
            3 if rng.random() => Expr::Unary(Unary::Neg, sub(rng, ty)),
            // By a power of two: integers compute these.
            3 => {
                let power = Box::new(Expr::Number(2.0_f64.powi(rng.random_range(0..56))));
                match rng.random_range(0..3) {
                    0 => Expr::Binary(Binary::Rem, sub(rng, ty), power),
                    1 => Expr::Unary(Unary::Ceil, Expr::Binary(Binary::Div, sub(rng, ty), power).into()),
                    _ => Expr::Unary(Unary::Floor, Expr::Binary(Binary::Div, sub(rng, ty), power).into()),
                }
            }
            4 => Expr::If(sub(rng, Type::Bool), sub(rng, ty), sub(rng, ty)),
            5 | 6 => {
                if rng.random() {
                    Expr::Unary(*Unary::FUNCTIONS.choose(rng).unwrap(), sub(rng, ty))
                } else {
                    let op = *Binary::FUNCTIONS.choose(rng).unwrap();
                    let two = Expr::Binary(op, sub(rng, ty), sub(rng, ty));
                    if rng.random() { Expr::Binary(op, two.into(), sub(rng, ty)) } else { two }
                }
            }
            _ => {
                let op =
                    *[Binary::Add, Binary::Sub, Binary::Mul, Binary::Div, Binary::Rem].choose(rng).unwrap();
                Expr::Binary(op, sub(rng, ty), sub(rng, ty))
            }
        },
        Type::Bool => match rng.random_range(0..if depth == 0 { 2 } else { 8 }) {
            0 => Expr::Bool(rng.random()),
            1 | 2 => match of(FeatureKind::Categorical).choose(rng) {
                Some(feature) => {
                    let op = Binary::Compare(if rng.random() { Comparison::Eq } else { Comparison::Ne });
                    let feature = Box::new(Expr::Feature((*feature).to_owned()));
                    let text = if rng.random_bool(0.5) { "True".to_owned() } else { name(rng) };
                    Expr::Binary(op, feature, Box::new(Expr::Text(text)))
                }
                None => Expr::Bool(rng.random()),
            },
            3 if rng.random() => {
                let op = Binary::Compare(if rng.random() { Comparison::Eq } else { Comparison::Ne });
                let ty = if rng.random_bool(0.8) { Type::Category } else { Type::Bool };
                Expr::Binary(op, sub(rng, Type::Category), sub(rng, ty))
            }
            3 => Expr::Unary(Unary::Not, sub(rng, ty)),
            4 => Expr::If(sub(rng, ty), sub(rng, ty), sub(rng, ty)),
            5 => {
                let op = if rng.random() { Binary::And } else { Binary::Or };
                Expr::Binary(op, sub(rng, ty), sub(rng, ty))
            }
            _ => {
                let all = ["==", "!=", "<", "<=", ">", ">="];
                let op = Binary::operator(all.choose(rng).unwrap()).unwrap();
                Expr::Binary(op, sub(rng, Type::Number), sub(rng, Type::Number))
            }
        },
        Type::Category => {
            let text = Expr::Text(name(rng));
            match of(FeatureKind::Categorical).choose(rng) {
                Some(feature) if depth > 0 && rng.random() => Expr::Feature((*feature).to_owned()),
                Some(feature) if depth > 0 => Expr::If(
                    sub(rng, Type::Bool),
                    Box::new(Expr::Feature((*feature).to_owned())),
                    Box::new(text),
                ),
                _ => text,
            }
        }
    }
}
