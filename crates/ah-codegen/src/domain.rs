//! The precondition of a model in words.

use ah_model::expr::{Binary, Expr, parse};
use ah_model::{Model, Precondition};

use crate::facts::Facts;

/// A condition without the parts that its other parts imply: a declared domain and the measured range often bound one
/// feature from the same side.
pub fn shortest(model: &Model, condition: &Precondition) -> String {
    let mut kept: Vec<&Expr> = parts(&condition.typed);
    let Ok(parsed) = parse(&condition.expression) else { return condition.expression.clone() };
    let mut named: Vec<&Expr<String>> = parts(&parsed);
    for at in (0..kept.len()).rev() {
        let part = kept.remove(at);
        let mut facts = Facts::new(model, false);
        kept.iter().for_each(|other| facts.learn(other, true));
        if facts.range(part).decided() == Some(true) {
            named.remove(at);
        } else {
            kept.insert(at, part);
        }
    }
    let all = named.into_iter().cloned().reduce(|a, b| Expr::binary(Binary::And, a, b));
    all.map_or_else(|| condition.expression.clone(), |all| all.to_string())
}

/// The parts that `and` joins.
fn parts<F>(condition: &Expr<F>) -> Vec<&Expr<F>> {
    match condition {
        Expr::Binary(Binary::And, a, b) => [parts(a), parts(b)].concat(),
        part => vec![part],
    }
}

#[cfg(test)]
mod tests {
    use ah_model::{Feature, Features, Schema};

    use super::*;

    #[test]
    fn of_two_bounds_the_tighter_one_is_printed() {
        let logged = [Feature { integer: true, ..Feature::numerical("m") }, Feature::numerical("x")];
        let features = Features::new(Schema::new(logged).unwrap(), &[]).unwrap();
        let model = Model { features, categories: vec![vec![], vec![]], ..Model::default() };
        let words = |text: &str| shortest(&model, &Precondition::new(text, model.features.base()).unwrap());
        assert_eq!(
            words("m >= 32 and m <= 32768 and m >= 16 and m <= 150000 and x <= 8"),
            "m >= 32 and m <= 32768 and x <= 8"
        );
        assert_eq!(words("x >= 2 and x < 9 and x >= 2.5 and x < 7"), "x >= 2.5 and x < 7");
        assert_eq!(words("x > 1 and x > 1"), "x > 1");
        // Neither bound implies the other.
        let both = "(x < 1 or m > 4) and (x < 2 or m > 3) and m != 7";
        assert_eq!(words(both), both);
    }
}
