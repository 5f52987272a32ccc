//! Counts how often the promise breaks, over random partitions: `scripts/simulate-promise.sh`, or
//! `cargo run --release --example promise -- LOG... [runs=100] [mode=cross-fitted] [target=0.01]
//! [optimization=FILE] [boosted]`
//!
//! Each run learns and calibrates on a random half of the inputs. On the other half it counts the
//! inputs that are slower than the fallback by more than the limit; the run breaks the promise where
//! their share is above the target. The other half is itself a sample: a run whose true share is at
//! the target breaks in about half of the cases. So a second column counts the runs that surely break
//! it (exact binomial test at 5 %).

use ah_train::parts::{
    Boost, COST_ONE, Configuration, CostTree, Dataset, Heuristic, RankingPolicy, Trainer, calibrate, split,
};
use ah_train::{MaxRisk, Params, PromiseMode, SplitBy, TrainPlan};
use rayon::prelude::*;
use statrs::distribution::{Binomial, DiscreteCDF};

const LIMIT: f64 = 1.05;

/// The counts and costs of one half.
#[derive(Default)]
struct Run {
    promised: bool,
    inputs: u64,
    over_limit: u64,
    decided: u64,
    /// Summed log slowdown.
    cost: f64,
    /// The same, always deciding.
    always: f64,
}

impl Run {
    fn new(trainer: &Trainer<'_>, heuristic: &Heuristic, inputs: &[u32]) -> Self {
        let (dataset, columns) = (trainer.dataset, &trainer.features.columns);
        let (table, fallback) = (&dataset.table, heuristic.fallback);
        let targets = dataset.costs();
        let promised = heuristic.promise.is_some();
        let mut run = Self { promised, inputs: inputs.len() as u64, ..Self::default() };
        let mut ranking = Vec::new();
        for &input in inputs {
            heuristic.fitted.rank(columns, &targets, input, &mut ranking);
            run.always += f64::from(ranking[0].cost) / COST_ONE;
            let Some(picked) = calibrate::pick(&ranking, fallback, heuristic.threshold) else {
                run.cost += table.loss(input, fallback, fallback);
                continue;
            };
            run.decided += 1;
            run.cost += f64::from(picked.cost) / COST_ONE;
            let cell = table.cell(input, picked.choice);
            let base = table.usable(input, fallback);
            run.over_limit += u64::from(cell.zip(base).is_some_and(|(c, base)| c.is_slower(base, LIMIT)));
        }
        run
    }

    fn breaks(&self, target: f64) -> bool {
        self.promised && self.over_limit as f64 > target * self.inputs as f64
    }

    fn surely_breaks(&self, target: f64) -> bool {
        let test = |b: Binomial| self.over_limit > 0 && b.sf(self.over_limit - 1) < 0.05;
        self.promised && Binomial::new(target, self.inputs).is_ok_and(test)
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let option =
        |name: &str| args.iter().find_map(|a| a.strip_prefix(name)?.strip_prefix('=').map(str::to_owned));
    let runs: u64 = option("runs").and_then(|r| r.parse().ok()).unwrap_or(100);
    let target: f64 = option("target").and_then(|t| t.parse().ok()).unwrap_or(0.01);
    let mode = match option("mode").as_deref() {
        None | Some("cross-fitted") => PromiseMode::CrossFitted,
        Some("by-dimensions") => PromiseMode::ByDimensions,
        Some(other) => panic!("mode: expected cross-fitted or by-dimensions, found {other}"),
    };
    println!(
        "| log | mode | runs | no promise | broken | surely broken | mean share | coverage | slowdown | always deciding |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    let alone = Configuration::CostTree(CostTree::new(8, 3));
    let is_boosted = args.iter().any(|a| a == "boosted");
    let configuration = if is_boosted { alone.boosted(Boost::DEFAULT) } else { alone };
    let ranking = RankingPolicy::default();
    for log in args.iter().filter(|a| !a.contains('=') && *a != "boosted") {
        let params = Params {
            max_risk: MaxRisk::Share(target),
            max_slowdown: Some(LIMIT),
            promise: Some(mode),
            optimization: option("optimization").map(Into::into),
            ..Params::new(vec![log.into()], "T")
        };
        let dataset = Dataset::read(&params.clone().check().expect("valid parameters")).expect("a sound log");
        let keys = dataset.keys(SplitBy::Input, &dataset.usable);
        let features = dataset.ranked(&dataset.usable);
        let run = |seed: u64| {
            let halves = split::hold_out(&dataset.usable, &keys, 0.5, seed, "simulation");
            let params = Params { seed, ..params.clone() }.check().expect("valid parameters");
            let plan = TrainPlan::resolve(&params, &dataset, &halves.held_out).expect("enough inputs");
            let trainer = Trainer {
                dataset: &dataset,
                features: &features,
                plan: &plan,
                configuration: &configuration,
                max_leaves: None,
                ranking: &ranking,
            };
            // The held-out half learns, as in the table of docs/learning.md.
            Run::new(&trainer, &trainer.learn(&halves.held_out).expect("learns"), &halves.training)
        };
        let results: Vec<Run> = (0..runs).into_par_iter().map(run).collect();
        let inputs: u64 = results.iter().map(|r| r.inputs).sum();
        let share = |f: &dyn Fn(&Run) -> f64| results.iter().map(f).sum::<f64>() / inputs as f64;
        println!(
            "| {} | {} | {runs} | {} | {} | {} | {:.2} % | {:.1} % | {:.4} | {:.4} |",
            log.rsplit('/').next().unwrap_or(log),
            mode.calibration(),
            results.iter().filter(|r| !r.promised).count(),
            results.iter().filter(|r| r.breaks(target)).count(),
            results.iter().filter(|r| r.surely_breaks(target)).count(),
            share(&|r| r.over_limit as f64) * 100.0,
            share(&|r| r.decided as f64) * 100.0,
            share(&|r| r.cost).exp(),
            share(&|r| r.always).exp(),
        );
    }
}
