//! Reads the trees in `model.json`.

use rustc_hash::FxHashMap;
use serde::Deserialize;

use super::error::{InvalidModel, ModelPlace};
use super::others::{self, Others};
use crate::choice::ChoiceId;
use crate::derived::Features;
use crate::feature::FeatureKind;
use crate::null_is_infinite;
use crate::shown::quoted;
use crate::tree::{Leaf, Node, RankedChoice, Test, Tree};
use crate::unsure::LeafUnsure;
use crate::vote::Place;

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

    /// Adds what a leaf's ranges leave out: the categories at the end.
    fn pad(&self, ranges: &mut Vec<Option<(f64, f64)>>) {
        let features = self.features.base().features();
        let rest = features.get(ranges.len()..).unwrap_or_default();
        if !ranges.is_empty() && rest.iter().all(|feature| feature.kind == FeatureKind::Categorical) {
            ranges.resize(features.len().max(ranges.len()), None);
        }
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
    nodes: Vec<NodeFile>,
}

/// A node: a split has `feature`, `threshold` or `category`, `left` and, if it is not the node after that, `right`; a leaf
/// has the other keys. Both can have `others`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct NodeFile {
    feature: Option<String>,
    threshold: Option<f64>,
    category: Option<String>,
    left: Option<u32>,
    right: Option<u32>,
    samples: Option<u64>,
    unsure: Option<UnsureFile>,
    ranges: Option<Vec<Option<RangeFile>>>,
    ranking: Option<Vec<RankedFile>>,
    outside: Vec<PlaceFile>,
    others: Vec<OtherFile>,
    /// False if a leaf takes no `others` of the nodes above.
    inherits: Option<bool>,
}

/// The range of a feature: its only value, or the least and the greatest.
#[derive(Clone, Copy, Deserialize)]
#[serde(untagged, expecting = "expected a range: a number, or the least and the greatest")]
enum RangeFile {
    One(f64),
    Two(f64, f64),
}

/// A choice that leaves below never measured: its position in `choices` and its score.
#[derive(Clone, Copy, Deserialize)]
#[serde(expecting = "another choice: position and score")]
struct OtherFile(u32, f64);

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

impl TreeFile {
    /// Returns the tree at this position, with ids in the place of names and positions.
    pub(super) fn resolve(self, names: &Names<'_>, tree: usize) -> Result<Tree, InvalidModel> {
        let (mut nodes, mut others, mut inherits) = (Vec::new(), Others::new(), Vec::new());
        for (node, mut file) in self.nodes.into_iter().enumerate() {
            let invalid = |problem: String| ModelPlace::Node { tree, node }.error(problem);
            let own = std::mem::take(&mut file.others).into_iter();
            let own = own.map(|OtherFile(position, score)| Ok((names.at(position)?, score + 0.0)));
            others.push(own.collect::<Result<_, String>>().map_err(invalid)?);
            inherits.push(file.inherits.unwrap_or(true));
            nodes.push(file.resolve(names).map_err(invalid)?);
        }
        others::inherit(&mut nodes, &others, |node| inherits[node]);
        Ok(Tree { nodes })
    }
}

impl RangeFile {
    fn bounds(self) -> (f64, f64) {
        match self {
            Self::One(value) => (value, value),
            Self::Two(least, greatest) => (least, greatest),
        }
    }
}

impl NodeFile {
    /// Returns the node with ids in the place of names and positions, without the choices that a leaf inherits.
    fn resolve(self, names: &Names<'_>) -> Result<Node, String> {
        const SPLIT: &str = "expected feature, left and either threshold or category (a split), \
                             or samples, unsure, ranges and ranking (a leaf)";
        let Self {
            feature, threshold, category, left, right, samples, unsure, ranges, ranking, outside, ..
        } = self;
        match (feature, left, right, samples, ranking) {
            (Some(feature), Some(left), right, None, None)
                if unsure.is_none() && ranges.is_none() && outside.is_empty() && self.inherits.is_none() =>
            {
                let slot = names.slot(&feature)?;
                let test = match (threshold, category) {
                    (Some(threshold), None) => Test::Numerical { slot, threshold },
                    (None, Some(category)) => Test::Categorical { slot, category },
                    _ => return Err(SPLIT.to_owned()),
                };
                Ok(Node::Split { test, left, right: right.unwrap_or(left.saturating_add(1)) })
            }
            (None, None, None, Some(samples), Some(ranking)) if threshold.is_none() && category.is_none() => {
                let mut ranges: Vec<Option<(f64, f64)>> = ranges
                    .unwrap_or_default()
                    .into_iter()
                    .map(|range| range.map(RangeFile::bounds))
                    .collect();
                names.pad(&mut ranges);
                let mut leaf = Leaf {
                    samples,
                    ranges,
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
