//! One training, in the order of the data.
//!
//! Two heuristics are learned with the same parameters. One sees only the training part and is judged
//! on the test part: the table and the record show its figures. The other sees all inputs and ships:
//! it has a quarter more data, and is never judged on inputs that it saw.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ah_model::{Error, Model, Objective};

use crate::data::{Dataset, Table};
use crate::decisions::{self, JudgedInput};
use crate::judge::{Metrics, Reason, TestReport, Verdict};
use crate::params::{MaxRisk, Params};
use crate::plan::TrainPlan;
use crate::prepared::Prepared;
use crate::promise::calibrate::{self, Margin};
use crate::promise::{self, COSTLY, Folds, Recipe, SizeChoice, View};
use crate::record;
use crate::search::{self, Portfolio};

/// A trained model, and how it came about.
pub struct TrainedModel {
    /// All settings, each with its origin.
    pub plan: TrainPlan,
    /// Learned from all inputs; it ships.
    pub model: Model,
    /// Whether the log alone declares its features.
    pub is_ad_hoc: bool,
    /// The sizes that were compared, and the heuristic that was learned from the training part.
    pub chosen: SizeChoice,
    /// The choices that were kept, with `--max-choices` or out of many.
    pub portfolio: Option<Portfolio>,
    /// The heuristic that was learned from the training part, on the test part.
    pub held_out: TestReport,
    /// What to do, and why.
    pub verdict: Verdict,
    /// Why there is no promise, or none that decides; `None` with a promise.
    pub no_promise: Option<NoPromise>,
    /// Sentences for the user.
    pub warnings: Vec<String>,
    /// How long the training took, reading included.
    pub duration: Duration,
}

impl TrainedModel {
    /// The choice that the model takes everywhere, if it is only one.
    pub fn constant(&self) -> Option<&str> {
        decisions::constant(&self.model, &self.plan.call_site)
    }

    /// The share of the time that the same heuristic saves on held-out inputs if it always decides, where the promise is
    /// costly.
    pub fn cost_of_promise(&self) -> Option<f64> {
        let objective = self.model.purpose.objective;
        let with = over_fallback(objective, &self.held_out.evaluation.comparison.model);
        let saved = 1.0 - over_fallback(objective, &self.held_out.always) / with;
        (self.plan.promises() && saved > COSTLY).then_some(saved)
    }
}

/// Why a model has no promise that decides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoPromise {
    /// `--max-risk none`, or a ranking for a program that measures.
    NotAsked,
    /// The program has no fallback of its own.
    NoFallback,
    /// The table has estimates.
    Estimates,
    /// The inputs are too few. A promise that was asked for then takes the fallback alone, else the model always decides.
    TooFew {
        /// The inputs that count: fewer than there are with weights, or with groups.
        inputs: usize,
        /// The inputs that a promise needs, with as many of them that count.
        needed: usize,
        /// Whether it was asked for.
        asked: bool,
    },
    /// Every margin breaks the promise that was asked for, so the model takes the fallback alone.
    Unkept,
    /// Only the fallback keeps this default share, so the model always decides.
    OnlyFallback(f64),
}

/// Learns from the logs of `params`.
///
/// # Errors
/// [`Error`] in one sentence.
pub fn train(params: &Params) -> Result<TrainedModel, Error> {
    train_checked(params, |_| Ok(()))
}

/// Learns from the logs of `params` if `check` accepts the plan, which the log and the optimization complete.
///
/// # Errors
/// [`Error`] in one sentence, and the error of `check`.
pub fn train_checked(
    params: &Params,
    check: impl Fn(&TrainPlan) -> Result<(), Error>,
) -> Result<TrainedModel, Error> {
    let start = Instant::now();
    params.check()?;
    // Log → table → prepared.
    let mut prepared = Prepared::new(Dataset::read(params)?, params)?;
    check(&prepared.plan)?;

    // Search, fit and promise: once to be judged, once to ship.
    let (chosen, only_fallback) = choose_size(&mut prepared);
    let Prepared { plan, learning, shipping, .. } = &prepared;
    let rung = chosen.ladder.rung();
    let configuration = &chosen.configuration;
    let judging = Recipe { dataset: learning, plan, configuration, max_leaves: rung.most };
    let ships = Recipe { dataset: shipping, ..judging };
    let (mut model, margin) = ships.learn(&shipping.usable, rung);
    let constants = [&chosen.model, &model].map(|model| decisions::constant(model, &plan.call_site));
    // Of choices that are about as good, the one that was judged ships.
    if constants[0] != constants[1] && constants.iter().all(Option::is_some) && !plan.promises() {
        model = chosen.model.clone();
    }

    // Judge.
    let held_out = TestReport::new(&judging, &chosen, &prepared);

    let no_promise = no_promise(&prepared, &margin, only_fallback);
    let constant = decisions::constant(&model, &plan.call_site);
    let obstacle = match no_promise {
        Some(NoPromise::TooFew { asked: true, .. }) => Some(Reason::TooFewForPromise),
        Some(NoPromise::Unkept) => Some(Reason::PromiseUnkept),
        _ => None,
    };
    let verdict = Verdict::new(&prepared, &model, constant, &held_out, rung, obstacle);

    // Write.
    model.purpose = record::purpose(&prepared);
    model.provenance =
        record::provenance(&judging, &chosen, &held_out, &verdict, prepared.portfolio.as_ref());
    let mut warnings = learning.warnings.clone();
    let fallback = model.fallback.map(|fallback| model.choice_name(fallback));
    let falls_back =
        || fallback.filter(|_| always_falls_back(&model, plan, &shipping.table, &shipping.usable));
    let shipped = decisions::constant(&model, &plan.call_site).or_else(falls_back);
    let decides = held_out.evaluation.comparison.model.coverage > 0.0;
    let judged = if decides { decisions::constant(&chosen.model, &plan.call_site) } else { fallback };
    if let Some(choice) = shipped.filter(|_| judged != shipped) {
        warnings.push(format!(
            "the final heuristic always takes {choice}; the held-out figures judge the one from the training part, which does not"
        ));
    }
    Ok(TrainedModel {
        model,
        is_ad_hoc: learning.ad_hoc,
        verdict,
        chosen,
        portfolio: prepared.portfolio,
        held_out,
        no_promise,
        warnings,
        duration: start.elapsed(),
        plan: prepared.plan,
    })
}

