//! The model and the language from which all views are made.

use serde::Serialize;

use crate::lower::LoweredModel;
use crate::printing::language::Language;
use crate::printing::text::{code, shown};

/// A name from the model, which may be any text.
#[derive(Clone, Debug, Serialize)]
pub struct NameView {
    /// The name as inline code of documentation.
    text: String,
    /// The name inside a comment.
    shown: String,
    /// The name as a string literal.
    string: String,
}

/// Makes the views of a model in a language.
pub struct Viewer<'a, L> {
    pub(super) lowered: &'a LoweredModel<'a>,
    pub(super) language: &'a L,
}

impl<L: Language> Viewer<'_, L> {
    pub(super) fn name(&self, name: &str) -> NameView {
        NameView { text: code(name), shown: shown(name), string: self.language.string(name) }
    }

    pub(super) fn literal(&self, category: &str) -> String {
        self.language.category(category).alone()
    }

    pub(super) fn identifier(&self, slot: usize) -> String {
        self.language.names().features[slot].clone()
    }
}
