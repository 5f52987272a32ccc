//! Runs the fastest of several kernels of one signature.
//!
//! ```
//! use ah_runtime::{AutoHeuristic, MultiKernel, source_hash};
//!
//! type Sum = fn(&[f32]) -> f32;
//! fn forward(x: &[f32]) -> f32 { x.iter().sum() }
//! fn in_lanes(x: &[f32]) -> f32 {
//!     let mut sums = [0.0; 8];
//!     for chunk in x.chunks(8) {
//!         for (sum, value) in sums.iter_mut().zip(chunk) { *sum += value; }
//!     }
//!     sums.iter().sum()
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let sum = MultiKernel::<Sum>::builder(AutoHeuristic::builder("sum").numerical("length"))
//!     .kernel("forward", "1", forward)
//!     .kernel("in_lanes", source_hash(include_str!("mod.rs")), in_lanes)
//!     # .no_cache()
//!     .build()?;
//!
//! let x = vec![1.0; 1000];
//! // The first call for a shape measures both; later ones look the pick up.
//! let total = sum.run(&[x.len().into()], |kernel| kernel(&x));
//! assert_eq!(total, 1000.0);
//! println!("{}", sum.explain());
//! # Ok(())
//! # }
//! ```
//!
//! A call goes through these steps:
//!
//! 1. A kernel that the environment forces runs.
//! 2. A learned heuristic that is sure decides ([`AutoHeuristic`](crate::AutoHeuristic)).
//! 3. A remembered pick runs if its guards hold: numbers between two powers of two share a pick, unless the feature is
//!    [exact](MultiKernelBuilder::exact).
//! 4. Without one, the call measures every eligible kernel, remembers the fastest in memory and on disk, and runs it. Kernels within
//!    the policy's target relative error tie; the first given wins. Threads that miss the same key in the meantime
//!    run the fallback.
//!
//! A kernel that does not support the input ([`MultiKernelBuilder::eligible`]) never runs, whatever is remembered; the
//! fallback must support every input. Nothing is measured if a feature is undefined, or beyond
//! [`MultiKernelBuilder::max_picks`].
//!
//! Where to begin: [`MultiKernel`] (`kernels`) runs, [`MultiKernelBuilder`] sets up, `picker` chooses the kernel, `picks/`
//! remembers, `measure` and `trial` take the times.

mod builder;
mod event;
mod kernels;
mod measure;
mod picker;
mod picks;
mod trial;

pub use builder::MultiKernelBuilder;
pub use event::Event;
pub use kernels::MultiKernel;
pub use measure::POLICY;
pub use trial::{Agrees, Attempt};

/// A hash of a kernel's source, for use as its version: `source_hash(include_str!("softmax.rs"))`.
#[must_use]
pub const fn source_hash(source: &str) -> u64 {
    ah_model::hash::fnv1a(source)
}
