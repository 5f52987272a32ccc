//! Categorical features whose values hardly repeat, such as a name for each input. They tell nothing about another input,
//! and each category would be a column: 10,000 of them took 187 s and 804 MB.

use ah_model::shown::listed;
use ah_model::{Error, FeatureKind};
use ah_types::log::{Input, Log};
use rustc_hash::FxHashSet;

use super::exclude::exclude;

/// Fewer categories than this are learned from, however seldom they repeat: few inputs may just be the first of their kind.
const MIN_CATEGORIES: usize = 10;

/// Takes the categorical features out of a log that have another value on more than half of the inputs. Returns
/// warnings, also of a number that counts the inputs: it stays, because a program may know it.
pub fn leave_out(log: &mut Log) -> Result<Vec<String>, Error> {
    let number = |input: &Input, slot: usize| input.values[slot].as_scalar().number().unwrap_or(f64::NAN);
    let is_next = |pair: &[Input], slot| number(&pair[1], slot) - number(&pair[0], slot) == 1.0;
    let counts = |slot: &usize| log.inputs.windows(2).all(|pair| is_next(pair, *slot));
    let may_count = log.schema.len() > 1 && log.inputs.len() >= MIN_CATEGORIES;
    let counter = (0..log.schema.len()).filter(|_| may_count).find(counts).map(|slot| {
        let name = &log.schema.features()[slot].name;
        format!("{name} counts the inputs, as a row's number does; if no program knows it when it asks, leave it out (--exclude)")
    });
    let mut warnings: Vec<String> = counter.into_iter().collect();
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
        return Ok(warnings);
    }
    let found = format!("nearly every input has its own value of {}", listed(&unrepeated));
    if unrepeated.len() == log.schema.len() {
        let hint = "log a feature that inputs share, for example a size";
        return Err(Error::TooLittle(format!("{found}; {hint}")));
    }
    exclude(log, &unrepeated)?;
    warnings.push(format!("{found}, so it is left out: it tells nothing about further inputs"));
    Ok(warnings)
}
