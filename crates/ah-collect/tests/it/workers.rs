//! Programs that speak the protocol of `docs/workers.md`, well and badly. The fake is `fake_worker.py`.
#![cfg(unix)]

use crate::common;

use std::path::{Path, PathBuf};

use ah_types::log::{self, Log};
use assert_cmd::Command;
use common::{Folder, at_once, feedback, inputs, refused, skipped, stdout, succeed};
use serde_json::Value;

/// A mode of `ah-collect` with a fake worker; `None` without Python.
fn worker(folder: &Folder, mode: &str, batch: usize) -> Option<Command> {
    let command = fake(mode, batch)?;
    let mut tool = Command::cargo_bin("ah-collect").unwrap();
    tool.current_dir(folder.path("")).args(["collect", "--num-reps", "2", "--worker", &command]);
    Some(tool)
}

/// The command of a fake worker; `None` without Python.
fn fake(mode: &str, batch: usize) -> Option<String> {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_worker.py");
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        skipped("python3 is missing, so no worker in Python is tried");
        return None;
    }
    Some(format!("python3 -B '{}' '{mode}' {batch}", program.display()))
}

/// Writes two inputs.
fn list(folder: &Folder) -> PathBuf {
    let path = folder.path("inputs.csv");
    std::fs::write(&path, "size,kind\n10,a\n11,b\n").unwrap();
    path
}

/// Writes one input.
fn one(folder: &Folder) -> PathBuf {
    let path = folder.path("inputs.csv");
    std::fs::write(&path, "size,kind\n10,a\n").unwrap();
    path
}

fn read(folder: &Folder) -> Log {
    log::read(&[folder.log()]).unwrap()
}

#[test]
fn a_fault_costs_its_cell_and_nothing_else() {
    let faults = [
        ("dies", "crashed: the worker process ended with exit status: 7: last words"),
        ("closes its output", "crashed: it closed its standard output"),
        ("hangs", "hung: no answer within 1 s"),
        ("hangs after half a line", "hung: no answer within 1 s"),
        ("garbage", "a line begins with { and is no answer"),
        ("half a line", "crashed: the worker process ended with exit status: 0"),
        ("a long line", "a line has more than 4 MiB"),
        ("another id", "an answer has the wrong id, expected "),
        ("no id", "an answer has the wrong id, expected "),
        ("another cell", "no cell of the request is answered: {\"id\": "),
        ("no cell", "no cell of the request is answered: {\"id\": "),
        ("another answer", "expected the field \"ms\", found {"),
        ("too few times", "expected 1 times, found 0"),
        ("times of text", "invalid type: string \"fast\", expected f64"),
        ("a negative time", "a sample took -1 ms"),
        ("not a number", "a line begins with { and is no answer"),
        ("a time and a failure", "\"ms\" contradicts \"failed\""),
        ("a key twice", "the key \"cell\" twice"),
        ("lost", "an illegal address"),
    ];
    at_once(&faults, |&(mode, reason)| {
        // Of several cells in a request, those without an answer are asked alone.
        let is_fault_of_process = ["dies", "hangs", "another cell", "lost"].contains(&mode);
        for batch in if is_fault_of_process { vec![1, 4] } else { vec![1] } {
            let folder = Folder::new();
            let Some(mut command) = worker(&folder, mode, batch) else { return };
            let limit = if mode.starts_with("hangs") { "1" } else { "20" };
            let stderr = succeed(command.args(["--hang-seconds", limit, "--inputs"]).arg(one(&folder)));
            assert!(stderr.contains(reason), "{mode}, {batch}: {stderr}");
            let log = read(&folder);
            assert_eq!(log.inputs.len(), 1, "{mode}, {batch}");
            assert_eq!(feedback(&log, 10.0, "bad"), [f64::INFINITY], "{mode}, {batch}: {stderr}");
            for choice in ["good", "late", "slow"] {
                let times = feedback(&log, 10.0, choice);
                // The slow one drops out after two samples, which make one row.
                let rows = if choice == "slow" { 1 } else { 2 };
                let finite = times.len() == rows && times.iter().all(|ms| ms.is_finite());
                assert!(finite, "{mode}, {batch}: {choice} {times:?}");
            }
        }
    });
}

