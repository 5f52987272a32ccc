//! The results of Triton's autotuner: the file `<kernel>.autotune.json` that it keeps in its cache for each key
//! (`TRITON_CACHE_AUTOTUNING=1`; `check_disk_cache` in `python/triton/runtime/autotuner.py`), and the same object a
//! line, which a listener can write (`triton.knobs.autotuning.listener`).
//!
//! The key is a list of texts without names: the arguments of `key=`, then the element type of each tensor. A
//! configuration has three times in ms: the median, and the quantiles 0.2 and 0.8. Its name is the Python package's
//! (`autoheuristic/choices.py`).

use ah_types::Fault;
use ah_types::shown::quoted;
use serde_json::{Map, Value as Json};

use super::tool::{Results, Tool, has, list};
use crate::error::bad_file;

pub const TOOL: Tool = Tool {
    name: "results of Triton's autotuner",
    is: |record| has(record, &["key", "configs_timings"]),
    read,
    time: "ms",
    failed: &[],
};

/// Options that a name mentions only where they are set: `num_ctas` to another number than 1, the others at all.
const RARE: [&str; 3] = ["num_ctas", "maxnreg", "ir_override"];

fn read(record: &Json) -> Result<Results, Fault> {
    let key = list(record, "key")?;
    let features: Vec<String> = (0..key.len()).map(|i| format!("key{i}")).collect();
    let mut input: Map<String, Json> = features.iter().cloned().zip(key.iter().cloned()).collect();
    if let Some(kernel) = record.get("kernel") {
        input.insert("kernel".to_owned(), kernel.clone());
    }
    let mut rows = Vec::new();
    for pair in list(record, "configs_timings")? {
        let [config, time] = pair.as_array().map_or(&[][..], Vec::as_slice) else {
            return Err(bad_file("pairs of a configuration and its times", quoted(&pair.to_string())));
        };
        let mut row = input.clone();
        row.insert("config".to_owned(), name(config)?.into());
        // The quantiles beside the median are no repetitions.
        let median = time.as_array().map_or(Some(time), |times| times.first());
        row.insert("ms".to_owned(), median.cloned().unwrap_or_default());
        rows.push((None, row));
    }
    Ok(Results { rows, features, choice: vec!["config".to_owned()] })
}

/// Returns the name of a `triton.Config`: its keyword arguments in alphabetical order, then its options. Values are as
/// Python prints them, without `_` and `=`, at which a value of a name would end.
fn name(config: &Json) -> Result<String, Fault> {
    let Some(kwargs) = config.get("kwargs").and_then(Json::as_object) else {
        let expected = "an object under \"kwargs\" of each configuration";
        return Err(bad_file(expected, quoted(&config.to_string())));
    };
    let mut kwargs: Vec<(&str, &Json)> = kwargs.iter().map(|(key, value)| (key.as_str(), value)).collect();
    kwargs.sort_unstable_by_key(|(key, _)| *key);
    let options = ["num_warps", "num_stages"].into_iter().filter_map(|key| Some((key, config.get(key)?)));
    let is_set = |key: &str, value: &Json| !value.is_null() && (key != "num_ctas" || *value != 1);
    let rare =
        RARE.into_iter().filter_map(|key| Some((key, config.get(key)?))).filter(|(key, v)| is_set(key, v));
    let text = |value: &Json| match value {
        Json::Null => "None".to_owned(),
        Json::Bool(true) => "True".to_owned(),
        Json::Bool(false) => "False".to_owned(),
        Json::String(text) => text.clone(),
        value => value.to_string(),
    };
    let fields = kwargs.into_iter().chain(options).chain(rare);
    let fields: Vec<String> =
        fields.map(|(key, value)| format!("{key}={}", text(value).replace(['_', '='], "-"))).collect();
    Ok(fields.join("_"))
}
