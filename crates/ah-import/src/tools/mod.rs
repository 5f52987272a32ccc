//! Reads the files of autotuners as rows of a table. Their columns have roles, so that no flag is needed but `--name`.
//!
//! A tool's file has one or more *records*: a JSON document is one record, and so is each JSON line. Adding a tool is one
//! file, one line of [`KNOWN`], and its name beside those of the presets.

mod inductor;
mod kernel_tuner;
mod tool;
mod triton;

use serde_json::Value as Json;

pub use tool::{NamedRow, Tool};

const KNOWN: [Tool; 4] = [kernel_tuner::TOOL, triton::TOOL, inductor::PRODUCTS, inductor::RESULTS];

/// Returns the tool that writes records such as this one.
pub fn find(record: &Json) -> Option<Tool> {
    KNOWN.into_iter().find(|tool| tool.keys.iter().all(|key| record.pointer(key).is_some()))
}
