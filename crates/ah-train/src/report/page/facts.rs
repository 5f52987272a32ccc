//! The figures of the page, ready to be drawn.

use std::collections::BTreeMap;

use ah_types::{ChoiceId, Clause, Model, Node, Promise, Provenance, Test, Tree, Value};
use serde::Serialize;

use crate::data::Table;
use crate::judge::evaluation::is_learned_from;
use crate::judge::{BaselineComparison, Evaluation, Study};

/// The most inputs on the map. More are thinned evenly.
const MOST_POINTS: usize = 4000;
/// The inputs that the page lists with all their times.
const WORST: usize = 20;
/// The points of a slowdown curve.
const QUANTILES: usize = 201;

/// Everything that the page shows.
#[derive(Debug, Serialize)]
pub struct Facts<'a> {
    heuristic: &'a str,
    optimization: &'a str,
    device: Option<String>,
    fallback: &'a str,
    /// True if the model was learned from one of these logs, so that its figures here are too good.
    learned_from_these: bool,
    /// For the test part of a training: the number of inputs that the judged heuristic learned from.
    learned_from: Option<usize>,
    comparison: &'a BaselineComparison,
    max_slowdown: f64,
    promise: Option<&'a Promise>,
    provenance: &'a Provenance,
    curves: Vec<Curve<'a>>,
    study: Option<&'a Study>,
    features: Vec<FeatureColumn<'a>>,
    points: Vec<Point>,
    inputs: usize,
    choices: Vec<ChoiceFacts<'a>>,
    worst: Vec<WorstInput<'a>>,
    noise: Noise,
    tree: Vec<NodeFacts>,
    /// The number of boosted trees.
    boosted: usize,
}

/// The slowdowns of one way to choose, ascending, at evenly spaced shares of the inputs.
#[derive(Debug, Serialize)]
struct Curve<'a> {
    name: &'a str,
    slowdowns: Vec<f64>,
}

#[derive(Debug, Serialize)]
struct FeatureColumn<'a> {
    name: &'a str,
    numerical: bool,
}

/// An input on the map.
#[derive(Debug, Serialize)]
struct Point {
    values: Vec<Value>,
    winner: usize,
    taken: usize,
    slowdown: f64,
}

#[derive(Debug, Serialize)]
struct ChoiceFacts<'a> {
    name: &'a str,
    measured: usize,
    wins: usize,
    taken: usize,
    /// Geometric mean of the second best time over its own, on the inputs that it wins.
    margin: Option<f64>,
}

#[derive(Debug, Serialize)]
struct WorstInput<'a> {
    input: Vec<String>,
    slowdown: f64,
    taken: &'a str,
    declined: bool,
    times: Vec<(&'a str, f64)>,
}

