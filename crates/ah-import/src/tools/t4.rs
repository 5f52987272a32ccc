//! T4, the results schema of the auto-tuning community (`results-schema.json` of TuningSchema, written by
//! Kernel Tuner and others). It has no problem size: `--set` adds it.

use serde_json::{Map, Value as Json};

use super::document::{Results, add_new, inner, list, version};
use super::tool::Tool;
use crate::error::Fault;

const TIME: &str = "runtimes";

pub const TOOL: Tool = Tool {
    name: "T4 results",
    is: |document| document.pointer("/results/0/configuration").is_some(),
    read,
    time: TIME,
    failed: &["timeout", "compile", "runtime", "correctness", "constraints"],
    ..Tool::PLAIN
};

fn read(document: &Json) -> Result<Results, Fault> {
    version(document, "1")?;
    let (mut rows, mut choice) = (Vec::new(), Vec::new());
    for result in list(document, "results")? {
        let configuration = inner(result, "configuration")?;
        add_new(&mut choice, configuration.keys());
        let mut row = measurements(result);
        row.extend(configuration.clone());
        row.insert(TIME.to_owned(), time(result));
        rows.push((None, row));
    }
    Ok(Results { rows, choice, ..Results::default() })
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
