//! Optimizations: decision points with a name. Each is one TOML file. Those in this folder are built in; a
//! user adds one by giving its path.

mod definition;
mod file;
mod named;
mod objective;
mod target;

pub use definition::{ChoiceRule, DevicePrecondition, Optimization};
pub use file::LogOptimization;
pub use named::named;
pub use objective::Objective;
pub use target::Target;
