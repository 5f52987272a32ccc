//! What a heuristic is learned for: the geometric mean or the total time.

use crate::common;

use std::fmt::Write as _;

use ah_model::{Model, Objective, Provenance, Target, Value};
use ah_train::{MaxRisk, Params, TrainedModel, evaluate, train};
use common::Run;
use rand::{Rng as _, SeedableRng as _};
use rand_pcg::Pcg64;

/// The head of a log with one feature, which tells nothing.
const HEAD: &str = "{\"name\": \"own\", \"device_capa\": [0, 0], \"numerical_features\": [\"n\"], \
                    \"categorical_features\": []}\nn,choice,feedback\n";

/// A log where `small` takes 1 ms instead of 1.25 on nine of ten inputs, and `large` 100 ms instead of 200 on the
/// tenth.
fn disagreeing() -> String {
    let mut text = HEAD.to_owned();
    for i in 0..400 {
        // Small noise without ties; the tenth inputs are spread over n.
        let noise = 1.0 + f64::from(i * 37 % 101) / 10_000.0;
        let (small, large) = if i * 7919 % 1000 < 100 { (200.0, 100.0) } else { (1.0, 1.25) };
        let _ = writeln!(text, "{i},small,{}\n{i},large,{}", small * noise, large * noise);
    }
    text
}

/// A log where `risky` takes 10 ms, but times out on one of twenty inputs, half of them as `inf`; `steady` takes 30.
fn with_timeouts() -> String {
    let mut text = HEAD.to_owned();
    for i in 0..400 {
        let noise = 1.0 + f64::from(i * 37 % 101) / 10_000.0;
        let risky = match i * 7919 % 1000 {
            0..25 => "inf".to_owned(),
            25..50 => "1000".to_owned(),
            _ => format!("{}", 10.0 * noise),
        };
        let _ = writeln!(text, "{i},risky,{risky}\n{i},steady,{}", 30.0 * noise);
    }
    text
}

fn learn(run: &Run, change: impl FnOnce(&mut Params)) -> TrainedModel {
    let mut params = Params::new(vec![run.path("log.txt")], "Own");
    change(&mut params);
    train(&params).unwrap()
}

/// The choice that a model takes on most of the inputs.
fn usual(model: &Model) -> String {
    let takes = |n: u32| model.choose(&[Value::Number(f64::from(n))]).ok();
    let of = |name: &str| (0..400).filter(|&n| takes(n) == model.choice_id(name)).count();
    model.choices.iter().max_by_key(|name| of(name)).unwrap().clone()
}

#[test]
fn total_time_and_geometric_mean_take_what_is_best_for_them() {
    let run = Run::new();
    run.write("log.txt", disagreeing());
    let of = |objective| learn(&run, |params| params.objective = Some(objective));
    let (geomean, total) = (of(Objective::Geomean), of(Objective::Total));
    assert_eq!(usual(&geomean.model), "small");
    assert_eq!(usual(&total.model), "large");
    let figures = |trained: &TrainedModel| trained.held_out.evaluation.comparison.model.clone();
    let (geomean, total) = (figures(&geomean), figures(&total));
    assert!(geomean.slowdown < total.slowdown, "{geomean:?} {total:?}");
    assert!(total.total < 1.2 && geomean.total > 1.5, "{geomean:?} {total:?}");
    // One input of ten is twice as slow: the 99th percentile shows it.
    assert!((geomean.p99 - 2.0).abs() < 0.01, "{geomean:?}");
}

/// What a model was learned for stands first in its summary, and the sizes say what they are compared by.
#[test]
fn a_summary_begins_with_the_objective() {
    let run = Run::new();
    run.write("log.txt", disagreeing());
    let (stdout, _) =
        run.learns(&["log.txt", "--objective", "total", "--fallback", "small", "--max-risk", "none"]);
    let lines: Vec<&str> = stdout.lines().collect();
    assert!(lines[0].starts_with("Always take large: no heuristic pays in Rust here."), "{stdout}");
    assert!(lines[1].starts_with("Total time: 47.") && lines[2].contains(" times as fast as"), "{stdout}");
    let (stdout, _) = run.learns(&["log.txt", "--max-risk", "none"]);
    let lines: Vec<&str> = stdout.lines().collect();
    assert!(lines[1].contains(" times as fast as always small ("), "{stdout}");
    assert!(lines[2].starts_with("Total time: "), "{stdout}");
    // One leaf: nobody asks it.
    assert!(stdout.contains("1 leaf") && stdout.contains("no decision"), "{stdout}");
}