/// The spread of the repetitions: greatest over least time of a choice on an input.
#[derive(Debug, Serialize)]
struct Noise {
    cells: usize,
    median: Option<f64>,
    p95: Option<f64>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum NodeFacts {
    Split {
        test: String,
        otherwise: String,
        left: u32,
        right: u32,
    },
    Leaf {
        samples: u64,
        choice: String,
        slowdown: f64,
        worst: f64,
        over_fallback: f64,
        declines: bool,
        here: usize,
        loss: f64,
        /// The inputs of this page that are slower than the fallback by more than the limit.
        slow: usize,
    },
}

/// The heuristic's choice on one input.
struct Taken {
    input: u32,
    choice: ChoiceId,
    declined: bool,
    log_slowdown: f64,
    /// True if it is slower than the fallback by more than the limit.
    slow: bool,
}

impl<'a> Facts<'a> {
    /// Returns the facts of `model` on the inputs of `evaluation`, and those of the study of its training.
    pub fn new(model: &'a Model, evaluation: &'a Evaluation, study: Option<&'a Study>) -> Self {
        let Evaluation { table, judged, comparison, .. } = evaluation;
        let id = |name: &str| table.choice_id(name).unwrap_or(ChoiceId(0));
        let fallback = id(&comparison.always_fallback.choice);
        let single = |input: u32| comparison.single.taken(|choice| table.usable(input, choice).is_some());
        let taken: Vec<Taken> = judged
            .iter()
            .map(|j| {
                let choice = j.ranking.first().copied().unwrap_or(fallback);
                let log_slowdown = table.loss(j.input, choice, fallback);
                let base = table.usable(j.input, fallback);
                let slow = base.zip(table.cell(j.input, choice));
                let slow = slow.is_some_and(|(base, cell)| cell.is_slower(base, comparison.max_slowdown));
                Taken { input: j.input, choice, declined: j.ranking.is_empty(), log_slowdown, slow }
            })
            .collect();
        let curve = |name, loss: &dyn Fn(&Taken) -> f64| Curve {
            name,
            slowdowns: quantiles(taken.iter().map(loss).collect()),
        };
        let learners = study.iter().flat_map(|study| &study.learners);
        let learners =
            learners.map(|l| Curve { name: &l.name, slowdowns: quantiles(l.log_slowdowns.clone()) });
        let step = taken.len().div_ceil(MOST_POINTS).max(1);
        Facts {
            heuristic: &model.heuristic,
            optimization: &model.optimization,
            device: model.device.as_ref().map(ToString::to_string),
            fallback: &comparison.always_fallback.choice,
            learned_from_these: is_learned_from(model, &evaluation.hashes),
            learned_from: evaluation.learned_from,
            comparison,
            max_slowdown: comparison.max_slowdown,
            promise: model.promise.as_ref(),
            provenance: &model.provenance,
            curves: [
                curve(&model.heuristic, &|t| t.log_slowdown),
                curve(&comparison.best_single.choice, &|t| table.loss(t.input, single(t.input), fallback)),
                curve(&comparison.always_fallback.choice, &|t| table.loss(t.input, fallback, fallback)),
            ]
            .into_iter()
            .chain(learners)
            .collect(),
            study,
            features: columns(model),
            points: taken.iter().step_by(step).map(|t| point(model, evaluation, t)).collect(),
            inputs: taken.len(),
            choices: choices(table, &taken),
            worst: worst(model, evaluation, &taken),
            noise: noise(table, &taken),
            tree: nodes(model, &model.tree, evaluation, &taken),
            boosted: model.boosters.len(),
        }
    }
}

fn quantiles(mut losses: Vec<f64>) -> Vec<f64> {
    losses.sort_unstable_by(f64::total_cmp);
    let at = |i: usize| losses[i * (losses.len() - 1) / (QUANTILES - 1)];
    if losses.is_empty() { Vec::new() } else { (0..QUANTILES).map(|i| at(i).exp()).collect() }
}

fn columns(model: &Model) -> Vec<FeatureColumn<'_>> {
    let features = model.features.base().features().iter();
    let numerical = |kind| kind == ah_types::FeatureKind::Numerical;
    features.map(|f| FeatureColumn { name: &f.name, numerical: numerical(f.kind) }).collect()
}

fn point(model: &Model, evaluation: &Evaluation, taken: &Taken) -> Point {
    let cells = evaluation.table.cells(taken.input).iter();
    let winner = cells.min_by(|a, b| a.time.total_cmp(&b.time)).map_or(taken.choice, |cell| cell.choice);
    Point {
        values: evaluation.values(model, taken.input),
        winner: winner.index(),
        taken: taken.choice.index(),
        slowdown: taken.log_slowdown.exp(),
    }
}

fn choices<'a>(table: &'a Table, taken: &[Taken]) -> Vec<ChoiceFacts<'a>> {
    let none = |name: &'a String| ChoiceFacts { name, measured: 0, wins: 0, taken: 0, margin: None };
    let mut facts: Vec<ChoiceFacts<'_>> = table.choices.iter().map(none).collect();
    let mut margins = vec![0.0; facts.len()];
    for t in taken {
        facts[t.choice.index()].taken += 1;
        let mut best: Vec<_> = table.cells(t.input).iter().filter(|cell| cell.time.is_finite()).collect();
        best.iter().for_each(|cell| facts[cell.choice.index()].measured += 1);
        best.sort_by(|a, b| a.log_slowdown.total_cmp(&b.log_slowdown));
        if let [winner, rest @ ..] = best.as_slice() {
            facts[winner.choice.index()].wins += 1;
            margins[winner.choice.index()] += rest.first().map_or(0.0, |second| second.log_slowdown);
        }
    }
    for (fact, margin) in facts.iter_mut().zip(margins) {
        fact.margin = (fact.wins > 0).then(|| (margin / fact.wins as f64).exp());
    }
    facts
}

