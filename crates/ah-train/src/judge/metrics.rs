//! The loss of decisions. If the model declines, or its choice failed, the input costs the fallback's
//! time. A choice that failed counts as slower than the fallback too: a program cannot always run another one.

use ah_model::math::exp;
use ah_model::{ChoiceId, Model};
use serde::Serialize;

use crate::data::Table;
use crate::decisions::{JudgedInput, Pick};
use crate::prepared::Prepared;

/// The cost of decisions on some inputs, compared with taking each input's winner. Where a table times few of its
/// choices, nobody knows what the winner is, and what a choice without a time takes: every ratio is then NaN, which is `null` in
/// JSON.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Metrics {
    /// The number of inputs.
    pub inputs: usize,
    /// The share of them on which the model decides.
    pub coverage: f64,
    /// Geometric mean of time ÷ winner's time.
    pub slowdown: f64,
    /// The same without the decision's time.
    pub without_asking: f64,
    /// The 99th percentile of time ÷ winner's time.
    pub p99: f64,
    /// The greatest time ÷ winner's time.
    pub worst: f64,
    /// The number of inputs on which the fallback has a time.
    pub comparable: usize,
    /// Geometric mean of the fallback's time ÷ time, over these.
    pub speedup_over_fallback: f64,
    /// Total time ÷ the winners' total time.
    pub total: f64,
    /// Total time ÷ the fallback's total time, over the inputs on which it has a time.
    pub total_over_fallback: f64,
    /// The share of inputs that are slower than the fallback by more than the limit, or whose choice failed.
    pub over_limit: f64,
    /// The number of inputs whose choice failed.
    pub failed: usize,
    /// The number of inputs where nobody measured what it takes. The fallback's time counts there, else the slowest.
    pub unmeasured: usize,
    /// Geometric mean of time ÷ winner's time for a program that names its choices.
    pub ranked_slowdown: f64,
}

/// Sums over judged inputs, each times the weight of its input.
#[derive(Default)]
struct Sums {
    weight: f64,
    /// The weight of the inputs where the heuristic decides.
    decided: f64,
    /// The weight of the inputs that break the limit beside the fallback.
    over_limit: f64,
    /// Log slowdowns of what is taken, with the decision.
    loss: f64,
    loss_without_asking: f64,
    /// Log slowdowns of a program that names its choices.
    ranked_loss: f64,
    /// Times of what is taken, with the decision.
    time: f64,
    /// Times of the winners.
    best_time: f64,
}

/// The same over the inputs where the fallback has a time.
#[derive(Default)]
struct Comparable {
    inputs: usize,
    weight: f64,
    /// The fallback's log slowdown less that of what is taken.
    gain: f64,
    time: f64,
    fallback_time: f64,
}

impl Metrics {
    /// Prices what a model decides on these inputs of a training.
    pub fn of_model(prepared: &Prepared, model: &Model, inputs: &[u32]) -> Self {
        let (judged, fallback) = (prepared.judge(model, inputs), prepared.judging_fallback(model));
        Self::new(&prepared.judging, &judged, fallback, prepared.plan.max_slowdown)
    }

    /// Prices these decisions, each with the time of asking. An input is slower than the fallback where it
    /// breaks this limit. Shares and the percentile are of the summed weights.
    pub fn new(table: &Table, judged: &[JudgedInput], fallback: ChoiceId, max_slowdown: f64) -> Self {
        if judged.is_empty() {
            return Self::default();
        }
        let mut sums = Sums::default();
        let mut comparable = Comparable::default();
        let mut failed = 0;
        let mut unmeasured = 0;
        let mut slowdowns = Vec::with_capacity(judged.len());
        for j @ &JudgedInput { input, pick, overhead, .. } in judged {
            let weight = table.inputs[input as usize].weight;
            // A declined input pays for the decision too.
            let loss = |choice: ChoiceId| overhead.loss(table, input, choice, fallback);
            let if_true = |condition: bool| if condition { weight } else { 0.0 };
            let slowdown = loss(j.taken(fallback));
            let has_failed = matches!(pick, Pick::Measured(choice) if table.usable(input, choice).is_none());
            failed += usize::from(has_failed);
            unmeasured += usize::from(pick == Pick::Unmeasured);
            let taken = overhead.net(table.time(input, j.taken(fallback), fallback));
            sums.weight += weight;
            sums.decided += if_true(pick != Pick::Declined);
            sums.over_limit += if_true(j.is_slower(table, fallback, max_slowdown));
            sums.loss += weight * slowdown;
            sums.loss_without_asking += weight * table.loss(input, j.taken(fallback), fallback);
            sums.time += weight * taken;
            sums.best_time += weight * table.inputs[input as usize].best;
            if table.usable(input, fallback).is_some() {
                comparable.inputs += 1;
                comparable.weight += weight;
                comparable.gain += weight * (table.loss(input, fallback, fallback) - slowdown);
                comparable.time += weight * taken;
                comparable.fallback_time += weight * table.time(input, fallback, fallback);
            }
            sums.ranked_loss += weight * loss(j.ranked(fallback));
            slowdowns.push((slowdown, weight));
        }
        slowdowns.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let n = sums.weight;
        let mut below = 0.0;
        let reaches = |(_, weight): &&(f64, f64)| {
            below += weight;
            below >= (0.99 - 1e-9) * n
        };
        let p99 = slowdowns.iter().find(reaches).map_or(1.0, |(slowdown, _)| exp(*slowdown));
        let Comparable { time, fallback_time, .. } = comparable;
        let total_over_fallback = if fallback_time > 0.0 { time / fallback_time } else { 1.0 };
        // A table that times few choices cannot tell what a decision loses.
        let known = |figure: f64| if table.timed.is_some() { f64::NAN } else { figure };
        Self {
            inputs: judged.len(),
            coverage: known(sums.decided / n),
            slowdown: known(exp(sums.loss / n)),
            without_asking: known(exp(sums.loss_without_asking / n)),
            p99: known(p99),
            worst: known(exp(slowdowns[slowdowns.len() - 1].0)),
            comparable: comparable.inputs,
            speedup_over_fallback: known(exp(comparable.gain / comparable.weight.max(f64::MIN_POSITIVE))),
            total: known(sums.time / sums.best_time),
            total_over_fallback: known(total_over_fallback),
            over_limit: known(sums.over_limit / n),
            failed,
            unmeasured,
            ranked_slowdown: known(exp(sums.ranked_loss / n)),
        }
    }
}
