//! What a path of the tree has decided: ranges of numbers, sets of categories, and the truth of conditions.
//!
//! Facts leave out what code need not test: a split that the path has already decided, a check for NaN where the operands exclude
//! it. They hold for every value, infinities and numbers beyond 2^53 included; where a fact is not sure, there is none.

use ah_model::math::log2;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use ah_model::expr::{Binary, Comparison, Expr, Slot, Type, Unary};
use ah_model::{FeatureKind, Model};

/// Below, every whole number is an f64.
pub const WHOLE: f64 = (1_u64 << 53) as f64;

/// The trailing zeros of 0; no number has more.
const MOST_ZEROS: f64 = 64.0;

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

const ANY: Range = Range { low: f64::NEG_INFINITY, high: f64::INFINITY, whole: false, nan: true };
const TRUTH: Range = Range { low: 0.0, high: 1.0, whole: true, nan: false };

impl Range {
    /// Returns a truth value that may be true or false.
    fn truth(yes: bool, no: bool, nan: bool) -> Self {
        Self { low: f64::from(u8::from(!no)), high: f64::from(u8::from(yes)), whole: true, nan }
    }

    /// Returns the opposite of a truth value.
    fn opposite(self) -> Self {
        Self { low: 1.0 - self.high, high: 1.0 - self.low, ..self }
    }

    /// Returns the truth value if there is only one.
    pub fn decided(self) -> Option<bool> {
        (!self.nan && self.low == self.high).then_some(self.low == 1.0)
    }

    pub fn has(self, x: f64) -> bool {
        self.low <= x && x <= self.high
    }

    pub fn is_finite(self) -> bool {
        self.low.is_finite() && self.high.is_finite()
    }

    fn and(self, other: Self) -> Self {
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

    fn or(self, other: Self) -> Self {
        Self {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
            whole: self.whole && other.whole,
            nan: self.nan || other.nan,
        }
    }

    /// Returns the range of an operation that is monotone in each operand, by its results at the ends.
    fn around<const N: usize>(results: [f64; N], whole: bool, nan: bool) -> Self {
        let low = results.iter().copied().fold(f64::INFINITY, f64::min);
        let high = results.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if results.iter().any(|x| x.is_nan()) { ANY } else { Self { low, high, whole, nan } }
    }
}

/// Categories that a feature may have; `None` is any other one.
pub type Categories = BTreeSet<Option<String>>;

/// What holds at one place of the code.
#[derive(Clone, Debug)]
pub struct Facts<'m> {
    pub model: &'m Model,
    /// Logged truth values are of the language's own type, so they have no third value.
    has_truths: bool,
    known: HashMap<Expr, Range>,
    categories: HashMap<usize, Categories>,
    /// Inside of an expression: what holds where the expression stands.
    outside: Option<Rc<Self>>,
}

impl<'m> Facts<'m> {
    /// Returns what holds at the beginning: nothing but the types.
    pub fn new(model: &'m Model, has_truths: bool) -> Self {
        Self { model, has_truths, known: HashMap::new(), categories: HashMap::new(), outside: None }
    }

