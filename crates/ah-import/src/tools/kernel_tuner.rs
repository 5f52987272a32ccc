//! The cache of Kernel Tuner: one kernel on one device with one problem size. Its schema is
//! `kernel_tuner/schema/cache` in Kernel Tuner's repository.
//!
//! Each entry has a configuration, `time` (the mean, ms) and `times` (all runs, ms). In place of the time,
//! it may have the reason why there is none.

use ah_model::Fault;
use ah_model::shown::quoted;
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::tool::{NamedRow, Object, part};
use crate::error::bad_file;

#[derive(Deserialize)]
struct Cache {
    /// Older files have none.
    schema_version: Option<String>,
    tune_params_keys: Vec<String>,
    #[serde(default)]
    problem_size: Json,
    cache: IndexMap<String, Object>,
}

/// Reads the configurations. The problem size is in `problem`, and the tunable parameters in `parameters`.
pub fn read(document: &Json) -> Result<Vec<NamedRow>, Fault> {
    let Cache { schema_version, tune_params_keys, problem_size, cache } = part(document)?;
    if let Some(version) = schema_version
        && version.split('.').next() != Some("1")
    {
        return Err(bad_file("schema_version 1", quoted(&version)));
    }
    let problem = problem(problem_size);
    let row = |(name, mut row): (String, Object)| {
        let mut parameters = Object::new();
        for key in &tune_params_keys {
            let Some(value) = row.shift_remove(key) else {
                let expected = format!("all tunable parameters in the entry {}", quoted(&name));
                return Err(bad_file(expected, format!("no {key}")));
            };
            parameters.insert(key.clone(), value);
        }
        // A failed configuration has no `times`, and its `time` is the reason, which the preset knows.
        let times = row.get("times").filter(|times| times.is_array()).or_else(|| row.get("time")).cloned();
        row.insert("times".to_owned(), times.unwrap_or_default());
        row.insert("problem".to_owned(), problem.clone());
        row.insert("parameters".to_owned(), parameters.into());
        Ok((Some(name), row))
    };
    cache.into_iter().map(row).collect()
}

/// The problem size as features: `problem_size_x`, `_y` and `_z`, or one name.
fn problem(size: Json) -> Json {
    match size {
        Json::Null => json!({}),
        Json::Array(sizes) => {
            let axes = ["x", "y", "z", "w"].into_iter();
            axes.zip(sizes).map(|(axis, size)| (format!("problem_size_{axis}"), size)).collect()
        }
        size => json!({ "problem_size": size }),
    }
}
