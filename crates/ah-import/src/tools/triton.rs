//! The results of Triton's autotuner: the file `<kernel>.autotune.json` that it keeps in its cache for each key
//! (`TRITON_CACHE_AUTOTUNING=1`; `check_disk_cache` in `python/triton/runtime/autotuner.py`), and the same object a
//! line, which a listener can write (`triton.knobs.autotuning.listener`).
//!
//! The key is a list of texts without names: the arguments of `key=`, then the element type of each tensor. A
//! configuration has three times in ms: the median, and the quantiles 0.2 and 0.8. Its name is the Python package's
//! (`autoheuristic/choices.py`).

use std::collections::BTreeMap;

use ah_model::Fault;
use serde::Deserialize;
use serde_json::Value as Json;

use super::tool::{NamedRow, Object, part};

/// Options that a name mentions only where they are set: `num_ctas` to another number than 1, the others at all.
const RARE: [&str; 3] = ["num_ctas", "maxnreg", "ir_override"];

#[derive(Deserialize)]
struct Record {
    kernel: Option<Json>,
    key: Vec<Json>,
    configs_timings: Vec<(Config, Json)>,
}

/// A `triton.Config`.
#[derive(Deserialize)]
struct Config {
    kwargs: BTreeMap<String, Json>,
    #[serde(flatten)]
    options: BTreeMap<String, Json>,
}

/// Reads the configurations of a key, whose parts are in `key`.
pub fn read(record: &Json) -> Result<Vec<NamedRow>, Fault> {
    let Record { kernel, key, configs_timings } = part(record)?;
    let key = (0..).zip(key).map(|(at, part)| (format!("key{at}"), part)).collect();
    let mut input = Object::from_iter([("key".to_owned(), key)]);
    input.extend(kernel.map(|kernel| ("kernel".to_owned(), kernel)));
    let row = |(config, time): (Config, Json)| {
        // The quantiles beside the median are no repetitions.
        let median = time.as_array().map_or(Some(&time), |times| times.first());
        let mut row = input.clone();
        row.insert("config".to_owned(), config.name().into());
        row.insert("ms".to_owned(), median.cloned().unwrap_or_default());
        (None, row)
    };
    Ok(configs_timings.into_iter().map(row).collect())
}

impl Config {
    /// The name: the keyword arguments in alphabetical order, then the options. Values are as Python prints them, without
    /// `_` and `=`, at which a value of a name would end.
    fn name(&self) -> String {
        let option = |key: &'static str| Some((key, self.options.get(key)?));
        let is_set = |(key, value): &(&str, &Json)| !value.is_null() && (*key != "num_ctas" || **value != 1);
        let options = ["num_warps", "num_stages"].into_iter().filter_map(option);
        let rare = RARE.into_iter().filter_map(option).filter(is_set);
        let text = |value: &Json| match value {
            Json::Null => "None".to_owned(),
            Json::Bool(true) => "True".to_owned(),
            Json::Bool(false) => "False".to_owned(),
            Json::String(text) => text.clone(),
            value => value.to_string(),
        };
        let fields = self.kwargs.iter().map(|(key, value)| (key.as_str(), value)).chain(options).chain(rare);
        let field = |(key, value): (&str, &Json)| format!("{key}={}", text(value).replace(['_', '='], "-"));
        fields.map(field).collect::<Vec<String>>().join("_")
    }
}
