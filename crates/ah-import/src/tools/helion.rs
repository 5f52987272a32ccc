//! Helion's `measurements_<hardware>.csv`, which `HELION_AOT_MODE=measure` writes (`_save_measurement` in
//! `helion/autotuner/aot_cache.py`): a kernel, the features of an input and a configuration as JSON, and ms a row.
//!
//! The choice is the configuration as Helion writes it, because its values are lists. Only configurations that ran have
//! a row.

use serde_json::Value as Json;

use super::document::{Results, flatten, has, object, text, typed};
use super::tool::Tool;
use crate::error::Fault;

const TIME: &str = "timing_ms";

pub const TOOL: Tool = Tool {
    name: "measurements of Helion",
    is: |record| has(record, &["kernel_name", "shape_hash", "config_hash", "config", "shape_features", TIME]),
    read,
    time: TIME,
    kernel: Some("kernel_name"),
    varying_only: true,
    ..Tool::PLAIN
};

fn read(record: &Json) -> Result<Results, Fault> {
    let mut row = record.as_object().cloned().unwrap_or_default();
    let features = object(text(record, "shape_features")?)?;
    object(text(record, "config")?)?;
    row.remove("shape_features");
    row.insert(TIME.to_owned(), typed(text(record, TIME)?));
    let mut input = serde_json::Map::new();
    flatten("", &features, &mut input);
    let features = input.keys().cloned().collect();
    row.extend(input);
    Ok(Results { rows: vec![(None, row)], features, choice: vec!["config".to_owned()] })
}
