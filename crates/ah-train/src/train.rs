//! One training, in the order of the data.
//!
//! Two heuristics are learned with the same parameters. One sees only the training part and is judged
//! on the test part: the table and the record show its figures. The other sees all inputs and ships:
//! it has a quarter more data, and is never judged on inputs that it saw.

use std::time::{Duration, Instant};

use ah_types::{Model, Promise};

use crate::data::Task;
use crate::error::TrainError;
use crate::joint;
use crate::judge::{Evaluation, Study, TestReport, decisions};
use crate::model;
use crate::params::{MaxRisk, ValidParams};
use crate::plan::{self, TrainPlan};
use crate::promise::{Recipe, size};
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
    /// All configurations that were tried.
    pub tried: Vec<ScoredConfiguration>,
    /// The choices that were kept, with `--max-choices` or out of many.
    pub portfolio: Option<Portfolio>,
    /// The share of all cells that the log times, if a joint model estimates the others.
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
    let mut task = Task::read(params)?;
    let is_sparse = task.undeclared && joint::is_sparse(&task.table, &task.usable);

    // Split, and resolve all settings.
    let share = plan::test_share(&task.optimization.training);
    let parts = task.hold_out(params.test_split, share, params.seed)?;
    let training = &parts.training;
    let (asked, wants_study) = (params.max_risk, params.study);
    let plan = TrainPlan::resolve(params, &task, training)?;
    let plan = if is_sparse { plan.always_deciding() } else { plan };

    // Search: derived features, the choices to keep, then the learner's parameters.
    let read = Instant::now();
    let timed = is_sparse.then(|| joint::timed_share(&task.table, &task.usable));
    if is_sparse {
        let completed = |inputs: &[u32]| joint::completed(&task.table, inputs, plan.seed);
        let (table, judging) = rayon::join(|| completed(training), || completed(&task.usable));
        task = task.with_estimates(table, judging);
    }
    let portfolio = portfolio::choose(&task, training, plan.max_choices);
    if task.undeclared {
        let derived = search::derived::find(&task, training, portfolio.as_ref(), plan.seed);
        task = task.with_derived(derived)?;
    }
    let finding = if task.undeclared { read.elapsed() } else { Duration::ZERO };
    let ranking = RankingPolicy {
        portfolio: portfolio.as_ref().map(|p| p.choices.clone()).unwrap_or_default(),
        at_least: plan.ranking.unwrap_or_default(),
        always: plan.always_included.clone(),
        eligible: task.eligible.clone(),
    };
    let features = task.ranked(training);
    let searched = search::search(&task, &plan, &features.columns, &ranking.portfolio, training)?;

    // Fit and promise: once to be judged, once to ship.
    let (configuration, ranking) = (&searched.best.configuration, &ranking);
    let features = &features;
    let params = &plan;
    let whole = Recipe { task: &task, features, params, configuration, max_leaves: None, ranking };
    let size = size::choose(&whole, training)?;
    let judging = Recipe { max_leaves: size.and_then(|size| size.most), ..whole };
    let shipping = Recipe { features: &task.ranked(&task.usable), ..judging };
    let (judged, shipped) = rayon::join(|| judging.learn(training), || shipping.learn(&task.usable));
    let (judged, shipped) = (judged?, shipped?);

    // Judge.
    let held_out = TestReport::new(&judging, &judged, &parts)?;
    let study = wants_study.then(|| Study::new(&judging, &parts)).transpose()?;

    // Write.
    let mut model = model::model(&shipping, &shipped);
    if task.undeclared {
        model::drop_unused(&mut model);
    }
    if let Some(portfolio) = portfolio.as_ref().filter(|portfolio| portfolio.is_usual()) {
        model::keep_choices(&mut model, &portfolio.choices);
    }
    let cost = size.map_or(searched.best.cost, |size| size.cost);
    model.provenance = record::provenance(&shipping, cost, &held_out, portfolio.as_ref());
    let mut warnings = task.warnings.clone();
    if let Some(promise) = model.promise.as_ref().filter(|promise| Some(promise.target) > asked.share())
        && asked == MaxRisk::Usual
    {
        warnings.push(looser_promise(&plan, promise, &task.usable, training));
    }
    if !task.has_fallback() {
        warnings.push(no_fallback(&task, &model));
    }
    if is_sparse && task.has_fallback() {
        warnings.push(no_promise_from_estimates());
    } else if let (Some(target), None) = (plan.max_risk, &model.promise) {
        warnings.push(no_promise(&plan, asked, target, &task, training));
    }
    if let Some(fallback) = model.fallback.filter(|_| always_falls_back(&task, &model)) {
        warnings.push(format!(
            "the heuristic that ships always takes {}; the held-out figures are of one that was learned from the \
             training part alone",
            model.choice_name(fallback)
        ));
    }
    Ok(TrainedModel {
        plan,
        model,
        configuration: configuration.clone(),
        tried: searched.tried,
        portfolio,
        evaluation: Evaluation::of_test_part(task.into_judging_table(), &held_out),
        timed,
        held_out,
        study,
        warnings,
        duration: start.elapsed(),
        finding,
    })
}

fn no_promise_from_estimates() -> String {
    "no promise: inputs time few of the choices, and a promise must not rest on estimated times. Time the choices that the \
     heuristic keeps on all inputs, and learn from these"
        .to_owned()
}

fn no_fallback(task: &Task, model: &Model) -> String {
    format!(
        "no optimization {:?} is built in or given, so the heuristic always decides; its fallback is the best single choice, {} (name another with --fallback)",
        task.optimization.name,
        model.fallback.map_or("none", |id| model.choice_name(id)),
    )
}

/// Returns true if the model takes no choice but the fallback on the inputs that it was learned from.
fn always_falls_back(task: &Task, model: &Model) -> bool {
    let slots: Vec<Option<usize>> = (0..task.features.base().len()).map(Some).collect();
    let fallback = model.fallback.and_then(|fallback| task.table.choice_id(model.choice_name(fallback)));
    // In parts: the first one nearly always answers.
    task.usable.chunks(64).all(|inputs| {
        let judged = decisions::decide(model, &task.table, inputs, &slots);
        judged.iter().all(|judged| judged.ranking.first().is_none_or(|&choice| Some(choice) == fallback))
    })
}

fn looser_promise(plan: &TrainPlan, promise: &Promise, usable: &[u32], training: &[u32]) -> String {
    // The heuristic that is judged learns from the training part alone, and promises the same.
    let needed = (plan.promise.usual_inputs()[0] * usable.len()).div_ceil(training.len());
    format!(
        "the promise is {} %, because {} inputs are too few for 1 %, which needs about {needed}. --max-risk 0.01 asks for \
         it all the same, but then the heuristic declines often",
        promise.target * 100.0,
        usable.len()
    )
}

fn no_promise(plan: &TrainPlan, asked: MaxRisk, target: f64, task: &Task, training: &[u32]) -> String {
    let inputs = task.count_judging(&task.usable);
    let needed = match asked {
        // The training part alone must be enough.
        MaxRisk::Usual => {
            let training = task.count_judging(training).max(1);
            (plan.promise.usual_inputs()[1] * inputs).div_ceil(training)
        }
        _ => plan.promise.min_inputs(target),
    };
    format!(
        "no promise possible: at least {needed} inputs are needed, found {inputs}. The heuristic takes only choices that save much for their estimated risk"
    )
}
