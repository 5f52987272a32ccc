//! The conditions of a path through a tree, in the words of the tools and of generated code.

use std::collections::BTreeMap;

use crate::tree::{MISSING, Test, contains};

/// A path's condition on one feature.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause<'t> {
    /// The feature's slot.
    pub slot: usize,
    /// Greater than this; infinite if open.
    above: f64,
    /// At most this; infinite if open.
    most: f64,
    /// In each of these sets of categories.
    inside: Vec<&'t [String]>,
    /// In none of these.
    outside: Vec<&'t [String]>,
}

impl<'t> Clause<'t> {
    /// The conditions of the tests on a path, each with true if the path goes left, in the order of the features.
    pub fn all(tests: impl IntoIterator<Item = (&'t Test, bool)>) -> Vec<Self> {
        let mut clauses = BTreeMap::new();
        for (test, left) in tests {
            let slot = test.column.slot;
            let Self { above, most, inside, outside, .. } = clauses.entry(slot).or_insert(Self {
                slot,
                above: f64::NEG_INFINITY,
                most: f64::INFINITY,
                inside: Vec::new(),
                outside: Vec::new(),
            });
            match &test.column.categories {
                Some(categories) if left => outside.push(categories),
                Some(categories) => inside.push(categories),
                None if left => *most = most.min(test.threshold),
                None => *above = above.max(test.threshold),
            }
        }
        clauses.into_values().collect()
    }

    /// The condition in words: `8 < m <= 16`, `dtype is not float16`, `dtype is in {int4, int8}`, `m is missing`.
    /// `missing` is true for a feature that training saw missing, and `known` has the feature's categories: the condition names
    /// the ones that hold or the ones that do not, whichever are fewer. `shown` prints names from files.
    #[must_use]
    pub fn words(&self, feature: &str, missing: bool, known: &[String], shown: fn(&str) -> String) -> String {
        let feature = shown(feature);
        if !self.inside.is_empty() || !self.outside.is_empty() {
            return format!("{feature} is {}", self.set(known, shown));
        }
        const LEAST: f64 = f64::NEG_INFINITY;
        match (self.above, self.most) {
            (_, MISSING) => format!("{feature} is missing"),
            (MISSING, f64::INFINITY) => format!("{feature} is not missing"),
            (LEAST, most) if missing => format!("{feature} <= {most} or missing"),
            (LEAST | MISSING, most) => format!("{feature} <= {most}"),
            (above, f64::INFINITY) => format!("{above} < {feature}"),
            (above, most) => format!("{above} < {feature} <= {most}"),
        }
    }

    /// The set of categories in words: `float16`, `not float16`, `in {int4, int8}`, `not in {int4, int8}`.
    fn set(&self, known: &[String], shown: fn(&str) -> String) -> String {
        let is_in = |set: &&[String], category: &String| contains(set, category);
        let (held, excluded): (Vec<&String>, Vec<&String>) = known.iter().partition(|category| {
            self.inside.iter().all(|set| is_in(set, category))
                && !self.outside.iter().any(|set| is_in(set, category))
        });
        // Of two categories, the words name the one that the test names.
        let is_short = match held.len().cmp(&excluded.len()) {
            std::cmp::Ordering::Equal => !self.inside.is_empty(),
            order => order.is_lt() && !held.is_empty(),
        };
        let (not, named) = if is_short { ("", held) } else { ("not ", excluded) };
        let word = |category: &&String| {
            if category.is_empty() { "missing".to_owned() } else { shown(category) }
        };
        let words: Vec<String> = named.iter().map(word).collect();
        match &words[..] {
            [word] => format!("{not}{word}"),
            words => format!("{not}in {{{}}}", words.join(", ")),
        }
    }
}
