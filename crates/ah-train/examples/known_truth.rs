//! Counts how often the promise breaks on simulated logs whose truth is known, and how much it decides beside a rule that
//! knows the truth:
//!
//! `cargo run --release -p ah-train --example known_truth -- [runs=200] [cases=smooth,heavy,many,duplicates,drift]
//! [inputs=250,500,1000] [target=0.01]`
//!
//! A run learns from one simulated log and is judged by the true times of inputs that the log does not have. The promise is
//! the usual one for the number of inputs, or `target`. The rule that knows the truth takes, for each input, the choice with
//! the greatest `gain - lambda * risk` of the true gains and risks; lambda uses up the promised share.

use std::fmt::Write as _;
use std::io::Write as _;

use ah_train::parts::{
    Configuration, CostTree, Dataset, Heuristic, RankedFeatures, RankingPolicy, Trainer, calibrate, climb,
};
use ah_train::{MaxRisk, Params, TrainPlan};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use statrs::distribution::{ContinuousCDF, Normal};

/// A choice that takes more than this many times as long as the fallback is too slow.
const LIMIT: f64 = 1.05;
/// Inputs that judge a run.
const FRESH: usize = 3000;
/// Timings of a choice on an input.
const SAMPLES: usize = 3;
/// Cells on each side of the grid from which the case of duplicates draws its inputs.
const GRID: u32 = 40;

/// What is simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Case {
    /// One choice beside the fallback, whose risk varies smoothly over two of four features.
    Smooth,
    /// The same, and each timing is longer by |t| * 2 %, where t has two degrees of freedom.
    Heavy,
    /// Eleven choices with means and spreads of their own.
    Many,
    /// As smooth, drawn from a grid of inputs: many are drawn several times.
    Duplicates,
    /// As smooth, but the risk grows threefold from the log's begin to its end. Fresh inputs come from any time.
    Drift,
}

const CASES: [(&str, Case); 5] = [
    ("smooth", Case::Smooth),
    ("heavy", Case::Heavy),
    ("many", Case::Many),
    ("duplicates", Case::Duplicates),
    ("drift", Case::Drift),
];

/// One choice on one input, beside the fallback.
#[derive(Clone, Copy, Default)]
struct Truth {
    /// `ln(t / t_fallback)`.
    log_ratio: f64,
    /// The probability of being too slow, for whoever knows the features alone.
    risk: f64,
    /// The mean of `-log_ratio`, likewise.
    gain: f64,
}

struct Input {
    features: [f64; 4],
    /// The fallback is the first.
    choices: Vec<Truth>,
    /// How often the log measures it.
    draws: usize,
}

fn normal(random: &mut Pcg64) -> f64 {
    let (a, b): (f64, f64) = (random.random(), random.random());
    (-2.0 * (1.0 - a).ln()).sqrt() * (std::f64::consts::TAU * b).cos()
}

impl Case {
    /// Returns an input at this time of the log, from 0 to 1.
    fn input(self, random: &mut Pcg64, time: f64, draws: usize) -> Input {
        let mut features = [(); 4].map(|()| random.random::<f64>());
        if self == Self::Duplicates {
            features = features.map(|x| (x * f64::from(GRID)).floor() / f64::from(GRID));
            (features[2], features[3]) = (0.0, 0.0);
            // The same input is equally fast whenever it is drawn.
            let seed = (features[0] * 1e6 + features[1]).to_bits();
            return Input {
                features,
                choices: self.choices(&features, time, &mut Pcg64::seed_from_u64(seed)),
                draws,
            };
        }
        Input { features, choices: self.choices(&features, time, random), draws }
    }

    fn choices(self, x: &[f64; 4], time: f64, random: &mut Pcg64) -> Vec<Truth> {
        let fallback = std::iter::once(Truth::default());
        if self == Self::Many {
            let choice = |c: f64| {
                let slope = |k: f64| (c * k).sin() * 0.5;
                let mean = -0.15
                    + slope(1.7) * (x[0] - 0.5)
                    + slope(2.9) * (x[1] - 0.5)
                    + 0.2 * slope(4.1) * (6.0 * x[2] + c).sin();
                let spread = 0.06 + 0.12 * x[0] * x[1];
                let risk = Normal::new(mean, spread).map_or(1.0, |normal| normal.sf(LIMIT.ln()));
                Truth { log_ratio: mean + spread * normal(random), risk, gain: -mean }
            };
            return fallback.chain((1..12).map(f64::from).map(choice)).collect();
        }
        let risk = 0.3 * f64::midpoint(x[0], x[1]).powi(3);
        let (slow, fast) = (1.25_f64.ln(), 0.7_f64.ln());
        let now = if self == Self::Drift { risk * (0.5 + time) } else { risk };
        let mean = if random.random::<f64>() < now { slow } else { fast };
        let gain = -(risk * slow + (1.0 - risk) * fast);
        fallback.chain([Truth { log_ratio: mean + 0.05 * normal(random), risk, gain }]).collect()
    }

