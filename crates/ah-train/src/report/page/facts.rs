//! The figures of the page, ready to be drawn.

use std::collections::BTreeMap;

use ah_model::{ChoiceId, Clause, FeatureKind, Model, Node, Test};
use serde_json::{Value, json};

use crate::data::LEAST_MS;
use crate::decisions::{JudgedInput, Pick};
use crate::judge::{Evaluation, Losses};
use crate::report::summary;

/// The most inputs on the map. More are thinned evenly.
const MOST_POINTS: usize = 4000;
/// The inputs that the page lists with all their times.
const WORST: usize = 20;
/// The points of a slowdown curve.
const QUANTILES: usize = 201;

/// All facts of the page: `model` on the inputs of `evaluation`.
pub fn facts(model: &Model, evaluation: &Evaluation) -> Value {
    let Evaluation { table, judged, comparison, .. } = evaluation;
    let fallback = table.choice_id(&comparison.always_fallback.choice).unwrap_or(ChoiceId(0));
    let losses = &Losses { table, fallback, max_slowdown: comparison.max_slowdown };
    let single = |input: u32| comparison.single.taken(|choice| table.usable(input, choice).is_some());
    // Where few choices have times, no figure of an input is known.
    let unknown = summary::unknown(comparison);
    let known = if unknown.is_some() { &[][..] } else { &judged[..] };
    let curve = |name: &str, loss: &dyn Fn(&JudgedInput) -> f64| {
        let slowdowns = quantiles(known.iter().map(loss).collect());
        json!({ "name": name, "slowdowns": slowdowns })
    };
    let curves = vec![
        // With the decision, as the figures above the curves have it.
        curve(&model.heuristic, &|j| losses.loss_of_taken(j)),
        curve(&comparison.best_single.choice, &|j| table.loss(j.input, single(j.input), fallback)),
        curve(&comparison.always_fallback.choice, &|j| table.loss(j.input, fallback, fallback)),
    ];
    let features = model.features.base().features().iter();
    let features: Vec<Value> =
        features.map(|f| json!({ "name": f.name, "numerical": f.kind == FeatureKind::Numerical })).collect();
    let step = known.len().div_ceil(MOST_POINTS).max(1);
    let points: Vec<Value> = known.iter().step_by(step).map(|judged| point(losses, judged)).collect();
    json!({
        "heuristic": model.heuristic,
        "optimization": model.optimization,
        "device": model.device.as_ref().map(ToString::to_string),
        "fallback": comparison.always_fallback.choice,
        "learned_from_these": evaluation.seen,
        "learned_from": evaluation.learned_from,
        "comparison": comparison,
        "unknown": unknown,
        "max_slowdown": comparison.max_slowdown,
        "least_ms": LEAST_MS,
        "unit": table.unit,
        "promise": model.promise,
        "provenance": model.provenance,
        // The slowdowns of each way to choose, ascending, at evenly spaced shares of the inputs.
        "curves": curves,
        "features": features,
        "points": points,
        "inputs": judged.len(),
        "weighted": judged.iter().any(|judged| table.inputs[judged.input as usize].weight != 1.0),
        "choices": choices(losses, known),
        "worst": worst(model, losses, known),
        "noise": table.spread(judged.iter().map(|judged| judged.input)),
        "tree": nodes(model, losses, known),
        "boosted": model.boosters.len(),
    })
}

fn quantiles(mut losses: Vec<f64>) -> Vec<f64> {
    losses.sort_unstable_by(f64::total_cmp);
    let at = |i: usize| losses[i * (losses.len() - 1) / (QUANTILES - 1)];
    if losses.is_empty() { Vec::new() } else { (0..QUANTILES).map(|i| at(i).exp()).collect() }
}

/// An input on the map.
fn point(losses: &Losses<'_>, judged: &JudgedInput) -> Value {
    let cells = losses.table.cells(judged.input).iter();
    let taken = losses.taken(judged);
    let winner = cells.min_by(|a, b| a.time.total_cmp(&b.time)).map_or(taken, |cell| cell.choice);
    json!({
        "values": losses.table.inputs[judged.input as usize].values,
        "winner": winner.index(),
        "taken": taken.index(),
        "slowdown": losses.loss_of_taken(judged).exp(),
    })
}

