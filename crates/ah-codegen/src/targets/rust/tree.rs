//! The trees as the templates see them: lines of branches, or rows of a table.

use ah_types::Test;
use ah_types::expr::Type;
use serde_json::{Value as Json, json};

use super::{Identifiers, WIDTH};
use crate::lower::{Argument, Condition, Event, Form, LoweredModel, Row};
use crate::text::number;

pub(super) fn view(lowered: &LoweredModel<'_>, identifiers: &Identifiers) -> Json {
    match &lowered.trees {
        Form::Branches(trees) => {
            let trees: Vec<Json> = trees.iter().map(|tree| branches(lowered, identifiers, tree)).collect();
            let any = |key: &str| trees.iter().any(|tree| tree[key] == true);
            json!({
                "uses_number": any("uses_number"), "uses_needed": any("uses_needed"),
                "uses_seen": any("uses_seen"), "trees": trees,
            })
        }
        Form::Table { rows, roots } => table(lowered, rows, roots),
    }
}

fn branches(lowered: &LoweredModel<'_>, identifiers: &Identifiers, events: &[(usize, Event<'_>)]) -> Json {
    let mut lines = Vec::with_capacity(events.len());
    let mut long = false;
    for (level, event) in events {
        let indent = 4 * (level + 1);
        let line = match event {
            Event::Compute(slot, arguments) => json!({
                "kind": "compute", "name": identifiers.features[*slot],
                "call": call(identifiers, *slot, arguments),
            }),
            Event::Need(slot, arguments) => {
                let name = &identifiers.features[*slot];
                let derived = lowered.derived_type(*slot);
                let value = match (derived, arguments) {
                    (None, _) if lowered.is_whole(*slot) => format!("row.{name}().float()"),
                    (None, _) => format!("row.{name}()"),
                    (_, Some(arguments)) => call(identifiers, *slot, arguments),
                    _ => name.clone(),
                };
                json!({
                    "kind": "need", "name": name, "value": value, "slot": slot,
                    "number": derived.is_none() && lowered.variants[*slot].is_empty(),
                    "category": derived.is_none() && !lowered.variants[*slot].is_empty(),
                    "seen": seen(lowered, identifiers, *slot),
                })
            }
            Event::If(condition, chained) => {
                let condition = match condition {
                    Condition::AtMost(slot, threshold) => {
                        format!("{} <= {}", identifiers.features[*slot], number(*threshold))
                    }
                    Condition::Is(slot, category) if *slot < lowered.variants.len() => {
                        format!(
                            "{} == {}",
                            identifiers.features[*slot],
                            identifiers.variant(lowered, *slot, category)
                        )
                    }
                    Condition::Is(slot, category) => {
                        format!("{} == {}", identifiers.features[*slot], lowered.code(category))
                    }
                    Condition::Holds(slot) => identifiers.features[*slot].clone(),
                };
                json!({ "kind": if *chained { "else if" } else { "if" }, "condition": condition })
            }
            Event::Else => json!({ "kind": "else" }),
            Event::End => json!({ "kind": "end" }),
            Event::Leaf(index) => json!({ "kind": "leaf", "index": index }),
        };
        let width = |key: &str| line[key].as_str().map_or(0, str::len);
        let frame = match event {
            Event::Compute(..) => "let  = ;".len() + width("name") + width("call"),
            Event::Need(slot, _) => {
                let calls = "let  = needed(, )?.known()?;".len() + slot.to_string().len();
                (calls + width("name") + width("value")).max("seen(, 1234)?;".len() + width("seen"))
            }
            Event::If(..) => "} else if  {".len() + width("condition"),
            _ => 0,
        };
        long |= indent + frame > WIDTH;
        let mut line = line;
        line["indent"] = " ".repeat(indent).into();
        lines.push(line);
    }
    let needs = |f: &dyn Fn(&Json) -> bool| lines.iter().any(|l| l["kind"] == "need" && f(l));
    json!({
        "uses_number": needs(&|l| l["number"] == true),
        "uses_needed": needs(&|l| l["number"] == false),
        "uses_seen": needs(&|l| !l["seen"].is_null()),
        "uses_row": !lines.iter().all(|l| l["kind"] == "leaf"),
        "prunes": lowered.model.categories.iter().enumerate().any(|(slot, categories)| {
            lowered.derived_type(slot) == Some(Type::Bool) && categories.iter().any(|c| c != "True" && c != "False")
        }),
        "lines": lines,
        "long": long,
    })
}

/// The call that computes a derived feature.
fn call(identifiers: &Identifiers, slot: usize, arguments: &[Argument]) -> String {
    let mut words = vec!["row".to_owned()];
    words.extend(arguments.iter().map(|argument| {
        let name = &identifiers.features[argument.slot];
        if argument.checked { format!("Some({name})") } else { name.clone() }
    }));
    format!("features::{}({})", identifiers.features[slot], words.join(", "))
}

/// The condition for a derived category to be one that training saw; none where all are.
/// Logged ones check themselves.
fn seen(lowered: &LoweredModel<'_>, identifiers: &Identifiers, slot: usize) -> Option<String> {
    let name = &identifiers.features[slot];
    let categories = &lowered.model.categories[slot];
    match lowered.derived_type(slot)? {
        Type::Number => None,
        Type::Bool => {
            let saw = |text: &str| categories.iter().any(|c| c == text);
            match (saw("True"), saw("False")) {
                (true, true) => None,
                (true, false) => Some(name.clone()),
                (false, true) => Some(format!("!{name}")),
                (false, false) => Some("false".to_owned()),
            }
        }
        Type::Category => {
            let codes: Vec<String> = categories.iter().map(|c| lowered.code(c).to_string()).collect();
            Some(format!("matches!({name}, {})", codes.join(" | ")))
        }
    }
}

fn table(lowered: &LoweredModel<'_>, rows: &[Row<'_>], roots: &[usize]) -> Json {
    let rows: Vec<Json> = rows
        .iter()
        .map(|row| match row {
            Row::Leaf(index) => json!({ "kind": "leaf", "index": index }),
            Row::Split(Test::Numerical { slot, threshold }, right) => {
                json!({ "kind": "at_most", "slot": slot, "threshold": number(*threshold), "right": right })
            }
            Row::Split(Test::Categorical { slot, category }, right) => {
                json!({ "kind": "differs", "slot": slot, "code": lowered.code(category), "right": right })
            }
        })
        .collect();
    json!({
        "roots": roots,
        "rows": rows,
        "numbers": rows.iter().any(|r| r["kind"] == "at_most"),
        "categories": rows.iter().any(|r| r["kind"] == "differs"),
        "yes": lowered.code("True"), "no": lowered.code("False"),
    })
}