    /// Returns the inputs of a log of this many draws, and those that judge.
    fn inputs(self, random: &mut Pcg64, draws: usize) -> Vec<Input> {
        let mut inputs: Vec<Input> =
            (0..draws).map(|draw| self.input(random, draw as f64 / draws as f64, 1)).collect();
        inputs.extend((0..FRESH).map(|_| {
            let time = random.random();
            self.input(random, time, 0)
        }));
        if self != Self::Duplicates {
            return inputs;
        }
        let mut distinct: FxHashMap<[u64; 2], Input> = FxHashMap::default();
        for input in inputs {
            let key = [input.features[0], input.features[1]].map(f64::to_bits);
            match distinct.entry(key) {
                std::collections::hash_map::Entry::Occupied(mut known) => {
                    known.get_mut().draws += input.draws;
                }
                std::collections::hash_map::Entry::Vacant(unknown) => drop(unknown.insert(input)),
            }
        }
        let mut inputs: Vec<Input> = distinct.into_values().collect();
        inputs.sort_by(|a, b| a.features.partial_cmp(&b.features).expect("numbers"));
        inputs
    }

    /// Returns what a timing takes longer than the truth.
    fn noise(self, random: &mut Pcg64) -> f64 {
        let small = 0.005 * normal(random);
        match self {
            Self::Heavy => {
                let chi_squared = normal(random).powi(2) + normal(random).powi(2);
                small + 0.02 * (normal(random) / (chi_squared / 2.0).sqrt()).abs()
            }
            Self::Smooth | Self::Many | Self::Duplicates | Self::Drift => small,
        }
    }

    /// Writes the log. An input that it does not have is timed once, without noise, so that it can be judged.
    fn log(self, random: &mut Pcg64, inputs: &[Input]) -> String {
        let mut log = String::from(concat!(
            r#"{"name": "known_truth", "shared_memory": 0, "device_capa": [0, 0], "#,
            r#""numerical_features": ["a", "b", "c", "d"], "categorical_features": []}"#,
            "\na,b,c,d,choice,feedback\n"
        ));
        for input in inputs {
            let [a, b, c, d] = input.features;
            for (choice, truth) in input.choices.iter().enumerate() {
                let noises: Vec<f64> = (0..input.draws * SAMPLES).map(|_| self.noise(random)).collect();
                for noise in if noises.is_empty() { vec![0.0] } else { noises } {
                    let time = (truth.log_ratio + noise).exp();
                    writeln!(log, "{a},{b},{c},{d},c{choice:02},{time}").expect("text");
                }
            }
        }
        log
    }
}

/// What taking some choices does to the inputs that judge.
#[derive(Clone, Copy, Default)]
struct Outcome {
    promised: bool,
    /// The true share that is too slow.
    share: f64,
    decides: f64,
    loss: f64,
}

impl Outcome {
    fn new(case: Case, inputs: &[&Input], take: impl Fn(usize) -> usize) -> Self {
        let mut outcome = Self { promised: true, ..Self::default() };
        for (at, input) in inputs.iter().enumerate() {
            let choice = take(at);
            let truth = input.choices[choice];
            outcome.share += match case {
                // An input that is drawn again is as fast as before.
                Case::Duplicates => f64::from(u8::from(truth.log_ratio > LIMIT.ln())),
                _ => truth.risk,
            };
            outcome.decides += f64::from(u8::from(choice != 0));
            let best = input.choices.iter().map(|c| c.log_ratio).fold(f64::INFINITY, f64::min);
            outcome.loss += truth.log_ratio - best;
        }
        let count = inputs.len() as f64;
        let Self { share, decides, loss, .. } = outcome;
        Self { share: share / count, decides: decides / count, loss: loss / count, ..outcome }
    }

    /// Returns the outcome of the rule that knows the truth.
    fn of_truth(case: Case, inputs: &[&Input], target: f64) -> Self {
        let with = |lambda: f64| {
            let worth = |truth: &Truth| truth.gain - lambda * truth.risk;
            Self::new(case, inputs, |at| {
                let choices = inputs[at].choices.iter().enumerate();
                choices.max_by(|(_, a), (_, b)| worth(a).total_cmp(&worth(b))).map_or(0, |(choice, _)| choice)
            })
        };
        let (mut low, mut high) = (1e-6_f64, 1e6_f64);
        for _ in 0..50 {
            let middle = (low * high).sqrt();
            if with(middle).share > target { low = middle } else { high = middle }
        }
        with(high)
    }
}

/// The outcomes of one log.
struct Run {
    target: f64,
    /// Of the default size.
    learned: Outcome,
    /// Of the rule that knows the truth.
    truth: Outcome,
    fallback: Outcome,
}

