//! The features that a model needs, and their types.

use std::collections::BTreeSet;

use ah_types::expr::Type;
use ah_types::{FeatureKind, Model, Node, Test};

/// Returns by slot which features the trees test.
pub(super) fn tested(model: &Model, table: bool) -> Vec<bool> {
    let mut tested = vec![false; model.features.all().len()];
    for tree in &model.trees {
        let mut open = vec![0];
        while let Some(at) = open.pop() {
            if let Node::Split { test, left, right } = &tree.nodes[at] {
                tested[test.slot()] = true;
                open.push(*left as usize);
                // Branches omit tests that are always false; a table does not.
                if table || is_possible(model, test) {
                    open.push(*right as usize);
                }
            }
        }
    }
    model.boosted.iter().flat_map(|boosted| &boosted.columns).for_each(|column| tested[column.slot] = true);
    tested
}

/// Returns by slot which features must be read or computed.
pub(super) fn used(model: &Model, tested: &[bool]) -> Vec<bool> {
    let mut used = tested.to_vec();
    for condition in model.precondition.iter().chain(model.eligible.values()) {
        condition.typed.for_each_feature(&mut |slot| used[slot] = true);
    }
    // A derived feature uses only features before it.
    let base = model.features.base().len();
    for (i, (_, typed)) in model.features.derived().iter().enumerate().rev() {
        if used[base + i] {
            typed.for_each_feature(&mut |slot| used[slot] = true);
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
        slots.insert(s);
    });
    slots.into_iter().partition(|&s| s < base)
}

/// Returns false if a derived truth value is compared with a category other than `True` and `False`.
fn is_possible(model: &Model, test: &Test) -> bool {
    let Test::Categorical { slot, category } = test else { return true };
    derived_type(model, *slot) != Some(Type::Bool) || matches!(category.as_str(), "False" | "True")
}
