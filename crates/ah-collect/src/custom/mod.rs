//! Decisions of your own, without a runner: between Rust functions ([`decision`]), between command lines of any
//! program, and between configurations of a CUDA kernel. A TOML file describes the last two.

#[cfg(feature = "kernels")]
mod combinations;
#[cfg(feature = "kernels")]
mod command;
#[cfg(feature = "kernels")]
mod cuda_source;
mod decision;
mod feature_time;
#[cfg(feature = "kernels")]
mod file;
mod functions;

pub use decision::{Decision, FeatureValue, NamedDecision, decision};
#[cfg(feature = "kernels")]
pub(crate) use file::{CustomChoices, OptimizationFile};
