//! The trees in `model.json`. Each split and each ranked choice is one line, so that a reviewer follows a tree node by
//! node; a ranked choice is a row of numbers, a fifth of the size of an object.

use std::fmt::Write as _;

use rustc_hash::FxHashMap;
use serde::Deserialize;

use super::data::Model;
use crate::choice::ChoiceId;
use crate::derived::Features;
use crate::null_is_infinite;
use crate::shown::quoted;
use crate::tree::{Leaf, Node, Place, RankedChoice, Test, Tree};
use crate::unsure::LeafUnsure;

/// The positions of a file's names.
pub(super) struct Names<'a> {
    features: &'a Features,
    choices: FxHashMap<&'a str, ChoiceId>,
}

impl<'a> Names<'a> {
    pub(super) fn new(features: &'a Features, choices: &'a [String]) -> Self {
        let choices = (0_u32..).zip(choices).map(|(id, name)| (name.as_str(), ChoiceId(id))).collect();
        Self { features, choices }
    }

    pub(super) fn slot(&self, feature: &str) -> Result<usize, String> {
        self.features.all().slot(feature).ok_or_else(|| format!("unknown feature {}", quoted(feature)))
    }

    pub(super) fn choice(&self, name: &str) -> Result<ChoiceId, String> {
        self.choices.get(name).copied().ok_or_else(|| format!("unknown choice {}", quoted(name)))
    }