#[test]
fn a_process_that_left_the_group_and_keeps_standard_error_holds_nobody_up() {
    let folder = Folder::new();
    let Some(mut command) = worker(&folder, "leaves a process", 1) else { return };
    let start = std::time::Instant::now();
    succeed(command.args(["--hang-seconds", "2", "--inputs"]).arg(list(&folder)));
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
    assert_eq!(feedback(&read(&folder), 10.0, "bad"), [f64::INFINITY]);
}

#[test]
fn noise_and_patience_cost_nothing() {
    let modes = [
        ("floods standard output", "20"),
        ("floods standard error", "20"),
        ("works for long", "0.7"),
        ("says for long that it is alive", "0.7"),
    ];
    for (mode, limit) in modes {
        let folder = Folder::new();
        let Some(mut command) = worker(&folder, mode, 1) else { return };
        let output =
            command.args(["--hang-seconds", limit, "--inputs"]).arg(list(&folder)).assert().success();
        let shown = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
        assert!(!shown.contains("\n\n"), "{mode}: {shown}");
        let log = read(&folder);
        assert!(log.inputs.len() == 2 && log.samples.iter().all(|s| s.feedback.is_finite()), "{mode}");
    }
}

#[test]
fn a_log_does_not_depend_on_the_size_of_a_request() {
    let folders = [1, 3, 100].map(|batch| (batch, Folder::new()));
    for (batch, folder) in &folders {
        let Some(mut command) = worker(folder, "well", *batch) else { return };
        succeed(command.args(["--num-samples", "6"]));
    }
    let [first, others @ ..] = folders.map(|(_, folder)| folder.read("train.txt"));
    assert!(first.lines().count() > 6 * 4);
    assert!(others.iter().all(|log| *log == first));
}

#[test]
fn descriptions_that_cannot_be_measured_are_refused_in_words() {
    for (mode, parts) in [
        ("100000 choices", &["expected 2 to 10000 choices, found 100000"][..]),
        ("one choice", &["expected 2 to 10000 choices, found 1"]),
        ("twins", &["the choice \"good\" is there twice"]),
        ("choices of two lines", &["the choice \"b\\nad\": expected a name of one line"]),
        ("no features", &["expected at least one feature"]),
        ("feature twins", &["the feature \"size\" occurs twice"]),
        ("features of text", &["invalid type: string \"size\""]),
        ("an unknown kind", &["unknown variant `integer`, expected `numerical` or `categorical`"]),
        ("an unknown fallback", &["\"best\", of fallback or eligible, is none of the choices"]),
        ("a negative feature_ms", &["feature_ms: expected milliseconds of \"size\", found -1"]),
        ("an unknown feature_ms", &["feature_ms: \"length\" is none of the features"]),
        ("a feature called choice", &["the feature \"choice\": a log has a column of this name"]),
        ("an unreadable condition", &["the choice \"bad\" is eligible where \"size <\""]),
        ("timing of text", &["timing: invalid type: string \"many\""]),
        ("timing of nothing", &["timing: max_samples: expected 1 to 10000, found 0"]),
        ("stops the best", &["timing: early_stop_ratio: expected at least 1, found 0.5"]),
        ("inputs of another feature", &["inputs: \"length\" is not a feature"]),
        ("version 2", &["it speaks version 2 of the protocol, expected 1"]),
    ] {
        let folder = Folder::new();
        let Some(mut command) = worker(&folder, mode, 1) else { return };
        let code = if mode == "an unreadable condition" { 2 } else { 3 };
        refused(command.args(["--num-samples", "1"]), code, parts);
        assert!(!folder.log().exists(), "{mode}");
    }
}

