//! An optimization's TOML file, read once: the optimization, and its choices if the file describes them.

use std::path::{Path, PathBuf};

use ah_model::Error;
use ah_model::shown::did_you_mean;
use ah_types::Optimization;
use serde::Deserialize;

use super::command::{Commands, CommandsTable};
use super::cuda_source::{CudaKernel, CudaTable};

/// An optimization's TOML file.
#[derive(Debug)]
pub(crate) struct OptimizationFile {
    pub(crate) optimization: Optimization,
    /// `None`: the shipped kernels are the choices.
    pub(crate) choices: Option<CustomChoices>,
}

/// The choices of a file.
#[derive(Debug)]
pub(crate) enum CustomChoices {
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
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        let text = Optimization::read_text(path)?;
        let optimization = Optimization::parse(&text, path)?;
        let malformed = |message: String| Optimization::malformed(path, &message);
        let choices = match Optimization::parse_as(&text, path)? {
            Tables { commands: Some(table), .. } => {
                let commands = table.check(&optimization).map_err(malformed)?;
                Some(CustomChoices::Commands(Box::new(commands)))
            }
            Tables { cuda: Some(table), .. } => {
                let folder = path.parent().map_or_else(PathBuf::new, Path::to_owned);
                let kernel = CudaKernel::new(&table, &optimization, &folder);
                Some(CustomChoices::Cuda(Box::new(kernel.map_err(malformed)?)))
            }
            _ => None,
        };
        if let Some(names) = choices.as_ref().map(CustomChoices::names) {
            let mut named = optimization.fallback.iter().chain(optimization.eligible.keys());
            if let Some(unknown) = named.find(|name| !names.contains(name)) {
                let proposal = did_you_mean(unknown, &names);
                let names = names.join(", ");
                return Err(malformed(format!("{unknown:?} is none of the choices: {names}{proposal}")));
            }
        }
        Ok(Self { optimization, choices })
    }
}

impl CustomChoices {
    /// The names of the choices that the file describes.
    pub(crate) fn names(&self) -> Vec<String> {
        match self {
            Self::Commands(commands) => commands.names(),
            Self::Cuda(kernel) => kernel.names(),
        }
    }
}
