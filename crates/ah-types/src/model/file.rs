//! `model.json`: what stands in the file, with names where memory has ids.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Model, OutsidePolicy, Precondition, Promise, Provenance};
use crate::choice::ChoiceId;
use crate::derived::{Derived, Features};
use crate::device::Device;
use crate::expr;
use crate::feature::{Feature, Schema};
use crate::number::null_is_infinite;
use crate::tree::{Leaf, LeafUnsure, Node, Place, Ranked, Test, Tree};

/// The value of the key `format`.
pub const FORMAT: &str = "autoheuristic-model";
/// The version that this crate reads and writes.
pub const VERSION: u32 = 2;

/// What is read first, so that a newer file is refused by its version and not by an unknown key.
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
    derived: Vec<Derived>,
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

#[derive(Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum NodeFile {
    Numerical {
        feature: String,
        threshold: f64,
        left: u32,
        right: u32,
    },
    Categorical {
        feature: String,
        category: String,
        left: u32,
        right: u32,
    },
    Leaf {
        samples: u64,
        unsure: Option<UnsureFile>,
        #[serde(default)]
        ranges: Vec<Option<(f64, f64)>>,
        ranking: Vec<RankedFile>,
        /// (choice, score, allowed), best first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        outside: Vec<(String, f64, bool)>,
    },
}

#[derive(Serialize, Deserialize)]
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

