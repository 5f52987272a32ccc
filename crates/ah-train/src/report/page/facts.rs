//! The figures of the page, ready to be drawn.

use std::collections::BTreeMap;

use ah_model::{ChoiceId, Clause, FeatureKind, Model, Node, Test};
use serde_json::{Value, json};

use crate::data::{LEAST_MS, Table};
use crate::decisions::Pick;
use crate::judge::Evaluation;
use crate::report::summary;

/// The most inputs on the map. More are thinned evenly.
const MOST_POINTS: usize = 4000;
/// The inputs that the page lists with all their times.
const WORST: usize = 20;
/// The points of a slowdown curve.
const QUANTILES: usize = 201;

/// The heuristic's choice on one input.
struct JudgedPick {
    input: u32,
    choice: ChoiceId,
    declined: bool,
    /// With the decision, as the figures above the curves have it.
    log_slowdown: f64,
    /// True if it is slower than the fallback by more than the limit.
    slow: bool,
}

/// All facts of the page: `model` on the inputs of `evaluation`.
pub fn facts(model: &Model, evaluation: &Evaluation) -> Value {
    let Evaluation { table, judged, comparison, .. } = evaluation;
    let fallback = table.choice_id(&comparison.always_fallback.choice).unwrap_or(ChoiceId(0));
    let single = |input: u32| comparison.single.taken(|choice| table.usable(input, choice).is_some());
    // Where few choices have times, no figure of an input is known.
    let unknown = summary::unknown(comparison);
    let known = if unknown.is_some() { &[][..] } else { &judged[..] };
    let taken: Vec<JudgedPick> = known
        .iter()
        .map(|j| {
            let choice = j.taken(fallback);
            let log_slowdown = j.overhead.loss(table, j.input, choice, fallback);
            let slow = j.is_slower(table, fallback, comparison.max_slowdown);
            JudgedPick { input: j.input, choice, declined: j.pick == Pick::Declined, log_slowdown, slow }
        })
        .collect();
    let curve = |name: &str, losses: Vec<f64>| json!({ "name": name, "slowdowns": quantiles(losses) });
    let always = |name: &str, choice: &dyn Fn(u32) -> ChoiceId| {
        curve(name, taken.iter().map(|t| table.loss(t.input, choice(t.input), fallback)).collect())
    };
    let curves = vec![
        curve(&model.heuristic, taken.iter().map(|t| t.log_slowdown).collect()),
        always(&comparison.best_single.choice, &single),
        always(&comparison.always_fallback.choice, &|_| fallback),
    ];
    let features = model.features.base().features().iter();
    let features: Vec<Value> =
        features.map(|f| json!({ "name": f.name, "numerical": f.kind == FeatureKind::Numerical })).collect();
    let step = taken.len().div_ceil(MOST_POINTS).max(1);
    let points: Vec<Value> = taken.iter().step_by(step).map(|t| point(table, t)).collect();
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
        "choices": choices(table, &taken),
        "worst": worst(model, table, &taken),
        "noise": table.spread(judged.iter().map(|judged| judged.input)),
        "tree": nodes(model, table, &taken),
        "boosted": model.boosters.len(),
    })
}

fn quantiles(mut losses: Vec<f64>) -> Vec<f64> {
    losses.sort_unstable_by(f64::total_cmp);
    let at = |i: usize| losses[i * (losses.len() - 1) / (QUANTILES - 1)];
    if losses.is_empty() { Vec::new() } else { (0..QUANTILES).map(|i| at(i).exp()).collect() }
}

/// An input on the map.
fn point(table: &Table, taken: &JudgedPick) -> Value {
    let cells = table.cells(taken.input).iter();
    let winner = cells.min_by(|a, b| a.time.total_cmp(&b.time)).map_or(taken.choice, |cell| cell.choice);
    json!({
        "values": table.inputs[taken.input as usize].values,
        "winner": winner.index(),
        "taken": taken.choice.index(),
        "slowdown": taken.log_slowdown.exp(),
    })
}

/// How often each choice was measured, wins and is taken, and its margin: the geometric mean of the second best time
/// over its own, on the inputs that it wins.
fn choices(table: &Table, taken: &[JudgedPick]) -> Vec<Value> {
    let choices = table.choices.len();
    let mut measured = vec![0; choices];
    let mut wins = vec![0; choices];
    let mut takes = vec![0; choices];
    let mut margins = vec![0.0; choices];
    for t in taken {
        takes[t.choice.index()] += 1;
        let mut best: Vec<_> = table.cells(t.input).iter().filter(|cell| cell.time.is_finite()).collect();
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

fn worst(model: &Model, table: &Table, taken: &[JudgedPick]) -> Vec<Value> {
    let mut order: Vec<&JudgedPick> = taken.iter().collect();
    order.sort_by(|a, b| b.log_slowdown.total_cmp(&a.log_slowdown).then(a.input.cmp(&b.input)));
    let names = model.features.base().features();
    let listed = |t: &&JudgedPick| {
        let mut times: Vec<(&str, f64)> = table
            .cells(t.input)
            .iter()
            .map(|cell| (table.choices[cell.choice.index()].as_str(), cell.time))
            .collect();
        times.sort_by(|a, b| a.1.total_cmp(&b.1));
        let values = &table.inputs[t.input as usize].values;
        let input: Vec<String> =
            names.iter().zip(values).map(|(f, value)| format!("{}={value}", f.name)).collect();
        json!({
            "input": input,
            "slowdown": t.log_slowdown.exp(),
            "taken": table.choices[t.choice.index()],
            "declined": t.declined,
            "times": times,
        })
    };
    order.iter().take(WORST).filter(|t| t.log_slowdown > 0.0).map(listed).collect()
}

/// The nodes of the tree. A leaf shows how many inputs of this page end there (`here`), and how many of them are slower
/// than the fallback by more than the limit (`slow`).
fn nodes(model: &Model, table: &Table, taken: &[JudgedPick]) -> Vec<Value> {
    let tree = &model.tree;
    let mut here = vec![(0_usize, 0.0, 0_usize); tree.nodes.len()];
    let mut takes: Vec<BTreeMap<ChoiceId, usize>> = vec![BTreeMap::new(); tree.nodes.len()];
    for t in taken {
        let logged = model.row(&*table.inputs[t.input as usize].values);
        let row = model.features.row(&logged);
        if let Ok((_, end, _)) = tree.path(|column| model.column_value(column, &row)) {
            here[end].0 += 1;
            here[end].1 += t.log_slowdown;
            here[end].2 += usize::from(t.slow);
            *takes[end].entry(t.choice).or_default() += 1;
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
            let (count, loss, slow) = here[at];
            let often = || takes[at].iter().max_by_key(|(_, count)| **count).map(|(choice, _)| *choice);
            let often = || leaf.ranked(model.choice_id(&table.choices[often()?.index()])?);
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
                "here": count,
                "loss": (count > 0).then(|| (loss / count as f64).exp()),
                "slow": slow,
            })
        }
    };
    tree.nodes.iter().enumerate().map(facts).collect()
}
