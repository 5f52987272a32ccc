//! The facts of `ah-collect report`: what a log covers, and how well it repeats.

use ah_types::log::{Collection, Log};
use ah_types::{FeatureKind, Optimization, Value};
use serde::Serialize;

use super::facts::LogFacts;
use super::podium::{Podium, medians, share};
use super::repeats::Repeats;

/// The most inputs on the map. More are thinned evenly.
const MOST_POINTS: usize = 4000;

/// The facts of a log, ready to be drawn.
#[derive(Debug, Serialize)]
pub struct LogReport {
    name: String,
    rows: usize,
    inputs: usize,
    failures: usize,
    features: Vec<FeatureCoverage>,
    choices: Vec<ChoiceCoverage>,
    points: Vec<Point>,
    repeats: Repeats,
    always_fallback: Option<(String, f64)>,
    best_single: Option<(String, f64)>,
    device: Option<String>,
    collection: Option<Collection>,
}

#[derive(Debug, Serialize)]
struct FeatureCoverage {
    name: String,
    numerical: bool,
    distinct: usize,
    least: String,
    greatest: String,
}

#[derive(Debug, Default, Serialize)]
struct ChoiceCoverage {
    name: String,
    measured: usize,
    failed: usize,
    wins: usize,
    /// Geometric mean of the second best time over its own, on the inputs that it wins, less 1.
    margin: f64,
}

#[derive(Debug, Serialize)]
struct Point {
    values: Vec<Value>,
    winner: u32,
}

impl LogReport {
    /// Returns the facts of a log. The fallback is the one of `optimization`.
    pub fn of(log: &Log, optimization: &Optimization) -> Self {
        let facts = LogFacts::of(log, optimization);
        let mut choices: Vec<ChoiceCoverage> = log
            .choices
            .iter()
            .map(|name| ChoiceCoverage { name: name.clone(), ..Default::default() })
            .collect();
        let mut points = Vec::new();
        let step = log.inputs.len().div_ceil(MOST_POINTS).max(1);
        for (at, (input, times)) in log.inputs.iter().zip(medians(log)).enumerate() {
            for (&choice, ms) in &times {
                let choice = &mut choices[choice as usize];
                if ms.is_finite() { choice.measured += 1 } else { choice.failed += 1 }
            }
            let Some(podium) = Podium::of(&times) else { continue };
            let winner = &mut choices[podium.winner as usize];
            winner.wins += 1;
            if podium.second_ms.is_finite() {
                winner.margin += (podium.second_ms / podium.winner_ms).ln();
            }
            if at % step == 0 {
                points.push(Point { values: input.values.to_vec(), winner: podium.winner });
            }
        }
        for choice in &mut choices {
            choice.margin = (choice.margin * share(1, choice.wins)).exp_m1();
        }
        Self {
            name: facts.name,
            rows: facts.rows,
            inputs: facts.inputs,
            failures: facts.failures,
            features: (0..log.schema.len()).map(|slot| coverage(log, slot)).collect(),
            choices,
            points,
            repeats: Repeats::of(log),
            always_fallback: facts.always_fallback,
            best_single: facts.best_single,
            device: facts.collection.as_ref().and_then(|c| c.device.as_ref()).map(ToString::to_string),
            collection: facts.collection,
        }
    }
}

fn coverage(log: &Log, slot: usize) -> FeatureCoverage {
    let feature = &log.schema.features()[slot];
    let mut values: Vec<&Value> = log.inputs.iter().map(|input| &input.values[slot]).collect();
    values.sort_by(|a, b| match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.total_cmp(b),
        _ => a.to_string().cmp(&b.to_string()),
    });
    values.dedup_by(|a, b| a.to_string() == b.to_string());
    let text = |value: Option<&&Value>| value.map(ToString::to_string).unwrap_or_default();
    FeatureCoverage {
        name: feature.name.clone(),
        numerical: feature.kind == FeatureKind::Numerical,
        distinct: values.len(),
        least: text(values.first()),
        greatest: text(values.last()),
    }
}
