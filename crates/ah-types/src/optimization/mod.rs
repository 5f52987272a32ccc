//! Optimizations: decision points with a name. Each is one TOML file. Those in this folder are built in; a
//! user adds one by giving its path.

mod definition;
mod file;

pub use definition::{DevicePrecondition, Optimization};
pub use file::LogOptimization;
