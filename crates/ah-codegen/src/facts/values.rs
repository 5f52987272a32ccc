//! The range of an expression where facts hold.

use ah_model::FeatureKind;
use ah_model::expr::{Binary, Expr, Unary};
use ah_model::math::log2;

use super::categories::membership;
use super::known::Facts;
use super::range::{ANY, Range, TRUTH, may_hold, opposite};

/// The trailing zeros of 0; no number has more.
const MOST_ZEROS: f64 = 64.0;

impl Facts<'_> {
    /// The values that a number or truth value may have here.
    pub fn range(&self, expr: &Expr) -> Range {
        let range = self.computed(expr);
        self.known.get(expr).map_or(range, |fact| range.and(*fact))
    }

    pub(super) fn computed(&self, expr: &Expr) -> Range {
        if let Some((slot, texts, is_in)) = membership(expr) {
            let nan = self.range(&Expr::Feature(slot)).nan;
            let possible = self.possible(slot.index);
            let is_one = |text: &Option<String>| text.as_ref().is_some_and(|text| texts.contains(text));
            let truth = Range::truth(possible.iter().any(is_one), !possible.iter().all(is_one), nan);
            return if is_in { truth } else { truth.opposite() };
        }
        match expr {
            Expr::Number(x) => Range::around([*x], x.fract() == 0.0, false),
            Expr::Bool(value) => Range::truth(*value, !value, false),
            Expr::Text(_) => TRUTH,
            Expr::Feature(slot) => match self.derived(slot.index) {
                Some(_) if self.categories.contains_key(&slot.index) => TRUTH,
                Some(derived) => self.range(derived),
                None if slot.kind == FeatureKind::Categorical => TRUTH,
                None if self.model.features.base().features()[slot.index].integer => {
                    Range::around([i64::MIN as f64, i64::MAX as f64], true, false)
                }
                None => ANY,
            },
            Expr::Unary(op, a) => self.unary(*op, a),
            Expr::Binary(op, a, b) => self.binary(*op, a, b),
            Expr::If(c, a, b) => {
                let [a, b] = [(a, true), (b, false)].map(|(side, value)| self.with(c, value).range(side));
                Range { nan: a.nan || b.nan || self.range(c).nan, ..a.or(b) }
            }
        }
    }

    fn unary(&self, op: Unary, operand: &Expr) -> Range {
        let a = self.range(operand);
        match op {
            Unary::Not => a.opposite(),
            Unary::Abs | Unary::Neg | Unary::Floor | Unary::Ceil => {
                // Monotone on each side of 0.
                let whole = a.whole || matches!(op, Unary::Floor | Unary::Ceil);
                Range::around([a.low, a.high, a.low.max(0.0).min(a.high)].map(|x| op.apply(x)), whole, a.nan)
            }
            // Wider than the rounding of any implementation.
            Unary::Log2 if a.low > 0.0 => {
                Range::around([log2(a.low) - 1e-6, log2(a.high) + 1e-6], false, a.nan)
            }
            Unary::Log2 => ANY,
            Unary::Ctz => Range::around([0.0, MOST_ZEROS], true, a.nan || !a.whole || !a.is_finite()),
        }
    }

    fn binary(&self, op: Binary, left: &Expr, right: &Expr) -> Range {
        match op {
            Binary::And => return self.both(left, right, true),
            Binary::Or => return self.both(left, right, false).opposite(),
            _ => {}
        }
        let a = self.range(left);
        let b = self.range(right);
        let nan = a.nan || b.nan;
        let whole = a.whole && b.whole;
        match op {
            Binary::Same | Binary::Differ => Range { nan, ..TRUTH },
            Binary::Compare(op) => Range::truth(may_hold(op, a, b), may_hold(opposite(op), a, b), nan),
            Binary::Rem if b.low > 0.0 && a.is_finite() => {
                let high = if a.low >= 0.0 { b.high.min(a.high) } else { b.high };
                let mut rest = Range::around([0.0, high], whole, nan);
                // Trailing zeros say whether a power of two divides. They are counted up to those of 0, which every power divides.
                if b.low == b.high && is_power_of_two(b.low) && a.whole {
                    let (zeros, power) =
                        (self.range(&Expr::Unary(Unary::Ctz, Box::new(left.clone()))), log2(b.low));
                    if zeros.low >= power {
                        rest.high = 0.0;
                    } else if zeros.high < power.min(MOST_ZEROS) {
                        rest.low = 1.0;
                    }
                }
                rest
            }
            Binary::Rem => ANY,
            Binary::Div if b.has(0.0) => ANY,
            _ => {
                let is_min_max = matches!(op, Binary::Min | Binary::Max);
                let is_plain = is_min_max || a.is_finite() && b.is_finite();
                let corners = [(a.low, b.low), (a.low, b.high), (a.high, b.low), (a.high, b.high)];
                let results = corners.map(|(a, b)| op.apply(a, b));
                Range::around(results, whole && op != Binary::Div, nan || !is_plain)
            }
        }
    }

    /// The truth of `a and b`, or with `value` false of `not (a or b)`.
    fn both(&self, a: &Expr, b: &Expr, value: bool) -> Range {
        let side = |truth: Range| if value { truth } else { truth.opposite() };
        let first = side(self.range(a));
        if !first.has(1.0) {
            return first;
        }
        let second = side(self.with(a, value).range(b));
        Range { low: first.low.min(second.low), nan: first.nan || second.nan, ..second }
    }
}

/// True for 2^n. The logarithm does not say so: that of 2^60 + 256 is 60.
fn is_power_of_two(x: f64) -> bool {
    x.is_normal() && x.to_bits() & ((1 << 52) - 1) == 0
}