fn worst<'a>(model: &Model, evaluation: &'a Evaluation, taken: &[Taken]) -> Vec<WorstInput<'a>> {
    let table = &evaluation.table;
    let mut order: Vec<&Taken> = taken.iter().collect();
    order.sort_by(|a, b| b.log_slowdown.total_cmp(&a.log_slowdown).then(a.input.cmp(&b.input)));
    let names = model.features.base().features();
    let listed = |t: &&Taken| {
        let mut times: Vec<(&str, f64)> = table
            .cells(t.input)
            .iter()
            .map(|cell| (table.choices[cell.choice.index()].as_str(), cell.time))
            .collect();
        times.sort_by(|a, b| a.1.total_cmp(&b.1));
        let values = evaluation.values(model, t.input);
        WorstInput {
            input: names.iter().zip(&values).map(|(f, value)| format!("{}={value}", f.name)).collect(),
            slowdown: t.log_slowdown.exp(),
            taken: &table.choices[t.choice.index()],
            declined: t.declined,
            times,
        }
    };
    order.iter().take(WORST).filter(|t| t.log_slowdown > 0.0).map(listed).collect()
}

fn noise(table: &Table, taken: &[Taken]) -> Noise {
    let cells = taken.iter().flat_map(|t| table.cells(t.input));
    let mut spreads: Vec<f64> = cells
        .filter(|cell| cell.samples > 1 && cell.time.is_finite())
        .map(|cell| cell.interval.1 / cell.interval.0)
        .collect();
    spreads.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| spreads.get((spreads.len() as f64 * share) as usize).copied();
    Noise { cells: spreads.len(), median: at(0.5), p95: at(0.95) }
}

fn nodes(model: &Model, tree: &Tree, evaluation: &Evaluation, taken: &[Taken]) -> Vec<NodeFacts> {
    let mut here = vec![(0_usize, 0.0, 0_usize); tree.nodes.len()];
    let mut takes: Vec<BTreeMap<ChoiceId, usize>> = vec![BTreeMap::new(); tree.nodes.len()];
    for t in taken {
        let values = evaluation.values(model, t.input);
        let logged = model.row(&values[..]);
        let row = model.features.row(&logged);
        if let Ok(end) = tree.leaf_index(|column| model.column_value(column, &row)) {
            here[end].0 += 1;
            here[end].1 += t.log_slowdown;
            here[end].2 += usize::from(t.slow);
            *takes[end].entry(t.choice).or_default() += 1;
        }
    }
    let words = |test: &Test, left: bool| {
        let name = &model.features.all().features()[test.slot()].name;
        let missing = model.missing.contains(&test.slot());
        let known = &model.categories[test.slot()];
        let clauses = Clause::all([(test, left)]);
        clauses.iter().map(|clause| clause.words(name, missing, known, str::to_owned)).collect()
    };
    let facts = |(at, node): (usize, &Node)| match node {
        Node::Split { test, left, right } => NodeFacts::Split {
            test: words(test, true),
            otherwise: words(test, false),
            left: *left,
            right: *right,
        },
        Node::Leaf(leaf) => {
            // Boosted trees take different choices in a leaf: the page shows the one that is taken most often.
            let (count, loss, slow) = here[at];
            let often = || takes[at].iter().max_by_key(|(_, count)| **count).map(|(choice, _)| *choice);
            let often = || leaf.ranked(model.choice_id(&evaluation.table.choices[often()?.index()])?);
            let chosen = match model.boosters.is_empty() {
                false => often().or(leaf.ranking.first()),
                true => leaf.choose(model.fallback),
            };
            let shown = chosen.or_else(|| model.fallback.and_then(|fallback| leaf.ranked(fallback)));
            NodeFacts::Leaf {
                samples: leaf.samples,
                choice: shown.map_or("", |ranked| model.choice_name(ranked.choice)).to_owned(),
                slowdown: shown.map_or(f64::NAN, |ranked| ranked.slowdown),
                worst: shown.map_or(f64::NAN, |ranked| ranked.worst),
                over_fallback: shown.map_or(f64::NAN, |ranked| ranked.worst_over_fallback),
                declines: chosen.is_none(),
                here: count,
                loss: if count > 0 { (loss / count as f64).exp() } else { f64::NAN },
                slow,
            }
        }
    };
    tree.nodes.iter().enumerate().map(facts).collect()
}
