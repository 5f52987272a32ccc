//! Reads the files of tuners and benchmark tools as rows of a table. The defaults of a tool describe its columns, so
//! that few flags are needed.
//!
//! A tool's file has one or more *records*: a JSON document is one record, and so is each JSON line and each row of a
//! CSV table. Adding a tool is one file and one line of [`KNOWN`].

mod aiter;
mod cubecl;
mod document;
mod google_benchmark;
mod helion;
mod helion_log;
mod hyperfine;
mod inductor_mm;
mod inductor_results;
mod kernel_tuner;
mod python_json;
mod t4;
mod tokamax;
mod tool;
mod triton;

use ah_types::shown::{listed, quoted};
use serde_json::{Map, Value as Json};

use crate::error::Fault;
use document::misfit;
pub use document::{NamedRow, Results};
pub use python_json::{parse, parse_document};
pub use tool::Tool;

const KNOWN: [Tool; 12] = [
    kernel_tuner::TOOL,
    t4::TOOL,
    google_benchmark::TOOL,
    hyperfine::TOOL,
    triton::TOOL,
    inductor_mm::TOOL,
    inductor_results::TOOL,
    helion::TOOL,
    helion_log::TOOL,
    aiter::TOOL,
    tokamax::TOOL,
    cubecl::TOOL,
];

/// Returns the tool that writes records such as this one.
pub fn find(record: &Json) -> Option<&'static Tool> {
    KNOWN.iter().find(|tool| (tool.is)(record))
}

/// Returns the error of a document that no tool writes.
pub fn unknown(document: &Json) -> Fault {
    let names: Vec<&str> = KNOWN.iter().map(|tool| tool.name).collect();
    let found = match document.as_object() {
        Some(object) => {
            format!("an object with the keys {}", listed(Map::keys(object).map(String::as_str)))
        }
        None => quoted(&document.to_string()),
    };
    misfit(format!("a list of objects, or one of these: {}", names.join(", ")), found)
}
