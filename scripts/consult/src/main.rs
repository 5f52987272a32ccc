//! A program that uses a learned heuristic: it links the generated crate and asks it on the inputs of a log that it was
//! not learned from. It adds up the times of the picks, decisions included, beside those of any single choice.

use std::collections::BTreeMap;
use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use ah_model::{Context, Feature, Scalar, Value};
use ah_runtime::{AutoHeuristic, Role};
use ah_types::log::{self, Log};
use ah_types::{LogOptimization, median};

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: consult FRESH_LOG");
        return ExitCode::FAILURE;
    };
    match run(Path::new(&path)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(path: &Path) -> Result<(), Box<dyn Error>> {
    let log = log::read(&[path])?;
    let optimization = LogOptimization::new(&log).optimization;
    let choices = log.metadata.choices.clone().unwrap_or_else(|| log.choices.clone());

    // What a program does once: the generated crate makes itself known, and a decision point binds to it.
    simple_heuristic::register();
    let device = log.metadata.device().ok_or("the log does not name its device")?;
    let builder = AutoHeuristic::builder(&log.metadata.name).choices(&choices).optimization(&optimization);
    let heuristic = builder.device(device.clone()).role(Role::Consult).build()?;
    let fallback = optimization.fallback_among(&choices).unwrap_or(&choices[0]);

    let inputs = inputs(&log);
    let mut totals = Totals::default();
    for (context, times) in &inputs {
        // What it does on every call.
        let pick = heuristic.choose(&values(&heuristic, context)).choice;
        totals.add(times, pick, fallback);
    }
    let decision_ms = decision_ms(&heuristic, inputs.iter().map(|(context, _)| context));
    totals.print(inputs.len(), decision_ms, &choices, fallback);
    Ok(())
}

/// Each input with the median time of every choice in milliseconds; infinite where a choice failed.
fn inputs(log: &Log) -> Vec<(Context, BTreeMap<&str, f64>)> {
    let mut samples: Vec<BTreeMap<&str, Vec<f64>>> = vec![BTreeMap::new(); log.inputs.len()];
    for sample in &log.samples {
        let of_input = &mut samples[sample.input as usize];
        of_input.entry(log.choice_name(sample.choice)).or_default().push(sample.feedback);
    }
    let medians = samples.into_iter().enumerate().map(|(input, samples)| {
        (
            log.context(input),
            samples
                .into_iter()
                .map(|(choice, times)| (choice, median(&times).unwrap_or(f64::INFINITY)))
                .collect(),
        )
    });
    medians.collect()
}

/// The values of an input, one for each feature of the decision point.
fn values<'c>(heuristic: &AutoHeuristic, context: &'c Context) -> Vec<Scalar<'c>> {
    let value = |feature: &Feature| context.get(&feature.name).map_or(f64::NAN.into(), Value::as_scalar);
    heuristic.features().features().iter().map(value).collect()
}

/// The mean time of a decision in milliseconds.
fn decision_ms<'a>(heuristic: &AutoHeuristic, contexts: impl Iterator<Item = &'a Context>) -> f64 {
    let inputs: Vec<_> = contexts.map(|context| values(heuristic, context)).collect();
    let (rounds, begin) = (10_000, Instant::now());
    for _ in 0..rounds {
        for values in &inputs {
            black_box(heuristic.choose(black_box(values)));
        }
    }
    begin.elapsed().as_secs_f64() * 1e3 / (f64::from(rounds) * inputs.len() as f64)
}

/// Sums of times in milliseconds.
#[derive(Default)]
struct Totals {
    /// Of the fastest choice of each input.
    fastest: f64,
    /// Of the picks; a pick without a time costs the fallback's.
    picks: f64,
    /// Of each choice that ran on every input so far.
    single: BTreeMap<String, f64>,
    /// The inputs whose pick is more than 5 % slower than the fallback.
    slower: usize,
}

impl Totals {
    fn add(&mut self, times: &BTreeMap<&str, f64>, pick: &str, fallback: &str) {
        let time = |choice: &str| times.get(choice).copied().filter(|ms| ms.is_finite());
        let of_fallback = time(fallback);
        if self.fastest == 0.0 {
            self.single = times.keys().map(|choice| ((*choice).to_owned(), 0.0)).collect();
        }
        let is_complete = |choice: &String, total: &mut f64| time(choice).map(|ms| *total += ms).is_some();
        self.single.retain(is_complete);
        let fastest = times.values().copied().fold(f64::INFINITY, f64::min);
        let ms = time(pick).or(of_fallback).unwrap_or(fastest);
        self.fastest += fastest;
        self.picks += ms;
        self.slower += usize::from(of_fallback.is_some_and(|fallback| ms > 1.05 * fallback));
    }

    fn print(&self, inputs: usize, decision_ms: f64, choices: &[String], fallback: &str) {
        let net = self.picks + decision_ms * inputs as f64;
        let line = |what: &str, ms: f64| println!("  {what:44} {ms:10.3} ms {:8.3}", ms / self.fastest);
        println!("{inputs} fresh inputs, all together:                      time   of least");
        line("the fastest choice, known for each input", self.fastest);
        line("the heuristic, its decisions included", net);
        for choice in choices {
            let of_program = if choice == fallback { ", as the program did before" } else { "" };
            if let Some(ms) = self.single.get(choice) {
                line(&format!("always {choice}{of_program}"), *ms);
            }
        }
        println!(
            "A decision through ah-runtime takes {:.0} ns; {} of {inputs} picks are > 5 % slower than {fallback}.",
            decision_ms * 1e6,
            self.slower
        );
    }
}
