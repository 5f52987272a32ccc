//! Counts how often the promise breaks on simulated logs whose truth is known:
//!
//! `cargo run --release -p ah-train --example known_truth -- [runs=60] [cases=smooth,heavy,…] [inputs=1200] [target=0.01]`
//!
//! A run learns from one simulated log, as `ah-train` does, and is judged by the true times of 4,000 inputs that the log does not
//! have. `broken` are the runs whose true share of slow inputs is above the promised one, `surely` those above it by more than
//! 3.1 standard errors of the fresh inputs. The exit code is 1 if more than one run of 20 of a case surely breaks its promise.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;

use ah_model::{Model, Value};
use ah_train::{MaxRisk, Params, train};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;
use rayon::prelude::*;

/// A choice that takes more than this many times as long as the fallback is too slow.
const LIMIT: f64 = 1.05;
/// Inputs that judge a run.
const FRESH: usize = 4000;
/// Timings of a choice on an input.
const SAMPLES: usize = 3;

/// What is simulated. The fallback is `c00`; the risk of the others varies with the input.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Case {
    /// One choice beside the fallback, whose risk varies smoothly over two of four features.
    Smooth,
    /// The same, and each timing is longer by |t| * 2 %, where t has two degrees of freedom.
    Heavy,
    /// Eleven choices with means and spreads of their own.
    Many,
    /// As smooth, beside 30 features of noise.
    Noise,
    /// As smooth, and in a pocket of 4 % of the inputs the choice is always slow.
    Pocket,
    /// As smooth, with a category of 200 that says nothing.
    Categories,
    /// Ten near-copies of each shape: their times are alike, and only the first feature differs.
    Copies,
    /// The same, and the first two features differ.
    CopiesOfTwo,
    /// The same on a grid: each shape has two values of the first and five of the second feature.
    Grids,
    /// Two near-copies of each shape.
    Pairs,
    /// The same, and they differ in a category alone, such as a shape in two element types.
    Types,
    /// 24 files, each at 50 levels of the last feature: the other three determine each other.
    Files,
    /// Shapes of two numbers in five batch sizes and two element types.
    BatchAndType,
    /// 24 files of two numbers, each with 50 draws of three settings.
    Settings,
    /// 400 files of three numbers, each in three settings.
    Triples,
    /// 24 runs, within which all numbers are near.
    Runs,
    /// 24 runs, within which all numbers grow and shrink together.
    Lines,
    /// 24 groups share two of four numbers.
    Shares,
    /// 120 shapes of three whole numbers, each in ten batch sizes; no number determines another.
    WholeShapes,
    /// 12 files, which a category and two numbers name, each at 100 levels.
    NamedFiles,
    /// 40 files of three rounded numbers, each at 30 levels: some files share a number.
    RoundedFiles,
    /// Blocks of 40 inputs of the log take as long, whatever their features are.
    Blocks,
    /// 100 runs of 12 inputs, within which all numbers grow and shrink together.
    ManyLines,
    /// 60 runs of 20 inputs, within which one factor scales all three numbers.
    Scaled,
    /// The same, with two numbers.
    ScaledTwo,
    /// The same, where the three numbers are multiples of small whole numbers.
    ScaledWhole,
    /// The same, where two small whole numbers are.
    ScaledTwoWhole,
    /// The same, where the three scaled numbers are rounded to whole ones.
    ScaledRounded,
    /// The same, with two numbers.
    ScaledTwoRounded,
    /// 24 files that one category names.
    OneCategory,
    /// 60 files that one number names.
    OneNumber,
    /// A hidden state walks along the log; with its memory of 50 inputs it decides which are slow.
    Walk,
    /// The same, and the state shows only where inputs are slow.
    HiddenWalk,
    /// As smooth, and one number has often the value 0 or 1.
    Factor,
    /// As smooth, where inputs of a greater risk weigh ten times as much.
    Weights,
    /// Each shape (three features) in four variants that take about as long; shapes are held out, and the fresh ones are new.
    Dimensions,
}

