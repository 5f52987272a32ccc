//! The processor's side: kernels that run on the host, and a runner for each optimization.

mod clock;
pub mod kernels;
mod mm;
mod operands;
mod pad_mm;
mod softmax;

use ah_types::Optimization;

use crate::runner::{Erased, Runner};

/// The runner of this optimization on the processor; `None` where there is none.
#[must_use]
pub fn open(optimization: Optimization) -> Option<Box<dyn Runner>> {
    Some(match optimization.name.as_str() {
        "pad_mm" => Box::new(Erased::new(pad_mm::PadMmRunner::new(optimization))),
        "mm" => Box::new(Erased::new(mm::MmRunner::new(optimization))),
        "softmax" => Box::new(Erased::new(softmax::SoftmaxRunner::new(optimization))),
        _ => return None,
    })
}
