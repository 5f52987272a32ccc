//! How often the promise breaks, over random partitions: `scripts/simulate-promise.sh`, or
//! `cargo run --release --example promise -- LOG [runs=100] [mode=hold-out] [target=0.01]`
//!
//! Each run learns and calibrates on a random half of the inputs and counts on the other half
//! how many are slower than the fallback by more than the limit. A run breaks the promise when
//! that share is above the target. The other half is itself a sample, so a run whose true share
//! is at the target breaks in about half of the cases; beside the count of broken runs stands
//! the count of those that are surely broken (exact binomial test at 5 %).

use ah_train::parts::{
    COST_ONE, Configuration, Preset, PromiseTerms, RankedChoice, RankingPolicy, Recipe, Soft, Task,
    calibrate, split,
};
use ah_train::{PromiseMode, RawParams, SplitBy};
use rayon::prelude::*;
use statrs::distribution::{Binomial, DiscreteCDF};

/// (promise possible, over the limit, inputs, surely broken, decided, log slowdown, the same always deciding)
type Run = (bool, u64, u64, bool, u64, f64, f64);

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let option =
        |name: &str| args.iter().find_map(|a| a.strip_prefix(name)?.strip_prefix('=').map(str::to_owned));
    let runs: u64 = option("runs").and_then(|r| r.parse().ok()).unwrap_or(100);
    let target: f64 = option("target").and_then(|t| t.parse().ok()).unwrap_or(0.01);
    let mode = match option("mode").as_deref() {
        None | Some("hold-out") => PromiseMode::HoldOut,
        Some("cross-fitted") => PromiseMode::CrossFitted,
        Some("by-dimensions") => PromiseMode::ByDimensions,
        Some(other) => panic!("mode: expected hold-out, cross-fitted or by-dimensions, found {other}"),
    };
    println!(
        "| log | mode | runs | no promise | broken | surely broken | mean share | coverage | slowdown | always deciding |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for log in args.iter().filter(|a| !a.contains('=')) {
        let params = RawParams::new(vec![log.into()], "T").check().expect("sound parameters");
        let task = Task::read(&params, None).expect("a sound log");
        let keys = split::keys(&task.table, &task.features, &[], SplitBy::Input, &task.usable);
        let asked = PromiseTerms { target, limit: 1.05, mode };
        let configurations = [Configuration::Soft(Soft::preset(Preset::LookAhead, 8, 3))];
        let run = |seed: u64| {
            let (test, train) = split::hold_out(&task.usable, &keys, 0.5, seed, "simulation");
            let ranking = RankingPolicy::default();
            let plan = Recipe {
                task: &task,
                configurations: &configurations,
                ranking: &ranking,
                asked: Some(asked),
                seed,
            };
            let learned = plan.learn(&train).expect("learns");
            let targets = task.targets(learned.fallback, &[]);
            let mut buffer: Vec<RankedChoice> = Vec::new();
            let (mut over, mut decided, mut cost, mut always) = (0_u64, 0_u64, 0.0, 0.0);
            for &input in &test {
                learned.fitted.rank(&task.columns, &targets, input, &mut buffer);
                let price = task.table.fallback_price(input as usize, learned.fallback);
                always += f64::from(buffer[0].cost) / COST_ONE;
                match calibrate::pick(&buffer, learned.fallback, learned.threshold) {
                    None => cost += price,
                    Some(at) => {
                        decided += 1;
                        cost += f64::from(buffer[at].cost) / COST_ONE;
                        let cell = task.table.cell(input as usize, buffer[at].choice);
                        let base = task.table.usable(input as usize, learned.fallback);
                        let slow = cell.zip(base).is_some_and(|(c, base)| c.is_slower(base, asked.limit));
                        over += u64::from(slow);
                    }
                }
            }
            let n = test.len() as u64;
            let surely = Binomial::new(target, n).is_ok_and(|b| over > 0 && b.sf(over - 1) < 0.05);
            (learned.calibration.is_some(), over, n, surely, decided, cost, always)
        };
        let results: Vec<Run> = (0..runs).into_par_iter().map(run).collect();
        let inputs: u64 = results.iter().map(|r| r.2).sum();
        let share = |f: &dyn Fn(&Run) -> f64| results.iter().map(f).sum::<f64>() / inputs as f64;
        let broken = results.iter().filter(|r| r.0 && r.1 as f64 > target * r.2 as f64).count();
        let surely = results.iter().filter(|r| r.0 && r.3).count();
        println!(
            "| {} | {} | {runs} | {} | {broken} | {surely} | {:.2} % | {:.1} % | {:.4} | {:.4} |",
            log.rsplit('/').next().unwrap_or(log),
            mode.name(),
            results.iter().filter(|r| !r.0).count(),
            share(&|r| r.1 as f64) * 100.0,
            share(&|r| r.4 as f64) * 100.0,
            share(&|r| r.5).exp(),
            share(&|r| r.6).exp(),
        );
    }
}
