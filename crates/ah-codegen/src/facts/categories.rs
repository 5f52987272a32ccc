//! The categories that a feature may have.

use ah_model::Model;
use ah_model::expr::{Binary, Expr, Slot, Type};

use super::known::{Categories, Facts};

impl Facts<'_> {
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

    /// The categories that a feature may have. A truth value is one of two.
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

    /// True for a categorical feature that is only ever true or false: it is a truth value in code.
    pub fn is_truth(&self, slot: usize) -> bool {
        match self.derived(slot) {
            Some(derived) => derived.ty() == Type::Bool,
            None => self.has_truths && is_truth(self.model, slot),
        }
    }
}

/// True for a logged feature with no category but `True` and `False`: languages with types have it as a truth value.
pub fn is_truth(model: &Model, slot: usize) -> bool {
    let known = &model.categories[slot];
    !known.is_empty() && known.iter().all(|text| matches!(text.as_str(), "False" | "True"))
}

/// The feature and the texts of `feature == text or …`, with true, and of `feature != text`, with false.
pub fn membership(expr: &Expr) -> Option<(Slot, Vec<String>, bool)> {
    let Expr::Binary(op, a, b) = expr else { return None };
    match (op, &**a, &**b) {
        (Binary::Same | Binary::Differ, Expr::Feature(slot), Expr::Text(text))
        | (Binary::Same | Binary::Differ, Expr::Text(text), Expr::Feature(slot)) => {
            Some((*slot, vec![text.clone()], *op == Binary::Same))
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
