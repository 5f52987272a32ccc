//! The autotune cache of cubecl (`<name>.json.log`, `crates/cubecl-runtime/src/tune/tune_cache.rs`, written by
//! `crates/cubecl-common/src/cache.rs`): a key a line, with the result of every kernel.
//!
//! A result has a median over its samples, but not the samples. cubecl's newer `TuneRecord` holds no results, and its
//! newer caches are databases: neither is read.

use ah_types::shown::quoted;
use serde_json::{Map, Value as Json};

use super::document::{Results, flatten, has, list, misfit};
use super::tool::Tool;
use crate::error::Fault;

pub const TOOL: Tool = Tool {
    name: "an autotune cache of cubecl",
    is: |record| {
        let value = record.get("value").unwrap_or(record);
        record.get("key").is_some() && has(value, &["fastest_index", "results"])
    },
    read,
    time: "median_ms",
    failed: &["failed"],
    varying_only: true,
    ..Tool::PLAIN
};

fn read(record: &Json) -> Result<Results, Fault> {
    let value = record.get("value").unwrap_or(record);
    // The key of the cache is the operation's key and a checksum of its kernels.
    let key = &record["key"];
    let key = key.get("checksum").and(key.get("key")).unwrap_or(key);
    let mut input = Map::new();
    match key {
        Json::Object(key) => flatten("", key, &mut input),
        key => drop(input.insert("key".to_owned(), key.clone())),
    }
    let mut rows = Vec::new();
    for result in list(value, "results")? {
        let outcome = result.get("outcome").unwrap_or(result);
        let (name, ms) = match outcome.get("Ok") {
            Some(ok) => (ok.get("name"), Json::from(median(ok)?)),
            None => (outcome.pointer("/Err").and_then(named), "failed".into()),
        };
        // An error without a name belongs to no kernel.
        let Some(name) = name.and_then(Json::as_str) else { continue };
        let mut row = input.clone();
        row.extend([("kernel".to_owned(), name.into()), ("median_ms".to_owned(), ms)]);
        rows.push((None, row));
    }
    Ok(Results { rows, features: input.keys().cloned().collect(), choice: vec!["kernel".to_owned()] })
}

/// Returns the name in an error, which is `{"Unknown": {"name": …}}` or the like.
fn named(error: &Json) -> Option<&Json> {
    error.get("name").or_else(|| error.as_object()?.values().next()?.get("name"))
}

fn median(ok: &Json) -> Result<f64, Fault> {
    let duration = ok.pointer("/computation/median");
    let part = |key: &str| duration.and_then(|duration| duration.get(key)?.as_f64());
    let ms = part("secs").zip(part("nanos")).map(|(secs, nanos)| secs * 1e3 + nanos / 1e6);
    ms.ok_or_else(|| misfit("secs and nanos under /computation/median", quoted(&ok.to_string())))
}
