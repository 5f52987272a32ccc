//! Times one fit of the learner `cost_tree` to unlimited depth, by the number of rows:
//! `fit_scaling [rows=10000,100000,1000000] [threads=1] [targets=winners|times] [depth=64] [noise=0.2] [folder=FOLDER]`
//!
//! There are 22 choices and 40 features, half of them continuous, half with 2 to 64 values. A quarter
//! more rows are held out and judged.
//!
//! - `winners`: each row has one winner; all other choices are ten times slower. A few features
//!   determine the winner, except in a random share `noise` of the rows. The soft targets are one-hot
//!   and their variance is the Gini impurity, so scikit-learn's DecisionTreeClassifier does the same
//!   work. Variance alone, leaves of one row.
//! - `times`: four features determine each choice's time, with 3 % noise, as in a log. The
//!   defaults of a training.
//!
//! `folder=` writes the matrix there for `scripts/compare-scikit-learn.sh`.

use std::path::Path;
use std::time::Instant;

use ah_train::parts::{COST_ONE, Columns, CostTree, Costs, Subset};
use linfa::DatasetBase;
use linfa::traits::Fit;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

const COLUMNS: usize = 40;
const CHOICES: usize = 22;

/// Returns the features, by column.
fn features(rows: usize, random: &mut Pcg64) -> Vec<Vec<f64>> {
    let column = |c: usize| -> Vec<f64> {
        let values = 2_u32 << (c % 6);
        let mut value = || match c % 2 {
            0 => f64::from(random.random_range(0..values)),
            _ => f64::from(random.random::<f32>()),
        };
        (0..rows).map(|_| value()).collect()
    };
    (0..COLUMNS).map(column).collect()
}

fn winners(columns: &[Vec<f64>], noise: f64, random: &mut Pcg64) -> Vec<usize> {
    let mut winner = |row: usize| {
        let x = |c: usize| columns[c][row];
        let rule = (x(1) * 4.0) as usize * 5 + (x(3) * 3.0) as usize * 2 + x(0) as usize;
        if random.random_bool(noise) { random.random_range(0..CHOICES) } else { rule % CHOICES }
    };
    (0..columns[0].len()).map(&mut winner).collect()
}

/// Log slowdowns, by row and choice.
fn times(columns: &[Vec<f64>], random: &mut Pcg64) -> Vec<[f32; CHOICES]> {
    let mut row = |row: usize| {
        let x = |c: usize| columns[c][row];
        let mut times = [0.0; CHOICES];
        for (c, time) in times.iter_mut().enumerate() {
            // Each choice is fastest on one shape and takes longer the further a row is from it.
            let c = c as f64 / CHOICES as f64;
            let far = (x(1) - c).abs() + 0.5 * (x(3) - (3.0 * c).fract()).abs() + 0.2 * (x(0) - c).abs();
            let tail = if x(5) < 0.3 * c { 0.4 } else { 0.0 };
            *time = far + tail + 0.06 * (random.random::<f64>() - 0.5);
        }
        let best = times.iter().copied().fold(f64::INFINITY, f64::min);
        times.map(|t| (t - best) as f32)
    };
    (0..columns[0].len()).map(&mut row).collect()
}

/// Returns the greatest resident memory of this process so far, in MiB; 0 if the system does not report it.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) / 1024
}

/// Processor time of this process so far, in seconds: other load disturbs it less than the clock.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let behind_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = behind_name.split_whitespace().skip(11).take(2).filter_map(|t| t.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

/// Writes numbers for `scripts/compare-scikit-learn.sh`.
fn write(folder: &Path, file: &str, numbers: impl Iterator<Item = f32>) -> std::io::Result<()> {
    let bytes: Vec<u8> = numbers.flat_map(f32::to_le_bytes).collect();
    std::fs::write(folder.join(file), bytes)
}

fn main() -> std::io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| args.iter().find_map(|a| a.strip_prefix(name)?.strip_prefix('='));
    let threads = option("threads").and_then(|t| t.parse().ok()).unwrap_or(1);
    let depth = option("depth").and_then(|d| d.parse().ok()).unwrap_or(64);
    let noise = option("noise").and_then(|n| n.parse().ok()).unwrap_or(0.2);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
    for rows in option("rows").unwrap_or("10000,100000,1000000").split(',') {
        let rows: usize = rows.parse().expect("rows=10000,100000");
        let mut random = Pcg64::seed_from_u64(1);
        let values = features(rows + rows / 4, &mut random);
        let (name, targets, parameters) = if option("targets") == Some("times") {
            let times = times(&values, &mut random);
            if let Some(folder) = option("folder") {
                write(folder.as_ref(), "times.f32", times.iter().flatten().copied())?;
            }
            let log_slowdown = |row: usize, choice: usize| f64::from(times[row][choice]);
            let targets = Costs::from_log_slowdowns(times.len(), CHOICES, log_slowdown);
            ("times", targets, CostTree::new(depth, 3))
        } else {
            let winners = winners(&values, noise, &mut random);
            if let Some(folder) = option("folder") {
                write(folder.as_ref(), "winners.f32", winners.iter().map(|w| *w as f32))?;
            }
            let parameters = CostTree { min_gain: 0.0, ..CostTree::greedy(depth, 1) };
            ("winners", Costs::from_winners(&winners), parameters)
        };
        if let Some(folder) = option("folder") {
            write(folder.as_ref(), "features.f32", values.iter().flatten().map(|x| *x as f32))?;
        }
        let start = Instant::now();
        let columns = pool.install(|| Columns::from_numbers(&values, 512));
        let ready = start.elapsed().as_secs_f64();
        drop(values);
        let inputs: Vec<u32> = (0..rows as u32).collect();
        let rows_of_fit = Subset { columns: &columns, inputs: &inputs };
        let dataset = DatasetBase::new(rows_of_fit, &targets);
        let (start, processor) = (Instant::now(), processor_seconds());
        let tree = pool.install(|| parameters.fit(&dataset)).expect("grows");
        let (seconds, processor) = (start.elapsed().as_secs_f64(), processor_seconds() - processor);
        let peak = peak_mib();
        let scores = parameters.scores(&tree, &rows_of_fit, &targets);
        let cost = |input: u32| f64::from(scores.cost(tree.leaf_of(&columns, input), &targets, input));
        let held_out = rows as u32..(rows + rows / 4) as u32;
        let mean = held_out.clone().map(cost).sum::<f64>() / COST_ONE / held_out.len().max(1) as f64;
        println!(
            "ah-train cost_tree: {rows} x {COLUMNS} x {CHOICES} ({name}), {threads} thread(s): columns {ready:.2} s, fit {seconds:.3} s (processor {processor:.2} s), {} leaves, depth {}, peak {peak} MiB, held-out slowdown {:.4}",
            tree.leaves(),
            tree.depth(),
            mean.exp(),
        );
    }
    Ok(())
}
