//! Processors: kernels that run on the host, and their runners.

mod clock;
pub mod kernels;
mod product;

use ah_types::Optimization;
use product::ProductRunner;

use crate::{ServeFn, open_and_serve};

/// A worker that measures this optimization on the processor, or `None` if there is none.
pub fn serve_fn(optimization: Optimization) -> Option<ServeFn> {
    let new = match optimization.name.as_str() {
        "pad_mm" => ProductRunner::pad_mm,
        "mm" => ProductRunner::mm,
        _ => return None,
    };
    // Without the threads of its kernels, the worker says why.
    Some(open_and_serve(move || clock::start_threads().map(|()| new(optimization))))
}
