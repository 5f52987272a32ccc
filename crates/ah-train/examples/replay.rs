//! Replays a dense log of many choices with a budget: `cargo run --release -p ah-train --example replay --
//! LOG [cells=32] [turn=5] [seed=0]`
//!
//! A quarter of the inputs is held out. Each of the others starts with one timed choice; then a turn times the cells that
//! `propose` names, until an input has `cells` of them (`cells=all`: all). A heuristic is learned from these cells and judged
//! on the held-out inputs, of which the log has every cell.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use ah_train::{Params, evaluate, propose, train};
use ah_types::log::{Log, read};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let option = |name: &str| args.iter().find_map(|a| a.strip_prefix(name)?.strip_prefix('='));
    let number = |name: &str, default: usize| option(name).and_then(|n| n.parse().ok()).unwrap_or(default);
    let (seed, turn) = (number("seed", 0) as u64, number("turn", 5));
    let log = read(&[PathBuf::from(&args[0])]).expect("a log");
    let cells = if option("cells") == Some("all") { log.choices.len() } else { number("cells", 32) };
    let folder = std::env::temp_dir().join(format!("replay-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");

    let inputs = log.inputs.len();
    let all: BTreeSet<(u32, u32)> = log.samples.iter().map(|s| (s.input, s.choice.0)).collect();
    let is_held_out = |input: u32| draw(seed, u64::from(input)).is_multiple_of(4);
    let held_out = all.iter().copied().filter(|cell| is_held_out(cell.0)).collect();
    let truth = write(&log, &held_out, &folder.join("held-out.txt"));
    let learning: BTreeSet<(u32, u32)> = all.iter().copied().filter(|cell| !is_held_out(cell.0)).collect();
    let mut known: BTreeSet<(u32, u32)> = learning.clone();
    if cells < log.choices.len() {
        let choices = log.choices.len() as u64;
        let first = |input: u32| (input, (draw(seed + 1, u64::from(input)) % choices) as u32);
        known = (0..inputs as u32).filter(|&i| !is_held_out(i)).map(first).collect();
        let mut timed = 1;
        while timed < cells {
            let path = write(&log, &known, &folder.join("known.txt"));
            let count = if timed == 1 { 11 } else { turn }.min(cells - timed);
            let proposed = propose(&[path], count, seed).expect("proposals");
            let position = |cell: &ah_train::Proposal| {
                let input = log.inputs.iter().position(|input| *input.text == *cell.input)?;
                Some((input as u32, log.choice_id(&cell.choice)?.0))
            };
            known.extend(proposed.iter().filter_map(position));
            timed += count;
        }
    }
    let path = write(&log, &known, &folder.join("known.txt"));
    let mut params = Params::new(vec![path], "T");
    params.max_choices = option("choices").and_then(|n| n.parse().ok());
    let trained = train(&params.check().expect("parameters")).expect("a model");
    let judged = evaluate(&trained.model, &[truth], false).expect("figures").comparison;
    println!(
        "{} of {} cells ({:.1} %): choose loses {:.4} ({:.2} at worst), said {:.4}; {} choices, {:.0} kB, learned in {:.1} s",
        known.len(),
        learning.len(),
        100.0 * known.len() as f64 / learning.len() as f64,
        judged.model.plain_slowdown,
        judged.model.worst,
        trained.held_out.comparison.model.slowdown,
        trained.model.choices.len(),
        trained.model.to_json().len() as f64 / 1000.0,
        trained.duration.as_secs_f64(),
    );
    let _ = std::fs::remove_dir_all(folder);
}

/// Writes the part of a log that has these cells.
fn write(log: &Log, cells: &BTreeSet<(u32, u32)>, path: &Path) -> PathBuf {
    let features = log.schema.features().iter().map(|feature| feature.name.as_str());
    let head: Vec<&str> = features.chain(["choice", "feedback"]).collect();
    let mut text = format!("{}\n{}\n", serde_json::to_string(&log.metadata).expect("JSON"), head.join(","));
    for sample in log.samples.iter().filter(|s| cells.contains(&(s.input, s.choice.0))) {
        let (input, choice) = (&log.inputs[sample.input as usize].text, log.choice_name(sample.choice));
        let _ = writeln!(text, "{input},{choice},{}", sample.feedback);
    }
    std::fs::write(path, text).expect("a file");
    path.to_owned()
}

/// Returns a random number (SplitMix64).
fn draw(seed: u64, at: u64) -> u64 {
    let mut x = seed.wrapping_add(at.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
