//! The values that a number may have.

use ah_model::expr::Comparison;

/// Below, every whole number is an f64.
pub const WHOLE: f64 = (1_u64 << 53) as f64;

/// The values that a number may have: from `low` to `high`, and NaN if `nan`. A truth value is 0 or 1; it and a category are `nan` if
/// they may be undefined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    pub low: f64,
    pub high: f64,
    /// Every value is a whole number or infinite.
    pub whole: bool,
    pub nan: bool,
}

pub const ANY: Range = Range { low: f64::NEG_INFINITY, high: f64::INFINITY, whole: false, nan: true };
pub const TRUTH: Range = Range { low: 0.0, high: 1.0, whole: true, nan: false };

impl Range {
    /// A truth value that may be true or false.
    pub fn truth(yes: bool, no: bool, nan: bool) -> Self {
        Self { low: f64::from(u8::from(!no)), high: f64::from(u8::from(yes)), whole: true, nan }
    }

    /// The opposite of a truth value.
    pub fn opposite(self) -> Self {
        Self { low: 1.0 - self.high, high: 1.0 - self.low, ..self }
    }

    /// The truth value if there is only one.
    pub fn decided(self) -> Option<bool> {
        (!self.nan && self.low == self.high).then_some(self.low == 1.0)
    }

    pub fn has(self, x: f64) -> bool {
        self.low <= x && x <= self.high
    }

    pub fn is_finite(self) -> bool {
        self.low.is_finite() && self.high.is_finite()
    }

    pub fn and(self, other: Self) -> Self {
        let mut both = Self {
            low: self.low.max(other.low),
            high: self.high.min(other.high),
            whole: self.whole || other.whole,
            nan: self.nan && other.nan,
        };
        if both.whole {
            (both.low, both.high) = (both.low.ceil(), both.high.floor());
        }
        both
    }

    pub fn or(self, other: Self) -> Self {
        Self {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
            whole: self.whole && other.whole,
            nan: self.nan || other.nan,
        }
    }

    /// The range of an operation that is monotone in each operand, by its results at the ends.
    pub fn around<const N: usize>(results: [f64; N], whole: bool, nan: bool) -> Self {
        let low = results.iter().copied().fold(f64::INFINITY, f64::min);
        let high = results.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if results.iter().any(|x| x.is_nan()) { ANY } else { Self { low, high, whole, nan } }
    }
}

/// Whether a comparison of these numbers may hold.
pub fn may_hold(op: Comparison, a: Range, b: Range) -> bool {
    match op {
        Comparison::Eq => a.low <= b.high && b.low <= a.high,
        _ => [op.holds(a.low, b.high), op.holds(a.high, b.low)].contains(&Some(true)),
    }
}

/// The ends of the numbers `x` that are not `y`.
pub fn without(x: Range, y: Range) -> (f64, f64) {
    let end = |end: f64, next: f64| if y.low == y.high && end == y.low { next } else { end };
    (end(x.low, x.low.next_up()), end(x.high, x.high.next_down()))
}

/// The comparison that holds where this one does not.
pub fn opposite(op: Comparison) -> Comparison {
    match op {
        Comparison::Eq => Comparison::Ne,
        Comparison::Ne => Comparison::Eq,
        Comparison::Lt => Comparison::Ge,
        Comparison::Ge => Comparison::Lt,
        Comparison::Gt => Comparison::Le,
        Comparison::Le => Comparison::Gt,
    }
}
