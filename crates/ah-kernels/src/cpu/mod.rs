//! Processors: kernels that run on the host, and their runners.

mod clock;
pub mod kernels;
mod product;

use ah_types::Optimization;

use ah_measure::BenchmarkRunner;

use crate::ServeFn;

/// A worker that measures this optimization on the processor, or `None` if there is none.
pub fn serve_fn(optimization: Optimization) -> Option<ServeFn> {
    /// Without the threads of its kernels, the worker says why.
    fn over<R: BenchmarkRunner + 'static>(new: fn(Optimization) -> R, optimization: Optimization) -> ServeFn {
        Box::new(move || ah_measure::serve(clock::start_threads().map(|()| new(optimization))))
    }
    Some(match optimization.name.as_str() {
        "pad_mm" => over(product::ProductRunner::pad_mm, optimization),
        "mm" => over(product::ProductRunner::mm, optimization),
        _ => return None,
    })
}
