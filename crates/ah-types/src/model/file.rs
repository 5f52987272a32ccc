//! Reads and writes `model.json`. The file has names; memory has ids.

use std::collections::BTreeMap;
use std::path::Path;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::data::{Model, OutsidePolicy, Precondition, Promise, Provenance};
use super::error::{InvalidModel, ModelError, ModelPlace};
use crate::artefact;
use crate::choice::ChoiceId;
use crate::derived::{DerivedFeature, Features};
use crate::device::Device;
use crate::expr;
use crate::feature::{Feature, Schema};
use crate::null_is_infinite;
use crate::shown::{quoted, reason};
use crate::tree::{Leaf, Node, Place, RankedChoice, Test, Tree};
use crate::unsure::LeafUnsure;

/// The value of the key `format`.
const FORMAT: &str = "autoheuristic-model";
/// The version that this crate reads and writes.
const VERSION: u32 = 2;

/// The largest file that is read: a tree of 5,000 leaves that each rank 300 choices takes 300 MiB.
const MAX_MIB: u64 = 1024;

/// The keys that are read first, so that a newer file is refused by its version and not by an unknown key.
#[derive(Deserialize)]
struct Header {
    format: String,
    version: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelFile {
    format: String,
    version: u32,
    heuristic: String,
    optimization: String,
    features: Vec<Feature>,
    derived: Vec<DerivedFeature>,
    /// By feature name, for categorical features that a tree tests or a log has.
    categories: serde_json::Map<String, serde_json::Value>,
    precondition: Option<String>,
    device: Option<Device>,
    shared_memory: Option<u64>,
    device_capa: (u32, u32),
    choices: Vec<String>,
    fallback: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    eligible: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "is_default")]
    outside: OutsidePolicy,
    promise: Option<Promise>,
    trees: Vec<TreeFile>,
    provenance: Provenance,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TreeFile {
    nodes: Vec<NodeFile>,
}

/// A node: a split has `feature`, `threshold` or `category`, `left` and `right`; a leaf has the other keys.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct NodeFile {
    #[serde(skip_serializing_if = "Option::is_none")]
    feature: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    threshold: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    category: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    right: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    samples: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unsure: Option<UnsureFile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ranges: Option<Vec<Option<(f64, f64)>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ranking: Option<Vec<RankedFile>>,
    /// (choice, score, allowed), best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    outside: Vec<(String, f64, bool)>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum UnsureFile {
    LowConfidence,
    Unsafe,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RankedFile {
    choice: String,
    score: f64,
    probability: f64,
    measured: u64,
    usual: bool,
    #[serde(with = "null_is_infinite")]
    slowdown: f64,
    #[serde(with = "null_is_infinite")]
    worst: f64,
    #[serde(with = "null_is_infinite")]
    worst_over_fallback: f64,
    allowed: bool,
}

impl Model {
    /// Reads and checks a `model.json`.
    ///
    /// # Errors
    /// [`ModelError`] with the file and the mistake.
    pub fn read(path: &Path) -> Result<Self, ModelError> {
        let text = artefact::read_text(path, MAX_MIB).map_err(|source| ModelError::Io {
            path: path.to_owned(),
            action: "read",
            source,
        })?;
        Self::parse(&text).map_err(|source| ModelError::Invalid { path: path.to_owned(), source })
    }

    /// Reads and checks the text of a `model.json`.
    ///
    /// # Errors
    /// [`InvalidModel`] with the place and the mistake.
    pub fn parse(text: &str) -> Result<Self, InvalidModel> {
        let header: Header = from_json(text)?;
        if header.format != FORMAT {
            let found = quoted(&header.format);
            return Err(ModelPlace::Model.error(format!("expected the format {FORMAT:?}, found {found}")));
        }
        if header.version != VERSION {
            return Err(ModelPlace::Model.error(format!(
                "expected version {VERSION}, found {}; use the tools that wrote it, or learn it again",
                header.version
            )));
        }
        let model = resolve(from_json(text)?)?;
        model.validate()?;
        Ok(model)
    }

    /// Returns the text of the model's `model.json`; the same model gives the same bytes.
    #[must_use]
    pub fn to_json(&self) -> String {
        print(self)
    }

    /// Returns the model's version: BLAKE3 of its [`model.json`](Self::to_json), in hex. Two models of one version
    /// decide alike.
    #[cfg(feature = "hash")]
    #[must_use]
    pub fn version(&self) -> String {
        blake3::hash(self.to_json().as_bytes()).to_hex().to_string()
    }

    /// Writes `model.json`: readers see the old file or the new one, never a part.
    ///
    /// # Errors
    /// [`ModelError`] if the model is not valid or cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), ModelError> {
        self.validate().map_err(|source| ModelError::Invalid { path: path.to_owned(), source })?;
        artefact::write_atomic(path, self.to_json().as_bytes()).map_err(|source| ModelError::Io {
            path: path.to_owned(),
            action: "write",
            source,
        })
    }
}

