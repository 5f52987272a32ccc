//! Asks learned heuristics which kernel to run, without allocating or locking.
//!
//! A *decision point* is an [`AutoHeuristic`]: named choices, a fallback, and the features of a context. A program
//! makes it once and asks it on every call:
//!
//! ```no_run
//! use ah_runtime::AutoHeuristic;
//!
//! fn pad(_: &[f32]) {}
//! fn as_it_is(_: &[f32]) {}
//! # fn main() -> Result<(), ah_runtime::Error> {
//! // Once. For a generated crate with its feature `runtime`: `simple_heuristic::register();`
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
//! Where to begin:
//!
//! | to | use |
//! | --- | --- |
//! | ask a heuristic | [`AutoHeuristic::choose`], as above |
//! | give it a heuristic | a generated crate's `register()`, [`AutoHeuristicBuilder::model`], or a folder in `AUTOHEURISTIC_PATH` |
//! | run the fastest kernel, measured on first use | `MultiKernel` (feature `record`) |
//! | collect timings while the program runs | `Role::Collect` with `AutoHeuristic::choose_or_collect` (feature `record`) |
//! | autotune among a few choices | [`Heuristic::ranked`] |
//! | see why | [`Answer::fallback`], [`AutoHeuristic::explain_choice`], [`AutoHeuristic::explain`], and the `log` crate for warnings and events |
//! | configure without recompiling | the [`Environment`] |
//!
//! Features: none is on by default. `record` writes logs and brings `MultiKernel`; it adds `ah-types` and `ah-measure`. `gzip` reads
//! packed model files.
//!
//! Inside, from the bottom up: `heuristics` (the trait, and model files), `find` (registered
//! heuristics and model folders), `decide` (decision points), `multi_kernel`.
//!
//! Any thread may ask at any time. Readers see whole values behind an [`arc_swap::ArcSwap`]; a writer replaces the
//! value under a lock. `docs/running.md` has the proofs and the costs. Nothing here panics on files, the environment, or a context.
#![forbid(unsafe_code)]

mod decide;
mod environment;
#[cfg(feature = "record")]
mod files;
mod find;
mod heuristics;
mod lock;
#[cfg(feature = "record")]
pub mod multi_kernel;
mod names;
#[cfg(feature = "record")]
mod panics;
mod warnings;

pub use ah_model::{
    Cpu, Cuda, Device, DeviceMismatch, Error, Feature, FeatureKind, Model, Scalar, Schema, Unsure, admits,
};
#[cfg(feature = "record")]
pub use ah_types::{Failure, Optimization, Outcome, TimingPolicy};
pub use decide::{Answer, AutoHeuristic, AutoHeuristicBuilder, Reason, Role};
pub use environment::Environment;
pub use find::{register, registered};
pub use heuristics::{Heuristic, LoadedModel};
#[cfg(feature = "record")]
pub use multi_kernel::{MultiKernel, source_hash};

/// Compiles and runs the programs of the README and of the book, where words such as `skip=manifest` are for the book's own test.
#[cfg(doctest)]
#[allow(rustdoc::invalid_codeblock_attributes)]
#[doc = include_str!("../README.md")]
#[doc = include_str!("../../../docs/own-function.md")]
#[doc = include_str!("../../../docs/clusters.md")]
struct Pages;
