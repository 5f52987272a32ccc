//! A collector that is killed again and again. Not part of `cargo test`:
//! `cargo test -p ah-collect --test it -- kills:: --ignored --nocapture`
#![cfg(unix)]

use crate::common;

use std::collections::{BTreeSet, HashMap};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ah_measure::sampling;
use common::{Folder, fake_worker, succeed};
use rand::Rng as _;

/// The kills of one run of the test.
const KILLS: u32 = 1000;
/// The inputs of one log. When it is complete, the next log begins.
const INPUTS: &str = "60";
/// The longest life of a collector that is killed: its start, reading the log, and some inputs.
const LONGEST: Duration = Duration::from_millis(60);

fn fake(folder: &Folder, seed: u64) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("ah-collect"));
    command.args(["--worker", &fake_worker(""), "--num-samples", INPUTS]);
    command.args(["--seed", &seed.to_string(), "-o"]).arg(folder.log());
    // No pauses between the writes, so that many kills hit one.
    command.env("AH_FAKE_PACE_US", "0").stderr(Stdio::null());
    command
}

/// Returns the log of an undisturbed run.
fn undisturbed(seed: u64) -> String {
    let folder = Folder::new();
    succeed(&mut assert_cmd::Command::from_std(fake(&folder, seed)));
    folder.read("train.txt")
}

/// Returns the choices of each input, in the order of the log.
fn choices(text: &str) -> (Vec<String>, HashMap<String, BTreeSet<String>>) {
    let (mut order, mut choices): (Vec<String>, HashMap<_, BTreeSet<_>>) = Default::default();
    for line in text.lines().skip(2) {
        let fields: Vec<_> = line.split(',').collect();
        let [size, kind, choice, _] = fields[..] else { panic!("a torn line: {line:?}") };
        let input = format!("{size},{kind}");
        if order.last() != Some(&input) {
            assert!(!order.contains(&input), "{input} comes twice");
            order.push(input.clone());
        }
        choices.entry(input).or_default().insert(choice.to_owned());
    }
    (order, choices)
}

#[test]
#[ignore = "1,000 kills take minutes"]
fn kills_cost_the_input_in_hand_and_nothing_else() {
    let (begin, mut rng) = (Instant::now(), sampling::Seed(7, 0).rng());
    let (mut kills, mut logs, mut torn, mut torn_outcomes) = (0, 0, 0, 0);
    while kills < KILLS {
        let (folder, whole) = (Folder::new(), undisturbed(logs));
        let lines: BTreeSet<_> = whole.lines().collect();
        loop {
            let mut child = fake(&folder, logs).spawn().unwrap();
            std::thread::sleep(LONGEST.mul_f64(rng.random()));
            child.kill().unwrap(); // SIGKILL
            let status = child.wait().unwrap();
            kills += u32::from(status.signal() == Some(9));
            let text = std::fs::read_to_string(folder.log()).unwrap_or_default();
            let kept = text.rfind('\n').map_or("", |end| &text[..=end]);
            torn += u32::from(kept.len() < text.len());
            // The first line has the time of a decision, which each run measures anew.
            let wrong = kept.lines().skip(1).find(|line| !lines.contains(line));
            assert_eq!(wrong, None, "a whole line is one of the undisturbed log's");
            if status.success() {
                break;
            }
        }
        let text = folder.read("train.txt");
        assert_eq!(choices(&text), choices(&whole), "the same inputs in the same order, and no input short");
        let outcomes = folder.read("train.txt.outcomes.jsonl");
        // A torn line is ended and no record: shards share the file, so nobody cuts it off.
        assert!(outcomes.lines().all(|line| line.starts_with("{\"input\":\"")), "{outcomes}");
        torn_outcomes += outcomes.lines().filter(|line| !line.ends_with('}')).count();
        logs += 1;
    }
    assert!(torn_outcomes < 5, "{torn_outcomes} torn lines of outcomes");
    let _ = std::io::Write::write_fmt(
        &mut std::io::stderr(),
        format_args!("{kills} kills, {logs} logs, {torn} torn lines, in {:.0?}\n", begin.elapsed()),
    );
}
