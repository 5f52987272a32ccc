//! Whether a feature is numerical: the kinds of its values in all rows.

use ah_types::shown::quoted;
use ah_types::{Fault, Feature, FeatureKind, Place};

use crate::cell::{DECIMAL_COMMA, has_decimal_comma};
use crate::roles::Column;

/// The kinds of one feature's values so far: numbers, then names.
pub struct Kinds {
    name: String,
    categorical: bool,
    values: [Values; 2],
}

/// The number of values, and the first with its place.
#[derive(Default)]
struct Values {
    count: u64,
    first: Option<(Place, String)>,
}

impl Kinds {
    pub fn new(column: &Column) -> Self {
        Self { name: column.name.clone(), categorical: column.categorical, values: Default::default() }
    }

    /// Adds the value of a row.
    pub fn add(&mut self, kind: FeatureKind, text: &str, place: impl FnOnce() -> Place) {
        let values = &mut self.values[usize::from(kind == FeatureKind::Categorical)];
        values.count += 1;
        values.first.get_or_insert_with(|| (place(), text.to_owned()));
    }

    /// Returns the feature.
    ///
    /// # Errors
    /// The first odd row, where some values are numbers and others are names.
    pub fn feature(self) -> Result<Feature, Fault> {
        let [numbers, names] = self.values;
        let fault = |(place, found): (Place, String), expected: String, hint: String| {
            let fault = Fault { place, ..Fault::new(expected, quoted(&found), hint) };
            fault.in_column(&self.name)
        };
        match (numbers.first, names.first) {
            (Some(_), None) if !self.categorical => Ok(Feature::numerical(self.name)),
            (_, Some(name)) if !self.categorical && has_decimal_comma(&name.1) => {
                let hint = format!("{DECIMAL_COMMA}, or give --categorical with this column");
                Err(fault(name, "a number".to_owned(), hint))
            }
            (Some(number), Some(name)) if !self.categorical => {
                let (odd, expected) = if names.count <= numbers.count {
                    (name, format!("a number, as in {} other rows", numbers.count))
                } else {
                    (number, format!("a name, as in {} other rows", names.count))
                };
                let hint = "mend it, or give --categorical with this column if its numbers are names";
                Err(fault(odd, expected, hint.to_owned()))
            }
            _ => Ok(Feature::categorical(self.name)),
        }
    }
}
