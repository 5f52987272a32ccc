//! The parts that the command lines of `ah-collect`, `ah-train` and `ah-codegen` share, so that all
//! three end, print and fail alike:
//!
//! - [`exit`] lists the exit codes.
//! - [`stdout`] prints results and [`stderr`] prints messages. Neither panics on a closed pipe or a
//!   full disk, as `println!` and `eprintln!` do.
//! - [`finish`] turns the result of a command line into the process's exit code and prints its error.
//!
//! Only binaries, and libraries with their feature `cli`, use this crate.
#![forbid(unsafe_code)]

mod error;
pub mod exit;
mod output;

pub use error::{FatalError, finish};
pub use output::{OutputError, printable, stderr, stdout};