    /// Returns the choice at a position of `choices`.
    pub(super) fn at(&self, position: u32) -> Result<ChoiceId, String> {
        let count = self.choices.len();
        let is_there = (position as usize) < count;
        is_there
            .then_some(ChoiceId(position))
            .ok_or_else(|| format!("expected a choice below {count}, found {position}"))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TreeFile {
    pub(super) nodes: Vec<NodeFile>,
}

/// A node: a split has `feature`, `threshold` or `category`, `left` and `right`; a leaf has the other keys.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct NodeFile {
    feature: Option<String>,
    threshold: Option<f64>,
    category: Option<String>,
    left: Option<u32>,
    right: Option<u32>,
    samples: Option<u64>,
    unsure: Option<UnsureFile>,
    ranges: Option<Vec<Option<(f64, f64)>>>,
    ranking: Option<Vec<RankedFile>>,
    outside: Vec<PlaceFile>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum UnsureFile {
    LowConfidence,
    Unsafe,
}

/// A ranked choice: its position in `choices`, its score, `measured`, `probability`, `slowdown`, `worst`,
/// `worst_over_fallback`, and its marks. A choice that was not measured has the first two.
#[derive(Deserialize)]
#[serde(expecting = "a ranked choice: position, score and, if it was measured, six more")]
struct RankedFile(
    u32,
    f64,
    #[serde(default)] u64,
    #[serde(default)] f64,
    #[serde(default = "infinite", with = "null_is_infinite")] f64,
    #[serde(default = "infinite", with = "null_is_infinite")] f64,
    #[serde(default = "infinite", with = "null_is_infinite")] f64,
    #[serde(default)] Marks,
);

/// A choice of the ranking outside: its position in `choices`, its score, and `allowed` if that is not as inside.
#[derive(Deserialize)]
#[serde(expecting = "a choice outside: position, score and, if it is not as inside, allowed")]
struct PlaceFile(u32, f64, #[serde(default)] Option<bool>);

/// `u`: usual; `a`: allowed.
#[derive(Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(try_from = "String")]
struct Marks {
    usual: bool,
    allowed: bool,
}

impl TryFrom<String> for Marks {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "" => Ok(Self { usual: false, allowed: false }),
            "u" => Ok(Self { usual: true, allowed: false }),
            "a" => Ok(Self { usual: false, allowed: true }),
            "ua" => Ok(Self { usual: true, allowed: true }),
            _ => Err(format!("expected the marks \"\", \"u\", \"a\" or \"ua\", found {}", quoted(&text))),
        }
    }
}

fn infinite() -> f64 {
    f64::INFINITY
}

impl NodeFile {
    /// Returns the node with ids in the place of names and positions.
    pub(super) fn resolve(self, names: &Names<'_>) -> Result<Node, String> {
        const SPLIT: &str = "expected feature, left, right and either threshold or category (a split), \
                             or samples, unsure, ranges and ranking (a leaf)";
        let Self { feature, threshold, category, left, right, samples, unsure, ranges, ranking, outside } =
            self;
        match (feature, left, right, samples, ranking) {
            (Some(feature), Some(left), Some(right), None, None)
                if unsure.is_none() && ranges.is_none() && outside.is_empty() =>
            {
                let slot = names.slot(&feature)?;
                let test = match (threshold, category) {
                    (Some(threshold), None) => Test::Numerical { slot, threshold },
                    (None, Some(category)) => Test::Categorical { slot, category },
                    _ => return Err(SPLIT.to_owned()),
                };
                Ok(Node::Split { test, left, right })
            }
            (None, None, None, Some(samples), Some(ranking)) if threshold.is_none() && category.is_none() => {
                let mut leaf = Leaf {
                    samples,
                    ranges: ranges.unwrap_or_default(),
                    unsure: unsure.map(|reason| match reason {
                        UnsureFile::LowConfidence => LeafUnsure::LowConfidence,
                        UnsureFile::Unsafe => LeafUnsure::Unsafe,
                    }),
                    ranking: ranking.into_iter().map(|r| r.resolve(names)).collect::<Result<_, _>>()?,
                    outside: Vec::new(),
                };
                let place = |PlaceFile(position, score, allowed): PlaceFile| -> Result<Place, String> {
                    let choice = names.at(position)?;
                    let allowed = allowed.unwrap_or_else(|| leaf.ranked(choice).is_some_and(|r| r.allowed));
                    Ok(Place { choice, score: score + 0.0, allowed })
                };
                leaf.outside = outside.into_iter().map(place).collect::<Result<_, _>>()?;
                Ok(Node::Leaf(leaf))
            }
            _ => Err(SPLIT.to_owned()),
        }
    }
}

impl RankedFile {
    fn resolve(self, names: &Names<'_>) -> Result<RankedChoice, String> {
        let Self(position, score, measured, probability, slowdown, worst, worst_over_fallback, marks) = self;
        Ok(RankedChoice {
            choice: names.at(position)?,
            // No -0.0, so that sums of scores compare equally in every language.
            score: score + 0.0,
            probability,
            measured,
            usual: marks.usual,
            slowdown,
            worst,
            worst_over_fallback,
            allowed: marks.allowed,
        })
    }
}

/// Returns the JSON text of a model's trees.
pub(super) fn print(model: &Model) -> String {
    let trees: Vec<String> = model.trees.iter().map(|tree| tree_text(model, tree)).collect();
    format!("[\n{}\n  ]", trees.join(",\n"))
}

fn tree_text(model: &Model, tree: &Tree) -> String {
    let node = |node: &Node| match node {
        Node::Split { test, left, right } => {
            let feature = &model.features.all().features()[test.slot()].name;
            let test = match test {
                Test::Numerical { threshold, .. } => format!("\"threshold\":{}", number(*threshold)),
                Test::Categorical { category, .. } => format!("\"category\":{}", text(category)),
            };
            format!("{{\"feature\":{},{test},\"left\":{left},\"right\":{right}}}", text(feature))
        }
        Node::Leaf(leaf) => leaf_text(leaf),
    };
    let nodes: Vec<String> = tree.nodes.iter().map(node).collect();
    format!("    {{\"nodes\": [\n{}\n    ]}}", nodes.join(",\n"))
}

fn leaf_text(leaf: &Leaf) -> String {
    let mut line = format!("{{\"samples\":{}", leaf.samples);
    match leaf.unsure {
        None => {}
        Some(LeafUnsure::LowConfidence) => line += ",\"unsure\":\"low-confidence\"",
        Some(LeafUnsure::Unsafe) => line += ",\"unsure\":\"unsafe\"",
    }
    let range = |range: &Option<(f64, f64)>| match range {
        Some((least, greatest)) => format!("[{},{}]", number(*least), number(*greatest)),
        None => "null".to_owned(),
    };
    let place = |place: &Place| {
        let as_inside = leaf.ranked(place.choice).is_some_and(|r| r.allowed) == place.allowed;
        let allowed = if as_inside { String::new() } else { format!(",{}", place.allowed) };
        format!("[{},{}{allowed}]", place.choice.0, number(place.score))
    };
    let _ = write!(line, ",\"ranges\":[{}]", joined(&leaf.ranges, range));
    if !leaf.outside.is_empty() {
        let _ = write!(line, ",\"outside\":[{}]", joined(&leaf.outside, place));
    }
    let rows: String =
        leaf.ranking.iter().map(|ranked| format!("\n {}", row(ranked))).collect::<Vec<_>>().join(",");
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
        (true, false) => "u",
        (false, true) => "a",
        (true, true) => "ua",
    };
    let infinite = [slowdown, worst, worst_over_fallback].into_iter().all(|x| !x.is_finite());
    let unmeasured = *measured == 0 && *probability == 0.0 && infinite && marks.is_empty();
    let start = format!("[{},{}", choice.0, number(*score));
    if unmeasured {
        return start + "]";
    }
    let evidence = joined(&[*probability, *slowdown, *worst, *worst_over_fallback], |x| number(*x));
    format!("{start},{measured},{evidence},\"{marks}\"]")
}

fn joined<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
    items.iter().map(text).collect::<Vec<_>>().join(",")
}

/// Returns the shortest JSON that reads back to this number; null for infinity.
fn number(x: f64) -> String {
    let text = serde_json::Value::from(x).to_string();
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

fn text(name: &str) -> String {
    serde_json::Value::from(name).to_string()
}
