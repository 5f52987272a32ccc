//! The targets: each turns a plan into what its templates print.

mod c;
mod calls;
mod plain;
mod pytorch;
mod rust;

use std::path::Path;

use ah_types::Model;

use crate::CodegenError;

/// A language or form that a model can be generated as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Target {
    /// A crate without dependencies and without std.
    Rust,
    /// One file for PyTorch's own folder of learned heuristics.
    Pytorch,
    /// One C99 header that is also C++17 and CUDA.
    C,
}

/// A target's output folder or file name and the values for its templates.
pub(crate) struct View {
    /// Below the output folder, one component.
    pub place: String,
    /// What the templates see.
    pub context: tera::Context,
    /// Templates that this model does not need, by their paths.
    pub left_out: Vec<&'static str>,
    /// The template of a target of one file, which is then the place itself; else the place is a folder.
    pub file: Option<&'static str>,
}

impl Target {
    /// All targets.
    pub const ALL: [Self; 3] = [Self::Rust, Self::Pytorch, Self::C];

    /// As on the command line; also the folder of its templates.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Pytorch => "pytorch",
            Self::C => "c",
        }
    }

    pub(crate) fn view(
        self,
        model: &Model,
        out: &Path,
        runtime_path: Option<&Path>,
    ) -> Result<View, CodegenError> {
        match self {
            Self::Rust => rust::view(model, out, runtime_path),
            Self::Pytorch => pytorch::view(model),
            Self::C => c::view(model),
        }
    }
}

/// What the leaf of one of several trees says, by choice.
fn votes(leaf: &ah_types::Leaf) -> impl Iterator<Item = &ah_types::Ranked> {
    let mut votes: Vec<_> = leaf.ranking.iter().collect();
    votes.sort_by_key(|ranked| ranked.choice);
    votes.into_iter()
}

/// The most choices that several trees can rank: what the first one's longest leaf does.
fn most_votes(plan: &crate::lower::Plan<'_>) -> usize {
    let first = plan.model.trees.first().into_iter().flat_map(ah_types::Tree::leaves);
    first.map(|(_, leaf)| leaf.ranking.len()).max().unwrap_or(0)
}

/// What a target does to its files once they are rendered.
pub(crate) fn finish(target: Target, files: &mut crate::render::Files) {
    if target == Target::Rust {
        rust::skip_long_files(files);
    }
}

impl std::str::FromStr for Target {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|t| t.name() == name).ok_or_else(|| {
            let known: Vec<&str> = Self::ALL.iter().map(|t| t.name()).collect();
            format!("expected {}, found {name:?}", known.join(", "))
        })
    }
}
