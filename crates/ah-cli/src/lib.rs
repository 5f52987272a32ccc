//! The parts that the command lines of `ah-collect`, `ah-train` and `ah-codegen` share, so that all
//! three end, print and fail alike:
//!
//! - [`exit`] lists the exit codes.
//! - [`stdout`] prints results and [`stderr`] prints messages. Neither panics on a closed pipe or a
//!   full disk, as `println!` and `eprintln!` do.
//! - [`keep_inputs`] refuses to write over a file that is read, [`keep_foreign`] over one that another program wrote.
//! - [`error`], [`warning`], [`note`], [`status`] and [`detail`] print messages in one style, as much as `-q`
//!   and `-v` ask for.
//! - [`arguments`] (feature `cli`) has these flags.
//! - [`page`] is the frame of the reports.
//! - [`finish`] turns the result of a command line into the process's exit code and prints its error.
//!
//! Only binaries, and libraries with their feature `cli`, use this crate.
#![forbid(unsafe_code)]

#[cfg(feature = "cli")]
pub mod arguments;
mod error;
pub mod exit;
mod messages;
mod output;
pub mod page;

pub use error::{exit_code, finish};
pub use messages::{detail, error, is_quiet, is_verbose, note, status, warning};
pub use output::{keep_foreign, keep_inputs, printable, stderr, stdout};