impl Run {
    fn new(case: Case, draws: usize, target: Option<f64>, seed: u64) -> Self {
        let mut random = Pcg64::seed_from_u64(seed);
        let inputs = case.inputs(&mut random, draws);
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
        file.write_all(case.log(&mut random, &inputs).as_bytes()).expect("a temporary file");
        let params = Params {
            fallback: Some("c00".to_owned()),
            max_risk: target.map_or(MaxRisk::Default, MaxRisk::Share),
            max_slowdown: Some(LIMIT),
            seed,
            ..Params::new(vec![file.path().to_owned()], "T")
        };
        let params = params.check().expect("valid parameters");
        let dataset = Dataset::read(&params).expect("a sound log");
        let by_features: FxHashMap<[u64; 4], &Input> =
            inputs.iter().map(|input| (input.features.map(f64::to_bits), input)).collect();
        let input_of = |row: u32| {
            let values = &dataset.table.inputs[row as usize].values;
            let number = |slot: usize| match values[slot] {
                ah_types::Value::Number(x) => x.to_bits(),
                _ => unreachable!("features are numbers"),
            };
            by_features[&[number(0), number(1), number(2), number(3)]]
        };
        let (logged, fresh): (Vec<u32>, Vec<u32>) =
            dataset.usable.iter().partition(|&&row| input_of(row).draws > 0);
        // Duplicates are drawn from all inputs again.
        let judging = if case == Case::Duplicates { dataset.usable.clone() } else { fresh };
        let judges: Vec<&Input> = judging.iter().map(|&row| input_of(row)).collect();

        // The share that the training part of such a log can promise.
        let plan =
            TrainPlan::resolve(&params, &dataset, &logged[..logged.len() * 4 / 5]).expect("enough inputs");
        let target = plan.max_risk.expect("a promise");
        let features = dataset.ranked(&logged);
        let tree = Configuration::CostTree(CostTree::new(8, 3));
        let ranking = RankingPolicy::default();
        let trainer = Trainer {
            dataset: &dataset,
            features: &features,
            plan: &plan,
            configuration: &tree,
            max_leaves: None,
            ranking: &ranking,
        };
        // The size that a training takes.
        let heuristic = climb(&trainer, &logged).expect("learns").heuristic;
        let taken = taken(&dataset, &features, &heuristic, &judging);
        let learned = Outcome::new(case, &judges, |at| taken[at]);
        Self {
            target,
            learned: Outcome { promised: heuristic.promise.is_some(), ..learned },
            truth: Outcome::of_truth(case, &judges, target),
            fallback: Outcome::new(case, &judges, |_| 0),
        }
    }
}

/// Returns the choice that a heuristic takes on each of these inputs.
fn taken(dataset: &Dataset, features: &RankedFeatures, heuristic: &Heuristic, rows: &[u32]) -> Vec<usize> {
    let targets = dataset.costs();
    let mut ranking = Vec::new();
    let take = |&row: &u32| {
        heuristic.fitted.rank(&features.columns, &targets, row, &mut ranking);
        let picked = calibrate::pick(&ranking, heuristic.fallback, heuristic.threshold);
        picked.map_or(heuristic.fallback, |picked| picked.choice).index()
    };
    rows.iter().map(take).collect()
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| args.iter().find_map(|arg| arg.strip_prefix(name)?.strip_prefix('='));
    let runs: u64 = option("runs").map_or(200, |runs| runs.parse().expect("runs=NUMBER"));
    let target = option("target").map(|share| share.parse().expect("target=SHARE"));
    let sizes = option("inputs").unwrap_or("250,500,1000").split(',');
    let sizes: Vec<usize> = sizes.map(|size| size.parse().expect("inputs=NUMBER,NUMBER")).collect();
    let cases = option("cases").unwrap_or("smooth,heavy,many,duplicates,drift").split(',');
    println!(
        "| case | inputs | promise | runs, without a promise | broken | share used | decides | of what the truth decides | loss \
         | of the truth | of the fallback |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for name in cases {
        let &(_, case) = CASES.iter().find(|case| case.0 == name).unwrap_or_else(|| panic!("no case {name}"));
        for &size in &sizes {
            let of_seed = |seed| Run::new(case, size, target, seed);
            let results: Vec<Run> = (0..runs).into_par_iter().map(of_seed).collect();
            let mean = |f: fn(&Run) -> f64| results.iter().map(f).sum::<f64>() / runs as f64;
            let is_broken = |run: &&Run| run.learned.promised && run.learned.share > run.target;
            println!(
                "| {name} | {size} | {} % | {runs}, {} | {:.1} % | {:.2} % | {:.1} % | {:.0} % | {:.4} | {:.4} | {:.4} |",
                results[0].target * 100.0,
                results.iter().filter(|run| !run.learned.promised).count(),
                results.iter().filter(is_broken).count() as f64 / runs as f64 * 100.0,
                mean(|run| run.learned.share) * 100.0,
                mean(|run| run.learned.decides) * 100.0,
                mean(|run| run.learned.decides) / mean(|run| run.truth.decides) * 100.0,
                mean(|run| run.learned.loss).exp(),
                mean(|run| run.truth.loss).exp(),
                mean(|run| run.fallback.loss).exp(),
            );
        }
    }
}
