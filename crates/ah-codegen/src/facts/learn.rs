//! Notes what a path decides, and what follows for the operands of a condition.

use ah_model::expr::{Binary, Comparison, Expr, Unary};

use super::categories::membership;
use super::known::Facts;
use super::range::{Range, opposite, without};

impl Facts<'_> {
    /// Notes that a condition is defined and has this value.
    pub fn learn(&mut self, condition: &Expr, value: bool) {
        let value = f64::from(u8::from(value));
        self.learn_range(condition, value, value, false);
    }

    /// Notes that a number or truth value is from `low` to `high`, or NaN if `nan`, and what follows for its operands.
    pub fn learn_range(&mut self, expr: &Expr, low: f64, high: f64, nan: bool) {
        let known = self.range(expr).and(Range { low, high, whole: false, nan });
        if matches!(expr, Expr::Number(_)) || known.low > known.high && !known.nan {
            return;
        }
        self.known.insert(expr.clone(), known);
        if let Expr::Binary(Binary::Compare(op), a, b) = expr {
            return self.learn_comparison(*op, a, b, known);
        }
        if known.nan {
            return;
        }
        if let (Some((slot, texts, is_in)), Some(value)) = (membership(expr), known.decided()) {
            return self.learn_category(slot.index, &texts, value == is_in);
        }
        match expr {
            Expr::Feature(slot) => {
                if let Some(derived) = self.derived(slot.index) {
                    self.learn_range(derived, low, high, false);
                }
            }
            Expr::Unary(Unary::Not, a) => self.learn_range(a, 1.0 - high, 1.0 - low, false),
            Expr::Binary(op @ (Binary::And | Binary::Or), a, b) if known.low == known.high => {
                let of_both = *op == Binary::And;
                let value = known.low == 1.0;
                for (this, other) in [(a, b), (b, a)] {
                    if value == of_both || self.range(other).decided() == Some(of_both) {
                        self.learn(this, value);
                    }
                }
            }
            Expr::Binary(op @ (Binary::Min | Binary::Max), a, b) => {
                for (this, other) in [(a, b), (b, a)] {
                    let other = self.range(other);
                    let (low, high) = match op {
                        Binary::Min => (low, if other.low > high { high } else { f64::INFINITY }),
                        _ => (if other.high < low { low } else { f64::NEG_INFINITY }, high),
                    };
                    self.learn_range(this, low, high, false);
                }
            }
            _ => {}
        }
    }

    /// Notes what the truth of a comparison says of its operands.
    fn learn_comparison(&mut self, op: Comparison, left: &Expr, right: &Expr, truth: Range) {
        let a = self.range(left);
        let b = self.range(right);
        let infinity = f64::INFINITY;
        if truth.low != truth.high {
            return;
        }
        let (of_left, of_right) = match if truth.low == 1.0 { op } else { opposite(op) } {
            Comparison::Lt => ((-infinity, b.high.next_down()), (a.low.next_up(), infinity)),
            Comparison::Le => ((-infinity, b.high), (a.low, infinity)),
            Comparison::Gt => ((b.low.next_up(), infinity), (-infinity, a.high.next_down())),
            Comparison::Ge => ((b.low, infinity), (-infinity, a.high)),
            Comparison::Eq => ((b.low, b.high), (a.low, a.high)),
            Comparison::Ne => (without(a, b), without(b, a)),
        };
        for (number, other, (low, high)) in [(left, b, of_left), (right, a, of_right)] {
            if !other.nan {
                self.learn_range(number, low, high, truth.nan);
            }
        }
    }
}
