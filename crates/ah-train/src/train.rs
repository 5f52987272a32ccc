//! One training, in the order of the data.
//!
//! Two heuristics are learned with the same parameters. One sees only the training part and is judged
//! on the test part: the table and the record show its figures. The other sees all inputs and ships:
//! it has a quarter more data, and is never judged on inputs that it saw.

use std::time::{Duration, Instant};

use ah_types::{Model, Promise};

use crate::data::Dataset;
use crate::error::TrainError;
use crate::joint;
use crate::judge::{Evaluation, Study, TestReport, decisions};
use crate::model;
use crate::params::{MaxRisk, ValidParams};
use crate::plan::{self, TrainPlan};
use crate::promise::Trainer;
use crate::promise::ladder::{self, Ladder};
use crate::promise::price::PromisePrice;
use crate::record;
use crate::search::{self, Configuration, Portfolio, ScoredConfiguration, portfolio};
use crate::tree::RankingPolicy;

/// A trained model, and how it came about.
pub struct TrainedModel {
    /// All settings, each with its origin.
    pub plan: TrainPlan,
    /// Learned from all inputs; it ships.
    pub model: Model,
    /// The chosen configuration.
    pub configuration: Configuration,
    /// The sizes that were compared.
    pub ladder: Ladder,
    /// All configurations that were tried.
    pub tried: Vec<ScoredConfiguration>,
    /// What the promise costs the model; `None` without a promise.
    pub price: Option<PromisePrice>,
    /// The choices that were kept, with `--max-choices` or out of many.
    pub portfolio: Option<Portfolio>,
    /// The share of all cells that were measured, if a joint model estimates the others.
    pub timed: Option<f64>,
    /// The heuristic that was learned from the training part, on the test part.
    pub held_out: TestReport,
    /// The same with each input of the test part, for a report.
    pub evaluation: Evaluation,
    /// Other learners and a learning curve, if the parameters ask for a study.
    pub study: Option<Study>,
    /// Sentences for the user.
    pub warnings: Vec<String>,
    /// How long the training took, reading included.
    pub duration: Duration,
    /// The part of it that found derived features; zero if none were looked for.
    pub finding: Duration,
}

/// Learns from the logs of `params`.
///
/// # Errors
/// [`TrainError`] in one sentence.
pub fn train(params: &ValidParams) -> Result<TrainedModel, TrainError> {
    // Read and label.
    let start = Instant::now();
    let dataset = Dataset::read(params)?;

    // Split, estimate what a log of many choices did not measure, and resolve all settings.
    let share = plan::test_share(&dataset.optimization.training);
    let parts = dataset.hold_out(params.test_split, share, params.seed)?;
    let training = &parts.training;
    let mut dataset = joint::complete(dataset, training, params.seed)?;
    let (asked, wants_study) = (params.max_risk, params.study);
    let plan = TrainPlan::resolve(params, &dataset, training)?;

    // Search: the choices to keep, derived features, then the learner's parameters.
    let timed = dataset.table.has_estimates().then(|| joint::timed_share(&dataset.table, &dataset.usable));
    let portfolio = portfolio::choose(&dataset, training, plan.max_choices);
    let narrowed = |dataset: Dataset| match &portfolio {
        Some(portfolio) => dataset.narrowed(&portfolio.choices),
        None => dataset,
    };
    if dataset.table.choices.len() > search::derived::MAX_CHOICES {
        dataset = narrowed(dataset);
    }
    let read = Instant::now();
    let finds = search::derived::is_worth_it(&dataset);
    if finds {
        let derived = search::derived::find(&dataset, training, plan.seed);
        dataset = dataset.with_derived(derived)?;
    }
    dataset = narrowed(dataset);
    let finding = if finds { read.elapsed() } else { Duration::ZERO };
    let ranking = RankingPolicy {
        at_least: plan.ranking.unwrap_or_default(),
        always: plan.always_included.iter().filter_map(|name| dataset.table.choice_id(name)).collect(),
        eligible: dataset.eligible_on(training),
    };
    dataset.left_out = search::features::not_worth_their_time(&dataset, &plan, training)?;
    let features = dataset.ranked(training);
    let searched = search::search(&dataset, &plan, &features.columns, training)?;

    // Fit and promise: once to be judged, once to ship.
    let (configuration, ranking) = (&searched.best.configuration, &ranking);
    let features = &features;
    let whole =
        Trainer { dataset: &dataset, features, plan: &plan, configuration, max_leaves: None, ranking };
    let climbed = ladder::climb(&whole, training)?;
    let (ladder, configuration, judged) = (climbed.ladder, &climbed.configuration, climbed.heuristic);
    let judging = Trainer { configuration, max_leaves: ladder.rung().most, ..whole };
    let of_all_inputs = dataset.of_all_inputs();
    let whole = of_all_inputs.as_ref().unwrap_or(&dataset);
    let ranking = &RankingPolicy { eligible: whole.eligible_on(&dataset.usable), ..ranking.clone() };
    let shipping = Trainer { dataset: whole, features: &whole.ranked(&dataset.usable), ranking, ..judging };
    let shipped = shipping.learn(&dataset.usable)?;

    // Judge.
    let held_out = TestReport::new(&judging, &judged, &parts)?;
    let study = wants_study.then(|| Study::new(&judging, &parts)).transpose()?;

    // Write.
    let mut model = model::model(&shipping, &shipped);
    if dataset.ad_hoc {
        model::drop_unused(&mut model);
    }
    model.provenance = record::provenance(&shipping, &ladder, &held_out, portfolio.as_ref(), timed, &model);
    let mut warnings = dataset.warnings.clone();
    if let Some(promise) = model.promise.as_ref().filter(|promise| Some(promise.target) > asked.share())
        && asked == MaxRisk::Default
    {
        warnings.push(looser_promise(&plan, promise, &dataset.usable, training));
    }
    if !dataset.has_fallback() {
        warnings.push(no_fallback(&dataset, &model));
    }
    if dataset.table.has_estimates() && dataset.has_fallback() {
        warnings.push(no_promise_from_estimates());
    }
    if let (Some(target), None) = (plan.max_risk, &model.promise) {
        warnings.push(no_promise(&plan, asked, target, &dataset, training));
    }
    if let Some(fallback) = model.fallback.filter(|_| always_falls_back(&dataset, &model)) {
        warnings.push(format!(
            "the heuristic that ships always takes {}; the held-out figures are of one that was learned from the \
             training part alone",
            model.choice_name(fallback)
        ));
    }
    let configuration = configuration.clone();
    let price = shipped.price.filter(|_| model.promise.is_some());
    Ok(TrainedModel {
        plan,
        model,
        configuration,
        ladder,
        tried: searched.tried,
        price,
        portfolio,
        timed,
        evaluation: Evaluation::of_test_part(dataset.into_judging_table(), &held_out),
        held_out,
        study,
        warnings,
        duration: start.elapsed(),
        finding,
    })
}

