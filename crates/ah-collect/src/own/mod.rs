//! Decisions of your own, without a runner: between Rust functions ([`decision`]), between command lines of any
//! program ([`open_commands`]), and between configurations of a CUDA kernel ([`CudaSource`]).

#[cfg(unix)]
mod command;
#[cfg(feature = "kernels")]
mod cuda_source;
mod decision;
#[cfg(any(unix, feature = "kernels"))]
mod drawn;
mod feature_value;
mod functions;
#[cfg(feature = "cli")]
mod program;

#[cfg(unix)]
pub(crate) use command::end_running;
#[cfg(unix)]
pub use command::open_commands;
#[cfg(feature = "kernels")]
pub use cuda_source::CudaSource;
pub use decision::{Decision, NamedDecision, decision};
pub use feature_value::FeatureValue;
