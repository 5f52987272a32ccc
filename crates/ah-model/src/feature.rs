//! Features and schemas: the parts of a context.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::fault::Invalid;
use crate::shown::quoted;

/// Whether a feature is a number or one of a few names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FeatureKind {
    /// An f64; split as `value <= threshold`.
    Numerical,
    /// A name; split as `value == "x"`. Booleans are the names `True` and `False`.
    Categorical,
}

impl std::fmt::Display for FeatureKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(f)
    }
}

/// One named value of a context: its name, kind and meaning (not the value).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Feature {
    /// The name as in logs, for example `mat1_stride_0`.
    pub name: String,
    /// Numerical or categorical.
    pub kind: FeatureKind,
    /// True if every value is a whole number; generated code then takes an integer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub integer: bool,
    /// The unit, for example `elements`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// One sentence for documentation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

impl Feature {
    /// A numerical feature without unit or description.
    pub fn numerical(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            kind: FeatureKind::Numerical,
            integer: false,
            unit: None,
            description: None,
        }
    }

    /// A categorical feature without description.
    pub fn categorical(name: impl Into<String>) -> Self {
        Self { kind: FeatureKind::Categorical, ..Self::numerical(name) }
    }
}

/// An ordered list of features with distinct names. The position of a feature in its schema is its *slot*;
/// rows, expressions and trees refer to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schema {
    features: Vec<Feature>,
    slots: HashMap<String, usize>,
}

impl Schema {
    /// A schema of these features, in this order.
    ///
    /// # Errors
    /// [`Invalid`] when two features share a name.
    pub fn new(features: impl IntoIterator<Item = Feature>) -> Result<Self, Invalid> {
        let mut schema = Self::default();
        for feature in features {
            schema.push(feature)?;
        }
        Ok(schema)
    }

    /// Adds a feature at the end and returns its slot.
    ///
    /// # Errors
    /// [`Invalid`] when the name is taken.
    pub fn push(&mut self, feature: Feature) -> Result<usize, Invalid> {
        let slot = self.features.len();
        if self.slots.contains_key(&feature.name) {
            let name = quoted(&feature.name);
            return Err(Invalid(format!(
                "the feature {name} occurs twice in the schema; give each feature its own name"
            )));
        }
        self.slots.insert(feature.name.clone(), slot);
        self.features.push(feature);
        Ok(slot)
    }

    /// The slot of the feature with this name.
    pub fn slot(&self, name: &str) -> Option<usize> {
        self.slots.get(name).copied()
    }

    /// The feature with this name.
    pub fn get(&self, name: &str) -> Option<&Feature> {
        self.slot(name).map(|slot| &self.features[slot])
    }

    /// All features, by slot.
    pub fn features(&self) -> &[Feature] {
        &self.features
    }

    /// The number of features.
    pub fn len(&self) -> usize {
        self.features.len()
    }

    /// Whether there are no features.
    pub fn is_empty(&self) -> bool {
        self.features.is_empty()
    }

    /// The names of the features of one kind, in order.
    pub fn names(&self, kind: FeatureKind) -> impl Iterator<Item = &str> {
        self.features.iter().filter(move |f| f.kind == kind).map(|f| f.name.as_str())
    }
}
