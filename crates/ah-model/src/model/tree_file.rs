//! Reads the tree in `model.json`.

use serde::Deserialize;

use crate::choice::ChoiceId;
use crate::derived::Features;
use crate::feature::FeatureKind;
use crate::null_is_infinite;
use crate::shown::quoted;
use crate::tree::{Leaf, Node, RankedChoice, Test, Tree};

/// Returns the slot of the feature of this name.
pub(super) fn slot(features: &Features, name: &str) -> Result<usize, String> {
    features.all().slot(name).ok_or_else(|| format!("unknown feature {}", quoted(name)))
}

/// Adds what a leaf's ranges leave out: the categories at the end.
fn pad(features: &Features, ranges: &mut Vec<Option<(f64, f64)>>) {
    let features = features.base().features();
    let rest = features.get(ranges.len()..).unwrap_or_default();
    if !ranges.is_empty() && rest.iter().all(|feature| feature.kind == FeatureKind::Categorical) {
        ranges.resize(features.len().max(ranges.len()), None);
    }
}

/// A node: a split has `feature`, `threshold` or `category`, and `right`; its left child is the next node. A leaf has the other keys.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct NodeFile {
    feature: Option<String>,
    threshold: Option<f64>,
    category: Option<CategoriesFile>,
    right: Option<u32>,
    samples: Option<u64>,
    ranges: Option<Vec<Option<RangeFile>>>,
    ranking: Option<Vec<RankedFile>>,
}

/// The categories that go right: one, or several.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a category, or a list of categories")]
enum CategoriesFile {
    One(String),
    Several(Vec<String>),
}

/// The range of a feature: its only value, or the least and the greatest.
#[derive(Clone, Copy, Deserialize)]
#[serde(untagged, expecting = "expected a range: a number, or the least and the greatest")]
enum RangeFile {
    One(f64),
    Two(f64, f64),
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
#[serde(try_from = "String")]
struct Marks {
    expected: bool,
    allowed: bool,
}

impl TryFrom<String> for Marks {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "" | "e" | "a" | "ea" => Ok(Self { expected: text.contains('e'), allowed: text.contains('a') }),
            _ => Err(format!("expected the marks \"\", \"e\", \"a\" or \"ea\", found {}", quoted(&text))),
        }
    }
}

/// Returns the tree of these nodes, with ids in the place of names and positions.
pub(super) fn resolve(nodes: Vec<NodeFile>, features: &Features) -> Result<Tree, String> {
    let node = |(at, file): (usize, NodeFile)| {
        file.resolve(features).map_err(|problem| format!("node {at}: {problem}"))
    };
    Ok(Tree { nodes: nodes.into_iter().enumerate().map(node).collect::<Result<_, _>>()? })
}

impl NodeFile {
    /// Returns the node with ids in the place of names and positions.
    fn resolve(self, features: &Features) -> Result<Node, String> {
        const SPLIT: &str = "expected feature, right and either threshold or category (a split), \
                             or samples, ranges and ranking (a leaf)";
        let Self { feature, threshold, category, right, samples, ranges, ranking } = self;
        match (feature, right, samples, ranking) {
            (Some(feature), Some(right), None, None) if ranges.is_none() => {
                let slot = slot(features, &feature)?;
                let test = match (threshold, category) {
                    (Some(threshold), None) => Test::number(slot, threshold),
                    (None, Some(categories)) => {
                        let categories = match categories {
                            CategoriesFile::One(category) => vec![category],
                            CategoriesFile::Several(categories) => categories,
                        };
                        Test::is_in(slot, categories)
                    }
                    _ => return Err(SPLIT.to_owned()),
                };
                Ok(Node::Split { test, right })
            }
            (None, None, Some(samples), Some(ranking)) if threshold.is_none() && category.is_none() => {
                let bounds = |range: RangeFile| match range {
                    RangeFile::One(value) => (value, value),
                    RangeFile::Two(least, greatest) => (least, greatest),
                };
                let ranges = ranges.unwrap_or_default().into_iter();
                let mut ranges: Vec<_> = ranges.map(|range| range.map(bounds)).collect();
                pad(features, &mut ranges);
                let ranking = ranking.into_iter().map(RankedChoice::from).collect();
                Ok(Node::Leaf(Leaf { samples, ranking, ranges }))
            }
            _ => Err(SPLIT.to_owned()),
        }
    }
}

impl From<RankedFile> for RankedChoice {
    fn from(file: RankedFile) -> Self {
        Self {
            choice: ChoiceId(file.0),
            // No -0.0, so that sums of scores compare equally in every language.
            score: file.1 + 0.0,
            measured: file.2,
            probability: file.3,
            slowdown: file.4,
            worst: file.5,
            worst_over_fallback: file.6,
            expected: file.7.expected,
            allowed: file.7.allowed,
        }
    }
}