/// The time on held-out inputs over the fallback's, by the objective.
fn over_fallback(objective: Objective, figures: &Metrics) -> f64 {
    match objective {
        Objective::Total => figures.total_over_fallback,
        Objective::Geomean => 1.0 / figures.speedup_over_fallback,
    }
}

/// Learns the heuristic that is judged. Where only the fallback keeps a default promise and deciding saves much, drops the
/// promise and returns its share.
fn choose_size(prepared: &mut Prepared) -> (SizeChoice, Option<f64>) {
    let chosen = learn(prepared);
    let given = &prepared.learning.settings;
    let unasked = prepared.plan.looks.last().map(|look| look.share).filter(|_| given.max_risk.is_none());
    let without = prepared.plan.without_promise();
    if let Some(look) = chosen.look {
        prepared.plan.keep(look);
    }
    let Prepared { plan, learning, parts, .. } = &*prepared;
    // The folds may decide some inputs where it decides none of those that it learned from.
    let decides_some = || !always_falls_back(&chosen.model, plan, &learning.table, &parts.training);
    if unasked.is_none() || chosen.ladder.rung().speedup > 1.0 && decides_some() {
        return (chosen, None);
    }
    let with = std::mem::replace(&mut prepared.plan, without);
    let always = learn(prepared);
    // Where the other choice fails now and then, a program that names no choices takes the fallback without a promise too.
    let constant = decisions::constant(&always.model, &prepared.plan.call_site);
    let fallback = always.model.fallback.map(|fallback| always.model.choice_name(fallback));
    if always.ladder.rung().speedup * (1.0 - COSTLY) > 1.0 && (constant.is_none() || constant != fallback) {
        return (always, unasked);
    }
    prepared.plan = with;
    (chosen, None)
}

/// Learns a heuristic from the training part.
fn learn(prepared: &Prepared) -> SizeChoice {
    let Prepared { plan, parts, learning: dataset, .. } = prepared;
    let view = Arc::new(View::new(dataset, plan, &parts.training, false));
    let folds = Folds::new(dataset, plan, &parts.training, &view);
    let configuration = &search::search(dataset, plan, &folds.of_search());
    promise::choose_size(&Recipe { dataset, plan, configuration, max_leaves: None }, &folds)
}

/// Why the model has no promise that decides.
fn no_promise(prepared: &Prepared, margin: &Margin, only_fallback: Option<f64>) -> Option<NoPromise> {
    let Prepared { parts, learning, plan, .. } = prepared;
    let [inputs, training] =
        [&learning.usable, &parts.training].map(|inputs| learning.count_evidence(inputs));
    let asked = learning.settings.max_risk;
    // The training part alone must be enough.
    let of_all = |needed: usize| (needed * learning.usable.len()).div_ceil(training.max(1));
    match plan.looks.first() {
        _ if asked == Some(MaxRisk::None) || plan.settings.ranking.is_some() => Some(NoPromise::NotAsked),
        _ if !learning.has_fallback() => Some(NoPromise::NoFallback),
        _ if learning.table.has_estimates() => Some(NoPromise::Estimates),
        None if only_fallback.is_some() => only_fallback.map(NoPromise::OnlyFallback),
        None => {
            let needed = of_all(calibrate::default_inputs(plan.promise, calibrate::DEFAULT_SHARES[2]));
            Some(NoPromise::TooFew { inputs, needed, asked: false })
        }
        Some(look) if margin.promise.is_none() => {
            let needed = of_all(calibrate::min_inputs(plan.promise, look.share));
            Some(NoPromise::TooFew { inputs, needed, asked: asked.is_some() })
        }
        Some(_) => (margin.least == promise::NEVER).then_some(NoPromise::Unkept),
    }
}

/// Whether the model takes no choice but the fallback on these inputs of a table.
fn always_falls_back(model: &Model, plan: &TrainPlan, table: &Table, inputs: &[u32]) -> bool {
    let fallback = model.fallback.and_then(|fallback| table.choice_id(model.choice_name(fallback)));
    let takes_it = |judged: JudgedInput| fallback.is_some_and(|fallback| judged.taken(fallback) == fallback);
    decisions::decide(model, table, inputs, &plan.call_site).into_iter().all(takes_it)
}
