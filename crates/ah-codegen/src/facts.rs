//! What a path of the tree has decided: ranges of numbers, sets of categories, and the truth of conditions.
//!
//! Facts leave out what code need not test: a split that the path has already decided, a check for NaN where the operands exclude
//! it. They hold for every value, infinities and numbers beyond 2^53 included; where a fact is not sure, there is none.

use std::collections::{BTreeSet, HashMap, HashSet};

use ah_types::expr::{Binary, Comparison, Expr, Type, Unary};
use ah_types::{FeatureKind, Model};

/// Below, every whole number is an f64.
pub const WHOLE: f64 = (1_u64 << 53) as f64;

/// The values that a number may have: from `low` to `high`, and NaN if `nan`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    pub low: f64,
    pub high: f64,
    /// Every value is a whole number or infinite.
    pub whole: bool,
    pub nan: bool,
}

const ANY: Range = Range { low: f64::NEG_INFINITY, high: f64::INFINITY, whole: false, nan: true };

impl Range {
    fn of(low: f64, high: f64, whole: bool, nan: bool) -> Self {
        if low.is_nan() || high.is_nan() { ANY } else { Self { low, high, whole, nan } }
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
    fn corners(a: Self, b: Self, nan: bool, whole: bool, f: impl Fn(f64, f64) -> f64) -> Self {
        let ends = [f(a.low, b.low), f(a.low, b.high), f(a.high, b.low), f(a.high, b.high)];
        let low = ends.iter().copied().fold(f64::INFINITY, f64::min);
        let high = ends.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if ends.iter().any(|x| x.is_nan()) { ANY } else { Self::of(low, high, whole, nan) }
    }
}

/// The categories that a feature may have.
#[derive(Clone, Debug, Default)]
struct Categories {
    /// One of these, if known.
    only: Option<BTreeSet<String>>,
    not: BTreeSet<String>,
}

/// Which results a condition may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Truth {
    pub yes: bool,
    pub no: bool,
    pub undefined: bool,
}

impl Truth {
    const OPEN: Self = Self { yes: true, no: true, undefined: false };

    fn known(value: bool) -> Self {
        Self { yes: value, no: !value, undefined: false }
    }

    /// Returns the results of the opposite.
    fn opposite(self) -> Self {
        Self { yes: self.no, no: self.yes, ..self }
    }

    /// Returns the result if there is only one.
    pub fn decided(self) -> Option<bool> {
        (!self.undefined && self.yes != self.no).then_some(self.yes)
    }
}

/// What holds at one place of the code.
#[derive(Clone, Debug)]
pub struct Facts<'m> {
    pub model: &'m Model,
    /// Logged truth values are of the language's own type, so they have no third value.
    has_truths: bool,
    numbers: HashMap<Expr, Range>,
    categories: HashMap<usize, Categories>,
    conditions: HashMap<Expr, bool>,
    /// Conditions that are false or undefined.
    pub refuted: HashSet<Expr>,
}

impl<'m> Facts<'m> {
    /// Returns what holds at the beginning: nothing but the types.
    pub fn new(model: &'m Model, has_truths: bool) -> Self {
        Self {
            model,
            has_truths,
            numbers: HashMap::new(),
            categories: HashMap::new(),
            conditions: HashMap::new(),
            refuted: HashSet::new(),
        }
    }

