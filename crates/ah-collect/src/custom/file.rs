//! An optimization's TOML file, read once: the optimization, and its choices if the file describes them.

use std::path::{Path, PathBuf};

use ah_types::shown::did_you_mean;
use ah_types::{Optimization, OptimizationError, artefact};
use serde::Deserialize;

use super::command::{Commands, CommandsTable};
use super::cuda_source::{CudaKernel, CudaTable};
use crate::error::CollectError;

/// The largest file that is read.
const MAX_MIB: u64 = 16;

/// An optimization's TOML file.
#[derive(Debug)]
pub(crate) struct OptimizationFile {
    pub(crate) path: PathBuf,
    pub(crate) optimization: Optimization,
    pub(crate) choices: CustomChoices,
}

/// The choices of a file.
#[derive(Debug)]
pub(crate) enum CustomChoices {
    /// The file has none: the shipped kernels are the choices.
    Shipped,
    /// The table `[commands]`.
    Commands(Box<Commands>),
    /// The table `[cuda]`.
    Cuda(Box<CudaKernel>),
}

/// The tables beside the optimization.
#[derive(Debug, Deserialize)]
struct Tables {
    commands: Option<CommandsTable>,
    cuda: Option<CudaTable>,
}

impl OptimizationFile {
    /// Reads a file and checks its tables.
    pub(crate) fn read(path: &Path) -> Result<Self, CollectError> {
        let text = artefact::read_text(path, MAX_MIB)
            .map_err(|source| OptimizationError::Io { path: path.to_owned(), source })?;
        let optimization = Optimization::parse(&text, path)?;
        let malformed = |message: String| OptimizationError::Toml { path: path.to_owned(), message };
        let tables: Tables = toml::from_str(&text).map_err(|e| malformed(e.to_string().trim().to_owned()))?;
        let choices = match tables {
            Tables { commands: Some(table), .. } => {
                CustomChoices::Commands(Box::new(table.check(&optimization).map_err(malformed)?))
            }
            Tables { cuda: Some(table), .. } => {
                let folder = path.parent().map_or_else(PathBuf::new, Path::to_owned);
                let kernel = CudaKernel::new(&table, &optimization, &folder);
                CustomChoices::Cuda(Box::new(kernel.map_err(|e| malformed(e.shown(&text)))?))
            }
            _ => CustomChoices::Shipped,
        };
        if let Some(names) = choices.names() {
            let rules = optimization.choices.iter().map(|rule| &rule.name);
            if let Some(unknown) =
                optimization.fallback.iter().chain(rules).find(|name| !names.contains(name))
            {
                let proposal = did_you_mean(unknown, &names);
                let names = names.join(", ");
                return Err(
                    malformed(format!("{unknown:?} is none of the choices: {names}{proposal}")).into()
                );
            }
        }
        Ok(Self { path: path.to_owned(), optimization, choices })
    }
}

impl CustomChoices {
    /// Returns the names of the choices that the file describes.
    pub(crate) fn names(&self) -> Option<Vec<String>> {
        match self {
            Self::Shipped => None,
            Self::Commands(commands) => Some(commands.names()),
            Self::Cuda(kernel) => Some(kernel.names()),
        }
    }
}
