//! `ah-train explain`: the reasons for a model's decision on one input that is given as text.

use std::collections::BTreeSet;

use ah_model::shown::{did_you_mean, listed};
use ah_model::{ChoiceId, Context, Error, FeatureKind, Model, Unsure, Value};

use crate::error::unknown_choice;

/// Explains the decision of `model` for an input of `feature=value` pairs. `offered` are the choices that the program offers;
/// empty if it does not list them.
///
/// # Errors
/// [`Error`] names a wrong pair, and the features that are not given where the decision needs them.
pub fn explain(model: &Model, input: &[String], offered: &[String]) -> Result<String, Error> {
    let context = context(model, input)?;
    let reads = model.reads();
    let features = model.features.base().features().iter().enumerate();
    let absent = features.filter(|(slot, f)| reads.contains(slot) && context.get(&f.name).is_none());
    let absent: Vec<&str> = absent.map(|(_, feature)| feature.name.as_str()).collect();
    let id =
        |name: &String| model.choice_id(name).ok_or_else(|| unknown_choice("offered", name, &model.choices));
    let ids = offered.iter().map(id).collect::<Result<BTreeSet<ChoiceId>, Error>>()?;
    let values = model.values(&context);
    let needs_more = match model.choose(&values) {
        Err(Unsure::Undefined(_) | Unsure::Precondition) => !absent.is_empty(),
        Err(Unsure::UnknownCategory(slot)) => absent.contains(&&*model.features.all().features()[slot].name),
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

/// The features that are given, with their values.
fn context(model: &Model, input: &[String]) -> Result<Context, Error> {
    let logged = model.features.base();
    let mut context = Context::new();
    for pair in input {
        let error = |expected: &str, proposal: &str| {
            Error::Usage(format!("the input: expected {expected}, found {pair:?}{proposal}"))
        };
        let (name, value) = pair.split_once('=').ok_or_else(|| error("FEATURE=VALUE", ""))?;
        let feature = logged.get(name).ok_or_else(|| {
            let known: Vec<String> = logged.features().iter().map(|f| f.name.clone()).collect();
            error(&format!("one of the features {}", known.join(", ")), &did_you_mean(name, &known))
        })?;
        if context.get(name).is_some() {
            return Err(error("each feature once", ""));
        }
        let value = match feature.kind {
            FeatureKind::Categorical => value.into(),
            FeatureKind::Numerical if value.is_empty() => Value::Number(f64::NAN),
            FeatureKind::Numerical => {
                Value::Number(value.parse().map_err(|_| error(&format!("a number for {name}"), ""))?)
            }
        };
        context.set(name, value);
    }
    Ok(context)
}
