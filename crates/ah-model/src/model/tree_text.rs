//! Prints the tree of `model.json`. Each split and each choice of a leaf is one line, so that a reviewer follows the tree node
//! by node; a choice is a row of numbers, a fifth of the size of an object.

use super::data::Model;
use crate::tree::{Leaf, Node, RankedChoice};

/// The JSON text of a model's tree.
pub(super) fn print(model: &Model) -> String {
    let node = |node: &Node| match node {
        Node::Split { test, right } => {
            let feature = &model.features.all().features()[test.column.slot].name;
            let test = match test.column.categories.as_deref() {
                None => format!("\"threshold\":{}", number(test.threshold)),
                Some(set) => format!("\"categories\":[{}]", joined(set, |category| text(category))),
            };
            format!("{{\"feature\":{},{test},\"right\":{right}}}", text(feature))
        }
        Node::Leaf(Leaf { samples, ranking }) => {
            let rows: Vec<String> = ranking.iter().map(|ranked| format!("\n{}", row(ranked))).collect();
            format!("{{\"samples\":{samples},\"ranking\":[{}]}}", rows.join(","))
        }
    };
    let nodes: Vec<String> = model.tree.nodes.iter().map(node).collect();
    format!("[\n{}\n  ]", nodes.join(",\n"))
}

fn row(r: &RankedChoice) -> String {
    let marks = ["", ",\"e\"", ",\"a\"", ",\"ea\""][usize::from(r.expected) + 2 * usize::from(r.allowed)];
    let evidence = joined(&[r.probability, r.slowdown, r.worst, r.worst_over_fallback], |x| number(*x));
    format!("[{},{},{},{evidence}{marks}]", r.choice.0, number(r.score), r.measured)
}

/// The texts of the items, joined by commas.
pub(super) fn joined<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
    items.iter().map(text).collect::<Vec<_>>().join(",")
}

/// The shortest JSON that reads back to this number; null for infinity.
pub(super) fn number(x: f64) -> String {
    let text = serde_json::Value::from(x).to_string();
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// A name as a JSON string.
pub(super) fn text(name: &str) -> String {
    serde_json::Value::from(name).to_string()
}
