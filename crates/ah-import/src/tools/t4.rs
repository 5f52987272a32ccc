//! T4, the results schema of the auto-tuning community (`results-schema.json` of TuningSchema, written by
//! Kernel Tuner and others). It has no problem size: `--set` adds it.

use serde_json::{Map, Value as Json};

use super::document::{Misfit, Results, list, version};
use super::tool::{Tool, as_they_are};
use crate::params::Unit;
use crate::table::Defaults;

const TIME: &str = "runtimes";

pub const TOOL: Tool = Tool {
    name: "T4 results",
    is: |document| document.pointer("/results/0/configuration").is_some(),
    read,
    finish: as_they_are,
};

fn read(document: &Json) -> Result<Results, Misfit> {
    version(document, "1")?;
    let (mut rows, mut keys) = (Vec::new(), Vec::new());
    for result in list(document, "results")? {
        let Some(configuration) = result.get("configuration").and_then(Json::as_object) else {
            return Err(Misfit::new("an object under \"configuration\"", "none"));
        };
        for key in configuration.keys().filter(|key| !keys.contains(*key)).cloned().collect::<Vec<_>>() {
            keys.push(key);
        }
        let mut row = measurements(result);
        row.extend(configuration.clone());
        row.insert(TIME.to_owned(), time(result));
        rows.push((None, row));
    }
    let defaults = Defaults {
        features: Vec::new(),
        choice: keys,
        time: vec![TIME.to_owned()],
        unit: Unit::Ms,
        failed: &["timeout", "compile", "runtime", "correctness", "constraints"],
    };
    Ok(Results { rows, defaults })
}

/// Returns all runs, else the first objective; the reason if the configuration is not valid.
fn time(result: &Json) -> Json {
    if let Some(reason) = result.get("invalidity").filter(|reason| *reason != "correct" && !reason.is_null())
    {
        return reason.clone();
    }
    let runs =
        result.pointer("/times/runtimes").filter(|runs| runs.as_array().is_some_and(|r| !r.is_empty()));
    let objective = || {
        let name = result.pointer("/objectives/0").and_then(Json::as_str).unwrap_or("time");
        measurements(result).get(name).cloned()
    };
    runs.cloned().or_else(objective).unwrap_or_default()
}

fn measurements(result: &Json) -> Map<String, Json> {
    let named = |m: &Json| Some((m.get("name")?.as_str()?.to_owned(), m.get("value")?.clone()));
    result.get("measurements").and_then(Json::as_array).into_iter().flatten().filter_map(named).collect()
}
