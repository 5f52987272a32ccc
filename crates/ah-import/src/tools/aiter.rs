//! The file of `--profile_file` of AITER's tuners of matrix products (`post_process` in `aiter/utility/base_tuner.py`):
//! a kernel on a shape a row, with the columns of the shape first, then those of the kernel, and µs.
//!
//! A time of -1 or `inf` and a result whose error is above AITER's limit (`--errRatio`, 0.05) are failures. A kernel is
//! its numbers (`kernelId`, `splitK` and, where there are several, `libtype`): a failed one has no name.

use serde_json::Value as Json;

use super::document::{Results, has, text, typed};
use super::tool::Tool;
use crate::error::Fault;
use crate::params::Unit;

const TIME: &str = "us";
const KERNEL: [&str; 3] = ["libtype", "kernelId", "splitK"];
const RESULTS: [&str; 5] = [TIME, "kernelName", "errRatio", "tflops", "bw"];

/// AITER's default of `--errRatio`.
const MOST_ERRORS: f64 = 0.05;

pub const TOOL: Tool = Tool {
    name: "a profile file of AITER",
    is: |record| has(record, &["cu_num", "M", "N", "K", "kernelId", "splitK", TIME, "errRatio"]),
    read,
    time: TIME,
    unit: Unit::Us,
    failed: &["failed"],
    varying_only: true,
    ..Tool::PLAIN
};

fn read(record: &Json) -> Result<Results, Fault> {
    let row = record.as_object().cloned().unwrap_or_default();
    let choice = row.keys().filter(|key| KERNEL.contains(&key.as_str())).cloned().collect();
    let first = row.keys().position(|key| KERNEL.contains(&key.as_str()) || RESULTS.contains(&key.as_str()));
    let features = row.keys().take(first.unwrap_or_default()).cloned().collect();
    let mut typed_row: serde_json::Map<String, Json> = row
        .iter()
        // How AITER writes a missing value.
        .map(|(key, value)| {
            (key.clone(), value.as_str().filter(|text| *text != "Null").map(typed).unwrap_or_default())
        })
        .collect();
    let us = text(record, TIME)?;
    let errors = typed_row.get("errRatio").and_then(Json::as_f64);
    if us.parse() == Ok(-1.0) || errors.is_some_and(|errors| errors > MOST_ERRORS) {
        typed_row.insert(TIME.to_owned(), "failed".into());
    }
    Ok(Results { rows: vec![(None, typed_row)], features, choice })
}
