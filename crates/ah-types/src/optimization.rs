//! Optimizations: decision points with a name. Each is one TOML file; those under
//! `src/optimizations/` are built in, a user adds one by giving its path.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::derived::Derived;
use crate::device::Device;
use crate::expr;
use crate::feature::{DuplicateFeature, Feature, Schema};
use crate::log::Metadata;

/// A decision point: what is known when choosing, and what to do when unsure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Optimization {
    /// For example `pad_mm`.
    pub name: String,
    /// One or two sentences.
    #[serde(default)]
    pub description: String,
    /// What the program does without a heuristic: the first of these that the log knows.
    /// Empty: the choice that is best on the whole training part.
    #[serde(default)]
    pub fallback: Vec<String>,
    /// The logged features.
    #[serde(default, rename = "feature")]
    pub features: Vec<Feature>,
    /// The derived features. One whose name is logged, or that uses a feature that the log
    /// lacks, is left out for that log.
    #[serde(default)]
    pub derived: Vec<Derived>,
    /// The domain, by device: the first that matches the device counts.
    #[serde(default, rename = "precondition")]
    pub preconditions: Vec<Precondition>,
    /// What is known of single choices.
    #[serde(default, rename = "choice")]
    pub choices: Vec<ChoiceRule>,
    /// How `ah-train` learns it unless flags say otherwise.
    #[serde(default)]
    pub training: TrainingPolicy,
    /// The choices as command lines; `ah-collect` alone reads this table.
    #[serde(default, skip_serializing)]
    pub commands: IgnoredAny,
}

/// What an optimization knows of one of its choices.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChoiceRule {
    /// The choice.
    pub name: String,
    /// A truth value over the logged features: where it does not hold, the choice cannot run. It is not
    /// measured there, and generated code and the run time never take it there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eligible: Option<String>,
}

/// The domain of an optimization on one device (or on all, without conditions).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Precondition {
    /// Holds where the device's name contains this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Holds where the log's `device_capa` is this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_capa: Option<(u32, u32)>,
    /// Holds where the log's `shared_memory` is this many bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_memory: Option<u64>,
    /// A truth value over the logged features; outside it the heuristic is unsure.
    pub expression: String,
}

/// How `ah-train` learns an optimization: the hooks of PyTorch's trainers as fields. Every field
/// is optional in the TOML, and flags override it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrainingPolicy {
    /// The learner: `auto`, `soft`, `linfa` or `regression`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learner: Option<String>,
    /// For `linfa`: `gini`, `entropy` or both, to search; empty: both.
    pub criterion: Vec<String>,
    /// Depth limits to search.
    pub max_depth: Vec<usize>,
    /// Least numbers of inputs in a leaf to search; below 1 a share of the inputs learned from.
    pub min_samples_leaf: Vec<f64>,
    /// The features that make up an input's shape: inputs that agree in all of them are held out
    /// together by `--test-split dims`, and calibrated together.
    pub dimensions: Vec<String>,
    /// Only inputs for which this is true are learned from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row_filter: Option<String>,
    /// Cells with fewer measurements than this do not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_samples: Option<u32>,
    /// Cells whose measurements' standard deviation over their mean is above this do not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_relative_deviation: Option<f64>,
    /// The share of the inputs that is held out for the test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_share: Option<f64>,
    /// The share of the training part that a validation fold holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation_share: Option<f64>,
    /// With `--ranking`, these choices stand in every leaf.
    pub always_included: Vec<String>,
    /// PyTorch's rule for unsafe leaves: a leaf declines where its best choice was more than
    /// this many times slower than the fallback on one of its inputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unsafe_leaf: Option<f64>,
    /// PyTorch's rule for low confidence: the least leaf probability is chosen so that at most this share of
    /// the validation inputs is decided and wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_wrong_share: Option<f64>,
}

/// An optimization cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OptimizationError {
    /// No built-in one of this name.
    #[error("unknown optimization {name:?}; built in are {}; give another as a file with --optimization FILE.toml", known.join(", "))]
    Unknown {
        /// The name asked for.
        name: String,
        /// The built-in names.
        known: Vec<String>,
    },
    /// The file cannot be read.
    #[error("{}: cannot read the optimization: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not the TOML that it should be.
    #[error("{}: not an optimization: {message}", path.display())]
    Toml {
        /// The file.
        path: PathBuf,
        /// Line, column, expected and found.
        message: String,
    },
    /// Two features share a name.
    #[error("optimization {name:?}: {source}")]
    Duplicate {
        /// The optimization.
        name: String,
        /// Which feature.
        source: DuplicateFeature,
    },
}

macro_rules! built_in {
    ($($file:literal),* $(,)?) => {
        /// The built-in optimizations: name of the file and its text.
        const BUILT_IN: &[(&str, &str)] = &[$(($file, include_str!(concat!("optimizations/", $file, ".toml")))),*];
    };
}
built_in!["pad_mm", "mm", "mixed_mm", "softmax", "flex_attention"];