    /// Returns the expression of a derived feature, and `None` for a logged one.
    pub fn derived(&self, slot: usize) -> Option<&'m Expr> {
        let at = slot.checked_sub(self.model.features.base().len())?;
        Some(&self.model.features.derived()[at].1)
    }

    /// Returns the values that a number may have here.
    pub fn range(&self, expr: &Expr) -> Range {
        let range = self.computed(expr);
        self.numbers.get(expr).map_or(range, |fact| range.and(*fact))
    }

    fn computed(&self, expr: &Expr) -> Range {
        match expr {
            Expr::Number(x) => Range::of(*x, *x, x.fract() == 0.0, false),
            Expr::Feature(slot) => match self.derived(slot.index) {
                Some(derived) => self.range(derived),
                None if self.model.features.base().features()[slot.index].integer => {
                    Range::of(i64::MIN as f64, i64::MAX as f64, true, false)
                }
                None => ANY,
            },
            Expr::Unary(op, a) => self.unary(*op, a),
            Expr::Binary(op, a, b) => self.binary(*op, a, b),
            Expr::If(c, a, b) => {
                let truth = self.truth(c);
                let side = |expr: &Expr, value: bool| {
                    let mut facts = self.clone();
                    facts.learn(c, value);
                    facts.range(expr)
                };
                let nan =
                    Range { nan: truth.undefined, low: f64::INFINITY, high: f64::NEG_INFINITY, whole: true };
                let sides = [(truth.yes, a, true), (truth.no, b, false)];
                sides.into_iter().filter(|side| side.0).fold(nan, |all, (_, e, value)| all.or(side(e, value)))
            }
            Expr::Bool(_) | Expr::Text(_) => ANY,
        }
    }

    fn unary(&self, op: Unary, operand: &Expr) -> Range {
        let a = self.range(operand);
        match op {
            Unary::Neg => Range::of(-a.high, -a.low, a.whole, a.nan),
            Unary::Abs => {
                let low = if a.has(0.0) { 0.0 } else { a.low.abs().min(a.high.abs()) };
                Range::of(low, a.low.abs().max(a.high.abs()), a.whole, a.nan)
            }
            Unary::Floor => Range::of(a.low.floor(), a.high.floor(), true, a.nan),
            Unary::Ceil => Range::of(a.low.ceil(), a.high.ceil(), true, a.nan),
            Unary::Log2 if a.low > 0.0 => {
                // Wider than the rounding of any implementation.
                Range::of(a.low.log2() - 1e-6, a.high.log2() + 1e-6, false, a.nan)
            }
            Unary::Ctz => {
                let most = a.low.abs().max(a.high.abs()).log2().floor().min(64.0);
                let high = if a.has(0.0) || most.is_nan() { 64.0 } else { most };
                Range::of(0.0, high, true, a.nan || !a.whole || !a.is_finite())
            }
            Unary::Log2 | Unary::Not => ANY,
        }
    }

    fn binary(&self, op: Binary, left: &Expr, right: &Expr) -> Range {
        let (a, b) = (self.range(left), self.range(right));
        let (nan, whole) = (a.nan || b.nan, a.whole && b.whole);
        let finite = a.is_finite() && b.is_finite();
        match op {
            Binary::Add => Range::corners(a, b, nan || !finite, whole, |a, b| a + b),
            Binary::Sub => Range::corners(a, b, nan || !finite, whole, |a, b| a - b),
            Binary::Mul => Range::corners(a, b, nan || !finite, whole, |a, b| a * b),
            Binary::Div if !b.has(0.0) => Range::corners(a, b, nan || !finite, false, |a, b| a / b),
            Binary::Rem if b.low > 0.0 && a.is_finite() => {
                let high = if a.low >= 0.0 { b.high.min(a.high) } else { b.high };
                let mut rest = Range::of(0.0, high, whole, nan);
                // Trailing zeros say whether a power of two divides.
                if b.low == b.high && b.low.log2().fract() == 0.0 && a.whole {
                    let zeros = self.range(&Expr::Unary(Unary::Ctz, Box::new(left.clone())));
                    if zeros.low >= b.low.log2() {
                        rest.high = 0.0;
                    } else if zeros.high < b.low.log2() {
                        rest.low = 1.0;
                    }
                }
                rest
            }
            Binary::Min => Range::of(a.low.min(b.low), a.high.min(b.high), whole, nan),
            Binary::Max => Range::of(a.low.max(b.low), a.high.max(b.high), whole, nan),
            _ => ANY,
        }
    }

    /// Returns the results that a condition may have here.
    pub fn truth(&self, expr: &Expr) -> Truth {
        if let Some(value) = self.conditions.get(expr) {
            return Truth::known(*value);
        }
        match expr {
            Expr::Bool(value) => Truth::known(*value),
            Expr::Unary(Unary::Not, a) => self.truth(a).opposite(),
            Expr::Binary(Binary::And, a, b) => self.both(a, b, true),
            Expr::Binary(Binary::Or, a, b) => self.both(a, b, false).opposite(),
            Expr::Binary(Binary::Compare(op), a, b) => self.compare(*op, self.range(a), self.range(b)),
            Expr::Binary(Binary::Same, a, b) => self.same(a, b),
            Expr::Binary(Binary::Differ, a, b) => self.same(a, b).opposite(),
            Expr::If(c, a, b) => {
                let (c, a, b) = (self.truth(c), self.truth(a), self.truth(b));
                let any = |f: fn(Truth) -> bool| c.yes && f(a) || c.no && f(b);
                Truth {
                    yes: any(|t| t.yes),
                    no: any(|t| t.no),
                    undefined: c.undefined || any(|t| t.undefined),
                }
            }
            Expr::Feature(slot) => match self.derived(slot.index) {
                Some(derived) => self.truth(derived),
                None => Truth::OPEN,
            },
            _ => Truth { undefined: true, ..Truth::OPEN },
        }
    }

    /// Returns the truth of `a and b`, or with `value` false of `not (a or b)`.
    fn both(&self, a: &Expr, b: &Expr, value: bool) -> Truth {
        let side = |t: Truth| if value { t } else { t.opposite() };
        let first = side(self.truth(a));
        if !first.yes {
            return first;
        }
        let mut facts = self.clone();
        facts.learn(a, value);
        let second = side(facts.truth(b));
        Truth { yes: second.yes, no: first.no || second.no, undefined: first.undefined || second.undefined }
    }

    fn compare(&self, op: Comparison, a: Range, b: Range) -> Truth {
        let equal =
            (a.low <= b.high && b.low <= a.high, !(a.low == a.high && b.low == b.high && a.low == b.low));
        let (yes, no) = match op {
            Comparison::Eq => equal,
            Comparison::Ne => (equal.1, equal.0),
            Comparison::Lt => (a.low < b.high, a.high >= b.low),
            Comparison::Le => (a.low <= b.high, a.high > b.low),
            Comparison::Gt => (a.high > b.low, a.low <= b.high),
            Comparison::Ge => (a.high >= b.low, a.low < b.high),
        };
        Truth { yes, no, undefined: a.nan || b.nan }
    }

    fn same(&self, a: &Expr, b: &Expr) -> Truth {
        let undefined = self.may_lack(a) || self.may_lack(b);
        let (Expr::Feature(slot), Expr::Text(text)) = (a, b) else {
            return match (a, b) {
                (Expr::Text(_), Expr::Feature(_)) => self.same(b, a),
                (Expr::Text(a), Expr::Text(b)) => Truth::known(a == b),
                _ => {
                    // The model tells two categories apart only if it names one of them.
                    let is_named = |e: &Expr| matches!(e, Expr::Text(_)) || e.ty() == Type::Bool;
                    Truth { undefined: undefined || !is_named(a) && !is_named(b), ..Truth::OPEN }
                }
            };
        };
        if let Some(derived) = self.derived(slot.index)
            && derived.ty() == Type::Bool
            && !self.categories.contains_key(&slot.index)
        {
            let truth = self.truth(derived);
            return match text.as_str() {
                "True" => truth,
                "False" => truth.opposite(),
                _ => Truth { yes: false, no: true, ..truth },
            };
        }
        let known = self.categories.get(&slot.index);
        let is_out = known.is_some_and(|known| {
            known.not.contains(text) || known.only.as_ref().is_some_and(|only| !only.contains(text))
        });
        let is_only = known.is_some_and(|known| {
            known.only.as_ref().is_some_and(|only| only.len() == 1 && only.contains(text))
        });
        Truth { yes: !is_out, no: !is_only, undefined }
    }

    /// Returns true if a category or truth value may be undefined here.
    pub fn may_lack(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Feature(slot) => match self.derived(slot.index) {
                Some(derived) if !self.categories.contains_key(&slot.index) => self.may_lack(derived),
                _ => false,
            },
            Expr::Text(_) => false,
            Expr::If(c, a, b) if expr.ty() == Type::Category => {
                self.may_lack(c) || self.may_lack(a) || self.may_lack(b)
            }
            _ => self.truth(expr).undefined,
        }
    }

    /// Notes that a condition holds, or with `value` false that it is defined and does not.
    pub fn learn(&mut self, expr: &Expr, value: bool) {
        self.conditions.insert(expr.clone(), value);
        match expr {
            Expr::Unary(Unary::Not, a) => self.learn(a, !value),
            Expr::Binary(Binary::And, a, b) if value => [a, b].into_iter().for_each(|e| self.learn(e, true)),
            Expr::Binary(Binary::Or, a, b) if !value => [a, b].into_iter().for_each(|e| self.learn(e, false)),
            Expr::Binary(Binary::Compare(op), a, b) => {
                let (first, second) = (self.range(a), self.range(b));
                self.learn_comparison(*op, value, a, second);
                let mirrored = match op {
                    Comparison::Lt => Comparison::Gt,
                    Comparison::Le => Comparison::Ge,
                    Comparison::Gt => Comparison::Lt,
                    Comparison::Ge => Comparison::Le,
                    other => *other,
                };
                self.learn_comparison(mirrored, value, b, first);
            }
            Expr::Binary(op @ (Binary::Same | Binary::Differ), a, b) => {
                if let (Expr::Feature(slot), Expr::Text(text)) | (Expr::Text(text), Expr::Feature(slot)) =
                    (&**a, &**b)
                {
                    let value = (*op == Binary::Same) == value;
                    self.learn_category(slot.index, std::slice::from_ref(text), value);
                }
            }
            Expr::Feature(slot) => {
                if let Some(derived) = self.derived(slot.index) {
                    self.learn(derived, value);
                }
            }
            _ => {}
        }
    }

    fn learn_comparison(&mut self, op: Comparison, value: bool, a: &Expr, b: Range) {
        let (low, high) = match (op, value) {
            (Comparison::Lt, true) | (Comparison::Ge, false) => (f64::NEG_INFINITY, b.high.next_down()),
            (Comparison::Le, true) | (Comparison::Gt, false) => (f64::NEG_INFINITY, b.high),
            (Comparison::Gt, true) | (Comparison::Le, false) => (b.low.next_up(), f64::INFINITY),
            (Comparison::Ge, true) | (Comparison::Lt, false) => (b.low, f64::INFINITY),
            (Comparison::Eq, true) | (Comparison::Ne, false) => (b.low, b.high),
            (Comparison::Ne, true) | (Comparison::Eq, false) => {
                // An end that is left out moves a whole number by one.
                let a = self.range(a);
                let one = b.low == b.high && a.whole;
                let low = if one && a.low == b.low { a.low + 1.0 } else { f64::NEG_INFINITY };
                (low, if one && a.high == b.high { a.high - 1.0 } else { f64::INFINITY })
            }
        };
        self.learn_range(a, low, high, false);
    }

    /// Notes that a number is from `low` to `high`, or NaN if `nan`, and what follows for the numbers that it is computed from.
    pub fn learn_range(&mut self, expr: &Expr, low: f64, high: f64, nan: bool) {
        let fact = Range { low, high, whole: false, nan };
        let known = self.range(expr).and(fact);
        if matches!(expr, Expr::Number(_)) || known.low > known.high {
            return;
        }
        self.numbers.insert(expr.clone(), known);
        if nan {
            return;
        }
        match expr {
            Expr::Feature(slot) => {
                if let Some(derived) = self.derived(slot.index) {
                    self.learn_range(derived, low, high, false);
                }
            }
            Expr::Unary(Unary::Ctz, a) => {
                let zeros = low.ceil();
                if self.range(a).low > 0.0 && zeros > 0.0 && zeros < 64.0 {
                    self.learn_range(a, zeros.exp2(), f64::INFINITY, false);
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

    /// Notes that a categorical feature has one of these categories, or with `value` false none of them.
    pub fn learn_category(&mut self, slot: usize, texts: &[String], value: bool) {
        let known = self.categories.entry(slot).or_default();
        if value {
            let texts =
                texts.iter().filter(|text| known.only.as_ref().is_none_or(|only| only.contains(*text)));
            known.only = Some(texts.filter(|text| !known.not.contains(*text)).cloned().collect());
        } else {
            known.not.extend(texts.iter().cloned());
            let not = &known.not;
            if let Some(only) = &mut known.only {
                only.retain(|text| !not.contains(text));
            }
        }
        let only =
            self.possible(slot).filter(|only| only.len() == 1).and_then(|only| only.into_iter().next());
        if let (Some(only), Some(derived)) = (only, self.derived(slot))
            && derived.ty() == Type::Bool
        {
            self.learn(derived, only == "True");
        }
    }

    /// Returns the categories that a feature may have, if they are known. A truth value is one of two.
    pub fn possible(&self, slot: usize) -> Option<BTreeSet<String>> {
        let known = self.categories.get(&slot).and_then(|known| known.only.clone());
        let truth = || ["False", "True"].map(str::to_owned).into_iter().collect();
        known.or_else(|| self.is_truth(slot).then(truth)).map(|mut all: BTreeSet<String>| {
            if let Some(known) = self.categories.get(&slot) {
                all.retain(|text| !known.not.contains(text));
            }
            all
        })
    }

    /// Returns true if this category is excluded.
    pub fn excludes(&self, slot: usize, text: &str) -> bool {
        self.categories.get(&slot).is_some_and(|known| known.not.contains(text))
    }

    /// Returns true for a categorical feature that is only ever true or false: it is a truth value in code.
    pub fn is_truth(&self, slot: usize) -> bool {
        let features = self.model.features.all().features();
        match self.derived(slot) {
            Some(derived) => derived.ty() == Type::Bool,
            None => {
                let known = &self.model.categories[slot];
                self.has_truths
                    && features[slot].kind == FeatureKind::Categorical
                    && !known.is_empty()
                    && known.iter().all(|text| matches!(text.as_str(), "False" | "True"))
            }
        }
    }
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

/// Returns the opposite of a condition, without `not` where an operator has an opposite.
pub fn negated(expr: &Expr) -> Expr {
    let both = |op, a: &Expr, b: &Expr| Expr::Binary(op, Box::new(a.clone()), Box::new(b.clone()));
    match expr {
        Expr::Bool(value) => Expr::Bool(!value),
        Expr::Unary(Unary::Not, a) => (**a).clone(),
        Expr::Binary(Binary::And, a, b) => both(Binary::Or, &negated(a), &negated(b)),
        Expr::Binary(Binary::Or, a, b) => both(Binary::And, &negated(a), &negated(b)),
        Expr::Binary(Binary::Same, a, b) => both(Binary::Differ, a, b),
        Expr::Binary(Binary::Differ, a, b) => both(Binary::Same, a, b),
        Expr::Binary(Binary::Compare(op), a, b) => both(Binary::Compare(opposite(*op)), a, b),
        other => Expr::Unary(Unary::Not, Box::new(other.clone())),
    }
}
