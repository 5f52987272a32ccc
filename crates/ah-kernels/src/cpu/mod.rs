//! Processors: kernels that run on the host, and their runners.

mod clock;
pub mod kernels;
mod product;

use ah_types::Optimization;

use crate::ServeFn;
use product::ProductRunner;

/// A worker that measures this optimization on the processor, or `None` if there is none.
pub fn serve_fn(optimization: Optimization) -> Option<ServeFn> {
    (optimization.name == "mm").then(|| -> ServeFn {
        // Without the threads of its kernels, the worker says why.
        Box::new(|| ah_measure::serve(clock::start_threads().map(|()| ProductRunner::new(optimization))))
    })
}