#[test]
fn workers_that_cannot_go_on_end_the_run() {
    for (mode, part) in [
        ("says nothing", "crashed: the worker process ended with exit status: 3"),
        ("cannot begin", "no device"),
        (
            "no inputs",
            "the feature \"size\" has no range; add \"size\" to the inputs, or give a file of inputs",
        ),
        (
            "contexts of text",
            "the worker's `draw`: the feature \"size\" should be numerical, found \"large\"",
        ),
        (
            "always dies",
            "10 inputs in a row failed, each with all its choices, and nothing of them is recorded; the first one: crashed",
        ),
        ("draws a fraction", "the worker's `draw`: \"size\" is an integer, found 1.5"),
        (
            "dies once and then offers other choices",
            "the worker was restarted and describes another value of \"choices\": [\"slow\",",
        ),
        (
            "dies once and then has another fallback",
            "the worker was restarted and describes another value of \"fallback\"",
        ),
        ("dies for good", "crashed: the worker process ended with exit status: 3"),
    ] {
        let folder = Folder::new();
        let Some(mut command) = worker(&folder, mode, 1) else { return };
        let code = if mode == "always dies" { 6 } else { 5 };
        refused(command.args(["--num-samples", "30"]), code, &[part]);
        let log = std::fs::read_to_string(folder.log()).unwrap_or_default();
        assert!(!log.contains("inf"), "{mode}: nothing is blamed on a choice");
    }
    let folder = Folder::new();
    let mut missing = Command::cargo_bin("ah-collect").unwrap();
    missing.args(["--worker", "surely-not-a-program", "-o"]).arg(folder.log());
    refused(&mut missing, 5, &["cannot start a worker process, surely-not-a-program"]);
    let mut open = Command::cargo_bin("ah-collect").unwrap();
    refused(open.args(["--worker", "python3 'x.py"]), 2, &["each quotation mark closed"]);
}

#[test]
fn a_run_goes_on_and_another_list_of_choices_is_refused() {
    let folder = Folder::new();
    let Some(mut command) = worker(&folder, "well", 1) else { return };
    succeed(command.args(["--num-samples", "3"]));
    let before = inputs(&folder);
    let stderr = succeed(worker(&folder, "well", 1).unwrap().args(["--num-samples", "5"]));
    assert!(stderr.contains("holds 3 inputs already"), "{stderr}");
    assert_eq!(inputs(&folder)[..3], before);
    let log = read(&folder);
    assert_eq!((log.metadata.name.as_str(), log.inputs.len()), ("fake_worker", 5));
    let notes = log.metadata.collection.as_ref().unwrap();
    assert_eq!(notes.decision_ns["python"], 210.0);
    assert!(notes.decision_ns["rust"] > 0.0 && !notes.date.is_empty());
    let mut changed = worker(&folder, "changed commands", 1).unwrap();
    refused(changed.args(["--num-samples", "6"]), 3, &["commands"]);
    let mut changed = worker(&folder, "more choices", 1).unwrap();
    refused(changed.args(["--num-samples", "6"]), 3, &["choices"]);
    refused(worker(&folder, "well", 1).unwrap().args(["--name", "other"]), 3, &["the log is of fake_worker"]);
}

#[test]
fn inputs_are_skipped_and_wrong_results_fail() {
    let folder = Folder::new();
    let Some(mut command) = worker(&folder, "skips inputs", 1) else { return };
    let stderr = succeed(command.arg("--inputs").arg(list(&folder)));
    assert_eq!(inputs(&folder), ["11,b"]);
    assert!(stderr.contains("skipped 1 input: even"), "{stderr}");
    let folder = Folder::new();
    succeed(worker(&folder, "wrong", 4).unwrap().arg("--inputs").arg(list(&folder)));
    assert_eq!(feedback(&read(&folder), 10.0, "late"), [f64::INFINITY]);
}

