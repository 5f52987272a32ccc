//! The first reading: finds every error, and whether each feature is numerical.

use ah_types::shown::quoted;
use ah_types::{Feature, FeatureKind, Schema};

use super::error::{Fault, ImportError, RowPlace};
use super::params::ImportParams;
use super::reading::each_row;
use super::roles::FeatureRole;

/// Reads all tables and finds the features with their kinds.
///
/// # Errors
/// The first row that cannot be imported, and a feature that is a number in some rows and a name in others.
pub fn find(params: &ImportParams) -> Result<Schema, ImportError> {
    let mut seen: Vec<SeenValues> = Vec::new();
    each_row(params, &mut |reader, _, place| {
        if seen.is_empty() {
            seen = reader.roles().features.iter().map(SeenValues::new).collect();
        }
        for (seen, feature) in seen.iter_mut().zip(&reader.features) {
            let values = match feature.kind {
                FeatureKind::Numerical => &mut seen.numbers,
                FeatureKind::Categorical => &mut seen.names,
            };
            values.count += 1;
            values.first.get_or_insert_with(|| (place(), feature.text.clone()));
        }
        Ok(())
    })?;
    if seen.is_empty() {
        return Err(ImportError::TooLittle {
            what: format!("{}: the table has no rows to import", params.tables[0].display()),
            hint: "measure some inputs first",
        });
    }
    let features = seen.into_iter().map(SeenValues::feature).collect::<Result<Vec<_>, _>>()?;
    Schema::new(features).map_err(|e| ImportError::parameter("--features", "each column once", e.to_string()))
}

/// The values of one feature so far.
struct SeenValues {
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

impl SeenValues {
    fn new(role: &FeatureRole) -> Self {
        Self {
            name: role.name().to_owned(),
            categorical: matches!(role, FeatureRole::Column(column) if column.categorical),
            numbers: Values::default(),
            names: Values::default(),
        }
    }

    fn feature(self) -> Result<Feature, ImportError> {
        if self.categorical {
            return Ok(Feature::categorical(self.name));
        }
        let (number, name) = match (self.numbers.first, self.names.first) {
            (None, _) => return Ok(Feature::categorical(self.name)),
            (Some(_), None) => return Ok(Feature::numerical(self.name)),
            (Some(number), Some(name)) => (number, name),
        };
        let (numbers, names) = (self.numbers.count, self.names.count);
        let ((place, found), expected) = if names <= numbers {
            (name, format!("a number, as in {numbers} other rows"))
        } else {
            (number, format!("a name, as in {names} other rows"))
        };
        let hint = "mend it, or give --categorical with this column if its numbers are names";
        let fault = Fault { column: self.name, expected, found: quoted(&found), hint };
        Err(ImportError::Row { place, fault: Box::new(fault) })
    }
}
