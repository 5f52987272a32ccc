//! The optimization of a log, and the features that it declares.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ah_model::shown::listed;
use ah_model::{Error, Features, Schema, expr};
use ah_types::log::{Input, Log};
use ah_types::{LogOptimization, Optimization};
use serde::Deserialize;

use crate::error::unknown_feature;
use crate::params::{Params, SplitBy};
use crate::params_check::check_training;

/// The table of an optimization's file that `ah-train` alone reads.
#[derive(Deserialize)]
struct File {
    #[serde(default)]
    training: Params,
}

/// The given or built-in optimization, how its file wants it learned, and whether there is none, so that only the log
/// declares it.
pub fn optimization(
    params: &Params,
    log: &Log,
    warnings: &mut Vec<String>,
) -> Result<(Optimization, Params, bool), Error> {
    let metadata = &log.metadata;
    let (optimization, file, ad_hoc) = match &params.optimization {
        Some(path) => {
            let text = Optimization::read_text(path)?;
            let optimization = Optimization::parse(&text, path)?;
            if optimization.name != metadata.name {
                let path = path.display();
                let found = optimization.name;
                let log = &metadata.name;
                return Err(Error::Invalid(format!(
                    "{path}: the file describes {found:?}, but the log is of {log:?}"
                )));
            }
            (optimization, Some(Optimization::parse_as::<File>(&text, path)?), false)
        }
        None => {
            let found = LogOptimization::new(log);
            warnings.extend(found.note);
            let path = Path::new(&found.optimization.name);
            let file = found.built_in.map(|text| Optimization::parse_as::<File>(text, path)).transpose()?;
            (found.optimization, file, found.built_in.is_none())
        }
    };
    let training = file.map(|file| file.training).unwrap_or_default();
    check_training(&training, &optimization.name)?;
    if !training.feature_ms.is_empty() {
        return Err(Error::Invalid(format!(
            "optimization {:?}: training: expected a table [feature_ms] of its own, found feature_ms here",
            optimization.name
        )));
    }
    check_feature_ms(&optimization, &params.feature_ms, &log.schema)?;
    Ok((optimization, training, ad_hoc))
}

/// Checks the times of features.
fn check_feature_ms(
    optimization: &Optimization,
    given: &BTreeMap<String, f64>,
    logged: &Schema,
) -> Result<(), Error> {
    let known = logged.features().iter().chain(&optimization.features).map(|f| f.name.as_str());
    let known: BTreeSet<&str> = known.collect();
    let unknown = given.keys().find(|name| !known.contains(name.as_str()));
    if let Some(unknown) = unknown {
        return Err(Error::parameter(
            "feature_ns",
            format!("one of {}", listed(&known)),
            format!("{unknown:?}"),
        ));
    }
    for (name, ms) in &optimization.feature_ms {
        if !known.contains(name.as_str()) {
            return Err(unknown_feature(&optimization.name, "feature_ms", name, &known));
        }
        if !(*ms >= 0.0 && ms.is_finite()) {
            return Err(Error::Invalid(format!(
                "optimization {:?}: feature_ms: expected milliseconds of {name:?}, 0 or more, found {ms}",
                optimization.name
            )));
        }
    }
    Ok(())
}

/// Checks the features that derived features and dimensions name. A name that the optimization knows and
/// the log lacks is no mistake: logs of other devices may have it.
pub fn check_names(optimization: &Optimization, dimensions: &[String], logged: &Schema) -> Result<(), Error> {
    let declared = logged.features().iter().chain(&optimization.features).map(|f| f.name.as_str());
    let mut known: BTreeSet<&str> = declared.collect();
    let check = |what: &str, feature: &str, known: &BTreeSet<&str>| match known.contains(feature) {
        true => Ok(()),
        false => Err(unknown_feature(&optimization.name, what, feature, known)),
    };
    for dimension in dimensions {
        check("dimensions", dimension, &known)?;
    }
    for derived in &optimization.derived {
        // `Features::new` reports a malformed expression.
        if let Ok(parsed) = expr::parse(&derived.expression) {
            let mut result = Ok(());
            parsed.for_each_feature(&mut |name| {
                if result.is_ok() {
                    result = check(&format!("derived feature {:?}", derived.name), name, &known);
                }
            });
            result?;
        }
        known.insert(&derived.name);
    }
    Ok(())
}

/// Refuses to hold out by dimensions where the log has none of those that the optimization declares: each input would be held
/// out alone.
pub fn check_dimensions(given: &Params, logged: &Schema) -> Result<(), Error> {
    let dimensions = &given.dimensions;
    let is_asked = given.test_split == Some(SplitBy::Dims);
    if !is_asked || dimensions.iter().any(|name| logged.slot(name).is_some()) {
        return Ok(());
    }
    let expected = "features of the log as `dimensions` under [training] of the optimization (--optimization FILE.toml) for dims";
    let found = if dimensions.is_empty() { "none".to_owned() } else { listed(dimensions) };
    Err(Error::parameter("test_split", expected, found))
}

/// The log's features and the derived ones that they allow.
pub fn features(
    optimization: &Optimization,
    ad_hoc: bool,
    log: &Log,
    warnings: &mut Vec<String>,
) -> Result<Features, Error> {
    let logged = &log.schema;
    let (derived, left_out) = optimization.derived_for(logged);
    if !left_out.is_empty() {
        warnings.push(format!(
            "derived features left out, because the log lacks a feature they use: {}",
            listed(&left_out)
        ));
    }
    // An optimization knows units and integers, and `ah-collect` integers. In other logs, the values show what is an integer.
    let by_values = ad_hoc && !log.metadata.is_collected();
    let is_whole = |slot: usize| {
        let value = |input: &Input| input.values[slot].as_scalar().number();
        // Beyond 2^53 a double has no neighbour that is 1 away.
        log.inputs
            .iter()
            .all(|input| value(input).is_some_and(|x| x.fract() == 0.0 && x.abs() < 2_f64.powi(53)))
    };
    let described = logged.features().iter().enumerate().map(|(slot, f)| {
        let known = optimization.features.iter().find(|known| known.name == f.name && known.kind == f.kind);
        let mut feature = known.unwrap_or(f).clone();
        // Integers of generated code have no missing value.
        feature.integer = (feature.integer || by_values) && is_whole(slot);
        feature
    });
    let schema = Schema::new(described).unwrap_or_else(|_| logged.clone());
    Features::new(schema, &derived)
        .map_err(|e| Error::Invalid(format!("optimization {:?}: {e}", optimization.name)))
}
