//! All expressions of a model as one graph in which equal parts are one value: `m * k` is computed once, however many columns
//! use it. `ah_types::expr` defines what an expression means.

use ah_types::expr::{Binary, Comparison, Expr, Type, Unary};
use ah_types::{FeatureKind, Model};
use rustc_hash::FxHashMap;

use super::categories::{Categories, CategorySet};
use super::program::Op;

/// A value of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Value {
    /// The bits of a number.
    Constant(u64),
    /// The logged number in this slot.
    Number(usize),
    /// The result of an operation. Operands that are [registers](Op::registers) are the positions of values before this one.
    Computed(Op, [u32; 3]),
}

/// The values of a model.
pub(super) struct Graph<'a> {
    model: &'a Model,
    categories: &'a Categories,
    values: Vec<Value>,
    positions: FxHashMap<Value, u32>,
    /// The values of the derived features.
    derived: Vec<u32>,
}

impl<'a> Graph<'a> {
    /// Returns the graph of a model's derived features. Each uses only those before it, so a long chain of features does not
    /// recurse.
    pub(super) fn new(model: &'a Model, categories: &'a Categories) -> Self {
        let (values, positions, derived) = (Vec::new(), FxHashMap::default(), Vec::new());
        let mut graph = Self { model, categories, values, positions, derived };
        for (_, typed) in model.features.derived() {
            let value = graph.truth(typed);
            graph.derived.push(value);
        }
        graph
    }

    /// Returns the values; each comes after its operands.
    pub(super) fn values(&self) -> &[Value] {
        &self.values
    }

    /// Returns the value of a feature.
    pub(super) fn feature(&mut self, slot: usize) -> u32 {
        let logged = self.model.features.base().features();
        if let Some(derived) = slot.checked_sub(logged.len()) {
            return self.derived[derived];
        }
        if logged[slot].kind == FeatureKind::Numerical {
            return self.value(Value::Number(slot));
        }
        // The missing value of a category that training saw missing.
        let missing = if self.model.knows(slot, "") { self.categories.id("") } else { f64::NAN };
        let missing = self.constant(missing);
        self.computed(Op::Category, [missing, 0, slot as u32])
    }

    /// Returns the value of an expression. Categories are ids; a truth value has the ids 0 and 1.
    pub(super) fn truth(&mut self, expr: &Expr) -> u32 {
        match expr {
            Expr::Bool(holds) => self.constant(f64::from(*holds)),
            Expr::Number(x) => self.constant(*x),
            Expr::Text(text) => self.constant(self.categories.id(text)),
            Expr::Feature(slot) => self.feature(slot.index),
            Expr::Unary(op, a) => {
                let a = self.truth(a);
                self.computed(if *op == Unary::Not { Op::Not } else { Op::from(*op) }, [a, 0, 0])
            }
            Expr::Binary(op @ (Binary::Same | Binary::Differ), a, b) => {
                self.matches(*op == Binary::Same, a, b)
            }
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.truth(a), self.truth(b));
                match op {
                    Binary::And => self.computed(Op::And, [a, b, 0]),
                    Binary::Or => self.computed(Op::Or, [a, b, 0]),
                    Binary::Compare(Comparison::Eq) => self.computed(Op::Eq, [a, b, 0]),
                    Binary::Compare(Comparison::Ne) => self.computed(Op::Ne, [a, b, 0]),
                    Binary::Compare(Comparison::Lt) => self.computed(Op::Lt, [a, b, 0]),
                    Binary::Compare(Comparison::Le) => self.computed(Op::Le, [a, b, 0]),
                    Binary::Compare(Comparison::Gt) => self.computed(Op::Lt, [b, a, 0]),
                    Binary::Compare(Comparison::Ge) => self.computed(Op::Le, [b, a, 0]),
                    op => self.computed(Op::from(*op), [a, b, 0]),
                }
            }
            Expr::If(c, a, b) => {
                let operands = [self.truth(c), self.truth(a), self.truth(b)];
                self.computed(Op::If, operands)
            }
        }
    }

    /// Returns whether a category is in a set; appends it to `sets` if it is needed.
    pub(super) fn member(&mut self, category: u32, set: CategorySet, sets: &mut Vec<CategorySet>) -> u32 {
        let is_truth = matches!(self.values[category as usize], Value::Computed(op, _) if op.is_truth());
        if is_truth && set.is_truth() {
            return category;
        }
        sets.push(set);
        self.computed(Op::Member, [category, 0, sets.len() as u32 - 1])
    }

    fn matches(&mut self, equal: bool, left: &Expr, right: &Expr) -> u32 {
        let (a, b) = (self.truth(left), self.truth(right));
        if !(may_be_unnamed(left) && may_be_unnamed(right)) {
            return self.computed(if equal { Op::Eq } else { Op::Ne }, [a, b, 0]);
        }
        let same = self.computed(Op::Same, [a, b, 0]);
        if equal { same } else { self.computed(Op::Not, [same, 0, 0]) }
    }

    fn constant(&mut self, x: f64) -> u32 {
        self.value(Value::Constant(x.to_bits()))
    }

    fn computed(&mut self, op: Op, operands: [u32; 3]) -> u32 {
        self.value(Value::Computed(op, operands))
    }

    fn value(&mut self, value: Value) -> u32 {
        let (next, values) = (self.values.len() as u32, &mut self.values);
        *self.positions.entry(value).or_insert_with(|| {
            values.push(value);
            next
        })
    }
}

/// Returns true if the expression may compute a category that the model does not name.
fn may_be_unnamed(expr: &Expr) -> bool {
    match expr {
        Expr::Feature(_) => true,
        Expr::If(_, a, b) => expr.ty() == Type::Category && (may_be_unnamed(a) || may_be_unnamed(b)),
        _ => false,
    }
}
