//! hyperfine's `--export-json`: a row a command, with the parameters of `--parameter-list` as columns.

use serde_json::{Map, Value as Json, json};

use super::document::{Misfit, Results, list, typed};
use super::tool::{Tool, as_they_are};
use crate::params::Unit;
use crate::table::Defaults;

const TIMES: &str = "times";

pub const TOOL: Tool = Tool {
    name: "results of hyperfine",
    is: |document| document.pointer("/results/0/command").is_some(),
    read,
    finish: as_they_are,
};

fn read(document: &Json) -> Result<Results, Misfit> {
    let (mut rows, mut choice) = (Vec::new(), Vec::new());
    for result in list(document, "results")? {
        let Some(command) = result.get("command").and_then(Json::as_str) else {
            return Err(Misfit::new("the key \"command\"", "none"));
        };
        let mut row = Map::new();
        row.insert("command".to_owned(), command.into());
        let parameters = result.get("parameters").and_then(Json::as_object).into_iter().flatten();
        row.extend(
            parameters.map(|(name, value)| (name.clone(), value.as_str().map_or(value.clone(), typed))),
        );
        for name in row.keys().skip(1).filter(|name| !choice.contains(*name)).cloned().collect::<Vec<_>>() {
            choice.push(name);
        }
        let failed = |code: &Json| code != 0;
        let codes = result.get("exit_codes").and_then(Json::as_array);
        let time = if codes.is_some_and(|codes| codes.iter().any(failed)) {
            json!("failed")
        } else {
            result
                .get(TIMES)
                .or_else(|| result.get("median"))
                .or_else(|| result.get("mean"))
                .cloned()
                .unwrap_or_default()
        };
        row.insert(TIMES.to_owned(), time);
        rows.push((Some(command.to_owned()), row));
    }
    if choice.is_empty() {
        choice.push("command".to_owned());
    }
    let defaults = Defaults {
        choice,
        time: vec![TIMES.to_owned()],
        unit: Unit::S,
        failed: &["failed"],
        ..Defaults::default()
    };
    Ok(Results { rows, defaults })
}