const CASES: [(&str, Case); 36] = [
    ("smooth", Case::Smooth),
    ("heavy", Case::Heavy),
    ("many", Case::Many),
    ("noise", Case::Noise),
    ("pocket", Case::Pocket),
    ("categories", Case::Categories),
    ("copies", Case::Copies),
    ("copies_of_two", Case::CopiesOfTwo),
    ("grids", Case::Grids),
    ("pairs", Case::Pairs),
    ("types", Case::Types),
    ("files", Case::Files),
    ("batch_and_type", Case::BatchAndType),
    ("settings", Case::Settings),
    ("triples", Case::Triples),
    ("runs", Case::Runs),
    ("lines", Case::Lines),
    ("shares", Case::Shares),
    ("whole_shapes", Case::WholeShapes),
    ("named_files", Case::NamedFiles),
    ("rounded_files", Case::RoundedFiles),
    ("blocks", Case::Blocks),
    ("many_lines", Case::ManyLines),
    ("scaled", Case::Scaled),
    ("scaled_two", Case::ScaledTwo),
    ("scaled_whole", Case::ScaledWhole),
    ("scaled_two_whole", Case::ScaledTwoWhole),
    ("scaled_rounded", Case::ScaledRounded),
    ("scaled_two_rounded", Case::ScaledTwoRounded),
    ("one_category", Case::OneCategory),
    ("one_number", Case::OneNumber),
    ("walk", Case::Walk),
    ("hidden_walk", Case::HiddenWalk),
    ("factor", Case::Factor),
    ("weights", Case::Weights),
    ("dimensions", Case::Dimensions),
];

struct Input {
    features: Vec<f64>,
    /// By choice, `ln(t / t_fallback)`; the fallback is the first.
    log_ratios: Vec<f64>,
    weight: f64,
}

fn normal(random: &mut Pcg64) -> f64 {
    let (a, b): (f64, f64) = (random.random(), random.random());
    (-2.0 * (1.0 - a).ln()).sqrt() * (std::f64::consts::TAU * b).cos()
}

impl Case {
    fn features(self) -> usize {
        match self {
            Self::Noise => 34,
            Self::Settings => 5,
            Self::Scaled | Self::ScaledWhole | Self::ScaledRounded => 3,
            Self::ScaledTwo | Self::ScaledTwoWhole | Self::ScaledTwoRounded => 2,
            _ => 4,
        }
    }

    /// Whether the last feature is a category.
    fn has_category(self) -> bool {
        matches!(
            self,
            Self::Categories | Self::Types | Self::BatchAndType | Self::NamedFiles | Self::OneCategory
        )
    }

