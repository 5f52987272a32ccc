//! `ah-train explain`: the reasons for a model's decision on one input that is given as text.

use std::collections::BTreeSet;

use ah_model::shown::{did_you_mean, listed};
use ah_model::{ChoiceId, Error, Feature, FeatureKind, Model, Unsure, Value};

use crate::error::unknown_choice;

/// Explains the decision of `model` for an input of `feature=value` pairs. `offered` are the choices that the program offers;
/// empty if it does not list them.
///
/// # Errors
/// [`Error`] names a wrong pair, and the features that are not given where the decision needs them.
pub fn explain(model: &Model, input: &[String], offered: &[String]) -> Result<String, Error> {
    let (values, mut absent) = values(model, input)?;
    let reads = model.reads();
    absent.retain(|name| model.features.base().slot(name).is_some_and(|slot| reads.contains(&slot)));
    let ids: Result<BTreeSet<ChoiceId>, Error> = offered
        .iter()
        .map(|name| model.choice_id(name).ok_or_else(|| unknown_choice("offered", name, &model.choices)))
        .collect();
    let ids = ids?;
    let needs_more = match model.choose(&values) {
        Err(Unsure::Undefined(_) | Unsure::Precondition) => !absent.is_empty(),
        Err(Unsure::UnknownCategory(slot)) => absent.contains(&model.features.all().features()[slot].name),
        _ => false,
    };
    if needs_more {
        return Err(Error::Usage(format!(
            "the input: expected a value of each feature that the decision needs (FEATURE= if it has none), found none of {}",
            listed(&absent)
        )));
    }
    let is_offered = |choice| ids.contains(&choice);
    Ok(model.explain(&values, if ids.is_empty() { None } else { Some(&is_offered) }))
}

/// The values by slot, and the features that are not given: they are undefined.
fn values(model: &Model, input: &[String]) -> Result<(Vec<Value>, Vec<String>), Error> {
    let features = model.features.base().features();
    let undefined = |feature: &Feature| match feature.kind {
        FeatureKind::Numerical => Value::Number(f64::NAN),
        FeatureKind::Categorical => Value::Category("".into()),
    };
    let mut values: Vec<Value> = features.iter().map(undefined).collect();
    let mut absent: Vec<String> = features.iter().map(|feature| feature.name.clone()).collect();
    for pair in input {
        let error = |expected: &str, proposal: &str| {
            Error::Usage(format!("the input: expected {expected}, found {pair:?}{proposal}"))
        };
        let (name, value) = pair.split_once('=').ok_or_else(|| error("FEATURE=VALUE", ""))?;
        let slot = model.features.base().slot(name).ok_or_else(|| {
            let known: Vec<String> = features.iter().map(|f| f.name.clone()).collect();
            error(&format!("one of the features {}", known.join(", ")), &did_you_mean(name, &known))
        })?;
        let at = absent.iter().position(|feature| feature == name);
        absent.remove(at.ok_or_else(|| error("each feature once", ""))?);
        values[slot] = match features[slot].kind {
            FeatureKind::Categorical => value.into(),
            FeatureKind::Numerical if value.is_empty() => Value::Number(f64::NAN),
            FeatureKind::Numerical => {
                Value::Number(value.parse().map_err(|_| error(&format!("a number for {name}"), ""))?)
            }
        };
    }
    Ok((values, absent))
}
