//! The optimization of a log, and the features that it declares.

use std::collections::BTreeSet;

use ah_types::log::Log;
use ah_types::shown::listed;
use ah_types::{Feature, Features, LogOptimization, Optimization, Schema, expr};
use rustc_hash::FxHashMap;

use crate::error::TrainError;
use crate::params::{PromiseMode, SplitBy, ValidParams};
use crate::params_check::check_training;

/// Returns the given or built-in optimization, with the given training policy, and whether there is none, so that only
/// the log declares it.
pub fn optimization(
    params: &ValidParams,
    log: &Log,
    warnings: &mut Vec<String>,
) -> Result<(Optimization, bool), TrainError> {
    let metadata = &log.metadata;
    let (optimization, ad_hoc) = match &params.optimization {
        Some(path) => {
            let optimization = Optimization::read(path)?;
            if optimization.name != metadata.name {
                return Err(TrainError::OtherOptimization {
                    path: path.clone(),
                    log: metadata.name.clone(),
                    found: optimization.name,
                });
            }
            (optimization, false)
        }
        None => {
            let found = LogOptimization::new(log);
            warnings.extend(found.note);
            (found.optimization, !found.is_built_in)
        }
    };
    check_training(&optimization)?;
    Ok((optimization, ad_hoc))
}

/// Checks the features that derived features and dimensions name. A name that the optimization knows and
/// the log lacks is no mistake: logs of other devices may have it.
pub fn check_names(optimization: &Optimization, logged: &Schema) -> Result<(), TrainError> {
    let declared = logged.features().iter().chain(&optimization.features).map(|f| f.name.as_str());
    let mut known: BTreeSet<&str> = declared.collect();
    let check = |what: String, feature: &str, known: &BTreeSet<&str>| match known.contains(feature) {
        true => Ok(()),
        false => Err(TrainError::UnknownFeature {
            optimization: optimization.name.clone(),
            what,
            feature: feature.to_owned(),
            known: known.iter().map(|&name| name.to_owned()).collect(),
        }),
    };
    for dimension in &optimization.training.dimensions {
        check("dimensions".to_owned(), dimension, &known)?;
    }
    for derived in &optimization.derived {
        // `Features::new` reports a malformed expression.
        if let Ok(parsed) = expr::parse(&derived.expression) {
            let mut result = Ok(());
            parsed.for_each_feature(&mut |name| {
                if result.is_ok() {
                    result = check(format!("derived feature {:?}", derived.name), name, &known);
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
pub fn check_dimensions(
    params: &ValidParams,
    optimization: &Optimization,
    logged: &Schema,
) -> Result<(), TrainError> {
    let by_dimensions = [
        ("--test-split dims", params.test_split == SplitBy::Dims),
        ("--promise by-dimensions", params.promise == Some(PromiseMode::ByDimensions)),
    ];
    let dimensions = &optimization.training.dimensions;
    match by_dimensions.into_iter().find(|(_, asked)| *asked) {
        Some((flag, _)) if !dimensions.iter().any(|name| logged.slot(name).is_some()) => {
            Err(TrainError::parameter(
                flag,
                "features of the log as `dimensions` under [training] of the optimization (--optimization FILE.toml)",
                if dimensions.is_empty() { "none".to_owned() } else { listed(dimensions) },
            ))
        }
        _ => Ok(()),
    }
}

/// Returns the log's features and the derived ones that they allow.
pub fn features(
    optimization: &Optimization,
    log: &Log,
    warnings: &mut Vec<String>,
) -> Result<Features, TrainError> {
    let logged = &log.schema;
    let (derived, left_out) = optimization.derived_for(logged);
    if !left_out.is_empty() {
        warnings.push(format!(
            "derived features left out, because the log lacks a feature they use: {}",
            listed(&left_out)
        ));
    }
    // The optimization knows units and which features are whole numbers; the log does not.
    let known: FxHashMap<&str, &Feature> =
        optimization.features.iter().map(|known| (known.name.as_str(), known)).collect();
    let is_missing = |slot: usize| {
        log.inputs.iter().any(|input| input.values[slot].as_scalar().number().is_some_and(f64::is_nan))
    };
    let described = logged.features().iter().enumerate().map(|(slot, f)| {
        let known = known.get(f.name.as_str()).filter(|known| known.kind == f.kind);
        let mut feature: Feature = (*known.unwrap_or(&f)).clone();
        // Integers of generated code have no missing value.
        feature.integer = feature.integer && !is_missing(slot);
        feature
    });
    let schema = Schema::new(described).unwrap_or_else(|_| logged.clone());
    Features::new(schema, &derived).map_err(|source| TrainError::Derived {
        optimization: optimization.name.clone(),
        source: Box::new(source),
    })
}
