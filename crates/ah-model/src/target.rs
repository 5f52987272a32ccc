//! The target: the language or program that asks a model.

use serde::{Deserialize, Serialize};

use crate::named::named;

/// The language or program that asks a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", try_from = "String")]
pub enum Target {
    /// A Rust program, by a generated function.
    Rust,
    /// A Python program, by a generated function.
    Python,
    /// A C or C++ program, by a generated header.
    C,
    /// PyTorch's AutoHeuristic, by a generated file in its form.
    Pytorch,
    /// Triton's autotuner, by a generated function that it calls once for each new key.
    Triton,
    /// PyTorch's Inductor, by a generated module that it asks while a model compiles.
    Inductor,
    /// A program with tables of its own, which a generated file fills.
    Table,
    /// A program that loads `model.json` by `ah-runtime`.
    ModelFile,
}

impl Target {
    /// All targets by name.
    pub const NAMES: [(&str, Self); 8] = [
        ("rust", Self::Rust),
        ("python", Self::Python),
        ("c", Self::C),
        ("pytorch", Self::Pytorch),
        ("triton", Self::Triton),
        ("inductor", Self::Inductor),
        ("table", Self::Table),
        ("model-file", Self::ModelFile),
    ];

    /// Returns the name, as `--target` takes it.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize].0
    }

    /// Returns the target in a sentence: "a decision takes 1 us in Rust".
    pub fn words(self) -> &'static str {
        match self {
            Self::Rust => "in Rust",
            Self::Python => "in Python",
            Self::C => "in C",
            Self::Pytorch => "in PyTorch's compiler",
            Self::Triton => "in Triton's autotuner",
            Self::Inductor => "in Inductor",
            Self::Table => "by table",
            Self::ModelFile => "by the model file",
        }
    }

    /// Returns whether every run of the program waits for the answer. The others ask once for each compilation or new
    /// key, and keep the answer.
    pub fn asks_each_run(self) -> bool {
        matches!(self, Self::Rust | Self::Python | Self::C | Self::ModelFile)
    }

    /// Returns whether the program always says which choices it can run, so rankings are part of its file.
    pub fn names_choices(self) -> bool {
        matches!(self, Self::Pytorch | Self::Triton | Self::Inductor)
    }
}

impl TryFrom<String> for Target {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        named("a target", &Self::NAMES, &name)
    }
}
