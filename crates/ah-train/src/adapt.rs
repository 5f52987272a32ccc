//! `ah-train adapt`: a model that was learned on another device, or on other shapes, and a log of inputs that were measured here.
//!
//! A usual training learns from the new log. The old model is judged on the same held-out inputs, and the one that loses less is
//! kept. The old model's promise does not hold here, so it is kept without one.

use std::path::PathBuf;

use ah_model::{Error, FeatureKind, Model};
use serde::Serialize;

use crate::decisions;
use crate::error::mismatch;
use crate::judge::Metrics;
use crate::params::{MaxRisk, Params};
use crate::train::{TrainedModel, train};

/// The parameters of an adaptation.
// On the command line, the doc comments are the help texts.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct AdaptParams {
    /// The model, learned on another device or on other shapes.
    pub model: PathBuf,
    /// The new logs, plain or gzip, merged in this order.
    #[cfg_attr(feature = "cli", arg(required = true, value_name = "NEW_LOG"))]
    pub logs: Vec<PathBuf>,
    /// The share of inputs to promise, such as 5% or 0.05, or none [default: what a training would promise].
    #[cfg_attr(feature = "cli", arg(long, value_name = "P|none"))]
    pub max_risk: Option<MaxRisk>,
    /// The seed of all splits.
    #[cfg_attr(feature = "cli", arg(long, default_value_t = 0, value_name = "N"))]
    pub seed: u64,
    /// Skip malformed rows and count them.
    #[cfg_attr(feature = "cli", arg(long))]
    pub skip_bad_rows: bool,
}

/// An adapted model, and how it came about.
#[derive(Serialize)]
pub struct Adaptation {
    /// The adapted model.
    #[serde(skip)]
    pub model: Model,
    /// Whether it is the old one.
    pub keeps_old: bool,
    /// The old model on the held-out new inputs.
    pub old: Metrics,
    /// The model that was learned from the other new inputs, on the same.
    pub learned: Metrics,
    /// The fallback.
    pub fallback: String,
    /// The training on the new logs.
    #[serde(skip)]
    pub trained: TrainedModel,
}

/// Adapts a model to the device or to the shapes of new logs.
///
/// # Errors
/// [`Error`] if a file cannot be read, the logs are of another optimization, or hold too little.
pub fn adapt(params: &AdaptParams) -> Result<Adaptation, Error> {
    let old = Model::read(&params.model)?;
    let trained = learn(params, &old)?;
    if trained.model.optimization != old.optimization {
        return Err(mismatch(&params.logs[0], &old.optimization, &trained.model.optimization));
    }
    let TrainedModel { model, held_out, plan, .. } = &trained;
    let (evaluation, logged) = (&held_out.evaluation, model.features.base());
    let inputs: Vec<u32> = evaluation.judged.iter().map(|judged| judged.input).collect();
    let judged = decisions::decide(&old, logged, &evaluation.table, &inputs, &plan.call_site);
    let fallback = evaluation.comparison.always_fallback.choice.clone();
    let id = evaluation.table.named("the model's fallback", &fallback)?;
    let of_old = Metrics::new(&evaluation.table, &judged, id, plan.max_slowdown);
    let learned = evaluation.comparison.model.clone();
    let keeps_old = of_old.slowdown <= learned.slowdown;
    let model = if keeps_old { Model { promise: None, ..old } } else { model.clone() };
    Ok(Adaptation { model, keeps_old, old: of_old, learned, fallback, trained })
}

/// Learns from the new logs, with the old model's fallback where they have it.
fn learn(params: &AdaptParams, old: &Model) -> Result<TrainedModel, Error> {
    let reading = Params {
        max_risk: params.max_risk,
        max_slowdown: Some(old.purpose.max_slowdown),
        fallback: old.fallback.map(|fallback| old.choice_name(fallback).to_owned()),
        seed: Some(params.seed),
        skip_bad_rows: params.skip_bad_rows,
        device_features: old.features.base().names(FeatureKind::Numerical).map(str::to_owned).collect(),
        ..Params::new(params.logs.clone(), &old.heuristic)
    };
    match train(&reading) {
        // The logs do not have the old model's fallback.
        Err(Error::Usage(_)) => train(&Params { fallback: None, ..reading }),
        trained => trained,
    }
}