#[test]
fn fields_that_are_no_numbers_are_names() {
    let folder = Folder::new();
    let Some(mut command) = worker(&folder, "fields", 4) else { return };
    succeed(command.args(["--num-samples", "3"]));
    assert_eq!(read(&folder).choices.len(), 4);
}

#[test]
fn a_worker_compiles_ahead_what_the_planned_inputs_need() {
    let folder = Folder::new();
    let Some(mut command) = worker(&folder, "records", 4) else { return };
    succeed(command.args(["--num-samples", "120"]));
    let requests: Vec<Value> =
        folder.read("requests.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (mut compiled, mut counts) = (Vec::new(), Vec::new());
    for request in &requests {
        if request["request"] == "prepare" {
            assert!(compiled.contains(&request["context"]), "compiled before it is prepared: {request}");
            continue;
        }
        let contexts = request["contexts"].as_array().unwrap().clone();
        counts.push(contexts.len());
        compiled.extend(contexts);
    }
    assert_eq!(counts, [100, 20]);
}

#[test]
fn what_is_no_fault_of_a_choice_is_not_recorded_as_one() {
    // The process dies once, and the same choice works in the next one.
    let folder = Folder::new();
    let Some(mut command) = worker(&folder, "dies once", 1) else { return };
    succeed(command.arg("--inputs").arg(list(&folder)));
    assert!(read(&folder).samples.iter().all(|sample| sample.feedback.is_finite()));
    // The machine is at fault: the input is not done, and a later run measures the choice.
    let folder = Folder::new();
    let stderr = succeed(worker(&folder, "unmeasured", 4).unwrap().arg("--inputs").arg(list(&folder)));
    assert!(
        stderr.contains("not measured 2 times (bad): the card is throttled; a later run measures them"),
        "{stderr}"
    );
    let log = read(&folder);
    assert_eq!((log.inputs.len(), log.choice_id("bad")), (2, None));
    let outcome = r#""choices":["bad"],"unmeasured":"the card is throttled"}"#;
    let expected = ["10,a", "11,b"].map(|input| format!("{{\"input\":\"{input}\",{outcome}\n"));
    assert_eq!(folder.read("train.txt.outcomes.jsonl"), expected.concat());
    let stderr = succeed(worker(&folder, "dies once", 1).unwrap().arg("--inputs").arg(list(&folder)));
    assert!(stderr.contains("measuring the missing choices of 2 inputs"), "{stderr}");
    assert!(feedback(&read(&folder), 10.0, "bad").iter().all(|ms| ms.is_finite()));
}

/// The memory is held: even sizes cannot be made, `bad` cannot run on odd ones, and `late` is eligible on size 11 alone.
#[test]
fn unmeasured_inputs_and_choices_are_measured_later_and_skipped_ones_are_not() {
    let folder = Folder::new();
    let path = folder.path("inputs.csv");
    std::fs::write(&path, "size,kind\n10,a\n11,b\n12,a\n13,a\n").unwrap();
    let optimization = folder.path("fake_worker.toml");
    let text = "name = \"fake_worker\"\nfallback = [\"good\"]\n[[feature]]\nname = \"size\"\nkind = \"numerical\"\n\
                integer = true\n[[feature]]\nname = \"kind\"\nkind = \"categorical\"\n[eligible]\n\
                late = \"size == 11\"\n";
    std::fs::write(&optimization, text).unwrap();
    let run = |mode: &str| {
        let mut command = worker(&folder, mode, 4)?;
        command.arg("--optimization").arg(&optimization);
        Some(succeed(command.arg("--inputs").arg(&path)))
    };
    let choices_of = |log: &Log, size: f64| {
        let has_row = |choice: &&str| !feedback(log, size, choice).is_empty();
        ["good", "bad", "late", "slow"].into_iter().filter(has_row).collect::<Vec<_>>()
    };
    let Some(stderr) = run("memory is held") else { return };
    assert!(stderr.contains("measured 2 inputs"), "{stderr}");
    let log = read(&folder);
    assert_eq!(choices_of(&log, 11.0), ["good", "late", "slow"]);
    assert_eq!(choices_of(&log, 13.0), ["good", "slow"]);
    let outcomes = folder.read("train.txt.outcomes.jsonl");
    assert_eq!(outcomes.matches("\"unmeasured\":").count(), 4, "{outcomes}");
    assert!(outcomes.contains(r#"{"input":"10,a","unmeasured":"another program"#), "{outcomes}");

    let stderr = run("dies once").unwrap();
    assert!(stderr.contains("measuring the missing choices of 2 inputs"), "{stderr}");
    let log = read(&folder);
    for size in [10.0, 12.0, 13.0] {
        assert_eq!(choices_of(&log, size), ["good", "bad", "slow"], "{size}");
        assert!(feedback(&log, size, "good").len() == 2, "no cell is measured twice");
    }
    assert_eq!(choices_of(&log, 11.0), ["good", "bad", "late", "slow"]);
    // Nothing is left.
    let (before, stderr) = (folder.read("train.txt"), run("dies once").unwrap());
    assert!(stderr.contains("measured 0 inputs"), "{stderr}");
    assert_eq!(folder.read("train.txt"), before);
}

#[test]
fn signs_of_life_without_an_end_cost_what_they_hold_up() {
    let modes = [("works for ever", 2), ("prepares for ever", 0)];
    at_once(&modes, |&(mode, measured)| {
        let folder = Folder::new();
        let Some(mut command) = worker(&folder, mode, 1) else { return };
        let start = std::time::Instant::now();
        command.args(["--hang-seconds", "0.1", "--max-seconds", "60", "--inputs"]).arg(list(&folder));
        let output = command.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains("no answer within 3 s, only `working`: \"still\""), "{mode}: {stderr}");
        assert!(start.elapsed().as_secs() < 40, "{:?}", start.elapsed());
        let text = std::fs::read_to_string(folder.log()).unwrap();
        assert!(!text.contains("inf"), "{mode}: nothing is blamed on a choice");
        if measured > 0 {
            assert_eq!(read(&folder).inputs.len(), measured, "{mode}");
        }
    });
}

#[test]
fn signs_of_life_do_not_outlive_the_run() {
    let folder = Folder::new();
    let Some(mut command) = worker(&folder, "works for ever", 1) else { return };
    let start = std::time::Instant::now();
    command.args(["--hang-seconds", "1", "--max-seconds", "2", "--inputs"]).arg(list(&folder));
    let stderr = String::from_utf8_lossy(&command.output().unwrap().stderr).into_owned();
    assert!(stderr.contains("only `working`: \"still\"; raise --max-seconds"), "{stderr}");
    // 30 s for each signal of life before.
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

#[test]
fn a_clock_that_cannot_be_trusted_blames_no_choice() {
    for (mode, is_timed) in [
        ("impossible times", false),
        ("impossible times of two threads", false),
        ("two threads", true),
        ("two threads on the wall clock", false),
    ] {
        let folder = Folder::new();
        let Some(mut command) = worker(&folder, mode, 1) else { return };
        let stderr = succeed(command.arg("--inputs").arg(one(&folder)));
        let times = feedback(&read(&folder), 10.0, "bad");
        assert_eq!(!times.is_empty(), is_timed, "{mode}: {times:?} {stderr}");
        assert!(times.iter().all(|ms| ms.is_finite()), "{mode}: {times:?}");
        assert_eq!(stderr.contains("impossible times: "), !is_timed, "{mode}: {stderr}");
        assert_eq!(stderr.contains("describes \"threads\": N"), !is_timed, "{mode}: {stderr}");
    }
}

#[test]
fn a_long_reason_is_cut() {
    let folder = Folder::new();
    let Some(mut command) = worker(&folder, "a long reason", 1) else { return };
    let stderr = succeed(command.arg("--inputs").arg(one(&folder)));
    assert!(stderr.contains("xxx…") && stderr.len() < 1500, "{}", stderr.len());
    assert!(folder.read("train.txt.outcomes.jsonl").len() < 2500);
}

#[test]
fn a_choice_that_crashes_takes_no_samples_from_the_others() {
    // Each process is slow at first, for longer than the budget of 200 ms, and the last choice ends it.
    let folder = Folder::new();
    let Some(mut command) = worker(&folder, "dies and starts slowly", 1) else { return };
    succeed(command.arg("--inputs").arg(list(&folder)));
    let log = read(&folder);
    assert_eq!(feedback(&log, 10.0, "slow"), [f64::INFINITY]);
    for choice in ["good", "bad", "late"] {
        assert_eq!(feedback(&log, 10.0, choice).len(), 2, "{choice}: the rows of five steady samples");
    }
}

#[test]
fn workers_of_several_devices_that_differ_are_refused() {
    let folder = Folder::new();
    let Some(mut command) = worker(&folder, "choices by the device", 1) else { return };
    command.args(["--device", "0,1", "--inputs"]).arg(list(&folder));
    // By position, the times of one worker would count for the choices of the other.
    refused(
        &mut command,
        5,
        &["the workers of two devices differ: one describes another value of \"choices\""],
    );
    assert!(!folder.log().exists());
}

#[test]
fn faults_are_counted_by_input() {
    // 56 choices die on the one odd input; the run goes on.
    let folder = Folder::new();
    let Some(mut command) = worker(&folder, "many die", 100) else { return };
    succeed(command.arg("--inputs").arg(list(&folder)));
    let log = read(&folder);
    assert_eq!(log.inputs.len(), 2);
    assert_eq!(feedback(&log, 11.0, "bad54"), [f64::INFINITY]);
    assert!(feedback(&log, 10.0, "bad54")[0].is_finite());
}

#[test]
fn a_choice_that_ends_each_process_is_given_up() {
    let folder = Folder::new();
    let Some(mut command) = worker(&folder, "counts its starts", 4) else { return };
    let path = folder.path("inputs.csv");
    let inputs: Vec<String> = (0..20).map(|size| format!("{},a\n", 10 + size)).collect();
    std::fs::write(&path, format!("size,kind\n{}", inputs.concat())).unwrap();
    let stderr = succeed(command.arg("--inputs").arg(&path));
    assert!(stderr.contains("not tried: it ended the worker process on 3 of 3 inputs"), "{stderr}");
    // Each of three inputs costs two processes: one for the batch, one for the choice alone.
    assert_eq!(folder.read("starts").len(), 7);
    let log = read(&folder);
    for size in 10..30 {
        assert_eq!(feedback(&log, f64::from(size), "bad"), [f64::INFINITY], "{size}");
        assert!(feedback(&log, f64::from(size), "good")[0].is_finite(), "{size}");
    }
}

#[test]
fn a_run_in_which_everything_fails_ends_with_the_first_error_and_records_nothing() {
    let folder = Folder::new();
    let Some(mut command) = worker(&folder, "always fails", 1) else { return };
    let parts = ["nothing has a time", "2 inputs failed; the first one: no, size 10"];
    refused(command.arg("--inputs").arg(list(&folder)), 6, &parts);
    // The repaired worker measures both.
    succeed(worker(&folder, "dies once", 1).unwrap().arg("--inputs").arg(list(&folder)));
    assert_eq!(read(&folder).inputs.len(), 2);
}

#[test]
fn a_hung_worker_that_does_not_watch_its_input_does_not_outlive_a_killed_collector() {
    let folder = Folder::new();
    let Some(command) = fake("hangs and says who", 1) else { return };
    if !Path::new("/proc/self/stat").exists() {
        skipped("no /proc here, so the worker cannot be watched");
        return;
    }
    let mut collector = std::process::Command::new(assert_cmd::cargo::cargo_bin!("ah-collect"))
        .current_dir(folder.path(""))
        .args(["--hang-seconds", "3600", "--worker", &command, "--inputs"])
        .arg(list(&folder))
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let until = |what: &str, done: &dyn Fn() -> bool| {
        let start = std::time::Instant::now();
        while !done() {
            if start.elapsed().as_secs() > 60 {
                return Err(what.to_owned());
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        Ok(())
    };
    let hung = until("no choice hangs", &|| folder.path("pid").exists());
    collector.kill().unwrap(); // SIGKILL
    collector.wait().unwrap();
    hung.unwrap();
    // Its new parent may not collect it, so a zombie has ended as well.
    let stat = format!("/proc/{}/stat", folder.read("pid"));
    let ended = || std::fs::read_to_string(&stat).map_or(true, |text| text.contains(") Z"));
    until("the worker lives on", &ended).unwrap();
}

#[test]
fn the_example_of_the_book_passes_the_check_and_is_measured() {
    if fake("well", 1).is_none() {
        return;
    }
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/worker/sort.py");
    let check = |arguments: &[&str]| {
        let mut command = Command::cargo_bin("ah-collect").unwrap();
        command.args(["check-worker", "--", "python3", "-B"]).args(arguments);
        command
    };
    let text = stdout(&mut check(&[example.to_str().unwrap()]));
    assert!(!text.contains("fault") && text.contains("end: it ends with its standard input"), "{text}");
    let folder = Folder::new();
    let mut command = Command::cargo_bin("ah-collect").unwrap();
    command.current_dir(folder.path("")).args(["--num-samples", "2", "--worker"]);
    succeed(command.arg(format!("python3 -B '{}'", example.display())));
    assert!(read(&folder).samples.iter().all(|s| s.feedback.is_finite()));

    let fake = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_worker.py");
    let faults = [
        ("dies", "\"bad\" failed: crashed"),
        ("always fails", "\"good\" failed: no"),
        ("copies", "12 samples are all 0.0001 ms, as if copied"),
        ("jumps", "its samples jump from"),
        ("seconds", "are they milliseconds?"),
        ("a time and a failure", "contradicts"),
        ("a key twice", "the key \"cell\" twice"),
        ("describes a key twice", "the key \"fallback\" twice"),
        ("a negative feature_ms", "feature_ms: expected milliseconds"),
        ("a feature called choice", "a log has a column of this name"),
        ("draws by the process", "draw: another process draws other inputs"),
        ("draws by the clock", "draw: another process draws other inputs"),
        ("draws by its count", "draw: another process draws other inputs"),
        ("describes itself anew", "the worker was restarted and describes another value of \"description\""),
        ("an unknown feature_ms", "feature_ms: \"length\" is none of the features"),
        ("draws a fraction", "is an integer, found 1.5"),
        ("garbage", "a line begins with { and is no answer"),
        ("too few times", "expected 1 times, found 0"),
        ("impossible times", "impossible times"),
        (
            "contexts of text",
            "fault  the worker's `draw`: the feature \"size\" should be numerical, found \"large\"",
        ),
        ("twins", "the choice \"good\" is there twice"),
        ("version 2", "it speaks version 2"),
    ];
    at_once(&faults, |(mode, fault)| {
        let output = check(&[fake.to_str().unwrap(), mode]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.code() == Some(1) && text.contains(fault), "{mode}: {text}");
    });
    let mut quiet = Command::cargo_bin("ah-collect").unwrap();
    quiet.args(["check-worker", "-q", "--", "python3", "-B"]).arg(&example);
    assert!(stdout(&mut quiet).contains("ok     end"));
}
