//! Reads and prints the tree in `model.json`.

use serde::Deserialize;
use serde_json::json;

use super::data::Model;
use crate::choice::ChoiceId;
use crate::derived::Features;
use crate::null_is_infinite;
use crate::shown::quoted;
use crate::tree::{Leaf, Node, RankedChoice, Test, Tree};

/// The slot of the feature of this name.
pub(super) fn slot(features: &Features, name: &str) -> Result<usize, String> {
    features.all().slot(name).ok_or_else(|| format!("unknown feature {}", quoted(name)))
}

/// A node: a split has `feature`, `threshold` or `categories`, and `right`; its left child is the next node. A leaf has the other keys.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct NodeFile {
    feature: Option<String>,
    threshold: Option<f64>,
    categories: Option<Vec<String>>,
    right: Option<u32>,
    samples: Option<u64>,
    ranking: Option<Vec<RankedFile>>,
}

/// A ranked choice: its position in `choices`, its score, `measured`, `probability`, `slowdown`, `worst`,
/// `worst_over_fallback`, and its marks.
#[derive(Deserialize)]
#[serde(expecting = "a ranked choice: position, score, five numbers of evidence and its marks")]
struct RankedFile(
    u32,
    f64,
    u64,
    f64,
    #[serde(with = "null_is_infinite")] f64,
    #[serde(with = "null_is_infinite")] f64,
    #[serde(with = "null_is_infinite")] f64,
    #[serde(default)] Marks,
);

/// `e`: expected; `a`: allowed.
#[derive(Clone, Copy, Default, PartialEq, Deserialize)]
enum Marks {
    #[default]
    #[serde(rename = "")]
    None,
    #[serde(rename = "e")]
    Expected,
    #[serde(rename = "a")]
    Allowed,
    #[serde(rename = "ea")]
    Both,
}

/// The tree of these nodes, with ids in the place of names and positions.
pub(super) fn resolve(nodes: Vec<NodeFile>, features: &Features) -> Result<Tree, String> {
    let node = |(at, file): (usize, NodeFile)| {
        file.resolve(features).map_err(|problem| format!("node {at}: {problem}"))
    };
    Ok(Tree { nodes: nodes.into_iter().enumerate().map(node).collect::<Result<_, _>>()? })
}

impl NodeFile {
    /// The node with ids in the place of names and positions.
    fn resolve(self, features: &Features) -> Result<Node, String> {
        const SPLIT: &str = "expected feature, right and either threshold or categories (a split), \
                             or samples and ranking (a leaf)";
        let Self { feature, threshold, categories, right, samples, ranking } = self;
        match (feature, right, threshold, categories, samples, ranking) {
            (Some(feature), Some(right), Some(threshold), None, None, None) => {
                Ok(Node::Split { test: Test::number(slot(features, &feature)?, threshold), right })
            }
            (Some(feature), Some(right), None, Some(categories), None, None) => {
                Ok(Node::Split { test: Test::is_in(slot(features, &feature)?, categories), right })
            }
            (None, None, None, None, Some(samples), Some(ranking)) => {
                let ranking = ranking.into_iter().map(RankedChoice::from).collect();
                Ok(Node::Leaf(Leaf { samples, ranking }))
            }
            _ => Err(SPLIT.to_owned()),
        }
    }
}

impl From<RankedFile> for RankedChoice {
    fn from(file: RankedFile) -> Self {
        let RankedFile(id, score, measured, probability, slowdown, worst, worst_over_fallback, marks) = file;
        Self {
            choice: ChoiceId(id),
            // No -0.0, so that sums of scores compare equally in every language.
            score: score + 0.0,
            measured,
            probability,
            slowdown,
            worst,
            worst_over_fallback,
            expected: matches!(marks, Marks::Expected | Marks::Both),
            allowed: matches!(marks, Marks::Allowed | Marks::Both),
        }
    }
}

/// The JSON text of a model's tree: each split and each choice of a leaf is one line, so that a reviewer follows the tree node by node. A
/// choice is a row of numbers, a fifth of the size of an object.
pub(super) fn print(model: &Model) -> String {
    let node = |node: &Node| match node {
        Node::Split { test, right } => {
            let feature = &model.features.all().features()[test.column.slot].name;
            let test = match test.column.categories.as_deref() {
                None => format!("\"threshold\":{}", number(test.threshold)),
                Some(set) => format!("\"categories\":{}", json!(set)),
            };
            format!("{{\"feature\":{},{test},\"right\":{right}}}", json!(feature))
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
