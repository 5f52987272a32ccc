//! Decisions of your own, without a runner: between Rust functions ([`decision`]) and between command
//! lines of any program ([`open_commands`]).

#[cfg(unix)]
mod command;
mod decision;
mod feature_value;
mod functions;
#[cfg(feature = "cli")]
mod program;

#[cfg(unix)]
pub(crate) use command::end_running;
#[cfg(unix)]
pub use command::open_commands;
pub use decision::{Decision, NamedDecision, decision};
pub use feature_value::FeatureValue;