#[test]
fn the_optimization_can_name_the_objective_and_the_model_records_it() {
    let run = Run::new();
    run.write("log.txt", disagreeing());
    run.write("own.toml", "name = \"own\"\n[training]\nobjective = \"total\"\n");
    let trained = learn(&run, |params| params.optimization = Some(run.path("own.toml")));
    assert_eq!(trained.model.purpose.objective, Objective::Total);
    assert_eq!(usual(&trained.model), "large");
    // The flag wins.
    let flag = |params: &mut Params| {
        params.optimization = Some(run.path("own.toml"));
        params.objective = Some(Objective::Geomean);
    };
    assert_eq!(learn(&run, flag).model.purpose.objective, Objective::Geomean);
    // What decides how a model is judged is in its purpose; its record can go.
    let mut unrecorded = trained.model.clone();
    unrecorded.provenance = Provenance::default();
    let judged = |model| evaluate(model, &[run.path("log.txt")], None, false).unwrap().comparison;
    assert_eq!(format!("{:?}", judged(&unrecorded)), format!("{:?}", judged(&trained.model)));
    assert_eq!(unrecorded.purpose.targets, [Target::Rust]);
    let unknown = serde_json::from_str::<Objective>("\"totl\"").unwrap_err().to_string();
    assert!(unknown.contains("total"), "{unknown}");
}

#[test]
fn weights_and_total_time_multiply() {
    let run = Run::new();
    run.write("log.txt", disagreeing());
    // The long inputs occur so rarely that `small` is better in total too.
    let mut weights = String::new();
    for i in 0..400 {
        let _ = writeln!(weights, "{i}\t{}", if i * 7919 % 1000 < 100 { 1 } else { 1000 });
    }
    run.write("weights.tsv", weights);
    let weighted = learn(&run, |params| {
        params.objective = Some(Objective::Total);
        params.weights = Some(run.path("weights.tsv"));
    });
    assert_eq!(usual(&weighted.model), "small");
}

/// On every second input `quick` takes 1 ms, but 10 s on one of 30 of them, and 1 s on the others. `steady` takes half a millisecond
/// longer, and never fails: a time-out on a short input costs its time.
#[test]
fn a_time_out_on_a_short_input_costs_what_it_takes() {
    let mut text = HEAD.to_owned();
    for i in 0..600 {
        let noise = 1.0 + f64::from(i * 37 % 101) / 10_000.0;
        let long = if i % 2 == 0 { 1.0 } else { 1000.0 };
        let quick = if i % 2 == 0 && i * 7919 % 1500 < 50 { 10_000.0 } else { long * noise };
        let _ = writeln!(text, "{i},quick,{quick}\n{i},steady,{}", long * noise + 0.5);
    }
    let run = Run::new();
    run.write("log.txt", text);
    let total = learn(&run, |params| params.objective = Some(Objective::Total));
    assert_eq!(usual(&total.model), "steady");
    assert!(total.held_out.evaluation.comparison.model.total < 1.02);
}

/// A solver that times out on one of 25 inputs of its half, as `inf`, is still what a program takes there that names nothing.
#[test]
fn every_objective_learns_the_same_bytes_with_any_number_of_threads() {
    for (log, objective) in [(disagreeing(), "total"), (with_timeouts(), "geomean")] {
        let run = Run::new();
        run.write("log.txt", log);
        let learned = |threads: &str| {
            run.learns(&[
                "log.txt", "--objective", objective, "--learner", "boosted", "--threads", threads, "--model",
                threads,
            ]);
            std::fs::read(run.path(threads)).unwrap()
        };
        assert_eq!(learned("1"), learned("3"));
    }
}

/// Inputs take 1 ms to 1000 s, whatever else they are like, and which choice is fast depends on two other features, beside noise. Learned by
/// the time itself a few long inputs decided.
#[test]
fn a_few_long_inputs_do_not_decide() {
    let draw = |random: &mut Pcg64| {
        let [x, y, long, a, b]: [f64; 5] = std::array::from_fn(|_| random.random());
        let noise = |z: f64| z - 0.5;
        let least = 10.0_f64.powf(6.0 * long);
        ([x, y], [0.0, 1.6 * (x - 0.5) + noise(a), 1.6 * (y - 0.5) + noise(b)].map(|log| least * log.exp()))
    };
    let mut lost = Vec::new();
    for seed in 0..16 {
        let mut random = Pcg64::seed_from_u64(seed);
        let mut text = HEAD.replace("\"n\"", "\"x\", \"y\"").replace("\nn,", "\nx,y,");
        for _ in 0..300 {
            let ([x, y], times) = draw(&mut random);
            times.iter().enumerate().for_each(|(c, ms)| writeln!(text, "{x},{y},c{c},{ms}").unwrap());
        }
        let run = Run::new();
        run.write("log.txt", text);
        let model = learn(&run, |params| {
            params.objective = Some(Objective::Total);
            params.max_risk = Some(MaxRisk::None);
        })
        .model;
        let (mut taken, mut fallback) = (0.0, 0.0);
        for _ in 0..4000 {
            let (input, times) = draw(&mut random);
            let choice = model.choose(&input.map(Value::Number)).map_or(model.fallback, Some);
            let at: usize = model.choice_name(choice.unwrap())[1..].parse().unwrap();
            (taken, fallback) = (taken + times[at], fallback + times[0]);
        }
        lost.push(taken / fallback);
    }
    let mean = lost.iter().sum::<f64>() / lost.len() as f64;
    // By the time itself 0.794.
    assert!(mean < 0.79, "{mean} {lost:?}");
}