    /// This many inputs, in groups as a log has them, or each of a group of its own.
    fn inputs(self, random: &mut Pcg64, count: usize, grouped: bool) -> Vec<Input> {
        let (copies, differing) = match self {
            Self::Copies => (10, 0..1),
            Self::Grids => (10, 0..0),
            Self::CopiesOfTwo => (10, 0..2),
            Self::Pairs => (2, 0..1),
            Self::Types => (2, 0..0),
            Self::Dimensions => (4, 3..4),
            Self::Files => (50, 3..4),
            Self::BatchAndType => (10, 0..0),
            Self::Settings => (50, 2..5),
            Self::Triples => (3, 3..4),
            Self::Shares => (50, 2..4),
            Self::Runs | Self::Lines => (50, 0..0),
            Self::WholeShapes => (10, 0..0),
            Self::NamedFiles => (100, 2..3),
            Self::RoundedFiles => (30, 3..4),
            Self::Blocks => (40, 0..4),
            Self::ManyLines => (12, 0..0),
            Self::Scaled
            | Self::ScaledTwo
            | Self::ScaledWhole
            | Self::ScaledTwoWhole
            | Self::ScaledRounded
            | Self::ScaledTwoRounded => (20, 0..0),
            Self::OneCategory => (50, 0..3),
            Self::OneNumber => (20, 1..4),
            _ => (1, 0..0),
        };
        let copies = if grouped { copies } else { 1 };
        let mut inputs = Vec::new();
        let mut state = normal(random);
        while inputs.len() < count {
            let mut features: Vec<f64> = (0..self.features()).map(|_| random.random()).collect();
            if self == Self::Categories {
                features[3] = (features[3] * 200.0).floor();
            }
            let rounded = match self {
                Self::WholeShapes => 8.0,
                Self::RoundedFiles => 200.0,
                _ => f64::INFINITY,
            };
            if rounded.is_finite() {
                features[..3].iter_mut().for_each(|x| *x = (*x * rounded).floor() / rounded);
            }
            if self == Self::Factor {
                features[1] = [0.0, 1.0, features[1], (features[1] * 32.0).floor() / 32.0][inputs.len() % 4];
            }
            // Inputs that are drawn alone meet the state at any time.
            let memory: f64 = if grouped { 0.98 } else { 0.0 };
            state = memory * state + (1.0 - memory * memory).sqrt() * normal(random);
            let log_ratios = match self {
                Self::Walk | Self::HiddenWalk => self.of_state(state, random),
                _ => self.log_ratios(&features, random),
            };
            let base = features.clone();
            let grid: [f64; 7] = std::array::from_fn(|_| random.random());
            for copy in 0..copies {
                features[differing.clone()].fill_with(|| random.random());
                if self == Self::Grids {
                    (features[0], features[1]) = (grid[copy % 2], grid[2 + copy / 2]);
                }
                match self {
                    Self::Files => features[3] = (features[3] * 1000.0).ceil(),
                    Self::BatchAndType => {
                        let copy = if grouped { copy } else { random.random_range(0..10) };
                        (features[2], features[3]) = (f64::from(1 << (copy / 2)), (copy % 2) as f64);
                    }
                    Self::Runs => {
                        features
                            .iter_mut()
                            .zip(&base)
                            .for_each(|(x, base)| *x = base + 0.01 * normal(random));
                    }
                    Self::WholeShapes => {
                        let copy = if grouped { copy } else { random.random_range(0..10) };
                        features[3] = f64::from(1 << copy);
                    }
                    Self::Lines | Self::ManyLines => {
                        let scale = 0.8 + 0.4 * random.random::<f64>();
                        features.iter_mut().zip(&base).for_each(|(x, base)| *x = base * scale);
                    }
                    Self::Scaled | Self::ScaledTwo => {
                        let scale = (4.0 * random.random::<f64>()).exp2();
                        features.iter_mut().zip(&base).for_each(|(x, base)| *x = base * scale);
                    }
                    Self::ScaledWhole | Self::ScaledTwoWhole => {
                        let scale = f64::from(random.random_range(1..=30));
                        features
                            .iter_mut()
                            .zip(&base)
                            .for_each(|(x, base)| *x = (base * 16.0).ceil() * scale);
                    }
                    Self::ScaledRounded | Self::ScaledTwoRounded => {
                        let scale = (4.0 * random.random::<f64>()).exp2();
                        features
                            .iter_mut()
                            .zip(&base)
                            .for_each(|(x, base)| *x = (base * scale * 200.0).ceil());
                    }
                    _ => {}
                }
                if self == Self::Types {
                    features[3] = copy as f64;
                }
                let weight = if self == Self::Weights && risk(&features) > 0.03 { 10.0 } else { 1.0 };
                inputs.push(Input { features: features.clone(), log_ratios: log_ratios.clone(), weight });
            }
        }
        inputs
    }

