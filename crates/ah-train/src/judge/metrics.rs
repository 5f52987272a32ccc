//! The loss of decisions. If the model declines, or its choice failed, the input costs the fallback's
//! time. A choice that failed counts as slower than the fallback too: a program cannot always run another one.

use ah_model::Model;
use ah_model::math::exp;
use serde::Serialize;

use super::losses::Losses;
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

impl Metrics {
    /// Prices what a model decides on these inputs of a training.
    pub fn of_model(prepared: &Prepared, model: &Model, inputs: &[u32]) -> Self {
        Self::new(&Losses::of_training(prepared, model), &prepared.judge(model, inputs))
    }

    /// Prices these decisions, each with the time of asking. Shares and the percentile are of the summed weights.
    pub fn new(losses: &Losses<'_>, judged: &[JudgedInput]) -> Self {
        if judged.is_empty() {
            return Self::default();
        }
        let Losses { table, fallback, .. } = *losses;
        let weight = |j: &JudgedInput| table.inputs[j.input as usize].weight;
        let slowdown = |j: &JudgedInput| losses.loss_of_taken(j);
        let time = |j: &JudgedInput| losses.time(j, losses.taken(j));
        let has_failed = |j: &JudgedInput| match j.pick {
            Pick::Measured(choice) => table.usable(j.input, choice).is_none(),
            Pick::Declined | Pick::Unmeasured => false,
        };
        let comparable: Vec<&JudgedInput> =
            judged.iter().filter(|j| table.usable(j.input, fallback).is_some()).collect();
        let over_all =
            |of: &dyn Fn(&JudgedInput) -> f64| judged.iter().map(|j| weight(j) * of(j)).sum::<f64>();
        let over_comparable =
            |of: &dyn Fn(&JudgedInput) -> f64| comparable.iter().map(|j| weight(j) * of(j)).sum::<f64>();
        let n = over_all(&|_| 1.0);
        let mean = |of: &dyn Fn(&JudgedInput) -> f64| exp(over_all(of) / n);
        let share = |is: &dyn Fn(&JudgedInput) -> bool| over_all(&|j| f64::from(is(j))) / n;
        let count = |is: &dyn Fn(&JudgedInput) -> bool| judged.iter().filter(|j| is(j)).count();
        let mut slowdowns: Vec<(f64, f64)> = judged.iter().map(|j| (slowdown(j), weight(j))).collect();
        slowdowns.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut below = 0.0;
        let reaches = |(_, weight): &&(f64, f64)| {
            below += weight;
            below >= (0.99 - 1e-9) * n
        };
        let p99 = slowdowns.iter().find(reaches).map_or(1.0, |(slowdown, _)| exp(*slowdown));
        let gain = over_comparable(&|j| table.loss(j.input, fallback, fallback) - slowdown(j));
        let fallback_time = over_comparable(&|j| table.time(j.input, fallback, fallback));
        let total_over_fallback =
            if fallback_time > 0.0 { over_comparable(&time) / fallback_time } else { 1.0 };
        // A table that times few choices cannot tell what a decision loses.
        let known = |figure: f64| if table.timed.is_some() { f64::NAN } else { figure };
        Self {
            inputs: judged.len(),
            coverage: known(share(&|j| j.pick != Pick::Declined)),
            slowdown: known(mean(&slowdown)),
            without_asking: known(mean(&|j| table.loss(j.input, losses.taken(j), fallback))),
            p99: known(p99),
            worst: known(exp(slowdowns[slowdowns.len() - 1].0)),
            comparable: comparable.len(),
            speedup_over_fallback: known(exp(gain / over_comparable(&|_| 1.0).max(f64::MIN_POSITIVE))),
            total: known(over_all(&time) / over_all(&|j| table.inputs[j.input as usize].best)),
            total_over_fallback: known(total_over_fallback),
            over_limit: known(share(&|j| losses.is_slower(j))),
            failed: count(&has_failed),
            unmeasured: count(&|j| j.pick == Pick::Unmeasured),
            ranked_slowdown: known(mean(&|j| losses.loss(j, j.ranked(fallback)))),
        }
    }
}
