//! Choices that are configurations of one CUDA kernel, described in the optimization's TOML file.
//!
//! ```toml
//! name = "transpose"
//!
//! [[feature]]
//! name = "rows"
//! kind = "numerical"
//! integer = true
//! # and "columns"
//!
//! [cuda]
//! source = "transpose.cu"                  # extern "C" __global__ void transpose(const float* from, float* to, int rows, ...)
//! kernel = "transpose"
//! parameters = { TILE = [16, 32], ROWS = [2, 4, 8] }       # macros of the source; each combination is a choice
//! constraints = ["TILE % ROWS == 0"]
//! grid = ["ceil(columns / TILE)", "ceil(rows / TILE)"]
//! block = ["TILE", "ROWS"]
//!
//! [[cuda.argument]]
//! name = "from"
//! type = "float32"
//! length = "rows * columns"
//! # and the others, in order; one buffer has output = true
//! ```
//!
//! `format` is the table as written, `kernel` the checked one with its `expression`s: the `parameters`, the
//! `launch`, the `arguments`. `mistake` is an error with its place.
//! `runner` measures, `work` turns times into bytes and operations a second. Only the runner needs a GPU.

mod arguments;
mod expression;
mod format;
mod kernel;
mod launch;
mod mistake;
mod parameters;
mod runner;
#[cfg(test)]
mod tests;
mod work;

use std::path::{Path, PathBuf};

use ah_measure::Runner;
use ah_types::log::Log;
use ah_types::shown::did_you_mean;
use ah_types::{Optimization, OptimizationError};

use crate::error::CollectError;
use format::CudaFile;
use kernel::CudaKernel;

/// The kernel of an optimization's TOML file, checked.
#[derive(Debug)]
pub struct CudaSource {
    optimization: Optimization,
    kernel: CudaKernel,
}

impl CudaSource {
    /// Reads the table `[cuda]` of a file; `None` if it has none.
    pub fn read(path: &Path) -> Result<Option<Self>, CollectError> {
        let optimization = Optimization::read(path)?;
        let malformed = |message| OptimizationError::Toml { path: path.to_owned(), message };
        let text = Optimization::read_text(path)?;
        let file: CudaFile = toml::from_str(&text).map_err(|e| malformed(e.to_string().trim().to_owned()))?;
        let Some(table) = file.cuda else { return Ok(None) };
        let folder = path.parent().map_or_else(PathBuf::new, Path::to_owned);
        let kernel =
            CudaKernel::new(&table, &optimization, &folder).map_err(|e| malformed(e.shown(&text)))?;
        let source = Self { optimization, kernel };
        let choices = source.choices();
        let rules = source.optimization.choices.iter().map(|rule| &rule.name);
        for named in source.optimization.fallback.iter().chain(rules) {
            if !choices.contains(named) {
                let proposal = did_you_mean(named, &choices);
                let message = format!("{named:?} is none of the choices: {}{proposal}", choices.join(", "));
                return Err(malformed(message).into());
            }
        }
        Ok(Some(source))
    }

    /// Returns the names of the choices.
    pub fn choices(&self) -> Vec<String> {
        self.kernel.choices.iter().map(|choice| choice.name.clone()).collect()
    }

    /// Opens the runner on the GPU of this index.
    pub fn open(self, device: u32) -> Result<Box<dyn Runner>, CollectError> {
        runner::open(self.optimization, self.kernel, device)
    }

    /// Returns the work that the winners of a log do in a second, for people; `None` if the file has neither bytes nor
    /// operations, or the log has no time.
    pub fn work(&self, log: &Log) -> Option<String> {
        work::report(&self.kernel, log)
    }
}
