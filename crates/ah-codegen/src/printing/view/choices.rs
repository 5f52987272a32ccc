//! Views of choices, and of the fields that their names list.

use ah_types::{FieldValue, fields};
use serde::Serialize;

use super::viewer::{NameView, Viewer};
use crate::printing::language::{FieldType, Language};
use crate::printing::names::Namer;
use crate::printing::text::{code, number};

#[derive(Clone, Debug, Serialize)]
pub struct ChoiceView {
    pub(super) index: usize,
    identifier: String,
    #[serde(flatten)]
    name: NameView,
    /// True if its name lists fields.
    structured: bool,
    /// Its fields, each in its own type.
    fields: Vec<FieldView>,
    /// The values of all [`ConfigView::fields`]; `None` if its name does not list the field.
    values: Vec<Option<String>>,
}

#[derive(Clone, Debug, Serialize)]
struct FieldView {
    /// A string literal.
    key: String,
    value: String,
}

/// The type of structured choices.
#[derive(Debug, Serialize)]
pub struct ConfigView {
    fields: Vec<ColumnView>,
    /// True if the name of every choice lists fields.
    complete: bool,
}

/// A field of structured choices.
#[derive(Debug, Serialize)]
struct ColumnView {
    identifier: String,
    text: String,
    r#type: FieldType,
    /// True if some structured choices lack it.
    optional: bool,
}

/// The fields of all choices, and the type of each field.
pub(super) struct Fields {
    /// By choice; empty for a name that lists no fields.
    of: Vec<Vec<(String, FieldValue)>>,
    columns: Vec<(String, FieldType)>,
}

impl Fields {
    pub(super) fn new(choices: &[String]) -> Self {
        let of: Vec<_> = choices.iter().map(|name| fields(name).unwrap_or_default()).collect();
        let mut columns: Vec<(String, FieldType)> = Vec::new();
        for (key, value) in of.iter().flatten() {
            let this = FieldType::of(value);
            match columns.iter_mut().find(|(k, _)| k == key) {
                Some((_, ty)) => *ty = ty.with(this),
                None => columns.push((key.clone(), this)),
            }
        }
        Self { of, columns }
    }
}

impl<L: Language> Viewer<'_, L> {
    pub(super) fn choices(&self, all: &Fields) -> Vec<ChoiceView> {
        let view = |index: usize| {
            let fields = &all.of[index];
            ChoiceView {
                index,
                identifier: self.language.names().choices[index].clone(),
                name: self.name(&self.lowered.model.choices[index]),
                structured: !fields.is_empty(),
                fields: fields.iter().map(|(key, value)| self.field(key, value)).collect(),
                values: all.columns.iter().map(|(key, ty)| self.value(fields, key, *ty)).collect(),
            }
        };
        (0..self.lowered.model.choices.len()).map(view).collect()
    }

    pub(super) fn config(&self, all: &Fields) -> Option<ConfigView> {
        let structured = all.of.iter().filter(|fields| !fields.is_empty());
        let (case, reserved) = self.language.field_naming();
        let mut names = Namer::new(case, reserved);
        let column = |(key, ty): &(String, FieldType)| ColumnView {
            identifier: names.give(key, "field"),
            text: code(key),
            r#type: *ty,
            optional: structured.clone().any(|fields| !fields.iter().any(|(k, _)| k == key)),
        };
        let complete = structured.clone().count() == all.of.len();
        let fields: Vec<ColumnView> = all.columns.iter().map(column).collect();
        (!fields.is_empty()).then_some(ConfigView { fields, complete })
    }

    fn field(&self, key: &str, value: &FieldValue) -> FieldView {
        FieldView { key: self.language.string(key), value: self.literal_of(value, FieldType::of(value)) }
    }

    fn value(&self, fields: &[(String, FieldValue)], key: &str, ty: FieldType) -> Option<String> {
        fields.iter().find(|(k, _)| k == key).map(|(_, value)| self.literal_of(value, ty))
    }

    fn literal_of(&self, value: &FieldValue, ty: FieldType) -> String {
        match (ty, value) {
            (FieldType::Integer, FieldValue::Integer(whole)) => whole.to_string(),
            (FieldType::Number, FieldValue::Integer(whole)) => number(*whole as f64),
            (FieldType::Number, FieldValue::Number(x)) => number(*x),
            (FieldType::Truth, FieldValue::Truth(truth)) => self.language.truth(*truth).alone(),
            (_, value) => self.language.string(&value.to_string()),
        }
    }
}
