//! Prints the trees of `model.json`. Each split and each choice that a leaf measured is one line, so that a reviewer
//! follows a tree node by node; a choice is a row of numbers, a fifth of the size of an object.

use std::fmt::Write as _;

use super::data::Model;
use super::others;
use crate::choice::ChoiceId;
use crate::tree::{Leaf, Node, RankedChoice, Test, Tree};
use crate::unsure::LeafUnsure;
use crate::vote::Place;

/// Returns the JSON text of a model's trees.
pub(super) fn print(model: &Model) -> String {
    let trees: Vec<String> = model.trees.iter().map(|tree| tree_text(model, tree)).collect();
    format!("[\n{}\n  ]", trees.join(",\n"))
}

fn tree_text(model: &Model, tree: &Tree) -> String {
    let others = others::others(tree, model.choices.len());
    let node = |(node, others): (&Node, &Vec<(ChoiceId, f64)>)| match node {
        Node::Split { test, left, right } => {
            let feature = &model.features.all().features()[test.slot()].name;
            let test = match test {
                Test::Numerical { threshold, .. } => format!("\"threshold\":{}", number(*threshold)),
                Test::Categorical { category, .. } => format!("\"category\":{}", text(category)),
            };
            let right = if *right == left + 1 { String::new() } else { format!(",\"right\":{right}") };
            let others = others_text(others);
            format!("{{\"feature\":{},{test},\"left\":{left}{right}{others}}}", text(feature))
        }
        Node::Leaf(leaf) => leaf_text(leaf, others),
    };
    let nodes: Vec<String> = tree.nodes.iter().zip(&others).map(node).collect();
    format!("    {{\"nodes\": [\n{}\n    ]}}", nodes.join(",\n"))
}

fn others_text(others: &[(ChoiceId, f64)]) -> String {
    if others.is_empty() {
        return String::new();
    }
    format!(
        ",\"others\":[{}]",
        joined(others, |(choice, score)| format!("[{},{}]", choice.0, number(*score)))
    )
}

fn leaf_text(leaf: &Leaf, others: &[(ChoiceId, f64)]) -> String {
    let mut line = format!("{{\"samples\":{}", leaf.samples);
    match leaf.unsure {
        None => {}
        Some(LeafUnsure::LowConfidence) => line += ",\"unsure\":\"low-confidence\"",
        Some(LeafUnsure::Unsafe) => line += ",\"unsure\":\"unsafe\"",
    }
    let range = |range: &Option<(f64, f64)>| match range {
        Some((least, greatest)) if least.to_bits() == greatest.to_bits() => number(*least),
        Some((least, greatest)) => format!("[{},{}]", number(*least), number(*greatest)),
        None => "null".to_owned(),
    };
    let place = |place: &Place| {
        let as_inside = leaf.ranked(place.choice).is_some_and(|r| r.allowed) == place.allowed;
        let allowed = if as_inside { String::new() } else { format!(",{}", place.allowed) };
        format!("[{},{}{allowed}]", place.choice.0, number(place.score))
    };
    // Categories often come last, so trailing nulls are left out. If all are null they stay: the ranges are known.
    let numbers = leaf.ranges.iter().rposition(Option::is_some).map_or(leaf.ranges.len(), |last| last + 1);
    let _ = write!(line, ",\"ranges\":[{}]", joined(&leaf.ranges[..numbers], range));
    if !leaf.outside.is_empty() {
        let _ = write!(line, ",\"outside\":[{}]", joined(&leaf.outside, place));
    }
    let listed = others::listed(leaf);
    line += if listed.is_none() { ",\"inherits\":false" } else { "" };
    line += &others_text(others);
    let listed = &leaf.ranking[..listed.unwrap_or(leaf.ranking.len())];
    let rows: String = listed.iter().map(|ranked| format!("\n{}", row(ranked))).collect::<Vec<_>>().join(",");
    let _ = write!(line, ",\"ranking\":[{rows}]}}");
    line
}

fn row(ranked: &RankedChoice) -> String {
    let RankedChoice {
        choice,
        score,
        probability,
        measured,
        usual,
        slowdown,
        worst,
        worst_over_fallback,
        allowed,
    } = ranked;
    let marks = match (usual, allowed) {
        (false, false) => "",
        (true, false) => ",\"u\"",
        (false, true) => ",\"a\"",
        (true, true) => ",\"ua\"",
    };
    let start = format!("[{},{}", choice.0, number(*score));
    if others::is_unmeasured(ranked) {
        return start + "]";
    }
    let evidence = joined(&[*probability, *slowdown, *worst, *worst_over_fallback], |x| number(*x));
    format!("{start},{measured},{evidence}{marks}]")
}

/// Returns the texts of the items, joined by commas.
pub(super) fn joined<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
    items.iter().map(text).collect::<Vec<_>>().join(",")
}

/// Returns the shortest JSON that reads back to this number; null for infinity.
pub(super) fn number(x: f64) -> String {
    let text = serde_json::Value::from(x).to_string();
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// Returns a name as a JSON string.
pub(super) fn text(name: &str) -> String {
    serde_json::Value::from(name).to_string()
}
