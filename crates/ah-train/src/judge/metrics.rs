//! The loss of decisions. If the model declines, or its choice failed, the input costs the fallback's
//! time. A choice that failed counts as slower than the fallback too: a program cannot always run another one.

use ah_model::{ChoiceId, Model};
use serde::Serialize;

use crate::data::Table;
use crate::decisions::{JudgedInput, PlainPick};
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
    /// Geometric mean of time ÷ winner's time for a program that does not list its choices.
    pub plain_slowdown: f64,
    /// The number of inputs where its choice then has no time. The fallback's time counts there, else the slowest.
    pub plain_untimed: usize,
    /// The share of inputs with a feature outside the range of their leaf's training inputs.
    pub outside: f64,
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
        let n: f64 = judged.iter().map(|j| table.inputs[j.input as usize].weight).sum();
        let mut slowdowns = Vec::with_capacity(judged.len());
        let mut mean = 0.0;
        let (mut decided, mut over_limit, mut over_fallback) = (0.0, 0.0, 0.0);
        let (mut comparable, mut comparable_weight) = (0, 0.0);
        let mut beyond = 0.0;
        // Of what is taken and of the winners; over the comparable inputs also of the fallback.
        let (mut time, mut best_time, mut compared_time, mut fallback_time) = (0.0, 0.0, 0.0, 0.0);
        let (mut plain_mean, mut plain_untimed, mut failed) = (0.0, 0, 0);
        let mut gross = 0.0;
        for j @ &JudgedInput { input, ref ranking, plain, outside, overhead, .. } in judged {
            let weight = table.inputs[input as usize].weight;
            // A declined input pays for the decision too.
            let loss = |&choice: &ChoiceId| overhead.loss(table, input, choice, fallback);
            let declined = loss(&fallback);
            let if_true = |condition: bool| if condition { weight } else { 0.0 };
            let slowdown = ranking.first().map_or(declined, loss);
            decided += if_true(!ranking.is_empty());
            let has_failed = |&choice: &ChoiceId| table.usable(input, choice).is_none();
            failed += usize::from(ranking.first().is_some_and(has_failed));
            let taken = overhead.net(table.time(input, j.taken(fallback), fallback));
            over_limit += if_true(j.is_slower(table, fallback, max_slowdown));
            gross += weight * table.loss(input, j.taken(fallback), fallback);
            time += weight * taken;
            best_time += weight * table.inputs[input as usize].best;
            if table.usable(input, fallback).is_some() {
                comparable += 1;
                comparable_weight += weight;
                over_fallback += weight * (table.loss(input, fallback, fallback) - slowdown);
                compared_time += weight * taken;
                fallback_time += weight * table.time(input, fallback, fallback);
            }
            beyond += if_true(outside);
            plain_untimed += usize::from(plain == PlainPick::Untimed);
            plain_mean += weight
                * match plain {
                    PlainPick::Timed(choice) => loss(&choice),
                    PlainPick::Declined | PlainPick::Untimed => declined,
                };
            mean += weight * slowdown;
            slowdowns.push((slowdown, weight));
        }
        slowdowns.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        mean /= n;
        let mut below = 0.0;
        let reaches = |(_, weight): &&(f64, f64)| {
            below += weight;
            below >= (0.99 - 1e-9) * n
        };
        let p99 = slowdowns.iter().find(reaches).map_or(1.0, |(slowdown, _)| slowdown.exp());
        let over_fallback_time = if fallback_time > 0.0 { compared_time / fallback_time } else { 1.0 };
        // A table that times few choices cannot tell what a decision loses.
        let known = |figure: f64| if table.timed.is_some() { f64::NAN } else { figure };
        Self {
            inputs: judged.len(),
            coverage: known(decided / n),
            slowdown: known(mean.exp()),
            without_asking: known((gross / n).exp()),
            p99: known(p99),
            worst: known(slowdowns[slowdowns.len() - 1].0.exp()),
            comparable,
            speedup_over_fallback: known((over_fallback / comparable_weight.max(f64::MIN_POSITIVE)).exp()),
            total: known(time / best_time),
            total_over_fallback: known(over_fallback_time),
            over_limit: known(over_limit / n),
            failed,
            plain_slowdown: known((plain_mean / n).exp()),
            plain_untimed,
            outside: beyond / n,
        }
    }
}
