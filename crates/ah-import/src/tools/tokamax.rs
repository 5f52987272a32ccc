//! The autotuning data of tokamax, `data/autotuning/<device>/<op>.json` (`tokamax/_src/autotuning/cache.py`): from the
//! arguments of an operation to configurations to times in ms, both keys JSON in text.
//!
//! An array such as `bf16[384,64]` becomes its element type and sizes. Arguments that are the same everywhere are left
//! out.

use ah_types::shown::quoted;
use serde_json::{Map, Value as Json};

use super::document::{Results, add_new, flatten, list, misfit, object, structured};
use super::tool::Tool;
use crate::error::Fault;

const TIMES: &str = "evaluation_times_ms";

pub const TOOL: Tool = Tool {
    name: "autotuning data of tokamax",
    is: |document| {
        fn first(json: &Json) -> Option<&Json> {
            json.as_object()?.values().next()
        }
        first(document).and_then(first).is_some_and(|data| data.get(TIMES).is_some())
    },
    read,
    time: TIMES,
    varying_only: true,
    ..Tool::PLAIN
};

fn read(document: &Json) -> Result<Results, Fault> {
    let (mut rows, mut features) = (Vec::new(), Vec::new());
    for (arguments, configs) in document.as_object().into_iter().flatten() {
        let input = described(&object(arguments)?);
        let Some(configs) = configs.as_object() else {
            return Err(misfit("an object of configurations", quoted(&configs.to_string())));
        };
        for (config, data) in configs {
            let mut choice = Map::new();
            flatten("", &object(config)?, &mut choice);
            let mut row = data.as_object().cloned().unwrap_or_default();
            list(data, TIMES)?;
            row.extend(input.clone());
            // A value that is not set is no part of the name.
            let set = choice.iter().filter(|(_, value)| !value.is_null());
            row.insert("config".to_owned(), structured(set.map(|(key, value)| (key.as_str(), value))).into());
            rows.push((Some(config.clone()), row));
            add_new(&mut features, input.keys());
        }
    }
    Ok(Results { rows, features, choice: vec!["config".to_owned()] })
}

/// Returns the features of the arguments of an operation.
fn described(arguments: &Map<String, Json>) -> Map<String, Json> {
    let (mut flat, mut features) = (Map::new(), Map::new());
    flatten("", arguments, &mut flat);
    for (name, value) in flat {
        let Some((dtype, sizes)) = value.as_str().and_then(array) else {
            features.insert(name, value);
            continue;
        };
        features.insert(format!("{name}.dtype"), dtype.into());
        features.extend(sizes.into_iter().enumerate().map(|(i, size)| (format!("{name}.{i}"), size.into())));
    }
    features
}

/// Returns the element type and the sizes of an array such as `bf16[384,64]`.
fn array(text: &str) -> Option<(&str, Vec<u64>)> {
    let (dtype, sizes) = text.strip_suffix(']')?.split_once('[')?;
    let sizes: Option<Vec<u64>> =
        sizes.split(',').filter(|size| !size.is_empty()).map(|size| size.parse().ok()).collect();
    (!dtype.is_empty() && dtype.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'))
        .then_some((dtype, sizes?))
}
