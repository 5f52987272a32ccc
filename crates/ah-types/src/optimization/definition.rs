//! The parts of an optimization, and the parts that apply to a log.

use std::collections::BTreeMap;

use ah_model::shown::quoted;
use ah_model::{DerivedFeature, Error, Feature, Schema, expr};
use rustc_hash::FxHashSet;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::log::Metadata;

/// A decision point: the features, the fallback, and the rules of its heuristics.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Optimization {
    /// For example `pad_mm`.
    pub name: String,
    /// One or two sentences.
    #[serde(default)]
    pub description: String,
    /// What the program does without a heuristic: the first of these that the log contains. If empty, the
    /// choice that is best on the whole training part.
    #[serde(default)]
    pub fallback: Vec<String>,
    /// The names of its choices; a `*` at the end stands for any ending. If empty, every name. A built-in
    /// optimization serves a log only if all choices of the log are among these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own_choices: Vec<String>,
    /// The logged features.
    #[serde(default, rename = "feature")]
    pub features: Vec<Feature>,
    /// The derived features. For a log that has a feature of the same name, or lacks a feature that it
    /// uses, a derived feature is left out.
    #[serde(default)]
    pub derived: Vec<DerivedFeature>,
    /// The domain, by device: the first entry that matches the device counts.
    #[serde(default, rename = "precondition")]
    pub preconditions: Vec<DevicePrecondition>,
    /// The condition under which a choice can run, by choice: an expression over the logged features. Where it is false, the choice
    /// is not measured, and generated code and the run time never take it.
    #[serde(default)]
    pub eligible: BTreeMap<String, String>,
    /// The milliseconds that computing a feature takes, by name; they replace those of the log.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub feature_ms: BTreeMap<String, f64>,
    /// How it is learned; only `ah-train` reads this table.
    #[serde(default, skip_serializing)]
    pub training: IgnoredAny,
    /// The choices as command lines; only `ah-collect` reads this table.
    #[serde(default, skip_serializing)]
    pub commands: IgnoredAny,
    /// The choices as configurations of a CUDA kernel; only `ah-collect` reads this table.
    #[serde(default, skip_serializing)]
    pub cuda: IgnoredAny,
}

/// The domain of an optimization on one device (or on all, without conditions).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DevicePrecondition {
    /// Matches if the log's `device_capa` is this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_capa: Option<(u32, u32)>,
    /// Matches if the log's `shared_memory` is this many bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_memory: Option<u64>,
    /// A condition over the logged features; if it is false, the heuristic is unsure.
    pub expression: String,
}

impl Optimization {
    /// An optimization that is only known from a log: its features and fallback, without derived
    /// features and precondition.
    pub fn from_log(metadata: &Metadata, schema: &Schema) -> Self {
        let fallback = metadata.collection.as_ref().map(|c| c.fallback.clone()).unwrap_or_default();
        Self { features: schema.features().to_vec(), fallback, ..Self::new(&metadata.name) }
    }

    /// An optimization of this name, without features, fallback or rules.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// The logged features as a schema.
    ///
    /// # Errors
    /// [`Error::Invalid`] when two share a name.
    pub fn schema(&self) -> Result<Schema, Error> {
        Schema::new(self.features.iter().cloned())
            .map_err(|e| Error::Invalid(format!("optimization {}: {e}", quoted(&self.name))))
    }

    /// The derived features that a log with this schema allows, and the names of those left out
    /// because the log lacks a feature that they use. A derived feature whose name the log has is dropped
    /// silently: the log has its values.
    pub fn derived_for(&self, schema: &Schema) -> (Vec<DerivedFeature>, Vec<String>) {
        let mut known: FxHashSet<&str> = schema.features().iter().map(|f| f.name.as_str()).collect();
        let mut kept = Vec::new();
        let mut left_out = Vec::new();
        for derived in &self.derived {
            if schema.get(&derived.name).is_some() {
                continue;
            }
            let mut usable = true;
            // A malformed expression is kept: `Features::new` reports it.
            if let Ok(parsed) = expr::parse(&derived.expression) {
                parsed.for_each_feature(&mut |name| usable &= known.contains(name.as_str()));
            }
            if usable {
                known.insert(&derived.name);
                kept.push(derived.clone());
            } else {
                left_out.push(derived.name.clone());
            }
        }
        (kept, left_out)
    }

    /// The precondition for logs with this metadata.
    pub fn precondition_for(&self, metadata: &Metadata) -> Option<&str> {
        let matches = |p: &&DevicePrecondition| {
            p.device_capa.is_none_or(|capa| metadata.device_capa == capa)
                && p.shared_memory.is_none_or(|bytes| metadata.shared_memory == Some(bytes))
        };
        self.preconditions.iter().find(matches).map(|p| p.expression.as_str())
    }

    /// The first fallback that is among `choices`.
    pub fn fallback_among<'a>(&'a self, choices: &[impl AsRef<str>]) -> Option<&'a str> {
        self.fallback.iter().map(String::as_str).find(|f| choices.iter().any(|c| c.as_ref() == *f))
    }
}
