//! Reads the files of autotuners whose rows need code. Their presets have the rest: the marks and the columns. A time is `inf` where a
//! choice failed.
//!
//! A tool's file has one or more *records*: a JSON document is one record, and so is each JSON line. Adding a tool is a
//! preset, one file, and one line of [`reader`].

mod inductor;
mod kernel_tuner;
mod tool;
mod triton;

use ah_model::Fault;
use serde_json::Value as Json;

pub use tool::{NamedRow, Object};

/// Reads the rows of a record. The values of objects in them become columns.
pub type ReadRecord = fn(&Json) -> Result<Vec<NamedRow>, Fault>;

/// The code that reads the records of a preset, if it needs code.
pub fn reader(preset: &str) -> Option<ReadRecord> {
    match preset {
        "kernel-tuner" => Some(kernel_tuner::read),
        "triton" => Some(triton::read),
        "inductor" => Some(inductor::read),
        _ => None,
    }
}
