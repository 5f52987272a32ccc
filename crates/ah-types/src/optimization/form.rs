//! The forms in which a program asks a model.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::named::named;

/// The form in which a program asks a model: code in a language, or the model file itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", try_from = "String")]
pub enum DecisionForm {
    /// A generated Rust crate.
    Rust,
    /// A generated C header.
    C,
    /// A generated Python module.
    Python,
    /// A generated file for PyTorch, which is asked while a model compiles.
    Pytorch,
    /// `model.json`, read by `ah-runtime`.
    ModelFile,
}

impl DecisionForm {
    /// All forms by name.
    pub const NAMES: [(&str, Self); 5] = [
        ("rust", Self::Rust),
        ("c", Self::C),
        ("python", Self::Python),
        ("pytorch", Self::Pytorch),
        ("model-file", Self::ModelFile),
    ];

    /// Returns the name, as `--for` takes it.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize].0
    }

    /// Returns the form in a sentence: "a decision takes 1 us in Rust".
    pub fn words(self) -> &'static str {
        match self {
            Self::Rust => "in Rust",
            Self::C => "in C",
            Self::Python => "in Python",
            Self::Pytorch => "in PyTorch's compiler",
            Self::ModelFile => "by the model file",
        }
    }
}

impl FromStr for DecisionForm {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        named("a form", &Self::NAMES, name)
    }
}

impl TryFrom<String> for DecisionForm {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        name.parse()
    }
}
