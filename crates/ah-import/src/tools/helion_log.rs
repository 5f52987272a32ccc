//! Helion's autotune log (`HELION_AUTOTUNE_LOG=<base>`, `AutotuneLogSink` in `helion/autotuner/logger.py`): a tried
//! configuration a row of `<base>.csv`, and the shapes of each run in `<base>.meta.jsonl` beside it.
//!
//! The features have the names that Helion's own measurements use (`arg0_dim0`, `arg0_dtype`).

use std::path::Path;

use ah_types::artefact::read_text;
use ah_types::shown::quoted;
use rustc_hash::FxHashMap;
use serde_json::{Map, Value as Json};

use super::document::{Results, add_new, has, misfit, shapes, text, typed};
use super::python_json::parse;
use super::tool::Tool;
use crate::error::Fault;

const TIME: &str = "perf_ms";

/// A run takes tens of KiB: the kernel's source and its graph.
const MOST_MIB: u64 = 1024;

/// Statuses of a configuration that has no time.
const FAILED: [&str; 4] = ["error", "timeout", "peer_compilation_fail", "accuracy_error"];

/// Rows that are no measurement: the beginning of one, and configurations that were not run.
const NOT_RUN: [&str; 5] = ["started", "filtered", "deduplicated", "source_rejected", "unknown"];

pub const TOOL: Tool = Tool {
    name: "an autotune log of Helion",
    is: |record| has(record, &["run_id", "config_index", "generation", "status", TIME, "config"]),
    read,
    time: TIME,
    failed: &FAILED,
    add: add_shapes,
    kernel: Some("kernel_name"),
    varying_only: true,
    ..Tool::PLAIN
};

fn read(record: &Json) -> Result<Results, Fault> {
    let status = text(record, "status")?;
    if NOT_RUN.contains(&status) {
        return Ok(Results::default());
    }
    let time = match status {
        "ok" => typed(text(record, TIME)?),
        status if FAILED.contains(&status) => status.into(),
        status => {
            let known = [&["ok"][..], &FAILED, &NOT_RUN].concat();
            return Err(misfit(format!("a status of {}", known.join(", ")), quoted(status)));
        }
    };
    let mut row = record.as_object().cloned().unwrap_or_default();
    row.insert(TIME.to_owned(), time);
    Ok(Results { rows: vec![(None, row)], choice: vec!["config".to_owned()], ..Results::default() })
}

/// Adds the shapes of each row's run.
fn add_shapes(path: &Path, results: &mut Results) -> Result<(), Fault> {
    let beside = path.with_extension("meta.jsonl");
    let lines = read_text(&beside, MOST_MIB)
        .map_err(|e| misfit(format!("the shapes in {} beside it", beside.display()), e.to_string()))?;
    let mut runs: FxHashMap<String, Map<String, Json>> = FxHashMap::default();
    for line in lines.lines().filter(|line| !line.trim().is_empty()) {
        let broken = |fault: Fault| {
            misfit(format!("lines of {} with {}", beside.display(), fault.expected), fault.found)
        };
        let run = parse(line).map_err(|_| broken(misfit("a JSON object", quoted(line))))?;
        let (id, run) = described(&run).map_err(broken)?;
        runs.insert(id, run);
    }
    for (_, row) in &mut results.rows {
        let id = row.get("run_id").and_then(Json::as_str).unwrap_or_default();
        let Some(run) = runs.get(id) else {
            let expected = format!("the run_id {} in {}", quoted(id), beside.display());
            return Err(misfit(expected, "none"));
        };
        add_new(&mut results.features, run.keys().filter(|name| *name != "kernel_name"));
        row.extend(run.clone());
    }
    Ok(())
}

/// Returns the id of a run, with its kernel and the features of its arguments.
fn described(run: &Json) -> Result<(String, Map<String, Json>), Fault> {
    let mut row = Map::new();
    row.insert("kernel_name".to_owned(), text(run, "kernel_name")?.into());
    for (i, shape) in shapes(text(run, "input_shapes")?).into_iter().enumerate() {
        row.extend(shape.into_iter().enumerate().map(|(j, size)| (format!("arg{i}_dim{j}"), size.into())));
    }
    let types =
        text(run, "dtypes")?.trim_matches(['[', ']']).split(',').map(|name| name.trim().trim_matches('\''));
    for (i, name) in types.enumerate().filter(|(_, name)| !name.is_empty()) {
        row.insert(format!("arg{i}_dtype"), name.into());
    }
    Ok((text(run, "run_id")?.to_owned(), row))
}
