//! hyperfine's `--export-json`: a row a command, with the parameters of `--parameter-list` as columns.

use serde_json::{Map, Value as Json, json};

use super::document::{Results, add_new, list, text, typed_value};
use super::tool::Tool;
use crate::error::Fault;
use crate::params::Unit;

const TIMES: &str = "times";

pub const TOOL: Tool = Tool {
    name: "results of hyperfine",
    is: |document| document.pointer("/results/0/command").is_some(),
    read,
    time: TIMES,
    unit: Unit::S,
    failed: &["failed"],
    ..Tool::PLAIN
};

fn read(document: &Json) -> Result<Results, Fault> {
    let (mut rows, mut choice) = (Vec::new(), Vec::new());
    for result in list(document, "results")? {
        let command = text(result, "command")?;
        let mut row = Map::new();
        row.insert("command".to_owned(), command.into());
        let parameters = result.get("parameters").and_then(Json::as_object).into_iter().flatten();
        row.extend(parameters.map(|(name, value)| (name.clone(), typed_value(value))));
        add_new(&mut choice, row.keys().skip(1));
        let failed = |code: &Json| code != 0;
        let codes = result.get("exit_codes").and_then(Json::as_array);
        let time = if codes.is_some_and(|codes| codes.iter().any(failed)) {
            json!("failed")
        } else {
            [TIMES, "median", "mean"].iter().find_map(|key| result.get(key)).cloned().unwrap_or_default()
        };
        row.insert(TIMES.to_owned(), time);
        rows.push((Some(command.to_owned()), row));
    }
    if choice.is_empty() {
        choice.push("command".to_owned());
    }
    Ok(Results { rows, choice, ..Results::default() })
}
