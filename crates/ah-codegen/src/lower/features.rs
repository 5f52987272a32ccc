//! The features that a model needs, their types, and the operations on whole numbers.

use std::collections::BTreeSet;

use ah_types::expr::{Binary, Expr, Type, Unary};
use ah_types::{FeatureKind, Model, Node, Test, Tree, contains};

/// Returns by slot which features the trees test. Arrays have every test of the model's own tree, branches those that they reach.
pub(super) fn tested(model: &Model, has_arrays: bool) -> Vec<bool> {
    let mut tested = vec![false; model.features.all().len()];
    if has_arrays {
        model.tree.tests().for_each(|test| tested[test.slot()] = true);
    }
    let mut open = vec![0];
    while let Some(at) = open.pop() {
        if let Node::Split { test, left, right } = &model.tree.nodes[at] {
            tested[test.slot()] = true;
            // Branches omit tests whose result is always the same.
            let (condition, goes_right) = condition(model, test);
            let only = condition.is_none().then_some(goes_right);
            let children = [(*left, only != Some(true)), (*right, only != Some(false))];
            open.extend(
                children.iter().filter(|(_, is_reached)| *is_reached).map(|(child, _)| *child as usize),
            );
        }
    }
    model.boosters.iter().flat_map(Tree::tests).for_each(|test| tested[test.slot()] = true);
    tested
}

/// Returns by slot which features must be read or computed.
pub(super) fn used(model: &Model, tested: &[bool]) -> Vec<bool> {
    let mut used = tested.to_vec();
    for condition in model.precondition.iter().chain(model.eligible.values()) {
        condition.typed.for_each_feature(&mut |slot| used[slot.index] = true);
    }
    // A derived feature uses only features before it.
    let base = model.features.base().len();
    for (i, (_, typed)) in model.features.derived().iter().enumerate().rev() {
        if used[base + i] {
            typed.for_each_feature(&mut |slot| used[slot.index] = true);
        }
    }
    used
}

/// Returns true if the feature in this slot is a logged category.
pub(super) fn is_logged_category(model: &Model, slot: usize) -> bool {
    model.features.base().features().get(slot).is_some_and(|f| f.kind == FeatureKind::Categorical)
}

/// Returns true if the feature in this slot is a logged whole number.
pub(super) fn is_whole(model: &Model, slot: usize) -> bool {
    model.features.base().features().get(slot).is_some_and(|f| f.integer)
}

/// Returns the type of the derived feature in this slot; `None` for a logged one.
pub(super) fn derived_type(model: &Model, slot: usize) -> Option<Type> {
    let i = slot.checked_sub(model.features.base().len())?;
    Some(model.features.derived()[i].1.ty())
}

/// Returns the logged features that a derived feature reads itself, and the derived ones, by slot.
pub(super) fn inputs(model: &Model, slot: usize) -> (Vec<usize>, Vec<usize>) {
    let base = model.features.base().len();
    let mut slots = BTreeSet::new();
    model.features.derived()[slot - base].1.for_each_feature(&mut |s| {
        slots.insert(s.index);
    });
    slots.into_iter().partition(|&s| s < base)
}

/// The condition of a branch.
pub enum Condition<'m> {
    /// value <= threshold
    AtMost(usize, f64),
    /// The value is one of these categories: those of the side with fewer.
    IsIn(usize, Vec<&'m str>),
    /// A derived truth value.
    Holds(usize),
}

/// Returns the condition by which code decides a test, and whether a true one leads to the right child. Without a condition, every
/// known value goes there. The categories that the training data does not have are refused before.
pub fn condition<'m>(model: &'m Model, test: &'m Test) -> (Option<Condition<'m>>, bool) {
    let (slot, set) = match test {
        Test::Numerical { slot, threshold } => return (Some(Condition::AtMost(*slot, *threshold)), false),
        Test::Categorical { slot, categories } => (*slot, categories),
    };
    let has = |category: &str| contains(set, category);
    if derived_type(model, slot) == Some(Type::Bool) {
        return match (has("False"), has("True")) {
            (no, yes) if no == yes => (None, yes),
            (_, yes) => (Some(Condition::Holds(slot)), yes),
        };
    }
    let known = &model.categories[slot];
    let (inside, outside): (Vec<&str>, Vec<&str>) = known.iter().map(String::as_str).partition(|c| has(c));
    match (inside.len(), outside.len()) {
        (0, _) => (None, false),
        (_, 0) => (None, true),
        (inside_count, outside_count) if outside_count < inside_count => {
            (Some(Condition::IsIn(slot, outside)), false)
        }
        _ => (Some(Condition::IsIn(slot, inside)), true),
    }
}

/// An operation on a logged whole number that integers compute with the same result. With `fmod`, or
/// through a float, it takes several times as long.
pub struct WholeOperation {
    /// The feature's slot.
    pub slot: usize,
    /// `low_bits` is the remainder by a power of two, `ceil_shifted` and `floor_shifted` are the rounded
    /// quotient; `trailing_zeros` needs no power.
    pub name: &'static str,
    /// The exponent of the power of two.
    pub power: Option<i32>,
}

/// Returns the operation in integers for this expression, if there is one.
pub(super) fn whole_operation(model: &Model, expr: &Expr) -> Option<WholeOperation> {
    let (name, operand, power) = match expr {
        Expr::Binary(Binary::Rem, a, b) => ("low_bits", a, Some(power_of_two(b)?)),
        Expr::Unary(Unary::Ctz, a) => ("trailing_zeros", a, None),
        Expr::Unary(Unary::Ceil, quotient) => {
            let Expr::Binary(Binary::Div, a, b) = &**quotient else { return None };
            ("ceil_shifted", a, Some(power_of_two(b)?))
        }
        Expr::Unary(Unary::Floor, quotient) => {
            let Expr::Binary(Binary::Div, a, b) = &**quotient else { return None };
            ("floor_shifted", a, Some(power_of_two(b)?))
        }
        _ => return None,
    };
    let Expr::Feature(slot) = **operand else { return None };
    is_whole(model, slot.index).then_some(WholeOperation { slot: slot.index, name, power })
}

/// Returns the exponent of a literal power of two up to 2^52; whole numbers divide exactly by these.
fn power_of_two(expr: &Expr) -> Option<i32> {
    let Expr::Number(x) = expr else { return None };
    (0..=52).find(|&power| 2.0_f64.powi(power).to_bits() == x.to_bits())
}
