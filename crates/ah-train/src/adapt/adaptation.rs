//! The run of an adaptation: both ways on the same folds, then the better one from all new inputs.

use ah_types::{DerivedFeature, FeatureKind, Features, Model, Objective, Promise};
use serde::Serialize;
use serde_json::json;

use super::corrected::Corrected;
use super::old_model::OldModel;
use super::params::AdaptParams;
use super::share::{self, MODE};
use crate::data::Dataset;
use crate::error::TrainError;
use crate::judge::evaluation::max_slowdown;
use crate::judge::{Metrics, decisions};
use crate::model;
use crate::overhead::{ModelUse, Overhead};
use crate::params::{MaxRisk, Params};
use crate::plan::TrainPlan;
use crate::promise::ladder::{self, Climbed};
use crate::promise::price::LossCurve;
use crate::promise::trainer::promise;
use crate::promise::{Trainer, calibrate};
use crate::record;
use crate::search;
use crate::tree::RankingPolicy;

/// How the adapted model came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// The old trees with corrected scores.
    Corrected,
    /// A usual training on the new inputs alone.
    Retrained,
}

/// What one way loses on the new inputs, out of fold: geometric-mean slowdowns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// As it would ship, declining where its promise wants it.
    pub slowdown: f64,
    /// Always deciding.
    pub always: f64,
}

/// An adapted model, and how it came about.
#[derive(Clone, Debug, Serialize)]
pub struct Adaptation {
    /// The adapted model.
    #[serde(skip)]
    pub model: Model,
    /// The way that loses less.
    pub method: Method,
    /// The new inputs.
    pub inputs: usize,
    /// The fallback.
    pub fallback: String,
    /// The old model on the new inputs, as it is.
    pub old: Metrics,
    /// The old trees with corrected scores; `None` if the old model does not know the fallback.
    pub corrected: Option<Judged>,
    /// Learned from the new inputs alone.
    pub retrained: Judged,
    /// The share that the old model or the flag wants to promise; `None`: it always decides.
    pub wanted: Option<f64>,
    /// The promise of the adapted model.
    pub promise: Option<Promise>,
    /// The number of new inputs from which on `wanted` is promised.
    pub inputs_for_wanted: Option<usize>,
    /// Sentences for the user.
    pub warnings: Vec<String>,
}

