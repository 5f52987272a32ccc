//! Views of logged and derived features, and of the precondition.

use std::collections::BTreeSet;

use ah_types::expr::{Expr, Type};
use ah_types::{ChoiceId, Precondition};
use serde::Serialize;

use super::viewer::{NameView, Viewer};
use crate::lower::Argument;
use crate::printing::expression::Printer;
use crate::printing::language::{Language, ValueKind};
use crate::printing::shared_parts::SharedParts;
use crate::printing::text::code;

#[derive(Debug, Serialize)]
pub struct FeatureView {
    slot: usize,
    identifier: String,
    #[serde(flatten)]
    name: NameView,
    /// Its name, description and unit.
    doc: String,
    kind: ValueKind,
    r#type: String,
    /// True if the identifier differs from the name.
    renamed: bool,
    /// True if the tree, the precondition or a derived feature needs it.
    used: bool,
    /// True if the tree tests it.
    tested: bool,
    /// True if training saw it missing.
    missing: bool,
    /// The categories that code distinguishes.
    variants: Vec<VariantView>,
    /// The literals of the categories in the training data.
    seen: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct VariantView {
    identifier: String,
    #[serde(flatten)]
    name: NameView,
    /// The length of the name.
    bytes: usize,
    code: usize,
    /// True if it is in the training data.
    known: bool,
}

#[derive(Debug, Serialize)]
pub struct DerivedView {
    slot: usize,
    identifier: String,
    #[serde(flatten)]
    name: NameView,
    expression: String,
    kind: ValueKind,
    r#type: String,
    tested: bool,
    /// The derived features that it takes as arguments.
    parameters: Vec<ParameterView>,
    /// The logged features that it reads, and `parameters`.
    inputs: Vec<ParameterView>,
    body: String,
    /// The variables for truth values in the body.
    variables: Vec<String>,
    /// The calls that compute it, itself last, if nothing was computed before.
    steps: Vec<StepView>,
    /// The literals of the categories in the training data.
    seen: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct ParameterView {
    slot: usize,
    identifier: String,
    /// The feature's name as a string literal.
    string: String,
    r#type: String,
    /// The code that converts the value of a logged feature, if the language does so.
    converted: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct StepView {
    slot: usize,
    identifier: String,
    r#type: String,
    call: String,
}

/// An assignment of a variable.
#[derive(Debug, Serialize)]
pub struct AssignmentView {
    variable: String,
    value: String,
}

/// The condition under which a choice can run.
#[derive(Debug, Serialize)]
pub struct EligibleView {
    index: usize,
    choice: String,
    #[serde(flatten)]
    condition: ConditionView,
}

/// A condition over the logged features.
#[derive(Debug, Serialize)]
pub struct ConditionView {
    text: String,
    string: String,
    inputs: Vec<ParameterView>,
    body: String,
    variables: Vec<String>,
}

impl<L: Language> Viewer<'_, L> {
    pub(super) fn feature(&self, slot: usize) -> FeatureView {
        let (lowered, model) = (self.lowered, self.lowered.model);
        let feature = &model.features.base().features()[slot];
        let sentence = |text: &Option<String>| {
            text.as_deref().map(|text| self.language.sentence(text)).filter(|text| !text.is_empty())
        };
        let mut doc = code(&feature.name);
        if let Some(description) = sentence(&feature.description) {
            doc.push_str(&format!(": {description}"));
        }
        if let Some(unit) = sentence(&feature.unit) {
            doc.push_str(&format!(" ({unit})"));
        }
        if model.missing.contains(&slot) {
            doc.push_str("; NaN where it is missing");
        }
        let variants = lowered.variants[slot].iter().zip(&self.language.names().variants[slot]);
        let variant = |(text, identifier): (&&str, &String)| VariantView {
            identifier: identifier.clone(),
            name: self.name(text),
            bytes: text.len(),
            code: lowered.code(text),
            known: model.knows(slot, text),
        };
        let identifier = self.identifier(slot);
        FeatureView {
            slot,
            renamed: identifier != feature.name,
            identifier,
            name: self.name(&feature.name),
            doc,
            kind: ValueKind::of(lowered, slot),
            r#type: self.language.type_name(slot),
            used: lowered.used[slot],
            tested: lowered.tested[slot],
            missing: lowered.is_missing(slot),
            variants: variants.map(variant).collect(),
            seen: self.seen(slot),
        }
    }

    pub(super) fn seen(&self, slot: usize) -> Vec<String> {
        self.lowered.model.categories[slot].iter().map(|category| self.literal(category)).collect()
    }

    pub(super) fn parameters(&self, slots: impl IntoIterator<Item = usize>) -> Vec<ParameterView> {
        let parameter = |slot| ParameterView {
            slot,
            identifier: self.identifier(slot),
            string: self.language.string(&self.lowered.model.features.all().features()[slot].name),
            r#type: self.language.type_name(slot),
            converted: self.language.convert(slot),
        };
        slots.into_iter().map(parameter).collect()
    }

    pub(super) fn derived(&self, printer: &mut Printer<'_, L>) -> Vec<DerivedView> {
        let (lowered, features) = (self.lowered, &self.lowered.model.features);
        let base = features.base().len();
        let step = |slot: usize| {
            let unchecked = |slot| Argument { slot, checked: false };
            let (_, parameters) = lowered.inputs(slot);
            let arguments: Vec<Argument> = parameters.into_iter().map(unchecked).collect();
            StepView {
                slot,
                identifier: self.identifier(slot),
                r#type: self.language.type_name(slot),
                call: self.language.compute(slot, &arguments),
            }
        };
        let mut views = Vec::new();
        for (slot, (derived, typed)) in
            (base..).zip(features.derived()).filter(|(slot, _)| lowered.used[*slot])
        {
            let (logged, parameters) = lowered.inputs(slot);
            let body = printer.print(typed);
            views.push(DerivedView {
                slot,
                identifier: self.identifier(slot),
                name: self.name(&derived.name),
                expression: code(&derived.expression),
                kind: ValueKind::of(lowered, slot),
                r#type: self.language.type_name(slot),
                tested: lowered.tested[slot],
                inputs: self.parameters(logged.into_iter().chain(parameters.iter().copied())),
                parameters: self.parameters(parameters),
                body: self.language.returned(body, typed.ty(), &mut printer.called),
                variables: printer.called.take_variables(),
                steps: lowered.needs(slot).into_iter().map(step).collect(),
                seen: self.seen(slot),
            });
        }
        views
    }

    /// Returns assignments that compute all used derived features in order. A part that several of them have in common is
    /// computed once.
    pub(super) fn computed(&self, printer: &mut Printer<'_, L>) -> Vec<AssignmentView> {
        let base = self.lowered.model.features.base().len();
        let derived = (base..).zip(self.lowered.model.features.derived());
        let used: Vec<(usize, &Expr)> = derived
            .filter(|(slot, _)| self.lowered.used[*slot])
            .map(|(slot, (_, typed))| (slot, typed))
            .collect();
        printer.shared = Some(SharedParts::default());
        used.iter().for_each(|(_, typed)| drop(printer.print(typed)));
        printer.called.take_variables();
        let mut shared = printer.shared.take().unwrap_or_default().counted();
        let mut assignments = Vec::new();
        for (slot, typed) in used {
            let variable = self.identifier(slot);
            printer.shared = Some(shared);
            let value = printer.print(typed).alone();
            shared = printer.shared.take().unwrap_or_default();
            assignments.extend(shared.take());
            if typed.ty() == Type::Number {
                shared.note(typed, &variable);
            }
            assignments.push((variable, value));
        }
        printer.called.take_variables();
        assignments.into_iter().map(|(variable, value)| AssignmentView { variable, value }).collect()
    }

    pub(super) fn eligible(&self, printer: &mut Printer<'_, L>) -> Vec<EligibleView> {
        let eligible = self.lowered.model.eligible.iter();
        let view = |(choice, condition): (&ChoiceId, &Precondition)| EligibleView {
            index: choice.index(),
            choice: self.language.choice(*choice),
            condition: self.predicate(condition, printer),
        };
        eligible.map(view).collect()
    }

    pub(super) fn predicate(&self, condition: &Precondition, printer: &mut Printer<'_, L>) -> ConditionView {
        let mut logged = BTreeSet::new();
        condition.typed.for_each_feature(&mut |slot| {
            let slot = slot.index;
            logged.insert(slot);
        });
        let body = printer.truth(&condition.typed);
        ConditionView {
            text: code(&condition.expression),
            string: self.language.string(&condition.expression),
            inputs: self.parameters(logged),
            body: self.language.returned(body, Type::Bool, &mut printer.called),
            variables: printer.called.take_variables(),
        }
    }
}