fn no_promise_from_estimates() -> String {
    "no promise: the inputs time few of the choices, and a promise must not rest on estimated times. Time the choices that \
     the heuristic keeps on all inputs, and learn from these times"
        .to_owned()
}

fn no_fallback(dataset: &Dataset, model: &Model) -> String {
    format!(
        "no optimization {:?} is built in or given, so the heuristic always decides; its fallback is the best single choice, {} (name another with --fallback)",
        dataset.optimization.name,
        model.fallback.map_or("none", |id| model.choice_name(id)),
    )
}

/// Returns true if the model takes no choice but the fallback on the inputs that it was learned from.
fn always_falls_back(dataset: &Dataset, model: &Model) -> bool {
    let fallback = model.fallback.and_then(|fallback| dataset.table.choice_id(model.choice_name(fallback)));
    // In parts: the first one nearly always answers.
    dataset.usable.chunks(64).all(|inputs| {
        let judged = decisions::decide(model, dataset.features.base(), &dataset.table, inputs);
        judged.iter().all(|judged| judged.ranking.first().is_none_or(|&choice| Some(choice) == fallback))
    })
}

fn looser_promise(plan: &TrainPlan, promise: &Promise, usable: &[u32], training: &[u32]) -> String {
    // The heuristic that is judged learns from the training part alone, and promises the same.
    let needed = (plan.promise.default_inputs()[0] * usable.len()).div_ceil(training.len());
    format!(
        "the promise is {} %, because {} inputs are too few for 1 %, which needs about {needed}. --max-risk 0.01 asks for \
         it all the same, but then the heuristic declines often",
        promise.target * 100.0,
        usable.len()
    )
}

fn no_promise(plan: &TrainPlan, asked: MaxRisk, target: f64, dataset: &Dataset, training: &[u32]) -> String {
    let inputs = dataset.count_judging(&dataset.usable);
    let needed = match asked {
        // The training part alone must be enough.
        MaxRisk::Default => {
            let training = dataset.count_judging(training).max(1);
            (plan.promise.default_inputs()[1] * inputs).div_ceil(training)
        }
        _ => plan.promise.min_inputs(target),
    };
    let why = if inputs < needed {
        format!("at least {needed} inputs are needed, found {inputs}")
    } else {
        format!(
            "too many of the {inputs} inputs would be slower than --max-slowdown allows, the decision's time included; a larger \
             --max-risk may have one"
        )
    };
    format!(
        "no promise possible: {why}. The heuristic takes only choices that save much for their estimated risk"
    )
}
