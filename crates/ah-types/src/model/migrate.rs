//! Reads files of versions 4 and 5 as one of version 6.
//!
//! Version 4 has a list of trees, which may vote; version 5 has boosted trees beside a single one. Leaves can list choices that
//! they never measured, decline for reasons of their own, and rank otherwise outside of their ranges.

use serde_json::{Map, Value, json};

use super::boosters::{MARGIN_STEP, RISK_UNIT};

/// The end of each refusal: the trees cannot be read in the sense in which they were learned.
const REMEDY: &str = "learn the model again from its logs, which `provenance` names";

/// Returns the file as one of version 6.
///
/// # Errors
/// A file that decides by what version 6 does not have.
pub(super) fn migrate(mut file: Map<String, Value>) -> Result<Map<String, Value>, String> {
    file.insert("version".to_owned(), json!(6));
    let outside = file.remove("outside").unwrap_or_default();
    if outside == "decline" {
        return Err(format!(
            "the model declines outside of its leaves' ranges, which version 6 does not; {REMEDY}"
        ));
    }
    let trees = file.remove("trees").unwrap_or_default();
    let mut nodes = match trees.as_array().map(Vec::as_slice) {
        Some([tree]) => tree.get("nodes").cloned().unwrap_or_default(),
        Some(trees) if trees.len() > 1 => {
            return Err(format!("{} trees vote, which they do not in version 6; {REMEDY}", trees.len()));
        }
        _ => return Err("expected one tree".to_owned()),
    };
    for (at, node) in nodes.as_array_mut().into_iter().flatten().enumerate() {
        leaf(node, outside == "safe").map_err(|problem| format!("tree 0: node {at}: {problem}"))?;
    }
    file.insert("tree".to_owned(), nodes);
    if let Some(boosted) = file.remove("boosted") {
        file.insert("boosters".to_owned(), boosters(boosted)?);
    }
    Ok(file)
}

/// Removes the keys of a node that version 6 does not have, and the choices that a leaf never measured.
fn leaf(node: &mut Value, safe: bool) -> Result<(), String> {
    let Some(node) = node.as_object_mut() else { return Ok(()) };
    node.remove("others");
    node.remove("inherits");
    if node.remove("unsure").is_some() {
        return Err(format!("the leaf declines by itself, which leaves do not in version 6; {REMEDY}"));
    }
    let outside = node.remove("outside").unwrap_or_default();
    if safe && outside.as_array().is_some_and(|places| !places.is_empty()) {
        return Err(format!(
            "the leaf has a ranking outside of its ranges, which leaves do not in version 6; {REMEDY}"
        ));
    }
    if let Some(Value::Array(ranking)) = node.get_mut("ranking") {
        let is_measured = |row: &Value| row.get(2).is_some_and(|measured| *measured != json!(0));
        ranking.retain(|row| is_measured(row) || row.as_array().is_none_or(|row| row.len() < 2));
        for row in ranking {
            if let Some(Value::String(marks)) = row.get_mut(7) {
                *marks = marks.replace('u', "e");
            }
        }
    }
    Ok(())
}

/// Returns boosted trees as boosters: each row ends with a number for the risk. `ah-train` wrote one `caution_unit` only.
fn boosters(boosted: Value) -> Result<Value, String> {
    let Value::Object(mut boosted) = boosted else { return Ok(boosted) };
    let risk_unit = boosted.remove("caution_unit").unwrap_or_default();
    if !risk_unit.is_null() && risk_unit.as_f64() != Some(RISK_UNIT) {
        return Err(format!("boosted: expected {RISK_UNIT} as the unit of the caution, found {risk_unit}"));
    }
    if let Some(margin) = boosted.get("margin").and_then(Value::as_f64) {
        boosted.insert("margin".to_owned(), json!((margin / MARGIN_STEP).ceil() * MARGIN_STEP));
    }
    let mut rows = boosted.remove("scores").unwrap_or_default();
    for row in rows.as_array_mut().into_iter().flatten().filter_map(Value::as_array_mut) {
        row.extend(risk_unit.is_null().then(|| json!(0)));
    }
    boosted.insert("rows".to_owned(), rows);
    Ok(Value::Object(boosted))
}
