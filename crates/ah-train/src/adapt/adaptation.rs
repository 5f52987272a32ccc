//! The run of an adaptation: each way out of fold, then the best one on all new inputs.

use std::sync::Arc;

use ah_types::{
    ChoiceId, DerivedFeature, FeatureKind, Features, LearnerKind, LogRecord, Model, Objective, Promise,
};
use rayon::prelude::*;
use serde::Serialize;
use serde_json::json;

use super::correction::Strength;
use super::params::AdaptParams;
use super::transfer::Transfer;
use super::trial::{Assessment, FOLDS, Fold, Judged, Trial};
use super::way::{METHODS, Method};
use super::{target, union};
use crate::data::random::mix;
use crate::data::{Dataset, domain};
use crate::error::TrainError;
use crate::judge::comparison::BaselineComparison;
use crate::judge::evaluation::max_slowdown;
use crate::judge::study::{Difference, advice};
use crate::params::{MaxRisk, Params};
use crate::plan::TrainPlan;
use crate::promise::trainer::promise;

/// An adapted model, and how it came about.
#[derive(Clone, Debug, Serialize)]
pub struct Adaptation {
    /// The adapted model.
    #[serde(skip)]
    pub model: Model,
    /// The best way.
    pub method: Method,
    /// The new inputs.
    pub inputs: usize,
    /// The fallback.
    pub fallback: String,
    /// The old model, as it is.
    pub old: Judged,
    /// The old trees with corrected scores; cross-fitted.
    pub corrected: Judged,
    /// Learned from the new inputs alone; cross-fitted.
    pub retrained: Judged,
    /// The adapted model out of fold, also for a program that does not name its choices.
    pub comparison: BaselineComparison,
    /// What the old scores weigh; `None` where trees are retrained.
    pub strength: Option<Strength>,
    /// The standard deviation of the corrected scores' misses.
    pub spread: f64,
    /// The share that the old model or the flag wants to promise; `None`: it always decides.
    pub wanted: Option<f64>,
    /// The promise of the adapted model.
    pub promise: Option<Promise>,
    /// The stricter promise, where a looser one is taken.
    pub stricter: Option<Stricter>,
    /// The number of new inputs from which on `wanted` could be promised.
    pub inputs_for_wanted: Option<usize>,
    /// The loosest share that takes the place of `wanted`, and the number of new inputs from which on it could be promised.
    pub inputs_for_any: Option<(f64, usize)>,
    /// What the second half of the new inputs saved, where scores are corrected or retrained.
    pub last_half: Difference,
    /// What more inputs would save if the model always decided, in a sentence.
    pub advice: String,
    /// Sentences for the user.
    pub warnings: Vec<String>,
}

