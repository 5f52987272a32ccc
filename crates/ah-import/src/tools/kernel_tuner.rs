//! The cache of Kernel Tuner: one kernel on one device with one problem size. Its schema is
//! `kernel_tuner/schema/cache` in Kernel Tuner's repository.
//!
//! Each entry has a configuration, `time` (the mean, ms) and `times` (all runs, ms). In place of the time,
//! it may have the reason why there is none.

use ah_types::shown::{listed, quoted};
use serde_json::{Map, Value as Json};

use super::document::{Results, inner, list, misfit, version};
use super::tool::Tool;
use crate::error::Fault;

const TIMES: &str = "times";

pub const TOOL: Tool = Tool {
    name: "a cache of Kernel Tuner",
    is: |document| document.get("tune_params_keys").is_some(),
    read,
    time: TIMES,
    failed: &["InvalidConfig", "CompilationFailedConfig", "RuntimeFailedConfig"],
    ..Tool::PLAIN
};

fn read(document: &Json) -> Result<Results, Fault> {
    version(document, "1")?;
    let keys = list(document, "tune_params_keys")?;
    let keys: Vec<String> = keys.iter().filter_map(Json::as_str).map(str::to_owned).collect();
    let problem = problem(document.get("problem_size"));
    let features = problem.iter().map(|(name, _)| name.clone()).collect();
    let cache = inner(document, "cache")?;
    let mut rows = Vec::with_capacity(cache.len());
    for name in cache.keys() {
        let entry = inner(&document["cache"], name)?;
        agree(name, &keys, entry)?;
        let mut row: Map<String, Json> = problem.iter().cloned().collect();
        for key in ["device_name", "kernel_name"] {
            row.extend(document.get(key).map(|value| (key.to_owned(), value.clone())));
        }
        row.extend(entry.clone());
        // A failed configuration has no `times`, and its `time` is the reason.
        let time = entry.get(TIMES).filter(|times| times.is_array()).or_else(|| entry.get("time"));
        row.insert(TIMES.to_owned(), time.cloned().unwrap_or_default());
        rows.push((Some(name.clone()), row));
    }
    Ok(Results { rows, features, choice: keys })
}

/// Returns the problem size as features: `problem_size_x`, `_y` and `_z`, or one name.
fn problem(size: Option<&Json>) -> Vec<(String, Json)> {
    match size {
        None | Some(Json::Null) => Vec::new(),
        Some(Json::Array(sizes)) => {
            let axes = ["x", "y", "z", "w"].into_iter();
            axes.zip(sizes).map(|(axis, size)| (format!("problem_size_{axis}"), size.clone())).collect()
        }
        Some(size) => vec![("problem_size".to_owned(), size.clone())],
    }
}

/// Checks that the name of an entry and its keys list the same configuration.
fn agree(name: &str, keys: &[String], entry: &Map<String, Json>) -> Result<(), Fault> {
    let shown = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let values: Vec<String> = keys.iter().filter_map(|key| entry.get(key)).map(shown).collect();
    let number = |text: &str| text.parse::<f64>().ok();
    // Python and Rust print some numbers and the truth values differently.
    let same =
        |a: &str, b: &str| a.eq_ignore_ascii_case(b) || number(a).is_some_and(|x| number(b) == Some(x));
    let named: Vec<&str> = name.split(',').collect();
    let agree = values.len() == keys.len()
        && (named.len() != values.len() || named.iter().zip(&values).all(|(a, b)| same(a, b)));
    if agree {
        return Ok(());
    }
    let expected = format!("the values of {} in the entry {}", listed(keys), quoted(name));
    Err(misfit(expected, quoted(&values.join(","))))
}
