//! Google Benchmark's `--benchmark_format=json`: a row a run. A name `BM_sort/radix/n:1024/8` becomes the
//! columns `benchmark` (`BM_sort`), `arg0` (`radix`), `n` (1024) and `arg2` (8).

use ah_types::shown::quoted;
use serde_json::{Map, Value as Json, json};

use super::document::{Results, list, misfit, typed};
use super::tool::Tool;
use crate::error::Fault;

const TIME: &str = "real_time";

pub const TOOL: Tool = Tool {
    name: "results of Google Benchmark",
    is: |document| document.pointer("/benchmarks/0/name").is_some(),
    read,
    time: TIME,
    failed: &["error"],
    ..Tool::PLAIN
};

fn read(document: &Json) -> Result<Results, Fault> {
    let mut rows = Vec::new();
    for run in list(document, "benchmarks")? {
        // Skips the means, medians and deviations of repetitions that are also listed one by one.
        if run.get("run_type").is_some_and(|kind| kind == "aggregate") {
            continue;
        }
        let name = run.get("run_name").or_else(|| run.get("name")).and_then(Json::as_str);
        let Some((name, run)) = name.zip(run.as_object()) else {
            return Err(misfit("the key \"name\"", "none"));
        };
        let mut row = parts(name);
        row.extend(run.clone());
        let to_ms = match run.get("time_unit").and_then(Json::as_str) {
            None | Some("ns") => 1e6,
            Some("us") => 1e3,
            Some("ms") => 1.0,
            Some("s") => 1e-3,
            Some(unit) => {
                let expected = format!("ns, us, ms or s as time_unit of {}", quoted(name));
                return Err(misfit(expected, quoted(unit)));
            }
        };
        for key in [TIME, "cpu_time"] {
            let ms = run.get(key).and_then(Json::as_f64).map(|time| json!(time / to_ms));
            row.insert(key.to_owned(), ms.unwrap_or_default());
        }
        if run.get("error_occurred").is_some_and(|occurred| *occurred == true) {
            row.insert(TIME.to_owned(), json!("error"));
        }
        rows.push((Some(name.to_owned()), row));
    }
    Ok(Results { rows, ..Results::default() })
}

fn parts(name: &str) -> Map<String, Json> {
    let mut parts = name.split('/');
    let mut row = Map::new();
    row.insert("benchmark".to_owned(), parts.next().unwrap_or_default().into());
    for (i, part) in parts.enumerate() {
        let (key, value) = match part.split_once(':') {
            Some((key, value)) => (key.to_owned(), value),
            None => (format!("arg{i}"), part),
        };
        row.insert(key, typed(value));
    }
    row
}
