//! Helion's `measurements_<hardware>.csv`, which `HELION_AOT_MODE=measure` writes (`_save_measurement` in
//! `helion/autotuner/aot_cache.py`): a kernel, the features of an input and a configuration as JSON, and ms a row.
//!
//! The choice is the configuration as Helion writes it, because its values are lists. Only configurations that ran have
//! a row.

use serde_json::Value as Json;

use super::document::{Misfit, Results, flatten, has, object, text, typed};
use super::tool::Tool;
use crate::params::Unit;
use crate::table::Defaults;

const TIME: &str = "timing_ms";

pub const TOOL: Tool = Tool {
    name: "measurements of Helion",
    is: |record| has(record, &["kernel_name", "shape_hash", "config_hash", "config", "shape_features", TIME]),
    read,
    finish: |_, results| {
        results.one_value("kernel_name")?;
        results.drop_constant_features();
        Ok(())
    },
};

fn read(record: &Json) -> Result<Results, Misfit> {
    let mut row = record.as_object().cloned().unwrap_or_default();
    let features = object(text(record, "shape_features")?)?;
    object(text(record, "config")?)?;
    row.remove("shape_features");
    row.insert(TIME.to_owned(), typed(text(record, TIME)?));
    flatten("", &features, &mut row);
    let mut names = serde_json::Map::new();
    flatten("", &features, &mut names);
    let defaults = Defaults {
        features: names.keys().cloned().collect(),
        choice: vec!["config".to_owned()],
        time: vec![TIME.to_owned()],
        unit: Unit::Ms,
        failed: &[],
    };
    Ok(Results { rows: vec![(None, row)], defaults })
}