/// A promise that was possible, but would have cost too much.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Stricter {
    /// The share.
    pub share: f64,
    /// The best way with it.
    pub judged: Judged,
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
        return Err(TrainError::Parameter {
            flag: "MODEL",
            expected: "a model learned for geomean, as adapting corrects log slowdowns".to_owned(),
            found: format!("one for {}; learn from the new log instead", old.objective()),
        });
    }
    let reading = Params {
        max_slowdown: Some(max_slowdown(&old)),
        promise: Some(target::MODE),
        seed: params.seed,
        skip_bad_rows: params.skip_bad_rows,
        device_features: old.features.base().names(FeatureKind::Numerical).map(str::to_owned).collect(),
        ..Params::new(params.logs.clone(), &old.heuristic)
    };
    let (dataset, mut warnings) = read(&old, &reading)?;
    let fallback = dataset.fallback(&dataset.usable);

    // What can be promised depends on the number of inputs alone.
    let wanted = params.max_risk.or(old.promise.as_ref().map(|promise| promise.target));
    let targets = &target::targets(params.max_risk, wanted, dataset.usable.len());
    // Boosted trees of 200 inputs lose 0.0007 less in the mean of four logs, but people cannot read them, and there are 21
    // fits.
    let learner = dataset.ad_hoc.then_some(LearnerKind::CostTree);
    let max_risk = targets[0].or(wanted).map_or(MaxRisk::None, MaxRisk::Share);
    let learning = Params { max_risk, learner, ..reading }.check()?;
    let plan = TrainPlan::resolve(&learning, &dataset, &dataset.usable)?;

    // The old scores on the new inputs.
    let mut rows = dataset.usable.clone();
    rows.sort_by_key(|&row| mix(params.seed, u64::from(row)));
    let model = on_log(&union::with_choices_of(&old, &dataset.table), &dataset, fallback)?;
    let transfer = Arc::new(Transfer::new(model, &dataset, fallback, &rows));
    let lost = transfer.inputs.iter().filter(|input| input.reached.is_none()).count();
    if lost > 0 {
        warnings.push(format!(
            "the old trees have no answer on {lost} of {} new inputs (an unknown category, an undefined feature, or \
             outside the precondition)",
            rows.len()
        ));
    }

    // Each way, out of fold.
    let trial =
        Trial { transfer, dataset: &dataset, params: &learning, plan: &plan, fallback, rows: &rows, targets };
    let all: Vec<usize> = (0..rows.len()).collect();
    let folds = (0..FOLDS).into_par_iter().map(|fold| trial.fold(&all, fold));
    let folds = folds.collect::<Result<Vec<Fold>, TrainError>>()?;
    let ways: Vec<Assessment> = METHODS.iter().flat_map(|&way| trial.assess(&folds, way)).collect();
    let best = Assessment::best(&ways, targets).unwrap_or(&ways[0]);
    let (method, target) = (best.method, best.target);
    let judged = |method, target| {
        let found = ways.iter().find(|way| way.method == method && way.target == target);
        found.map_or(best.judged, |way| way.judged)
    };
    let stricter = targets[0].filter(|_| target != targets[0]).zip(Assessment::best(&ways, &targets[..1]));
    let last_half = trial.last_half(&folds, method);

    // The best one, from all new inputs.
    let way = trial.adapt(method, &all)?;
    let mut model = way.model(best.risk, best.threshold);
    let calibrated = best.calibrated.as_ref().zip(target);
    let level = target::level(targets.len());
    model.promise = calibrated.map(|(threshold, target)| Promise {
        level,
        ..promise(&dataset, &plan, threshold, &dataset.usable, target)
    });
    let mut adaptation = Adaptation {
        method,
        inputs: rows.len(),
        fallback: dataset.table.choices[fallback.index()].clone(),
        old: trial.old(&old),
        corrected: judged(Method::Corrected, target),
        retrained: judged(Method::Retrained, target),
        comparison: trial.comparison(&folds, best),
        strength: way.strength,
        spread: best.risk.spread,
        wanted,
        promise: model.promise.clone(),
        stricter: stricter.map(|(share, way)| Stricter { share, judged: way.judged }),
        inputs_for_wanted: wanted.map(target::inputs_for),
        inputs_for_any: wanted.map(target::inputs_for_any),
        advice: advice((rows.len() / 2, rows.len()), last_half, best.judged.always.ln()),
        last_half,
        warnings,
        model: Model::default(),
    };
    record(&mut model, &old, &dataset, &plan, &adaptation);
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

/// Returns the model with the device, the fallback and the declared conditions of the log.
fn on_log(model: &Model, dataset: &Dataset, fallback: ChoiceId) -> Result<Model, TrainError> {
    let mut new = Model {
        device: dataset.device().cloned(),
        shared_memory: dataset.metadata.shared_memory,
        device_capa: dataset.metadata.device_capa,
        fallback: model.choice_id(&dataset.table.choices[fallback.index()]),
        ..model.clone()
    };
    let on_model = |condition: &ah_types::Precondition| -> Result<_, TrainError> {
        let (text, schema) = (&condition.expression, new.features.base());
        let typed = domain::truth(&dataset.optimization, "precondition", text, schema)?;
        Ok(ah_types::Precondition { typed, expression: text.clone() })
    };
    if !dataset.ad_hoc {
        new.precondition = dataset.precondition.as_ref().map(on_model).transpose()?;
    }
    for (id, condition) in &dataset.eligible {
        if let Some(choice) = new.choice_id(&dataset.table.choices[id.index()]) {
            let condition = on_model(condition)?;
            new.eligible.insert(choice, condition);
        }
    }
    Ok(new)
}

/// Writes the origin of the model: the old logs, the new ones, and the figures.
fn record(model: &mut Model, old: &Model, dataset: &Dataset, plan: &TrainPlan, adaptation: &Adaptation) {
    let object = |value: serde_json::Value| value.as_object().cloned().unwrap_or_default();
    let new = dataset.sources.iter().map(|source| LogRecord {
        file: source.path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        blake3: source.hash.clone(),
        rows: source.rows,
    });
    model.provenance.tool = concat!("ah-train ", env!("CARGO_PKG_VERSION"), " adapt").to_owned();
    model.provenance.logs = old.provenance.logs.iter().cloned().chain(new).collect();
    model.provenance.seed = plan.seed;
    model.provenance.parameters = object(json!({
        "settings": plan.settings,
        "adapted_by": adaptation.method,
        "strength": adaptation.strength,
        "new_logs": dataset.sources.len(),
        "old": old.provenance.parameters,
    }));
    model.provenance.metrics = object(json!({
        "note": "on the new inputs, cross-fitted",
        "adaptation": adaptation,
    }));
}