fn from_json<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, InvalidModel> {
    serde_json::from_str(text).map_err(|e| {
        let text = e.to_string();
        // The place is a key of its own in the file.
        let end = text.rfind(" at line ").unwrap_or(text.len());
        let not_json = if e.is_data() { "" } else { "not JSON: " };
        let place = ModelPlace::Text { line: e.line(), column: e.column() };
        place.error(format!("{not_json}{}", reason(&text[..end])))
    })
}

fn print(model: &Model) -> String {
    let slot_name = |slot: usize| model.features.all().features()[slot].name.clone();
    let choice = |id: ChoiceId| model.choice_name(id).to_owned();
    let ranked = |r: &RankedChoice| RankedFile {
        choice: choice(r.choice),
        score: r.score,
        probability: r.probability,
        measured: r.measured,
        usual: r.usual,
        slowdown: r.slowdown,
        worst: r.worst,
        worst_over_fallback: r.worst_over_fallback,
        allowed: r.allowed,
    };
    let node = |node: &Node| match node {
        Node::Split { test, left, right } => {
            let (threshold, category) = match test {
                Test::Numerical { threshold, .. } => (Some(*threshold), None),
                Test::Categorical { category, .. } => (None, Some(category.clone())),
            };
            let feature = Some(slot_name(test.slot()));
            let (left, right) = (Some(*left), Some(*right));
            NodeFile { feature, threshold, category, left, right, ..NodeFile::default() }
        }
        Node::Leaf(leaf) => NodeFile {
            samples: Some(leaf.samples),
            unsure: leaf.unsure.map(|reason| match reason {
                LeafUnsure::LowConfidence => UnsureFile::LowConfidence,
                LeafUnsure::Unsafe => UnsureFile::Unsafe,
            }),
            ranges: Some(leaf.ranges.clone()),
            ranking: Some(leaf.ranking.iter().map(ranked).collect()),
            outside: leaf.outside.iter().map(|p| (choice(p.choice), p.score, p.allowed)).collect(),
            ..NodeFile::default()
        },
    };
    let categories = model.categories.iter().enumerate().filter(|(_, c)| !c.is_empty());
    let file = ModelFile {
        format: FORMAT.to_owned(),
        version: VERSION,
        heuristic: model.heuristic.clone(),
        optimization: model.optimization.clone(),
        features: model.features.base().features().to_vec(),
        derived: model.features.derived().iter().map(|(d, _)| d.clone()).collect(),
        categories: categories.map(|(slot, c)| (slot_name(slot), c.clone().into())).collect(),
        precondition: model.precondition.as_ref().map(|p| p.expression.clone()),
        device: model.device.clone(),
        shared_memory: model.shared_memory,
        device_capa: model.device_capa,
        choices: model.choices.clone(),
        fallback: model.fallback.map(choice),
        eligible: model.eligible.iter().map(|(id, c)| (choice(*id), c.expression.clone())).collect(),
        outside: model.outside,
        promise: model.promise.clone(),
        trees: model.trees.iter().map(|t| TreeFile { nodes: t.nodes.iter().map(node).collect() }).collect(),
        provenance: model.provenance.clone(),
    };
    layout(&file)
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Returns indented JSON, with each split and each ranked choice on one line: a reviewer follows a tree
/// node by node, and a leaf of fifty choices stays readable (and a third of the size).
fn layout(file: &ModelFile) -> String {
    let mut value = serde_json::to_value(file).unwrap_or_default();
    let trees = value.get_mut("trees").map(serde_json::Value::take).unwrap_or_default();
    let text = serde_json::to_string_pretty(&value).unwrap_or_default();
    let trees = trees.as_array().into_iter().flatten().map(tree_layout).collect::<Vec<_>>().join(",\n");
    // The keys of this object are ours, so the placeholder occurs nowhere before.
    text.replacen("\"trees\": null", &format!("\"trees\": [\n{trees}\n  ]"), 1) + "\n"
}

fn tree_layout(tree: &serde_json::Value) -> String {
    let nodes = tree["nodes"].as_array().into_iter().flatten().map(|node| {
        let Some(ranking) = node["ranking"].as_array() else { return format!("      {node}") };
        let lines = ranking.iter().map(|r| format!("        {r}")).collect::<Vec<_>>().join(",\n");
        let ranking = if lines.is_empty() { String::new() } else { format!("\n{lines}\n      ") };
        let outside = node.get("outside").map(|o| format!(",\"outside\":{o}")).unwrap_or_default();
        format!(
            "      {{\"samples\":{},\"unsure\":{},\"ranges\":{},\"ranking\":[{ranking}]{outside}}}",
            node["samples"], node["unsure"], node["ranges"]
        )
    });
    format!("    {{\"nodes\": [\n{}\n    ]}}", nodes.collect::<Vec<_>>().join(",\n"))
}

/// The positions of a file's names.
struct Names<'a> {
    features: &'a Features,
    choices: FxHashMap<&'a str, ChoiceId>,
}