impl TrainingPolicy {
    /// Reads a policy alone from a TOML file.
    ///
    /// # Errors
    /// [`OptimizationError`] with the file and, for bad TOML, line and column.
    pub fn read(path: &Path) -> Result<Self, OptimizationError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| OptimizationError::Io { path: path.to_owned(), source })?;
        toml::from_str(&text).map_err(|e| OptimizationError::Toml {
            path: path.to_owned(),
            message: e.to_string().trim().to_owned(),
        })
    }
}

impl Optimization {
    /// The names of the built-in optimizations.
    pub fn built_in_names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// The built-in optimization of this name.
    ///
    /// # Errors
    /// [`OptimizationError::Unknown`] lists the names that exist.
    pub fn built_in(name: &str) -> Result<Self, OptimizationError> {
        let (file, text) =
            BUILT_IN.iter().find(|(n, _)| *n == name).ok_or_else(|| OptimizationError::Unknown {
                name: name.to_owned(),
                known: Self::built_in_names().map(str::to_owned).collect(),
            })?;
        Self::parse(text, Path::new(&format!("{file}.toml")))
    }

    /// Reads an optimization from a TOML file.
    ///
    /// # Errors
    /// [`OptimizationError`] with the file and, for bad TOML, line and column.
    pub fn read(path: &Path) -> Result<Self, OptimizationError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| OptimizationError::Io { path: path.to_owned(), source })?;
        Self::parse(&text, path)
    }

    /// Reads an optimization from the text of its TOML: what a program embeds.
    ///
    /// # Errors
    /// [`OptimizationError`] with line and column; the file is called `embedded.toml`.
    pub fn from_toml(text: &str) -> Result<Self, OptimizationError> {
        Self::parse(text, Path::new("embedded.toml"))
    }

    fn parse(text: &str, path: &Path) -> Result<Self, OptimizationError> {
        let optimization: Self = toml::from_str(text).map_err(|e| OptimizationError::Toml {
            path: path.to_owned(),
            message: e.to_string().trim().to_owned(),
        })?;
        optimization.schema()?;
        Ok(optimization)
    }

    /// An optimization that is only known from a log: its features, no derived ones, no precondition.
    #[must_use]
    pub fn from_log(metadata: &Metadata, schema: &Schema) -> Self {
        Self { features: schema.features().to_vec(), ..Self::new(&metadata.name) }
    }

    /// An optimization of this name, without features, fallback or rules.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            description: String::new(),
            fallback: Vec::new(),
            features: Vec::new(),
            derived: Vec::new(),
            preconditions: Vec::new(),
            choices: Vec::new(),
            training: TrainingPolicy::default(),
            commands: IgnoredAny,
        }
    }

    /// The logged features as a schema.
    ///
    /// # Errors
    /// [`OptimizationError::Duplicate`] when two share a name.
    pub fn schema(&self) -> Result<Schema, OptimizationError> {
        Schema::new(self.features.iter().cloned())
            .map_err(|source| OptimizationError::Duplicate { name: self.name.clone(), source })
    }

    /// The derived features that a log with this schema allows, and the names of those left
    /// out because the log lacks a feature that they use. One whose name is logged is dropped
    /// silently: the log knows it already.
    #[must_use]
    pub fn derived_for(&self, schema: &Schema) -> (Vec<Derived>, Vec<String>) {
        let mut known: Vec<&str> = schema.features().iter().map(|f| f.name.as_str()).collect();
        let (mut kept, mut left_out) = (Vec::new(), Vec::new());
        for derived in &self.derived {
            if schema.get(&derived.name).is_some() {
                continue;
            }
            let mut usable = true;
            // A malformed expression is kept: `Features::new` then says what is wrong with it.
            if let Ok(parsed) = expr::parse(&derived.expression) {
                parsed.for_each_feature(&mut |name| usable &= known.contains(&name));
            }
            if usable {
                known.push(&derived.name);
                kept.push(derived.clone());
            } else {
                left_out.push(derived.name.clone());
            }
        }
        (kept, left_out)
    }

    /// The precondition that holds for logs with this metadata.
    #[must_use]
    pub fn precondition_for(&self, metadata: &Metadata) -> Option<&str> {
        let device_name = metadata.device().map(Device::name);
        self.preconditions
            .iter()
            .find(|p| {
                p.device.as_deref().is_none_or(|part| device_name.is_some_and(|name| name.contains(part)))
                    && p.device_capa.is_none_or(|capa| metadata.device_capa == capa)
                    && p.shared_memory.is_none_or(|bytes| metadata.shared_memory == Some(bytes))
            })
            .map(|p| p.expression.as_str())
    }

    /// Where choices can run at all, by choice.
    #[must_use]
    pub fn eligible(&self) -> BTreeMap<String, String> {
        let rule = |choice: &ChoiceRule| Some((choice.name.clone(), choice.eligible.clone()?));
        self.choices.iter().filter_map(rule).collect()
    }

    /// The first fallback that is among `choices`.
    #[must_use]
    pub fn fallback_among<'a>(&'a self, choices: &[impl AsRef<str>]) -> Option<&'a str> {
        self.fallback.iter().map(String::as_str).find(|f| choices.iter().any(|c| c.as_ref() == *f))
    }
}
