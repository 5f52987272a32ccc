//! The side of a program that runs: it consults learned heuristics where it has to choose.
//!
//! A *decision point* is an [`AutoHeuristic`]: its choices by name, the fallback, and the features
//! of a context. It is made once and asked on every call, in nanoseconds and without allocating:
//!
//! ```no_run
//! use ah_runtime::AutoHeuristic;
//!
//! fn pad(_: &[f32]) {}
//! fn as_it_is(_: &[f32]) {}
//! # fn main() -> Result<(), ah_runtime::SetupError> {
//! // Once. A generated crate with its feature `runtime` needs one line: `simple_heuristic::register();`
//! let pad_mm = AutoHeuristic::builder("pad_mm")
//!     .choices(["orig", "pad"])
//!     .fallback("orig")
//!     .numerical("m")
//!     .numerical("k")
//!     .numerical("n")
//!     .precondition("m >= 8 and n >= 8")
//!     .model("model.json")
//!     .build()?;
//!
//! // On every call: the values in the order of the features.
//! let (m, k, n) = (4095, 4097, 4096);
//! let answer = pad_mm.choose(&[m.into(), k.into(), n.into()]);
//! match answer.choice {
//!     "pad" => pad(&[]),
//!     _ => as_it_is(&[]),
//! }
//! // A choice, or the fallback with its reason: `orig (fallback: no heuristic)`.
//! println!("{answer}");
//! # Ok(())
//! # }
//! ```
//!
//! A program that has its kernels at hand lets [`MultiKernel`] run the fastest one: it measures on
//! the first call for a shape, remembers the pick under [guards](multi_kernel::Guard), on disk too,
//! and leaves to a learned heuristic whatever that is sure of.
//!
//! The way of the data:
//!
//! 1. A [`Heuristic`] is a generated crate or a [`LoadedModel`]; [`registry`] says where they are found
//!    and which comes first.
//! 2. An [`AutoHeuristic`] binds the heuristics of its optimization to its own features and choices
//!    (`binding`): names are compared once, decisions work with positions.
//! 3. [`AutoHeuristic::choose`] checks its precondition and asks the first heuristic whose device
//!    guard and domain hold. The [`Answer`] is a choice, or the fallback with its [`Reason`];
//!    [`AutoHeuristic::top_k`] says what to autotune among instead.
//! 4. [The environment](Environment) can make it collect: [`AutoHeuristic::choose_or_collect`] then measures
//!    every choice, [`AutoHeuristic::record_timings`] takes what the program's own autotuner measured, and
//!    both append to the log that `ah-train` learns from.
//! 5. [`MultiKernel::run`] asks the same decision point first, then its own picks, and measures what
//!    neither knows; that too can be appended to the log.
//!
//! Warnings and events go to the `log` crate: a program sees them with any logger.
//!
//! Any thread may ask at any time. What readers see, the picks of a [`MultiKernel`] and the bindings of
//! an [`AutoHeuristic`], is a whole value behind an [`arc_swap::ArcSwap`]: a change makes a new one
//! beside it, under a lock, so nobody sees half of it and no change is lost. Who measures, of those that
//! miss together, is claimed without a lock (`multi_kernel::claims`). Loom tries the orders of two threads on
//! all of this (`multi_kernel::loom_tests`): `RUSTFLAGS="--cfg loom" cargo test --release -p ah-runtime --lib loom`.
//! It cannot look into `arc_swap`; in its place stands an atomic number with the same promises (`sync`).
//! The unit tests run under Miri too
//! (`cargo +nightly miri test -p ah-runtime --lib`, `MIRIFLAGS=-Zmiri-disable-isolation`, `PROPTEST_CASES=4`).
//!
//! Nothing here panics on what comes from files, the environment or a context.
#![forbid(unsafe_code)]

mod answer;
mod auto_heuristic;
mod binding;
mod builder;
mod compiled;
mod env;
mod heuristic;
mod loaded_model;
mod model_folders;
pub mod multi_kernel;
mod recorder;
pub mod registry;
mod sync;

use std::sync::OnceLock;

pub use ah_types;
pub use answer::{Answer, Reason};
pub use auto_heuristic::{AutoHeuristic, Mode, TopK};
pub use binding::Unfit;
pub use builder::{Builder, SetupError};
pub use env::Environment;
pub use heuristic::{DeviceGuard, Heuristic, Unsure};
pub use loaded_model::LoadedModel;
pub use multi_kernel::{MultiKernel, source_hash};
pub use recorder::RecordError;
pub use registry::register;

/// This processor, detected once.
pub(crate) fn this_cpu() -> &'static ah_types::Device {
    static CPU: OnceLock<ah_types::Device> = OnceLock::new();
    CPU.get_or_init(ah_measure::this_cpu)
}
