//! Numerical features that are undefined on every input: no heuristic can use them.

use std::collections::BTreeSet;

use ah_types::{Context, FeatureKind, Schema};

use crate::units;

/// The features that were undefined so far.
#[derive(Debug)]
pub(crate) struct UndefinedFeatures {
    names: BTreeSet<String>,
    inputs: u64,
}

impl UndefinedFeatures {
    /// Returns all numerical features: no input has defined one yet.
    pub(crate) fn new(schema: &Schema) -> Self {
        let numbers = schema.features().iter().filter(|feature| feature.kind == FeatureKind::Numerical);
        Self { names: numbers.map(|feature| feature.name.clone()).collect(), inputs: 0 }
    }

    /// Notes an input that the log has.
    pub(crate) fn note(&mut self, context: &Context) {
        self.inputs += 1;
        self.names.retain(|name| context.number(name).is_none_or(f64::is_nan));
    }

    /// Returns a warning for each feature that no input defined.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = String> {
        let names = self.names.iter().filter(|_| self.inputs > 0);
        names.map(|name| {
            format!(
                "the feature {name:?} is NaN on each of the {} of this run, so no heuristic can use it; mend the function \
                 that computes it, or take it out",
                units::count(self.inputs, "input")
            )
        })
    }
}
