//! The table `[cuda]` of an optimization's TOML file, as written.

use std::path::PathBuf;

use ah_kernels::cuda::source::Fill;
use ah_measure::draws::Inputs;
use serde::Deserialize;
use serde_json::Value;

use crate::custom::combinations::Parameters;

/// The table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::custom) struct CudaTable {
    /// The file of CUDA C++, from the folder of the TOML file.
    pub(super) source: PathBuf,
    /// The function, declared as `extern "C" __global__`.
    pub(super) kernel: String,
    /// Blocks in one to three dimensions.
    pub(super) grid: Value,
    /// Threads of a block in one to three dimensions.
    pub(super) block: Value,
    /// Bytes of dynamic shared memory.
    pub(super) shared_memory: Option<Value>,
    /// The values of each compile-time parameter, a macro of the source. Each combination that the
    /// constraints allow is a choice.
    pub(super) parameters: Parameters,
    /// Conditions that a choice must meet; one that names features is checked on each input.
    #[serde(default)]
    pub(super) constraints: Vec<String>,
    /// The kernel's arguments, in order.
    #[serde(default, rename = "argument")]
    pub(super) arguments: Vec<ArgumentTable>,
    /// The launch with the correct outputs: a choice's name, or another kernel of the source.
    pub(super) reference: Option<Value>,
    /// The largest difference from the reference, as a share of the largest magnitude.
    pub(super) tolerance: Option<f64>,
    /// Further options of NVRTC.
    #[serde(default)]
    pub(super) options: Vec<String>,
    /// Folders of headers, from the folder of the TOML file.
    #[serde(default)]
    pub(super) include: Vec<PathBuf>,
    /// How the features are drawn. Without it, `--inputs` gives them.
    #[serde(default)]
    pub(super) inputs: Inputs,
}

/// An argument of the kernel: a buffer has a length, a scalar a value.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ArgumentTable {
    pub name: String,
    /// The type of the scalar, or of the buffer's elements.
    #[serde(rename = "type")]
    pub element: String,
    /// Elements of the buffer.
    pub length: Option<Value>,
    /// The scalar.
    pub value: Option<Value>,
    /// The buffer's contents.
    pub fill: Option<Fill>,
    /// Whether the kernel writes its result to it.
    #[serde(default)]
    pub output: bool,
}

/// A launch: that of the choices, or of a reference that is another kernel of the source.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LaunchTable {
    pub kernel: String,
    pub grid: Value,
    pub block: Value,
    pub shared_memory: Option<Value>,
}