    fn log_ratios(self, x: &[f64], random: &mut Pcg64) -> Vec<f64> {
        let others: Vec<f64> = match self {
            Self::Many => (1..12)
                .map(|c| {
                    let slope = |k: f64| (f64::from(c) * k).sin() * 0.5;
                    let mean = -0.15
                        + slope(1.7) * (x[0] - 0.5)
                        + slope(2.9) * (x[1] - 0.5)
                        + 0.2 * slope(4.1) * (6.0 * x[2] + f64::from(c)).sin();
                    mean + (0.06 + 0.12 * x[0] * x[1]) * normal(random)
                })
                .collect(),
            _ => {
                let is_pocket = self == Self::Pocket && (0.4..0.6).contains(&x[2]) && x[1] < 0.2;
                let is_slow = is_pocket || random.random::<f64>() < risk(x);
                vec![if is_slow { 1.25_f64.ln() } else { 0.7_f64.ln() } + 0.05 * normal(random)]
            }
        };
        std::iter::once(0.0).chain(others).collect()
    }

    /// The log ratios of a state that is normal.
    fn of_state(self, state: f64, random: &mut Pcg64) -> Vec<f64> {
        // One input of 20 is slow: where the state is above 1.28, half of them.
        let is_slow = state > 1.28 && random.random::<f64>() < 0.5;
        let shift = if self == Self::Walk { 0.05 * state } else { 0.0 };
        vec![0.0, if is_slow { 1.25_f64.ln() } else { 0.7_f64.ln() } + shift + 0.02 * normal(random)]
    }

    /// What a timing takes longer than the truth.
    fn noise(self, random: &mut Pcg64) -> f64 {
        let small = 0.005 * normal(random);
        if self != Self::Heavy {
            return small;
        }
        let chi_squared = normal(random).powi(2) + normal(random).powi(2);
        small + 0.02 * (normal(random) / (chi_squared / 2.0).sqrt()).abs()
    }

    /// The features of an input as a log has them.
    fn text(self, input: &Input) -> String {
        let text = |(at, x): (usize, &f64)| match self.has_category() && at == 3 {
            true => format!("g{x}"),
            false => x.to_string(),
        };
        input.features.iter().enumerate().map(text).collect::<Vec<_>>().join(",")
    }

    fn log(self, random: &mut Pcg64, inputs: &[Input]) -> String {
        let names: Vec<String> = (0..self.features()).map(|at| format!("x{at}")).collect();
        let (numbers, categories) = names.split_at(if self.has_category() { 3 } else { names.len() });
        let mut log = format!(
            "{{\"name\": \"known_truth\", \"shared_memory\": 0, \"device_capa\": [0, 0], \"numerical_features\": {numbers:?}, \
             \"categorical_features\": {categories:?}}}\n{},choice,feedback\n",
            names.join(",")
        );
        for input in inputs {
            let text = self.text(input);
            for (choice, log_ratio) in input.log_ratios.iter().enumerate() {
                for _ in 0..SAMPLES {
                    let time = (log_ratio + self.noise(random)).exp();
                    writeln!(log, "{text},c{choice:02},{time}").expect("text");
                }
            }
        }
        log
    }
}

/// The probability that the choice of most cases is too slow.
fn risk(x: &[f64]) -> f64 {
    0.3 * f64::midpoint(x[0], x[1]).powi(3)
}

/// What one log comes to.
struct Run {
    /// The promised share; `None` without a promise.
    target: Option<f64>,
    /// The true share that is too slow, by weight.
    share: f64,
    decides: f64,
    /// Mean log slowdown on the fresh inputs, and what the training said.
    loss: f64,
    said: f64,
}