pub(super) fn print(model: &Model) -> String {
    let slot_name = |slot: usize| model.features.all().features()[slot].name.clone();
    let choice = |id: ChoiceId| model.choice_name(id).to_owned();
    let node = |node: &Node| match node {
        Node::Split { test: Test::Numerical { slot, threshold }, left, right } => NodeFile::Numerical {
            feature: slot_name(*slot),
            threshold: *threshold,
            left: *left,
            right: *right,
        },
        Node::Split { test: Test::Categorical { slot, category }, left, right } => NodeFile::Categorical {
            feature: slot_name(*slot),
            category: category.clone(),
            left: *left,
            right: *right,
        },
        Node::Leaf(leaf) => NodeFile::Leaf {
            samples: leaf.samples,
            unsure: leaf.unsure.map(|u| match u {
                LeafUnsure::LowConfidence => UnsureFile::LowConfidence,
                LeafUnsure::Unsafe => UnsureFile::Unsafe,
            }),
            ranges: leaf.ranges.clone(),
            outside: leaf.outside.iter().map(|p| (choice(p.choice), p.score, p.allowed)).collect(),
            ranking: leaf
                .ranking
                .iter()
                .map(|r| RankedFile {
                    choice: choice(r.choice),
                    score: r.score,
                    probability: r.probability,
                    measured: r.measured,
                    usual: r.usual,
                    slowdown: r.slowdown,
                    worst: r.worst,
                    worst_over_fallback: r.worst_over_fallback,
                    allowed: r.allowed,
                })
                .collect(),
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

/// Indented JSON, but a split or a ranked choice on one line: a reviewer follows a tree node by
/// node, and a leaf of fifty choices stays readable (and a third of the size).
fn layout(file: &ModelFile) -> String {
    let mut value = serde_json::to_value(file).unwrap_or_default();
    let trees = value.get_mut("trees").map(serde_json::Value::take).unwrap_or_default();
    let text = serde_json::to_string_pretty(&value).unwrap_or_default();
    let trees = trees.as_array().into_iter().flatten().map(tree_layout).collect::<Vec<_>>().join(",\n");
    // The keys of this object are ours, so the placeholder cannot stand anywhere else first.
    text.replacen("\"trees\": null", &format!("\"trees\": [\n{trees}\n  ]"), 1) + "\n"
}

fn tree_layout(tree: &serde_json::Value) -> String {
    let nodes = tree["nodes"].as_array().into_iter().flatten().map(|node| match node["ranking"].as_array() {
        None => format!("      {node}"),
        Some(ranking) if ranking.is_empty() => format!("      {node}"),
        Some(ranking) => {
            let lines = ranking.iter().map(|r| format!("        {r}")).collect::<Vec<_>>().join(",\n");
            let outside = node.get("outside").map(|o| format!(",\"outside\":{o}")).unwrap_or_default();
            format!(
                "      {{\"samples\":{},\"unsure\":{},\"ranges\":{},\"ranking\":[\n{lines}\n      ]{outside}}}",
                node["samples"], node["unsure"], node["ranges"]
            )
        }
    });
    format!("    {{\"nodes\": [\n{}\n    ]}}", nodes.collect::<Vec<_>>().join(",\n"))
}

pub(super) fn parse(text: &str) -> Result<Model, String> {
    let header: Header = serde_json::from_str(text).map_err(|e| e.to_string())?;
    if header.format != FORMAT {
        return Err(format!("expected the format {FORMAT:?}, found {:?}", header.format));
    }
    if header.version != VERSION {
        return Err(format!(
            "expected version {VERSION}, found {}; use the tools that wrote it, or learn it again",
            header.version
        ));
    }
    let file: ModelFile = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let model = resolve(file)?;
    model.validate()?;
    Ok(model)
}

fn resolve(file: ModelFile) -> Result<Model, String> {
    let base = Schema::new(file.features).map_err(|e| e.to_string())?;
    let features = Features::new(base, &file.derived).map_err(|e| e.to_string())?;
    let slot = |name: &str| features.all().slot(name).ok_or_else(|| format!("unknown feature {name:?}"));
    let mut choice_ids = rustc_hash::FxHashMap::default();
    for (id, name) in (0_u32..).zip(&file.choices) {
        choice_ids.insert(name.as_str(), ChoiceId(id));
    }
    let choice = |name: &str| choice_ids.get(name).copied().ok_or_else(|| format!("unknown choice {name:?}"));
    let mut categories = vec![Vec::new(); features.all().len()];
    for (name, values) in &file.categories {
        categories[slot(name)?] = serde_json::from_value(values.clone())
            .map_err(|e| format!("categories of {name:?}: expected a list of names: {e}"))?;
    }
    let condition = |what: &str, expression: String| -> Result<Precondition, String> {
        let parsed = expr::parse(&expression).map_err(|e| e.to_string())?;
        let typed = parsed.resolve_bool(features.base()).map_err(|e| format!("{what}: {e}"))?;
        Ok(Precondition { expression, typed })
    };
    let precondition = file.precondition.map(|text| condition("precondition", text)).transpose()?;
    let eligible = file
        .eligible
        .into_iter()
        .map(|(name, text)| Ok((choice(&name)?, condition(&format!("eligible {name:?}"), text)?)))
        .collect::<Result<_, String>>()?;
    let node = |node: NodeFile| -> Result<Node, String> {
        Ok(match node {
            NodeFile::Numerical { feature, threshold, left, right } => {
                Node::Split { test: Test::Numerical { slot: slot(&feature)?, threshold }, left, right }
            }
            NodeFile::Categorical { feature, category, left, right } => {
                Node::Split { test: Test::Categorical { slot: slot(&feature)?, category }, left, right }
            }
            NodeFile::Leaf { samples, unsure, ranges, ranking, outside } => Node::Leaf(Leaf {
                samples,
                ranges,
                outside: outside
                    .into_iter()
                    .map(|(name, score, allowed)| {
                        Ok(Place { choice: choice(&name)?, score: score + 0.0, allowed })
                    })
                    .collect::<Result<_, String>>()?,
                unsure: unsure.map(|u| match u {
                    UnsureFile::LowConfidence => LeafUnsure::LowConfidence,
                    UnsureFile::Unsafe => LeafUnsure::Unsafe,
                }),
                ranking: ranking
                    .into_iter()
                    .map(|r| {
                        Ok(Ranked {
                            choice: choice(&r.choice)?,
                            // No -0.0, so that sums of scores compare alike in every language.
                            score: r.score + 0.0,
                            probability: r.probability,
                            measured: r.measured,
                            usual: r.usual,
                            slowdown: r.slowdown,
                            worst: r.worst,
                            worst_over_fallback: r.worst_over_fallback,
                            allowed: r.allowed,
                        })
                    })
                    .collect::<Result<_, String>>()?,
            }),
        })
    };
    let trees = file
        .trees
        .into_iter()
        .map(|t| Ok(Tree { nodes: t.nodes.into_iter().map(node).collect::<Result<_, String>>()? }))
        .collect::<Result<_, String>>()?;
    Ok(Model {
        heuristic: file.heuristic,
        optimization: file.optimization,
        fallback: file.fallback.as_deref().map(choice).transpose()?,
        categories,
        precondition,
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
