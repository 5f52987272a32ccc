//! A collector that is killed again and again: ten times in `cargo test`, and 1,000 times with
//! `cargo test -p ah-collect --test it -- kills:: --ignored --nocapture`
#![cfg(unix)]

use crate::common;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};
use std::time::Instant;

use ah_measure::sampling;
use common::{Folder, fake_worker, succeed};
use rand::Rng as _;

/// The kills of one run of the test.
const KILLS: u32 = 1000;
/// The inputs of one log. When it is complete, the next log begins.
const INPUTS: &str = "60";

fn fake(folder: &Folder, seed: u64) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("ah-collect"));
    command.args(["--worker", &fake_worker(""), "--num-samples", INPUTS]);
    command.args(["--seed", &seed.to_string(), "-o"]).arg(folder.log());
    // No pauses between the writes, so that many kills hit one.
    command.env("AH_FAKE_PACE_US", "0").stderr(Stdio::null());
    command
}

/// The log of an undisturbed run.
fn undisturbed(seed: u64) -> String {
    let folder = Folder::new();
    succeed(&mut assert_cmd::Command::from_std(fake(&folder, seed)));
    folder.read("train.txt")
}

/// The choices of each input, in the order of the log.
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

/// Times and outcomes by input and choice; whole inputs have no choice. What is not measured is left out.
type Cells = BTreeMap<(String, String), Vec<String>>;

/// All that the log and the outcomes beside it know.
fn cells(folder: &Folder) -> Cells {
    let mut cells = Cells::new();
    let log = folder.read("train.txt");
    // A torn last line is no row.
    for line in log.split_inclusive('\n').skip(2).filter_map(|line| line.strip_suffix('\n')) {
        let fields: Vec<_> = line.split(',').collect();
        let [size, kind, choice, feedback] = fields[..] else { panic!("a torn line: {line:?}") };
        let cell = (format!("{size},{kind}"), choice.to_owned());
        cells.entry(cell).or_default().push(feedback.to_owned());
    }
    for line in folder.read("train.txt.outcomes.jsonl").lines() {
        // A torn line is ended and no record.
        let Ok(record) = serde_json::from_str::<serde_json::Value>(line) else { continue };
        let kind = ["skipped", "failed"].into_iter().find(|kind| record.get(kind).is_some());
        let Some(kind) = kind else { continue };
        let text = |key: &str| record[key].as_str().unwrap_or_default().to_owned();
        let choices = record["choices"].as_array().cloned().unwrap_or_default();
        let names = choices.iter().map(|choice| choice.as_str().unwrap().to_owned());
        for choice in names.chain(choices.is_empty().then(String::new)) {
            let reasons = cells.entry((text("input"), choice)).or_default();
            let reason = format!("{kind}: {}", text(kind));
            // A kill between the two writes has the reason recorded twice.
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
    }
    cells.values_mut().for_each(|values| values.sort());
    cells
}

/// A log whose choices have conditions, on a machine that was at fault at first, and was killed again and again, holds what
/// an undisturbed run holds.
#[test]
fn a_killed_and_resumed_run_with_conditions_equals_an_undisturbed_one_cell_by_cell() {
    let optimization = "name = \"fake\"\nfallback = [\"steady\"]\n[[feature]]\nname = \"size\"\nkind = \"numerical\"\n\
                        integer = true\n[[feature]]\nname = \"kind\"\nkind = \"categorical\"\n[eligible]\n\
                        noisy = \"size < 20000\"\nslow = 'kind == \"pears\"'\n";
    let run = |folder: &Folder, argument: &str| {
        std::fs::write(folder.path("fake.toml"), optimization).unwrap();
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("ah-collect"));
        command.current_dir(folder.path("")).args(["--worker", &fake_worker(argument), "--draws", "60"]);
        command.args(["--optimization", "fake.toml", "--seed", "3"]).stderr(Stdio::null());
        command.env("AH_FAKE_PACE_US", "0");
        command
    };
    let whole = Folder::new();
    let begin = Instant::now();
    assert!(run(&whole, "").status().unwrap().success());
    let longest = begin.elapsed();
    let killed = Folder::new();
    let mut rng = sampling::Seed(11, 0).rng();
    for _ in 0..10 {
        let mut child = run(&killed, "busy").spawn().unwrap();
        std::thread::sleep(longest.mul_f64(rng.random()));
        child.kill().unwrap(); // SIGKILL
        child.wait().unwrap();
    }
    // Whatever the load of this machine was: some inputs lack rows, as a torn write leaves them.
    assert!(run(&killed, "busy").status().unwrap().success());
    let text = std::fs::read_to_string(killed.log()).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    let cell = |line: &str| line.rsplit_once(',').map(|(cell, _)| cell.to_owned());
    let torn = lines.split_off(lines.len() - 7);
    // A choice that kept some of its repetitions has a time.
    while lines.last().map(|line| cell(line)) == torn.first().map(|line| cell(line)) {
        lines.pop();
    }
    std::fs::write(killed.log(), lines.join("\n") + "\n77,app").unwrap();
    let unmeasured = killed.read("train.txt.outcomes.jsonl").matches("\"unmeasured\"").count();
    assert!(unmeasured > 10, "{unmeasured}");
    assert_ne!(cells(&killed), cells(&whole));

    assert!(run(&killed, "").status().unwrap().success());
    let (found, expected) = (cells(&killed), cells(&whole));
    let differing = expected.keys().chain(found.keys()).find(|cell| found.get(cell) != expected.get(cell));
    assert_eq!(differing.map(|cell| (cell, found.get(cell), expected.get(cell))), None);
    let before = killed.read("train.txt");
    assert!(run(&killed, "").status().unwrap().success());
    assert_eq!(killed.read("train.txt"), before, "nothing is left");
}

#[test]
#[ignore = "1,000 kills take minutes"]
fn kills_cost_the_input_in_hand_and_nothing_else() {
    let (begin, mut rng) = (Instant::now(), sampling::Seed(7, 0).rng());
    let (mut kills, mut logs, mut torn, mut torn_outcomes) = (0, 0, 0, 0);
    while kills < KILLS {
        let start = Instant::now();
        let (folder, whole) = (Folder::new(), undisturbed(logs));
        // On a busy machine, a run takes long to start.
        let longest = start.elapsed();
        let lines: BTreeSet<_> = whole.lines().collect();
        loop {
            let mut child = fake(&folder, logs).spawn().unwrap();
            std::thread::sleep(longest.mul_f64(rng.random()));
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
