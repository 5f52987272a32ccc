//! Whether a feature is numerical: the kinds of its values in all rows.

use ah_types::shown::quoted;
use ah_types::{Feature, FeatureKind};

use crate::cell::{DECIMAL_COMMA, has_decimal_comma};
use crate::error::{Fault, ImportError, RowPlace};
use crate::roles::FeatureRole;

/// The kinds of one feature's values so far.
pub struct Kinds {
    name: String,
    categorical: bool,
    numbers: Values,
    names: Values,
}

#[derive(Default)]
struct Values {
    count: u64,
    first: Option<(RowPlace, String)>,
}

impl Kinds {
    pub fn new(role: &FeatureRole) -> Self {
        Self {
            name: role.name().to_owned(),
            categorical: matches!(role, FeatureRole::Column(column) if column.categorical),
            numbers: Values::default(),
            names: Values::default(),
        }
    }

    /// Adds the value of a row.
    pub fn add(&mut self, kind: FeatureKind, text: &str, place: impl FnOnce() -> RowPlace) {
        let values = match kind {
            FeatureKind::Numerical => &mut self.numbers,
            FeatureKind::Categorical => &mut self.names,
        };
        values.count += 1;
        values.first.get_or_insert_with(|| (place(), text.to_owned()));
    }

    /// Returns the feature.
    ///
    /// # Errors
    /// The first odd row, where some values are numbers and others are names.
    pub fn feature(self) -> Result<Feature, ImportError> {
        if let Some((place, found)) = self.names.first.as_ref().filter(|_| !self.categorical)
            && has_decimal_comma(found)
        {
            let fault = Fault {
                column: self.name,
                expected: "a number".to_owned(),
                found: quoted(found),
                hint: format!("{DECIMAL_COMMA}, or give --categorical with this column"),
            };
            return Err(ImportError::Row { place: place.clone(), fault: Box::new(fault) });
        }
        let (number, name) = match (self.numbers.first, self.names.first) {
            (Some(_), None) if !self.categorical => return Ok(Feature::numerical(self.name)),
            (Some(number), Some(name)) if !self.categorical => (number, name),
            _ => return Ok(Feature::categorical(self.name)),
        };
        let (numbers, names) = (self.numbers.count, self.names.count);
        let ((place, found), expected) = if names <= numbers {
            (name, format!("a number, as in {numbers} other rows"))
        } else {
            (number, format!("a name, as in {names} other rows"))
        };
        let hint = "mend it, or give --categorical with this column if its numbers are names".to_owned();
        let fault = Fault { column: self.name, expected, found: quoted(&found), hint };
        Err(ImportError::Row { place, fault: Box::new(fault) })
    }
}
