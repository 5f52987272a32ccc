//! The target: the language or program that asks a model.

use serde::{Deserialize, Serialize};

/// The language or program that asks a model. [`Target::ROWS`] has what the crates know of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// A Rust program, by a generated function.
    Rust,
    /// A Python program, by a generated function.
    Python,
    /// A C or C++ program, by a generated header.
    C,
    /// A Go program, by a generated package.
    Go,
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

/// What the crates know of a target.
#[derive(Clone, Copy, Debug)]
pub struct TargetRow {
    /// The target.
    pub target: Target,
    /// The name, as `--target` takes it.
    pub name: &'static str,
    /// The target in a sentence: "a decision takes 1 us in Rust".
    pub words: &'static str,
    /// What a decision costs a run.
    pub timing: Timing,
    /// Whether the program always says which choices it can run, so rankings are part of its file. It finds the features by their
    /// names too.
    pub names_choices: bool,
}

/// What a decision costs a run of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// Each run waits for a function of Rust.
    Rust,
    /// Each run waits for a function of C, or of a language that is as fast.
    C,
    /// Each run waits for a function of Python.
    Python,
    /// Each run waits for `ah-runtime`, which executes the model file.
    ModelFile,
    /// The program asks once for each compilation or new key, and keeps the answer: no run waits.
    Once,
}

const fn row(
    target: Target,
    name: &'static str,
    words: &'static str,
    timing: Timing,
    names_choices: bool,
) -> TargetRow {
    TargetRow { target, name, words, timing, names_choices }
}

impl Target {
    /// All targets, in the order of the type.
    pub const ROWS: [TargetRow; 9] = [
        row(Self::Rust, "rust", "in Rust", Timing::Rust, false),
        row(Self::Python, "python", "in Python", Timing::Python, false),
        row(Self::C, "c", "in C", Timing::C, false),
        row(Self::Go, "go", "in Go", Timing::C, false),
        row(Self::Pytorch, "pytorch", "in PyTorch's compiler", Timing::Once, true),
        row(Self::Triton, "triton", "in Triton's autotuner", Timing::Once, true),
        row(Self::Inductor, "inductor", "in Inductor", Timing::Once, true),
        row(Self::Table, "table", "by table", Timing::Once, false),
        row(Self::ModelFile, "model-file", "by the model file", Timing::ModelFile, false),
    ];

    fn row(self) -> TargetRow {
        Self::ROWS[self as usize]
    }

    /// The name, as `--target` takes it.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The target in a sentence.
    pub fn words(self) -> &'static str {
        self.row().words
    }

    /// The cost of a decision in a run.
    pub fn timing(self) -> Timing {
        self.row().timing
    }

    /// Whether every run of the program waits for the answer.
    pub fn asks_each_run(self) -> bool {
        self.timing() != Timing::Once
    }

    /// Whether the program always says which choices it can run.
    pub fn names_choices(self) -> bool {
        self.row().names_choices
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_stands_at_its_target() {
        for row in Target::ROWS {
            assert_eq!((row.target.name(), row.target.words()), (row.name, row.words));
            assert_eq!(serde_json::json!(row.target), row.name);
        }
    }
}
