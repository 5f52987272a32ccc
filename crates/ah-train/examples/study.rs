//! Compares parameters of the learner `cost_tree` by repeated outer cross-validation:
//! `cargo run --release --example study -- LOG... [seeds=2] [folds=10] [-- "depth=8 leaf=3" "depth=10" ...]`
//!
//! Every input is held out once a seed. Prints for each log and variant the geometric-mean slowdown on
//! held-out inputs, and its difference from the first variant with the standard error over inputs, in
//! units of 1e-4 of log slowdown.

use ah_train::parts::split::{self, Partition};
use ah_train::parts::{COST_ONE, Configuration, CostTree, Dataset, FittedEnsemble, Subset};
use ah_train::{Params, SplitBy};
use rayon::prelude::*;

fn configuration(text: &str) -> CostTree {
    let mut tree = CostTree::new(8, 3);
    for word in text.split_whitespace() {
        if word == "greedy" {
            tree = CostTree::greedy(8, 3);
            continue;
        }
        let (key, value) = word.split_once('=').expect("key=value");
        let number: f64 = value.parse().unwrap_or(f64::NAN);
        match key {
            "depth" => tree.max_depth = number as usize,
            "leaf" => tree.min_samples_leaf = number as usize,
            "shrinkage" => tree.shrinkage = number,
            "z" => tree.z = number,
            "sweeps" => tree.sweeps = number as usize,
            "min_gain" => tree.min_gain = number,
            "T" => tree.temperature = number,
            "alpha" => tree.alpha = number,
            "look" => tree.look = number as usize,
            "look_levels" => tree.look_levels = number as usize,
            "gamma" => tree.gamma = number,
            _ => panic!("unknown key {key}"),
        }
    }
    tree
}

fn main() {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let variants: Vec<String> = match args.iter().position(|a| a == "--") {
        Some(at) => args.split_off(at).split_off(1),
        None => vec!["depth=8".to_owned()],
    };
    let option = |name: &str, default: u64| {
        args.iter().find_map(|a| a.strip_prefix(name)?.strip_prefix('=')?.parse().ok()).unwrap_or(default)
    };
    let (seeds, folds) = (option("seeds", 2), option("folds", 10) as usize);
    let by = if args.iter().any(|a| a == "dims") { SplitBy::Dims } else { SplitBy::Input };
    let optimization = args.iter().find_map(|a| a.strip_prefix("optimization=").map(Into::into));
    for log in args.iter().filter(|a| !a.contains('=') && *a != "dims") {
        let params = Params { optimization: optimization.clone(), ..Params::new(vec![log.into()], "T") };
        let dataset = Dataset::read(&params.check().expect("valid parameters")).expect("a sound log");
        let features = dataset.ranked(&dataset.usable);
        let targets = dataset.costs();
        let keys = dataset.keys(by, &dataset.usable);
        let mut first: Vec<f64> = Vec::new();
        for text in &variants {
            let start = std::time::Instant::now();
            let configuration = Configuration::CostTree(configuration(text));
            let runs: Vec<Partition> = (0..seeds)
                .flat_map(|seed| split::partitions(&dataset.table, &dataset.usable, &keys, folds, seed))
                .collect();
            let results: Vec<(Vec<(u32, f64)>, usize)> = runs
                .into_par_iter()
                .map(|Partition { training, held_out }| {
                    let rows = Subset { columns: &features.columns, inputs: &training };
                    let fitted = configuration.fit(&rows, &targets).expect("fits");
                    let FittedEnsemble { tree, scores, .. } = &fitted;
                    let cost = |&i: &u32| {
                        (
                            i,
                            f64::from(scores.cost(tree.leaf_of(&features.columns, i), &targets, i))
                                / COST_ONE,
                        )
                    };
                    (held_out.iter().map(cost).collect(), tree.leaves())
                })
                .collect();
            let leaves = results.iter().map(|r| r.1).sum::<usize>() as f64 / results.len() as f64;
            let mut by_input = vec![0.0; dataset.table.inputs.len()];
            results.iter().flat_map(|r| &r.0).for_each(|&(i, c)| by_input[i as usize] += c / seeds as f64);
            let costs: Vec<f64> = dataset.usable.iter().map(|&i| by_input[i as usize]).collect();
            let n = costs.len() as f64;
            let mean = costs.iter().sum::<f64>() / n;
            if first.is_empty() {
                first.clone_from(&costs);
            }
            let differences: Vec<f64> = costs.iter().zip(&first).map(|(a, b)| a - b).collect();
            let d = differences.iter().sum::<f64>() / n;
            let variance = differences.iter().map(|x| (x - d).powi(2)).sum::<f64>() / (n - 1.0);
            println!(
                "{:26} {:40} {:.5}  {:+6.1} ± {:4.1}  leaves {leaves:.0}  {:.1} s",
                log.rsplit('/').next().unwrap_or(log),
                text,
                mean.exp(),
                d * 1e4,
                (variance / n).sqrt() * 1e4,
                start.elapsed().as_secs_f64()
            );
        }
    }
}