impl Names<'_> {
    fn slot(&self, feature: &str) -> Result<usize, String> {
        self.features.all().slot(feature).ok_or_else(|| format!("unknown feature {}", quoted(feature)))
    }

    fn choice(&self, name: &str) -> Result<ChoiceId, String> {
        self.choices.get(name).copied().ok_or_else(|| format!("unknown choice {}", quoted(name)))
    }

    fn node(&self, node: NodeFile) -> Result<Node, String> {
        const SPLIT: &str = "expected feature, left, right and either threshold or category (a split), \
                             or samples, unsure, ranges and ranking (a leaf)";
        let NodeFile { feature, threshold, category, left, right, samples, unsure, ranges, ranking, outside } =
            node;
        match (feature, left, right, samples, ranking) {
            (Some(feature), Some(left), Some(right), None, None)
                if unsure.is_none() && ranges.is_none() && outside.is_empty() =>
            {
                let slot = self.slot(&feature)?;
                let test = match (threshold, category) {
                    (Some(threshold), None) => Test::Numerical { slot, threshold },
                    (None, Some(category)) => Test::Categorical { slot, category },
                    _ => return Err(SPLIT.to_owned()),
                };
                Ok(Node::Split { test, left, right })
            }
            (None, None, None, Some(samples), Some(ranking)) if threshold.is_none() && category.is_none() => {
                Ok(Node::Leaf(Leaf {
                    samples,
                    ranges: ranges.unwrap_or_default(),
                    unsure: unsure.map(|reason| match reason {
                        UnsureFile::LowConfidence => LeafUnsure::LowConfidence,
                        UnsureFile::Unsafe => LeafUnsure::Unsafe,
                    }),
                    ranking: ranking.into_iter().map(|r| self.ranked(&r)).collect::<Result<_, _>>()?,
                    outside: outside
                        .into_iter()
                        .map(|(name, score, allowed)| {
                            Ok(Place { choice: self.choice(&name)?, score: score + 0.0, allowed })
                        })
                        .collect::<Result<_, String>>()?,
                }))
            }
            _ => Err(SPLIT.to_owned()),
        }
    }

    fn ranked(&self, r: &RankedFile) -> Result<RankedChoice, String> {
        Ok(RankedChoice {
            choice: self.choice(&r.choice)?,
            // No -0.0, so that sums of scores compare equally in every language.
            score: r.score + 0.0,
            probability: r.probability,
            measured: r.measured,
            usual: r.usual,
            slowdown: r.slowdown,
            worst: r.worst,
            worst_over_fallback: r.worst_over_fallback,
            allowed: r.allowed,
        })
    }
}

fn resolve(file: ModelFile) -> Result<Model, InvalidModel> {
    let invalid = |problem: String| ModelPlace::Model.error(problem);
    let base = Schema::new(file.features).map_err(|e| invalid(e.to_string()))?;
    let features = Features::new(base, &file.derived).map_err(|e| invalid(e.to_string()))?;
    let choices = (0_u32..).zip(&file.choices).map(|(id, name)| (name.as_str(), ChoiceId(id))).collect();
    let names = Names { features: &features, choices };
    let mut categories = vec![Vec::new(); features.all().len()];
    for (name, values) in file.categories {
        categories[names.slot(&name).map_err(invalid)?] = serde_json::from_value(values).map_err(|e| {
            let reason = reason(&e.to_string());
            invalid(format!("categories of {}: expected a list of names: {reason}", quoted(&name)))
        })?;
    }
    let condition = |what: &str, expression: String| {
        let parsed = expr::parse(&expression).map_err(|e| invalid(format!("{what}: {e}")))?;
        let typed = parsed.resolve_bool(features.base()).map_err(|e| invalid(format!("{what}: {e}")))?;
        Ok(Precondition { expression, typed })
    };
    let precondition = file.precondition.map(|text| condition("precondition", text));
    let eligible = file.eligible.into_iter().map(|(name, text)| {
        let what = format!("eligible {}", quoted(&name));
        Ok((names.choice(&name).map_err(invalid)?, condition(&what, text)?))
    });
    let eligible = eligible.collect::<Result<_, InvalidModel>>()?;
    let fallback =
        file.fallback.map(|name| names.choice(&name).map_err(|e| invalid(format!("fallback: {e}"))));
    let mut trees = Vec::with_capacity(file.trees.len());
    for (tree, t) in file.trees.into_iter().enumerate() {
        let nodes = t.nodes.into_iter().enumerate();
        let nodes = nodes
            .map(|(node, n)| names.node(n).map_err(|problem| ModelPlace::Node { tree, node }.error(problem)));
        trees.push(Tree { nodes: nodes.collect::<Result<_, _>>()? });
    }
    Ok(Model {
        heuristic: file.heuristic,
        optimization: file.optimization,
        fallback: fallback.transpose()?,
        precondition: precondition.transpose()?,
        categories,
        eligible,
        outside: file.outside,
        device: file.device,
        shared_memory: file.shared_memory,
        device_capa: file.device_capa,
        promise: file.promise,
        trees,
        provenance: file.provenance,
        choices: file.choices,
        features,
    })
}
