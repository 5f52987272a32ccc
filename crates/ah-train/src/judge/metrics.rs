//! Judging a model on a table: what it would have cost to follow it.
//!
//! Pricing: an undecided input costs what the fallback costs, and so does an input whose chosen
//! choice failed there. Among the choices of the ranking, only those that were measured on the
//! input count as offered.

use ah_types::{ChoiceId, Decision, Model};
use serde::Serialize;

use crate::data::Table;

/// A choice that takes more than this many times the fallback's time counts against the promise.
pub const DEFAULT_MAX_SLOWDOWN: f64 = 1.05;

/// What following a model costs on some inputs, against taking each one's winner.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Metrics {
    /// The inputs judged.
    pub inputs: usize,
    /// The share of them on which the model decides.
    pub coverage: f64,
    /// Geometric mean of time ÷ winner's time.
    pub slowdown: f64,
    /// The 95th percentile of the same.
    pub p95: f64,
    /// Its greatest value.
    pub worst: f64,
    /// Geometric mean of the fallback's time ÷ time.
    pub speedup_over_fallback: f64,
    /// The share of inputs on which the choice is slower than the fallback by more than the limit.
    pub over_limit: f64,
    /// Geometric mean of the slowdown if the best of the first 3 offered choices is taken.
    pub top3: f64,
    /// The same for the first 10.
    pub top10: f64,
    /// The share of inputs with a feature outside what training saw in their leaf.
    pub outside: f64,
}

/// What was decided for one input.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedInput {
    /// The input.
    pub input: u32,
    /// The offered choices of the ranking that are allowed, best first, as ids of the table; empty where undecided.
    pub ranking: Vec<ChoiceId>,
    /// A feature lies outside what training saw in the leaf.
    pub outside: bool,
}

/// The decisions of `model` on these inputs of `table`.
#[must_use]
pub fn decide(model: &Model, table: &Table, inputs: &[u32], slots: &[Option<usize>]) -> Vec<JudgedInput> {
    let to_table: Vec<Option<ChoiceId>> = model.choices.iter().map(|c| table.choice_id(c)).collect();
    let judge = |&input: &u32| {
        let offered =
            |choice: ChoiceId| to_table[choice.index()].filter(|&c| table.cell(input as usize, c).is_some());
        let values = &table.inputs[input as usize].values;
        let values: Vec<_> = slots
            .iter()
            .zip(model.features.base().features())
            .map(|(slot, feature)| match (slot, feature.kind) {
                (Some(slot), _) => values[*slot].clone(),
                (None, ah_types::FeatureKind::Numerical) => f64::NAN.into(),
                (None, ah_types::FeatureKind::Categorical) => "".into(),
            })
            .collect();
        let mut ranking = Vec::new();
        if let Decision::Choice(first) = model.decide(&values, |c| offered(c).is_some())
            && let Ok(all) = model.ranking(&values)
        {
            let rest = all.iter().skip_while(|(r, _)| r.choice != first.choice);
            ranking.extend(rest.filter(|(_, allowed)| *allowed).filter_map(|(r, _)| offered(r.choice)));
        }
        JudgedInput { input, ranking, outside: model.is_outside(&values) }
    };
    inputs.iter().map(judge).collect()
}

/// What these decisions cost.
#[must_use]
pub fn metrics(table: &Table, judged: &[JudgedInput], fallback: ChoiceId, max_slowdown: f64) -> Metrics {
    if judged.is_empty() {
        return Metrics::default();
    }
    let n: f64 = judged.iter().map(|j| table.inputs[j.input as usize].weight).sum();
    let mut slowdowns = Vec::with_capacity(judged.len());
    let mut mean = 0.0;
    let (mut decided, mut over_limit, mut over_fallback) = (0.0, 0.0, 0.0);
    let (mut top3, mut top10, mut beyond) = (0.0, 0.0, 0.0);
    for JudgedInput { input, ranking, outside } in judged {
        let input = *input as usize;
        let weight = table.inputs[input].weight;
        let fallback_price = table.fallback_price(input, fallback);
        let price =
            |choice: &ChoiceId| table.usable(input, *choice).map_or(fallback_price, |c| c.log_slowdown);
        let best_of = |k: usize| ranking.iter().take(k).map(price).reduce(f64::min).unwrap_or(fallback_price);
        let slowdown = best_of(1);
        decided += weight * f64::from(u8::from(!ranking.is_empty()));
        let comparable = table.usable(input, fallback).is_some();
        over_limit +=
            weight * f64::from(u8::from(comparable && slowdown - fallback_price > max_slowdown.ln()));
        over_fallback += weight * (fallback_price - slowdown);
        top3 += weight * best_of(3);
        top10 += weight * best_of(10);
        beyond += weight * f64::from(u8::from(*outside));
        mean += weight * slowdown;
        slowdowns.push(slowdown);
    }
    slowdowns.sort_unstable_by(f64::total_cmp);
    mean /= n;
    let at95 = ((slowdowns.len() as f64 * 0.95).ceil() as usize).clamp(1, slowdowns.len()) - 1;
    Metrics {
        inputs: judged.len(),
        coverage: decided / n,
        slowdown: mean.exp(),
        p95: slowdowns[at95].exp(),
        worst: slowdowns[slowdowns.len() - 1].exp(),
        speedup_over_fallback: (over_fallback / n).exp(),
        over_limit: over_limit / n,
        top3: (top3 / n).exp(),
        top10: (top10 / n).exp(),
        outside: beyond / n,
    }
}

/// What always taking one choice costs on these inputs.
#[must_use]
pub fn always(
    table: &Table,
    inputs: &[u32],
    choice: ChoiceId,
    fallback: ChoiceId,
    max_slowdown: f64,
) -> Metrics {
    let judged: Vec<JudgedInput> =
        inputs.iter().map(|&input| JudgedInput { input, ranking: vec![choice], outside: false }).collect();
    metrics(table, &judged, fallback, max_slowdown)
}
