//! Categorical features whose values hardly repeat, such as a name for each input. They tell nothing about another input,
//! and each category would be a column: 10,000 of them took 187 s and 804 MB.

use ah_types::log::Log;
use ah_types::shown::listed;
use ah_types::{Error, FeatureKind};
use rustc_hash::FxHashSet;

use super::exclude::exclude;

/// Fewer categories than this are learned from, however seldom they repeat: so few inputs may just be the first of their kind.
const MIN_CATEGORIES: usize = 10;

/// Takes the categorical features out of a log that have another value on more than half of the inputs. Returns a
/// warning.
pub fn leave_out(log: &mut Log) -> Result<Option<String>, Error> {
    let distinct = |slot: usize| {
        let values = log.inputs.iter().filter_map(|input| input.values[slot].as_scalar().category());
        values.collect::<FxHashSet<_>>().len()
    };
    let features = log.schema.features().iter().enumerate();
    let unrepeated: Vec<String> = features
        .filter(|(slot, feature)| {
            feature.kind == FeatureKind::Categorical
                && distinct(*slot) >= MIN_CATEGORIES.max(log.inputs.len() / 2 + 1)
        })
        .map(|(_, feature)| feature.name.clone())
        .collect();
    if unrepeated.is_empty() {
        return Ok(None);
    }
    let found = format!("nearly every input has its own value of {}", listed(&unrepeated));
    if unrepeated.len() == log.schema.len() {
        let hint = "log a feature that inputs share, for example a size";
        return Err(Error::TooLittle(format!("{found}; {hint}")));
    }
    exclude(log, &unrepeated)?;
    Ok(Some(format!("{found}, so it is left out: it tells nothing about further inputs")))
}
