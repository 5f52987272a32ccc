//! Processors: kernels that run on the host, and their runners.

mod clock;
pub mod kernels;
mod product;

use ah_types::Optimization;

use crate::ServeFn;

/// A worker that measures this optimization on the processor, or `None` if there is none.
pub fn serve_fn(optimization: Optimization) -> Option<ServeFn> {
    if optimization.name != "mm" {
        return None;
    }
    // Without the threads of its kernels, the worker says why.
    let runner = || clock::start_threads().map(|()| product::ProductRunner::new(optimization));
    Some(Box::new(|| ah_measure::serve(runner())))
}
