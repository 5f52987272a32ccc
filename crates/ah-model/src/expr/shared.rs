//! Parts that several expressions have in common, so that a program computes each once.

use std::collections::HashMap;

use super::tree::{Expr, Slot, Type};
use crate::feature::FeatureKind;

/// The expressions with shared parts in slots of their own, followed by the expressions of these slots. The first
/// expression has the slot `first`, and each one after it the next. Results are the same to the last bit.
///
/// 23 derived features of a matmul have 11 rounded quotients, which they would compute 26 times.
pub(crate) fn share(expressions: &[&Expr], first: usize) -> Vec<Expr> {
    let mut slots: HashMap<&Expr, usize> = HashMap::new();
    for (slot, &expression) in (first..).zip(expressions) {
        if is_operation(expression) {
            slots.entry(expression).or_insert(slot);
        }
    }
    let mut all = expressions.to_vec();
    for part in repeated(expressions) {
        slots.entry(part).or_insert_with(|| {
            all.push(part);
            first + all.len() - 1
        });
    }
    (first..).zip(all).map(|(slot, expression)| rewritten(expression, slot, &slots)).collect()
}

/// The operations on numbers that these expressions have more than once, in the order in which they are met.
pub fn repeated<'e>(expressions: &[&'e Expr]) -> Vec<&'e Expr> {
    let mut parts = Parts::default();
    expressions.iter().for_each(|expression| parts.count(expression));
    parts.met.into_iter().filter(|part| parts.counts[part] > 1).collect()
}

/// How often each part occurs.
#[derive(Default)]
struct Parts<'e> {
    counts: HashMap<&'e Expr, usize>,
    /// In the order in which they are met.
    met: Vec<&'e Expr>,
}

impl<'e> Parts<'e> {
    /// Counts the parts of an expression. Those of a part that was met before are computed with it.
    fn count(&mut self, expression: &'e Expr) {
        if is_operation(expression) {
            let count = self.counts.entry(expression).or_insert(0);
            *count += 1;
            if *count > 1 {
                return;
            }
            self.met.push(expression);
        }
        expression.operands().into_iter().flatten().for_each(|operand| self.count(operand));
    }
}

/// True for a number that is computed.
fn is_operation(expression: &Expr) -> bool {
    matches!(expression, Expr::Unary(..) | Expr::Binary(..) | Expr::If(..)) && expression.ty() == Type::Number
}

/// An expression of this slot with the parts that have other slots replaced.
fn rewritten(expression: &Expr, own: usize, slots: &HashMap<&Expr, usize>) -> Expr {
    if is_operation(expression)
        && let Some(&index) = slots.get(expression)
        && index != own
    {
        return Expr::Feature(Slot { index, kind: FeatureKind::Numerical });
    }
    let part = |part: &Expr| Box::new(rewritten(part, own, slots));
    match expression {
        Expr::Unary(op, a) => Expr::Unary(*op, part(a)),
        Expr::Binary(op, a, b) => Expr::Binary(*op, part(a), part(b)),
        Expr::If(c, a, b) => Expr::If(part(c), part(a), part(b)),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feature::{Feature, Schema};

    #[test]
    fn a_shared_part_has_a_slot_and_a_whole_expression_is_one() {
        let schema = Schema::new(["m", "n"].map(Feature::numerical)).unwrap();
        let texts = ["m * n", "ceil(m / 8) + m * n", "ceil(m / 8) * 2", "if m * n > 1 then m * n else m"];
        let parsed: Vec<Expr> =
            texts.iter().map(|text| super::super::parse(text).unwrap().resolve(&schema).unwrap()).collect();
        let all = share(&parsed.iter().collect::<Vec<_>>(), 2);
        assert_eq!(all.len(), 5, "one more: ceil(m / 8)");
        let reads = |at: usize| {
            let mut slots = Vec::new();
            all[at].for_each_feature(&mut |slot| slots.push(slot.index));
            slots
        };
        assert_eq!(
            (0..5).map(reads).collect::<Vec<_>>(),
            [vec![0, 1], vec![6, 2], vec![6], vec![2, 2, 0], vec![0]]
        );
    }
}
