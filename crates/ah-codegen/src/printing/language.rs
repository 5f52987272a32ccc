//! The parts of a language that templates cannot express: literals, names, and the steps of a tree.

use ah_types::expr::Type;
use ah_types::{ChoiceId, FieldValue};

use crate::lower::{Argument, LoweredModel};
use crate::printing::code::Code;
use crate::printing::expression::{Calls, Dialect};
use crate::printing::names::{Case, Namer};
use crate::printing::text::{number, shown};

/// The kind of a feature's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ValueKind {
    /// A logged whole number.
    Integer,
    /// An f64.
    Number,
    /// True or false: derived.
    Truth,
    Category,
}

impl ValueKind {
    /// Returns the kind of the feature in this slot.
    pub fn of(lowered: &LoweredModel<'_>, slot: usize) -> Self {
        match lowered.derived_type(slot) {
            Some(Type::Number) => Self::Number,
            Some(Type::Bool) => Self::Truth,
            Some(Type::Category) => Self::Category,
            None if lowered.is_whole(slot) => Self::Integer,
            None if lowered.is_logged_category(slot) => Self::Category,
            None => Self::Number,
        }
    }
}

/// The type of a field of structured choices: the narrowest that holds the values of all choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FieldType {
    Integer,
    Number,
    Truth,
    Text,
}

impl FieldType {
    /// Returns the type of one value.
    pub fn of(value: &FieldValue) -> Self {
        match value {
            FieldValue::Integer(_) => Self::Integer,
            FieldValue::Number(_) => Self::Number,
            FieldValue::Truth(_) => Self::Truth,
            FieldValue::Text(_) => Self::Text,
        }
    }

    /// Returns the narrowest type that holds the values of both.
    pub fn with(self, other: Self) -> Self {
        match (self, other) {
            _ if self == other => self,
            (Self::Integer | Self::Number, Self::Integer | Self::Number) => Self::Number,
            _ => Self::Text,
        }
    }
}

/// The identifiers of a model in one language.
#[derive(Debug)]
pub struct Names {
    /// By slot: the names of fields, variables and functions.
    pub features: Vec<String>,
    /// By logged slot: the variants of categorical features, as in [`LoweredModel::variants`].
    pub variants: Vec<Vec<String>>,
    /// By position.
    pub choices: Vec<String>,
}

/// How names become identifiers: the case, and the reserved words.
pub type Naming<'a> = (Case, &'a str);

impl Names {
    /// Makes identifiers for the features, the variants and the choices.
    pub fn new(
        lowered: &LoweredModel<'_>,
        features: Naming<'_>,
        variants: Naming<'_>,
        choices: Naming<'_>,
    ) -> Self {
        let give = |(case, reserved): Naming<'_>, stem: &str, names: &mut dyn Iterator<Item = &str>| {
            let mut namer = Namer::new(case, reserved);
            names.map(|name| namer.give(name, stem)).collect::<Vec<String>>()
        };
        let model = lowered.model;
        let texts = lowered.variants.iter();
        Self {
            features: give(
                features,
                "feature",
                &mut model.features.all().features().iter().map(|f| f.name.as_str()),
            ),
            variants: texts
                .map(|texts| {
                    give(
                        variants,
                        "category",
                        &mut texts.iter().map(|text| if text.is_empty() { "missing" } else { text }),
                    )
                })
                .collect(),
            choices: give(choices, "choice", &mut model.choices.iter().map(String::as_str)),
        }
    }
}

/// The parts of a language that templates cannot express.
pub trait Language: Dialect {
    /// Returns the identifiers.
    fn names(&self) -> &Names;

    /// Returns a string literal.
    fn string(&self, text: &str) -> String;

    /// Returns a sentence from a TOML file inside documentation.
    fn sentence(&self, text: &str) -> String {
        shown(text)
    }

    /// Returns the type of a feature's value.
    fn type_name(&self, slot: usize) -> String;

    /// Returns how fields of structured choices are named.
    fn field_naming(&self) -> Naming<'_>;

    /// Returns a choice in an array of constants.
    fn choice(&self, choice: ChoiceId) -> String {
        choice.index().to_string()
    }

    /// Returns the code that reads a logged feature where a tree first needs it; `None` if its variable has
    /// the value already.
    fn read(&self, slot: usize) -> Option<String>;

    /// Returns the code that converts the value of a logged feature where a path first uses it, if the language does so.
    fn convert(&self, _slot: usize) -> Option<String> {
        None
    }

    /// Returns the call that computes a derived feature.
    fn compute(&self, slot: usize, arguments: &[Argument]) -> String;

    /// Returns the condition `value <= threshold`, or `not value > threshold` for a number that may be missing: NaN goes left.
    fn at_most(&self, slot: usize, threshold: f64) -> String;

    /// Returns the condition that the value is one of these categories, of which there is at least one.
    fn is_in(&self, slot: usize, categories: &[&str]) -> String;

    /// Returns the condition for a category that is not in the training data, if that has some.
    fn unseen(&self, slot: usize) -> String;

    /// Returns the result of a function that computes this.
    fn returned(&self, code: Code, _ty: Type, _called: &mut Calls) -> String {
        code.alone()
    }

    /// Returns a threshold in an array; it may be infinite.
    fn threshold(&self, x: f64) -> String {
        number(x)
    }

    /// Returns true if ensembles are nested branches too, not arrays.
    fn nests_ensembles(&self) -> bool {
        false
    }

    /// Returns the condition that a truth value is false.
    fn negated(&self, truth: &str) -> String {
        format!("!{truth}")
    }
}
