//! The conditions of a path through a tree, in the words of the tools and of generated code.

use crate::tree::{Column, MISSING, Test};

/// A path's condition on one feature; on a categorical one, a condition for each category that the path tests.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause<'t> {
    /// The feature's slot.
    pub slot: usize,
    category: Option<&'t str>,
    /// Greater than this; for a category: it is this one.
    above: Option<f64>,
    /// At most this; for a category: it is another one.
    most: Option<f64>,
}

impl<'t> Clause<'t> {
    /// Returns the conditions of the tests on a path, each with true if the path goes left, in the order of the features.
    pub fn all(tests: impl IntoIterator<Item = (&'t Test, bool)>) -> Vec<Self> {
        let mut clauses: Vec<Self> = Vec::new();
        for (test, left) in tests {
            let (Column { slot, category }, threshold) = test.column();
            let key = (slot, category);
            let at = clauses.binary_search_by_key(&key, |c| (c.slot, c.category)).unwrap_or_else(|at| {
                clauses.insert(at, Self { slot, category, above: None, most: None });
                at
            });
            let Self { above, most, .. } = &mut clauses[at];
            if left {
                *most = Some(most.map_or(threshold, |most| most.min(threshold)));
            } else {
                *above = Some(above.map_or(threshold, |above| above.max(threshold)));
            }
        }
        clauses
    }

    /// Returns the condition in words: `8 < m <= 16`, `dtype is not float16`, `m is missing`. `missing` is true for a
    /// feature that training saw missing. `shown` prints names from files.
    #[must_use]
    pub fn words(&self, feature: &str, missing: bool, shown: fn(&str) -> String) -> String {
        let feature = shown(feature);
        if let Some(category) = self.category {
            let not = if self.above.is_some() { "" } else { "not " };
            let category = if category.is_empty() { "missing".to_owned() } else { shown(category) };
            return format!("{feature} is {not}{category}");
        }
        match (self.above, self.most) {
            (_, Some(MISSING)) => format!("{feature} is missing"),
            (Some(MISSING), None) => format!("{feature} is not missing"),
            (None, Some(most)) if missing => format!("{feature} <= {most} or missing"),
            (None | Some(MISSING), Some(most)) => format!("{feature} <= {most}"),
            (above, most) => {
                let above = above.map_or_else(String::new, |above| format!("{above} < "));
                let most = most.map_or_else(String::new, |most| format!(" <= {most}"));
                format!("{above}{feature}{most}")
            }
        }
    }
}