impl Run {
    fn new(case: Case, inputs: usize, target: Option<f64>, seed: u64) -> Self {
        let mut random = Pcg64::seed_from_u64(seed);
        let logged = case.inputs(&mut random, inputs, true);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (log, weights) = (folder.path().join("log.txt"), folder.path().join("weights.tsv"));
        std::fs::write(&log, case.log(&mut random, &logged)).expect("a temporary file");
        let mut file = std::fs::File::create(&weights).expect("a temporary file");
        for input in &logged {
            writeln!(file, "{}\t{}", case.text(input), input.weight).expect("a temporary file");
        }
        let params = Params {
            fallback: Some("c00".to_owned()),
            max_risk: target.map(MaxRisk::Share),
            max_slowdown: Some(LIMIT),
            weights: (case == Case::Weights).then_some(weights),
            group: if case == Case::Dimensions {
                ["x0", "x1", "x2"].map(str::to_owned).to_vec()
            } else {
                Vec::new()
            },
            seed: Some(seed),
            ..Params::new(vec![log], "T")
        };
        let trained = train(&params).expect("learns");
        let fresh = case.inputs(&mut random, FRESH, case == Case::Dimensions);
        let mut run = Self {
            target: trained.model.promise.as_ref().map(|promise| promise.target),
            share: 0.0,
            decides: 0.0,
            loss: 0.0,
            said: trained.held_out.evaluation.comparison.model.slowdown,
        };
        let weight: f64 = fresh.iter().map(|input| input.weight).sum();
        for input in &fresh {
            let choice = taken(case, &trained.model, input);
            let log_ratio = input.log_ratios[choice];
            let best = input.log_ratios.iter().copied().fold(f64::INFINITY, f64::min);
            run.share += f64::from(u8::from(log_ratio > LIMIT.ln())) * input.weight / weight;
            run.decides += f64::from(u8::from(choice != 0)) * input.weight / weight;
            run.loss += (log_ratio - best) * input.weight / weight;
        }
        run
    }

    fn breaks(&self, errors: f64) -> bool {
        self.target.is_some_and(|target| {
            self.share > target + errors * (target * (1.0 - target) / FRESH as f64).sqrt()
        })
    }
}

/// The position of the choice that the model takes.
fn taken(case: Case, model: &Model, input: &Input) -> usize {
    let value = |(at, x): (usize, &f64)| match case.has_category() && at == 3 {
        true => Value::from(format!("g{x}").as_str()),
        false => Value::Number(*x),
    };
    let values: Vec<Value> = input.features.iter().enumerate().map(value).collect();
    let decided = model.decide(&values, |_| true).ok().or(model.fallback);
    decided.and_then(|choice| model.choice_name(choice)[1..].parse().ok()).unwrap_or(0)
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| args.iter().find_map(|arg| arg.strip_prefix(name)?.strip_prefix('='));
    let runs: u64 = option("runs").map_or(60, |runs| runs.parse().expect("runs=NUMBER"));
    let target = option("target").map(|share| share.parse().expect("target=SHARE"));
    let inputs: usize = option("inputs").map_or(1200, |inputs| inputs.parse().expect("inputs=NUMBER"));
    let all: Vec<&str> = CASES.iter().map(|case| case.0).collect();
    let all = all.join(",");
    let cases = option("cases").unwrap_or(&all).split(',');
    println!("| case | runs | with a promise | broken | surely | share used | decides | loss | loss said |");
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    let mut holds = true;
    for name in cases {
        let &(_, case) = CASES.iter().find(|case| case.0 == name).unwrap_or_else(|| panic!("no case {name}"));
        let results: Vec<Run> =
            (0..runs).into_par_iter().map(|seed| Run::new(case, inputs, target, seed)).collect();
        let mean = |f: fn(&Run) -> f64| results.iter().map(f).sum::<f64>() / runs as f64;
        let count = |is: &dyn Fn(&Run) -> bool| results.iter().filter(|run| is(run)).count();
        let surely = count(&|run| run.breaks(3.1));
        holds &= surely as u64 * 20 <= runs;
        println!(
            "| {name} | {runs} | {} | {} | {surely} | {:.2} % | {:.1} % | {:.4} | {:.4} |",
            count(&|run| run.target.is_some()),
            count(&|run| run.breaks(0.0)),
            mean(|run| run.share) * 100.0,
            mean(|run| run.decides) * 100.0,
            mean(|run| run.loss).exp(),
            mean(|run| run.said),
        );
    }
    if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
