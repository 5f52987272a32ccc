//! The domain of a heuristic, and the conditions under which choices can run.

use std::collections::BTreeMap;

use ah_model::expr::{Binary, Comparison, Expr};
use ah_model::shown::listed;
use ah_model::{ChoiceId, Error, Feature, Features, Precondition, Schema};
use ah_types::Optimization;
use ah_types::log::Metadata;

use super::table::{self, Table};

/// The optimization's precondition for the log's device, and the inputs outside it.
///
/// If enough measured inputs are outside it, it is left out: the log shows that the domain is larger.
pub fn precondition(
    optimization: &Optimization,
    metadata: &Metadata,
    features: &Features,
    table: &Table,
    warnings: &mut Vec<String>,
) -> Result<(Option<Precondition>, Vec<u32>), Error> {
    let Some(text) = optimization.precondition_for(metadata) else { return Ok((None, Vec::new())) };
    let precondition = condition(optimization, "precondition", text, features.base())?;
    let inputs = table.inputs.len();
    let all = 0..inputs as u32;
    let outside: Vec<u32> = all.filter(|&i| !precondition.holds(table.values(i))).collect();
    let enough = table::enough(inputs);
    if outside.len() >= enough {
        warnings.push(format!(
            "the precondition {text} is left out: the log measures {} of its {inputs} inputs outside it",
            outside.len()
        ));
        return Ok((None, Vec::new()));
    }
    if let Some(&first) = outside.first() {
        warnings.push(format!(
            "{} of {inputs} inputs are outside the precondition {text} and are not learned from; with {enough} the precondition would be left out. The first is {:?}",
            outside.len(),
            table.inputs[first as usize].text
        ));
    }
    Ok((Some(precondition), outside))
}

/// The conditions under which choices can run, by the optimization and by the log. If both name a choice,
/// the optimization counts. A choice that the log lacks may be in the logs of other devices.
pub fn eligible(
    optimization: &Optimization,
    metadata: &Metadata,
    features: &Features,
    table: &Table,
    warnings: &mut Vec<String>,
) -> Result<BTreeMap<ChoiceId, Precondition>, Error> {
    let mut rules = metadata.collection.as_ref().map(|c| c.eligible.clone()).unwrap_or_default();
    rules.extend(optimization.eligible.clone());
    let mut eligible = BTreeMap::new();
    let mut unknown = Vec::new();
    for (name, expression) in rules {
        let condition = condition(optimization, "eligible", &expression, features.base())?;
        match table.choice_id(&name) {
            Some(id) => _ = eligible.insert(id, condition),
            None => unknown.push(name),
        }
    }
    if !unknown.is_empty() {
        warnings.push(format!("eligible: the log has no rows of these choices: {}", listed(&unknown)));
    }
    Ok(eligible)
}

/// The condition in a field of the optimization.
pub fn condition(
    optimization: &Optimization,
    what: &'static str,
    text: &str,
    schema: &Schema,
) -> Result<Precondition, Error> {
    let wrong = |e| Error::Invalid(format!("optimization {:?}: {what}: {e}", optimization.name));
    Precondition::new(text, schema).map_err(wrong)
}

/// The condition that a feature compares so with a value, such as `m >= 16`.
pub fn compare(feature: &Feature, comparison: Comparison, value: Expr<String>) -> Expr<String> {
    Expr::binary(Binary::Compare(comparison), Expr::Feature(feature.name.clone()), value)
}

/// The condition that all of these hold; `None` without one.
pub fn all_hold(conditions: impl Iterator<Item = Expr<String>>, logged: &Schema) -> Option<Precondition> {
    let all = conditions.reduce(|a, b| Expr::binary(Binary::And, a, b))?;
    Precondition::new(all.to_string(), logged).ok()
}