    /// Returns the expression of a derived feature, and `None` for a logged one.
    pub fn derived(&self, slot: usize) -> Option<&'m Expr> {
        let at = slot.checked_sub(self.model.features.base().len())?;
        Some(&self.model.features.derived()[at].1)
    }

    /// Returns the values that a number or truth value may have here.
    pub fn range(&self, expr: &Expr) -> Range {
        let range = self.computed(expr);
        self.known.get(expr).map_or(range, |fact| range.and(*fact))
    }

    fn computed(&self, expr: &Expr) -> Range {
        if let Some((slot, texts, is_in)) = membership(expr) {
            let kind = FeatureKind::Categorical;
            let nan = self.range(&Expr::Feature(Slot { index: slot, kind })).nan;
            let possible = self.possible(slot);
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
        let (a, b) = (self.range(left), self.range(right));
        let (nan, whole) = (a.nan || b.nan, a.whole && b.whole);
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

    /// Returns the truth of `a and b`, or with `value` false of `not (a or b)`.
    fn both(&self, a: &Expr, b: &Expr, value: bool) -> Range {
        let side = |truth: Range| if value { truth } else { truth.opposite() };
        let first = side(self.range(a));
        if !first.has(1.0) {
            return first;
        }
        let second = side(self.with(a, value).range(b));
        Range { low: first.low.min(second.low), nan: first.nan || second.nan, ..second }
    }

    /// Returns what holds where the expression stands, so wherever a variable of it is read.
    pub fn outside(&self) -> &Self {
        self.outside.as_deref().unwrap_or(self)
    }

    /// Returns what holds where an expression reads an operand only if a condition has this value.
    pub fn with(&self, condition: &Expr, value: bool) -> Self {
        let mut facts = self.clone();
        facts.outside.get_or_insert_with(|| Rc::new(self.clone()));
        facts.learn(condition, value);
        facts
    }

    /// Returns true if a condition cannot hold: with it one would hold that is known not to.
    pub fn rules_out(&self, condition: &Expr) -> bool {
        let then = self.with(condition, true);
        let holds = |other: &Expr| then.computed(other).decided() == Some(true);
        self.known.iter().any(|(other, was)| !was.has(1.0) && holds(other))
    }

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
            return self.learn_category(slot, &texts, value == is_in);
        }
        match expr {
            Expr::Feature(slot) => {
                if let Some(derived) = self.derived(slot.index) {
                    self.learn_range(derived, low, high, false);
                }
            }
            Expr::Unary(Unary::Not, a) => self.learn_range(a, 1.0 - high, 1.0 - low, false),
            Expr::Binary(op @ (Binary::And | Binary::Or), a, b) if known.low == known.high => {
                let (of_both, value) = (*op == Binary::And, known.low == 1.0);
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
        let (a, b, infinity) = (self.range(left), self.range(right), f64::INFINITY);
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

    /// Notes that a categorical feature has one of these categories, or with `value` false none of them.
    pub fn learn_category(&mut self, slot: usize, texts: &[String], value: bool) {
        let mut possible = self.possible(slot);
        possible.retain(|text| text.as_ref().is_some_and(|text| texts.contains(text)) == value);
        if let (1, Some(Some(text)), Some(derived)) = (possible.len(), possible.first(), self.derived(slot))
            && derived.ty() == Type::Bool
        {
            self.learn(derived, text == "True");
        }
        self.categories.insert(slot, possible);
    }

    /// Returns the categories that a feature may have. A truth value is one of two.
    pub fn possible(&self, slot: usize) -> Categories {
        if let Some(known) = self.categories.get(&slot) {
            return known.clone();
        }
        if self.is_truth(slot) {
            return ["False", "True"].map(|text| Some(text.to_owned())).into();
        }
        // Those of the training data, and those in expressions.
        let model = self.model;
        let mut possible: Categories =
            model.categories[slot].iter().cloned().map(Some).chain([None]).collect();
        let conditions =
            model.precondition.iter().chain(model.eligible.values()).map(|condition| &condition.typed);
        let of_costs = model.costs.iter().flat_map(ah_model::Costs::expressions);
        for expr in model.features.derived().iter().map(|(_, expr)| expr).chain(conditions).chain(of_costs) {
            expr.for_each(&mut |part| {
                if let Expr::Text(text) = part {
                    possible.insert(Some(text.clone()));
                }
            });
        }
        possible
    }

    /// Returns true for a categorical feature that is only ever true or false: it is a truth value in code.
    pub fn is_truth(&self, slot: usize) -> bool {
        match self.derived(slot) {
            Some(derived) => derived.ty() == Type::Bool,
            None => self.has_truths && is_truth(self.model, slot),
        }
    }
}

/// Returns true for a logged feature with no category but `True` and `False`: languages with types have it as a truth value.
pub fn is_truth(model: &Model, slot: usize) -> bool {
    let known = &model.categories[slot];
    !known.is_empty() && known.iter().all(|text| matches!(text.as_str(), "False" | "True"))
}

/// Returns the slot and the texts of `feature == text or …`, with true, and of `feature != text`, with false.
pub fn membership(expr: &Expr) -> Option<(usize, Vec<String>, bool)> {
    let Expr::Binary(op, a, b) = expr else { return None };
    match (op, &**a, &**b) {
        (Binary::Same | Binary::Differ, Expr::Feature(slot), Expr::Text(text))
        | (Binary::Same | Binary::Differ, Expr::Text(text), Expr::Feature(slot)) => {
            Some((slot.index, vec![text.clone()], *op == Binary::Same))
        }
        (Binary::Or, a, b) => {
            let ((slot, texts, true), (other, more, true)) = (membership(a)?, membership(b)?) else {
                return None;
            };
            (slot == other).then(|| (slot, [texts, more].concat(), true))
        }
        _ => None,
    }
}

/// Returns whether a comparison of these numbers may hold.
fn may_hold(op: Comparison, a: Range, b: Range) -> bool {
    match op {
        Comparison::Eq => a.low <= b.high && b.low <= a.high,
        _ => [op.holds(a.low, b.high), op.holds(a.high, b.low)].contains(&Some(true)),
    }
}

/// Returns true for 2^n. The logarithm does not say so: that of 2^60 + 256 is 60.
fn is_power_of_two(x: f64) -> bool {
    x.is_normal() && x.to_bits() & ((1 << 52) - 1) == 0
}

/// Returns the ends of the numbers `x` that are not `y`.
fn without(x: Range, y: Range) -> (f64, f64) {
    let end = |end: f64, next: f64| if y.low == y.high && end == y.low { next } else { end };
    (end(x.low, x.low.next_up()), end(x.high, x.high.next_down()))
}

/// Returns the comparison that holds where this one does not.
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

#[cfg(test)]
mod tests {
    use ah_model::expr::parse;
    use ah_model::{Feature, Features, Schema, Value};
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

    /// Returns a number like the extreme ones, near one, or a small whole one.
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

    /// Returns a random number or truth value over the slots 0 (an integer) and 1, with parts of the expressions before it.
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
        let (model, mut rng) = (model(), Pcg64::seed_from_u64(1));
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