/// How often each choice was measured, wins and is taken, and its margin: the geometric mean of the second best time
/// over its own, on the inputs that it wins.
fn choices(losses: &Losses<'_>, judged: &[JudgedInput]) -> Vec<Value> {
    let table = losses.table;
    let choices = table.choices.len();
    let mut measured = vec![0; choices];
    let mut wins = vec![0; choices];
    let mut takes = vec![0; choices];
    let mut margins = vec![0.0; choices];
    for judged in judged {
        takes[losses.taken(judged).index()] += 1;
        let mut best: Vec<_> =
            table.cells(judged.input).iter().filter(|cell| cell.time.is_finite()).collect();
        best.iter().for_each(|cell| measured[cell.choice.index()] += 1);
        best.sort_by(|a, b| a.time.total_cmp(&b.time));
        if let [winner, rest @ ..] = best.as_slice() {
            wins[winner.choice.index()] += 1;
            margins[winner.choice.index()] +=
                rest.first().map_or(0.0, |second| (second.time / winner.time).ln());
        }
    }
    let fact = |(at, name): (usize, &String)| {
        let margin = (wins[at] > 0).then(|| (margins[at] / f64::from(wins[at])).exp());
        json!({ "name": name, "measured": measured[at], "wins": wins[at], "taken": takes[at], "margin": margin })
    };
    table.choices.iter().enumerate().map(fact).collect()
}

fn worst(model: &Model, losses: &Losses<'_>, judged: &[JudgedInput]) -> Vec<Value> {
    let table = losses.table;
    let mut order: Vec<(f64, &JudgedInput)> = judged.iter().map(|j| (losses.loss_of_taken(j), j)).collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.input.cmp(&b.1.input)));
    let names = model.features.base().features();
    let listed = |(loss, judged): &(f64, &JudgedInput)| {
        let name = |choice: ChoiceId| table.choices[choice.index()].as_str();
        let cells = table.cells(judged.input).iter();
        let mut times: Vec<(&str, f64)> = cells.map(|cell| (name(cell.choice), cell.time)).collect();
        times.sort_by(|a, b| a.1.total_cmp(&b.1));
        let values = names.iter().zip(&table.inputs[judged.input as usize].values);
        json!({
            "input": values.map(|(f, value)| format!("{}={value}", f.name)).collect::<Vec<_>>(),
            "slowdown": loss.exp(),
            "taken": name(losses.taken(judged)),
            "declined": judged.pick == Pick::Declined,
            "times": times,
        })
    };
    order.iter().take(WORST).filter(|(loss, _)| *loss > 0.0).map(listed).collect()
}

/// The nodes of the tree. A leaf shows how many inputs of this page end there (`here`), and how many of them are slower
/// than the fallback by more than the limit (`slow`).
fn nodes(model: &Model, losses: &Losses<'_>, judged: &[JudgedInput]) -> Vec<Value> {
    let Losses { table, .. } = losses;
    let tree = &model.tree;
    let mut here: Vec<Vec<&JudgedInput>> = vec![Vec::new(); tree.nodes.len()];
    for judged in judged {
        let logged = model.row(&*table.inputs[judged.input as usize].values);
        let row = model.features.row(&logged);
        if let Ok((_, end, _)) = tree.path(|column| model.column_value(column, &row)) {
            here[end].push(judged);
        }
    }
    let words = |test: &Test, left: bool| -> String {
        let slot = test.column.slot;
        let name = &model.features.all().features()[slot].name;
        let missing = model.missing.contains(&slot);
        let known = &model.categories[slot];
        let clauses = Clause::all([(test, left)]);
        clauses.iter().map(|clause| clause.words(name, missing, known, str::to_owned)).collect()
    };
    let facts = |(at, node): (usize, &Node)| match node {
        Node::Split { test, right } => {
            json!({ "test": words(test, true), "otherwise": words(test, false), "left": at + 1, "right": right })
        }
        Node::Leaf(leaf) => {
            // Boosted trees and formulas take different choices in a leaf: the page shows the one that is taken most often.
            let here = &here[at];
            let often = || {
                let mut takes: BTreeMap<ChoiceId, usize> = BTreeMap::new();
                here.iter().for_each(|judged| *takes.entry(losses.taken(judged)).or_default() += 1);
                let (choice, _) = takes.into_iter().max_by_key(|(_, count)| *count)?;
                leaf.ranked(model.choice_id(&table.choices[choice.index()])?)
            };
            let loss: f64 = here.iter().map(|judged| losses.loss_of_taken(judged)).sum();
            let chosen = match model.is_by_choice() {
                true => often().or(leaf.ranking.first()),
                false => leaf.choose(model.fallback, |_| true),
            };
            let shown = chosen.or_else(|| model.fallback.and_then(|fallback| leaf.ranked(fallback)));
            json!({
                "samples": leaf.samples,
                "choice": shown.map_or("", |ranked| model.choice_name(ranked.choice)),
                "slowdown": shown.map(|ranked| ranked.slowdown),
                "worst": shown.map(|ranked| ranked.worst),
                "over_fallback": shown.map(|ranked| ranked.worst_over_fallback),
                "declines": chosen.is_none(),
                "here": here.len(),
                "loss": (!here.is_empty()).then(|| (loss / here.len() as f64).exp()),
                "slow": here.iter().filter(|judged| losses.is_slower(judged)).count(),
            })
        }
    };
    tree.nodes.iter().enumerate().map(facts).collect()
}
