//! The cache of Kernel Tuner: one kernel on one device with one problem size. Its schema is
//! `kernel_tuner/schema/cache` in Kernel Tuner's repository.
//!
//! Each entry has a configuration, `time` (the mean, ms) and `times` (all runs, ms). In place of the time,
//! it may have the reason why there is none.

use ah_model::Fault;
use ah_model::shown::quoted;
use indexmap::IndexSet;
use serde::Deserialize;
use serde_json::{Map, Value as Json};

use super::tool::{NamedRow, part};
use crate::error::bad_file;
use crate::preset::Preset;

/// The column of the times.
const TIMES: &str = "times";

#[derive(Deserialize)]
struct Cache {
    /// Older files have none.
    schema_version: Option<String>,
    tune_params_keys: IndexSet<String>,
    #[serde(default)]
    problem_size: Json,
    cache: Map<String, Json>,
}

pub fn read(document: &Json, roles: &mut Preset) -> Result<Vec<NamedRow>, Fault> {
    let Cache { schema_version, tune_params_keys: choice, problem_size, cache } = part(document)?;
    if let Some(version) = schema_version
        && version.split('.').next() != Some("1")
    {
        return Err(bad_file("schema_version 1", quoted(&version)));
    }
    let problem = problem(problem_size);
    roles.features.extend(problem.iter().map(|(name, _)| name.clone()));
    let mut rows = Vec::new();
    for (name, entry) in cache {
        let Some(entry) = entry.as_object().filter(|entry| choice.iter().all(|key| entry.contains_key(key)))
        else {
            let expected = format!("all tunable parameters in the entry {}", quoted(&name));
            return Err(bad_file(expected, quoted(&entry.to_string())));
        };
        let mut row: Map<String, Json> = problem.iter().cloned().collect();
        row.extend(entry.clone());
        // A failed configuration has no `times`, and its `time` is the reason, which the preset knows.
        let time = entry.get(TIMES).filter(|times| times.is_array()).or_else(|| entry.get("time"));
        row.insert(TIMES.to_owned(), time.cloned().unwrap_or_default());
        rows.push((Some(name), row));
    }
    roles.choice.extend(choice);
    Ok(rows)
}

/// The problem size as features: `problem_size_x`, `_y` and `_z`, or one name.
fn problem(size: Json) -> Vec<(String, Json)> {
    match size {
        Json::Null => Vec::new(),
        Json::Array(sizes) => {
            let axes = ["x", "y", "z", "w"].into_iter();
            axes.zip(sizes).map(|(axis, size)| (format!("problem_size_{axis}"), size)).collect()
        }
        size => vec![("problem_size".to_owned(), size)],
    }
}
