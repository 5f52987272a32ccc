//! What a path of the tree has decided: ranges of numbers, sets of categories, and the truth of conditions.
//!
//! Facts leave out what code need not test: a split that the path has already decided, a check for NaN where the operands exclude
//! it. They hold for every value, infinities and numbers beyond 2^53 included; where a fact is not sure, there is none.

mod categories;
mod known;
mod learn;
mod range;
mod values;

pub use categories::{is_truth, membership};
pub use known::Facts;
pub use range::{Range, WHOLE, opposite};

/// Values of random expressions are in their ranges.
#[cfg(test)]
mod tests {
    use ah_model::expr::{Binary, Comparison, Expr, Slot, Type, Unary, parse};
    use ah_model::{Feature, FeatureKind, Features, Model, Schema, Value};
    use rand::seq::IndexedRandom;
    use rand::{Rng, SeedableRng};
    use rand_pcg::Pcg64;

    use super::*;

    /// Values at which operations round, overflow, or change their branch.
    const EXTREME: [f64; 24] = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        2.0,
        3.0,
        64.0,
        5e-324,
        -5e-324,
        f64::MIN_POSITIVE,
        9_007_199_254_740_991.0,
        WHOLE,
        9_007_199_254_740_994.0,
        9_223_372_036_854_775_808.0,
        -9_223_372_036_854_775_808.0,
        18_446_744_073_709_551_616.0,
        36_893_488_147_419_103_232.0,
        1e300,
        f64::MAX,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];

    /// A number like the extreme ones, near one, or a small whole one.
    fn number(rng: &mut Pcg64) -> f64 {
        let x = *EXTREME.choose(rng).unwrap();
        match rng.random_range(0..6) {
            0 => x.next_up(),
            1 => x.next_down(),
            2 => f64::from(rng.random_range(-9_i32..70)),
            3 => 2.0_f64.powi(rng.random_range(-70..70)),
            _ => x,
        }
    }

    /// A random number or truth value over the slots 0 (an integer) and 1, with parts of the expressions before it.
    fn expression(rng: &mut Pcg64, parts: &mut Vec<Expr>, ty: Type, depth: usize) -> Expr {
        if depth > 0
            && rng.random_bool(0.4)
            && let Some(part) = parts.choose(rng)
            && part.ty() == ty
        {
            return part.clone();
        }
        let mut sub = |rng: &mut Pcg64, ty| expression(rng, parts, ty, depth.saturating_sub(1));
        let new = match (ty, rng.random_range(0..if depth == 0 { 3 } else { 12 })) {
            (Type::Number, 0) => match number(rng) {
                x if x.is_nan() => Expr::Number(1.0),
                x => Expr::Number(x),
            },
            (Type::Number, 1 | 2) => {
                Expr::Feature(Slot { index: rng.random_range(0..2), kind: FeatureKind::Numerical })
            }
            (Type::Number, 3..=5) => {
                let all = [Unary::Neg, Unary::Abs, Unary::Floor, Unary::Ceil, Unary::Log2, Unary::Ctz];
                Expr::Unary(*all.choose(rng).unwrap(), Box::new(sub(rng, ty)))
            }
            (Type::Number, 6) => {
                let condition = Box::new(sub(rng, Type::Bool));
                Expr::If(condition, Box::new(sub(rng, ty)), Box::new(sub(rng, ty)))
            }
            (Type::Number, 7) => {
                let power = Expr::Number(2.0_f64.powi(rng.random_range(-3..70)));
                Expr::binary(Binary::Rem, sub(rng, ty), power)
            }
            (Type::Number, _) => {
                let all = [
                    Binary::Add,
                    Binary::Sub,
                    Binary::Mul,
                    Binary::Div,
                    Binary::Rem,
                    Binary::Min,
                    Binary::Max,
                ];
                Expr::binary(*all.choose(rng).unwrap(), sub(rng, ty), sub(rng, ty))
            }
            (_, 3) => Expr::Unary(Unary::Not, Box::new(sub(rng, ty))),
            (_, 4 | 5) => {
                let op = if rng.random() { Binary::And } else { Binary::Or };
                Expr::binary(op, sub(rng, ty), sub(rng, ty))
            }
            _ => {
                use Comparison::{Eq, Ge, Gt, Le, Lt, Ne};
                let op = Binary::Compare(*[Eq, Ne, Lt, Le, Gt, Ge].choose(rng).unwrap());
                Expr::binary(op, sub(rng, Type::Number), sub(rng, Type::Number))
            }
        };
        parts.push(new.clone());
        new
    }

    fn model() -> Model {
        let logged = [Feature { integer: true, ..Feature::numerical("m") }, Feature::numerical("x")];
        let features = Features::new(Schema::new(logged).unwrap(), &[]).unwrap();
        Model { features, categories: vec![vec![], vec![]], ..Model::default() }
    }

    /// Notes conditions as the path of these values decides them; every value is then in its range.
    #[test]
    fn every_value_is_in_its_range() {
        let model = model();
        let mut rng = Pcg64::seed_from_u64(1);
        let mut decided = 0;
        for _ in 0..6_000 {
            let mut parts = Vec::new();
            let whole = (number(&mut rng) as i64) as f64;
            let row = [Value::Number(whole), Value::Number(number(&mut rng))];
            let mut facts = Facts::new(&model, true);
            for _ in 0..rng.random_range(0..4) {
                let condition = expression(&mut rng, &mut parts, Type::Bool, 3);
                if let Some(value) = condition.truth(&row[..]) {
                    facts.learn(&condition, value);
                }
            }
            for _ in 0..3 {
                parts.push(expression(&mut rng, &mut parts.clone(), Type::Number, 3));
            }
            for expr in &parts {
                let range = facts.range(expr);
                let value = match expr.ty() {
                    Type::Number => expr.number(&row[..]),
                    _ => expr.truth(&row[..]).map_or(f64::NAN, |value| f64::from(u8::from(value))),
                };
                let is_in = if value.is_nan() {
                    range.nan
                } else {
                    range.has(value) && (!range.whole || value.is_infinite() || value.fract() == 0.0)
                };
                assert!(is_in, "{expr:?} is {value} at {row:?}, and not in {range:?}");
                decided += usize::from(range.low == range.high);
            }
        }
        assert!(decided > 3_000, "{decided}");
    }

    /// 0 has fewer trailing zeros than 65, and 2^65 divides it; 2^60 + 256 is no power of two, though its logarithm is 60.
    #[test]
    fn trailing_zeros_decide_only_what_they_count() {
        let model = model();
        let read = |text: &str| parse(text).unwrap().resolve(model.features.base()).unwrap();
        let facts = Facts::new(&model, true);
        assert_eq!(facts.range(&read("m % 36893488147419103232 == 0")).decided(), None);
        let mut facts = facts;
        facts.learn(&read("ctz(m) > 60"), true);
        assert_eq!(facts.range(&read("m % 1152921504606846976 == 0")).decided(), Some(true));
        assert_eq!(facts.range(&read("m % 1152921504606847232 == 0")).decided(), None);
    }
}