/// Adapts a model to the device or to the shapes of new logs.
///
/// # Errors
/// [`TrainError`] if a file cannot be read, the logs are of another optimization, or hold too little.
pub fn adapt(params: &AdaptParams) -> Result<Adaptation, TrainError> {
    // Read.
    params.check()?;
    let old = Model::read(&params.model)?;
    if old.objective() != Objective::Geomean {
        return Err(TrainError::parameter(
            "MODEL",
            "a model learned for geomean, as adapting corrects log slowdowns",
            format_args!("one for {}; learn from the new log instead", old.objective()),
        ));
    }
    let reading = Params {
        max_slowdown: Some(max_slowdown(&old)),
        promise: Some(MODE),
        seed: params.seed,
        skip_bad_rows: params.skip_bad_rows,
        device_features: old.features.base().names(FeatureKind::Numerical).map(str::to_owned).collect(),
        ..Params::new(params.logs.clone(), &old.heuristic)
    };
    let (dataset, mut warnings) = read(&old, &reading)?;
    let inputs = &dataset.usable;
    let wanted = params.max_risk.or(old.promise.as_ref().map(|promise| promise.target));
    let max_risk = share::share(params.max_risk, wanted, inputs.len());
    let max_risk = max_risk.map_or(MaxRisk::None, MaxRisk::Share);
    let plan = TrainPlan::resolve(&Params { max_risk, ..reading }.check()?, &dataset, inputs)?;

    // Retrain, as from any log.
    let features = dataset.ranked(inputs);
    let ranking = RankingPolicy { eligible: dataset.eligible_on(inputs), ..RankingPolicy::default() };
    let searched = search::search(&dataset, &plan, &features.columns, inputs)?;
    let trainer = Trainer {
        dataset: &dataset,
        features: &features,
        plan: &plan,
        configuration: &searched.best.configuration,
        max_leaves: None,
        ranking: &ranking,
    };
    let Climbed { configuration, heuristic, .. } = ladder::climb(&trainer, inputs)?;
    let trainer = Trainer { configuration: &configuration, ..trainer };
    let slowdown = |cost: f64| dataset.table.over_best(cost);
    let price = heuristic.price.clone().unwrap_or_default();
    let retrained = Judged { slowdown: slowdown(price.promised), always: slowdown(price.always) };

    // Correct the old scores, on the same folds.
    let fallback = heuristic.fallback;
    let old_model = OldModel::new(&old, &dataset, fallback)?;
    let lost =
        old_model.as_ref().map_or(0, |old| inputs.iter().filter(|&&row| old.input(row).is_none()).count());
    if lost > 0 {
        warnings.push(format!(
            "the old trees have no answer on {lost} of {} new inputs (an unknown category, an undefined feature, or \
             outside the precondition)",
            inputs.len()
        ));
    }
    let parts = trainer.calibration_parts(inputs);
    let corrected = old_model.as_ref().map(|old| {
        let corrected = Corrected::new(old, &dataset.table, (fallback, plan.max_slowdown), &parts);
        let overhead = plan.asking.overhead(&ModelUse::of_model(&old.model));
        let (mut violations, mut losses) = (Vec::new(), LossCurve::new());
        for (row, ranking) in &corrected.rankings {
            let limit = plan.max_slowdown;
            let found = calibrate::violations_of(ranking, &dataset.table, *row, fallback, limit, &overhead);
            violations.extend(found);
            losses.add(ranking, &dataset.table, *row, fallback, &overhead);
        }
        let (judged, independent) = (corrected.rankings.len(), dataset.count_judging(inputs));
        let test =
            |target| calibrate::fixed_sequence_test(&violations, judged, independent, plan.promise, target);
        let calibrated = plan.max_risk.and_then(test);
        let threshold =
            plan.max_risk.map_or(f64::INFINITY, |target| trainer.threshold(calibrated.as_ref(), target));
        let [shipped, always] = [threshold, f64::INFINITY].map(|threshold| slowdown(losses.at(threshold)));
        (corrected, calibrated, threshold, Judged { slowdown: shipped, always })
    });

    // Write the better one, from all new inputs. It is chosen by its loss without a promise: the loss with one favours the way
    // whose violations these inputs happen to lack.
    let better = corrected.as_ref().filter(|(.., judged)| judged.always <= retrained.always);
    let (method, mut model) = match better {
        Some((corrected, calibrated, threshold, _)) => {
            let calibrated = plan.max_risk.zip(calibrated.as_ref());
            let promise = calibrated.map(|(target, found)| promise(&dataset, &plan, found, inputs, target));
            (Method::Corrected, Model { promise, ..corrected.model(inputs, *threshold) })
        }
        None => (Method::Retrained, model::model(&trainer, &heuristic)),
    };
    if dataset.ad_hoc && method == Method::Retrained {
        model::drop_unused(&mut model);
    }
    let judged = decisions::decide(&old, dataset.features.base(), &dataset.table, inputs);
    let mut adaptation = Adaptation {
        method,
        inputs: inputs.len(),
        fallback: dataset.table.choices[fallback.index()].clone(),
        old: Metrics::new(&dataset.table, &judged, fallback, plan.max_slowdown, &Overhead::default()),
        corrected: corrected.as_ref().map(|(.., judged)| *judged),
        retrained,
        wanted,
        promise: model.promise.clone(),
        inputs_for_wanted: wanted.map(share::inputs_for),
        warnings,
        model: Model::default(),
    };
    write_record(&mut model, &old, &dataset, &plan, &adaptation);
    adaptation.model = model;
    Ok(adaptation)
}

/// Reads the logs as a dataset with the model's fallback and derived features.
fn read(old: &Model, params: &Params) -> Result<(Dataset, Vec<String>), TrainError> {
    let dataset = Dataset::read(&params.clone().check()?)?;
    if dataset.metadata.name != old.optimization {
        return Err(TrainError::Mismatch {
            path: params.logs[0].clone(),
            model: old.optimization.clone(),
            log: dataset.metadata.name,
        });
    }
    let mut warnings = dataset.warnings.clone();
    let name = old.fallback.map(|fallback| old.choice_name(fallback));
    let known = name.and_then(|name| dataset.table.choice_id(name)).filter(|&id| !dataset.table.is_rare(id));
    let fallback = known.unwrap_or_else(|| dataset.table.best_fallback(&dataset.usable));
    if let (Some(name), None) = (name, known) {
        warnings.push(format!(
            "the new inputs do not measure the fallback {name}; the best single choice, {}, takes its place",
            dataset.table.choices[fallback.index()]
        ));
    }
    let mut dataset = dataset.with_fallback(fallback);
    if dataset.ad_hoc {
        let derived: Vec<DerivedFeature> = old.features.derived().iter().map(|(d, _)| d.clone()).collect();
        if Features::new(dataset.features.base().clone(), &derived).is_ok() {
            dataset = dataset.with_derived(derived)?;
        }
    }
    Ok((dataset, warnings))
}

/// Writes the origin of the model: the old logs, the new ones, and the figures.
fn write_record(
    model: &mut Model,
    old: &Model,
    dataset: &Dataset,
    plan: &TrainPlan,
    adaptation: &Adaptation,
) {
    model.provenance.tool = concat!("ah-train ", env!("CARGO_PKG_VERSION"), " adapt").to_owned();
    model.provenance.logs = old.provenance.logs.iter().cloned().chain(record::logs(dataset)).collect();
    model.provenance.seed = plan.seed;
    model.provenance.parameters = record::object(json!({
        "settings": plan.settings,
        "adapted_by": adaptation.method,
        "new_logs": dataset.sources.len(),
        "old": old.provenance.parameters,
    }));
    model.provenance.metrics = record::object(json!({
        "note": "on the new inputs, cross-fitted",
        "adaptation": adaptation,
    }));
}
