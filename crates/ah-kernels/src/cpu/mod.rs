//! Processors: kernels that run on the host, and a runner for each optimization.

mod clock;
pub mod kernels;
mod mm;
mod operands;
mod pad_mm;
mod softmax;

use ah_types::Optimization;

use ah_measure::{BenchmarkRunner as _, Runner};

/// Returns the runner of this optimization on the processor, or `None` if there is none.
///
/// # Errors
/// The threads of the kernels cannot be started.
pub fn open(optimization: Optimization) -> Result<Option<Box<dyn Runner>>, String> {
    clock::start_threads()?;
    Ok(Some(match optimization.name.as_str() {
        "pad_mm" => pad_mm::PadMmRunner::new(optimization).boxed(),
        "mm" => mm::MmRunner::new(optimization).boxed(),
        "softmax" => softmax::SoftmaxRunner::new(optimization).boxed(),
        _ => return Ok(None),
    }))
}
