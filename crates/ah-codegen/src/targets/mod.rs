//! The targets: what a model can be generated as. Each is one file or folder here, one folder of
//! `templates/` and one line of [`TARGETS`].

mod c;
mod calls;
mod leaf_comment;
mod plain;
mod pytorch;
mod rust;

pub use c::C;
pub use pytorch::Pytorch;
pub use rust::Rust;

use crate::target::Target;

/// All targets.
pub const TARGETS: [&dyn Target; 3] = [&Rust, &Pytorch, &C];
