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
//! `format` is the table as written, `kernel` the checked one with its `expression`s: the `parameters`, and the `launch` with its
//! arguments. [`ah_kernels::cuda::source`] measures; only it needs a GPU.

mod expression;
mod format;
mod kernel;
mod launch;
mod parameters;

pub(super) use format::CudaTable;
pub(crate) use kernel::CudaKernel;
