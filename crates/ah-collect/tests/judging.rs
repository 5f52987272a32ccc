//! `--use-heuristic` and `--describe`: the output for people.

mod common;

use ah_types::{ChoiceId, Feature, Features, Leaf, Model, Node, RankedChoice, Schema, Test, Tree};
use assert_cmd::Command;
use common::{Folder, fake, refused, stdout, succeed};

fn leaf(choices: &[u32]) -> Node {
    let measured = RankedChoice { measured: 1, expected: true, allowed: true, ..RankedChoice::default() };
    let ranked = |choice: &u32| RankedChoice { choice: ChoiceId(*choice), ..measured.clone() };
    Node::Leaf(Leaf { samples: 1, ranking: choices.iter().map(ranked).collect(), ..Leaf::default() })
}

/// size <= 500 ? small_is_fast : steady. The best boundary is 1000.
fn model() -> Model {
    let schema = Schema::new([Feature::numerical("size"), Feature::categorical("kind")]).unwrap();
    Model {
        heuristic: "FakeHeuristic".into(),
        optimization: "fake".into(),
        categories: vec![vec![], vec!["apples".into(), "pears".into()]],
        features: Features::new(schema, &[]).unwrap(),
        shared_memory: Some(0),
        choices: vec!["small_is_fast".into(), "steady".into()],
        fallback: Some(ChoiceId(1)),
        tree: Tree {
            nodes: vec![
                Node::Split { test: Test::Numerical { slot: 0, threshold: 500.0 }, left: 1, right: 2 },
                leaf(&[0, 1]),
                leaf(&[1]),
            ],
        },
        ..Model::default()
    }
}

#[test]
fn a_heuristic_is_compared_with_winner_and_fallback() {
    let folder = Folder::new();
    model().write(&folder.path("model.json")).unwrap();
    std::fs::write(folder.path("inputs.csv"), "size,kind\n7,apples\n501,pears\n5000,pears\n95000,apples\n")
        .unwrap();
    let table = stdout(fake(&folder).args(["--use-heuristic", "model.json", "--inputs", "inputs.csv"]));
    insta::assert_snapshot!(table);
    assert!(!folder.log().exists(), "judging writes no log");
    Model { optimization: "other".into(), ..model() }.write(&folder.path("model.json")).unwrap();
    let expected = "model.json is a heuristic for the optimization \"other\", expected \"fake\"";
    refused(fake(&folder).args(["--use-heuristic", "model.json"]), 2, &[expected]);
}

#[test]
fn a_heuristic_is_compared_with_what_a_library_would_have_done() {
    let folder = Folder::new();
    model().write(&folder.path("model.json")).unwrap();
    std::fs::write(folder.path("inputs.csv"), "size,kind\n7,apples\n501,pears\n5000,pears\n").unwrap();
    let judge = ["--use-heuristic", "model.json", "--inputs", "inputs.csv", "--baseline"];
    let table = stdout(fake(&folder).args(judge).arg("steady,small_is_fast"));
    insta::assert_snapshot!(table);
    refused(
        fake(&folder).args(judge).arg("steady,stedy"),
        2,
        &["the baseline \"stedy\" is none of the choices here"],
    );
}

#[test]
fn a_choice_that_is_not_offered_is_judged_too() {
    let folder = Folder::new();
    let mut model = model();
    // The leaf of small inputs prefers a choice that only a worker process offers.
    model.choices.insert(0, "hanging".into());
    model.fallback = Some(ChoiceId(2));
    (model.tree.nodes[1], model.tree.nodes[2]) = (leaf(&[0, 1]), leaf(&[2]));
    model.write(&folder.path("model.json")).unwrap();
    std::fs::write(folder.path("inputs.csv"), "size,kind\n7,apples\n5000,pears\n").unwrap();
    let table = stdout(fake(&folder).args(["--use-heuristic", "model.json", "--inputs", "inputs.csv"]));
    let line = "not told what is offered: slowdown 1.414, a choice without a time on 1 of 2 inputs (counted as steady)";
    assert!(table.contains(line), "{table}");
    assert!(table.contains("small_is_fast  small_is_fast"), "told, it takes the other choice: {table}");
}

#[test]
fn fresh_inputs_are_drawn_from_the_seed() {
    let folder = Folder::new();
    model().write(&folder.path("model.json")).unwrap();
    let judge = |seed: &str| {
        stdout(fake(&folder).args(["--use-heuristic", "model.json", "--num-samples", "5", "--seed", seed]))
    };
    let first = judge("1");
    assert_eq!(first, judge("1"));
    assert_ne!(first, judge("2"));
    assert!(first.contains("geometric mean of 5"), "{first}");
}

#[test]
fn a_log_is_described() {
    let folder = Folder::new();
    std::fs::write(folder.path("inputs.csv"), "size,kind\n7,apples\n9,pears\n5000,pears\n").unwrap();
    succeed(fake(&folder).args(["--inputs", "inputs.csv"]));
    let describe = |logs: &[&str]| {
        let mut command = Command::cargo_bin("ah-collect").unwrap();
        stdout(command.arg("--describe").args(logs.iter().map(|l| folder.path(l))))
    };
    insta::assert_snapshot!(describe(&["train.txt"]));
    let repeated = describe(&["train.txt", "train.txt"]);
    assert!(repeated.contains("3 inputs in both; median relative deviation 0.00 %"), "{repeated}");

    let mut command = Command::cargo_bin("ah-collect").unwrap();
    refused(command.arg("--describe").arg(folder.path("missing.txt")), 4, &["missing.txt"]);
}

/// Returns the JSON on standard output, with each figure that a clock shows as `0`.
fn json(command: &mut Command) -> String {
    let mut value: serde_json::Value = serde_json::from_str(&stdout(command.args(["--json", "-q"]))).unwrap();
    let run = ["seconds", "seconds_in_choices", "kernel_ms"].map(|key| ("run", key));
    for (part, key) in run.into_iter().chain([("facts", "collection")]) {
        if let Some(found) = value.get_mut(part).and_then(|part| part.get_mut(key)) {
            *found = 0.into();
        }
    }
    serde_json::to_string_pretty(&value).unwrap()
}

#[test]
fn every_result_is_complete_as_json() {
    let folder = Folder::new();
    model().write(&folder.path("model.json")).unwrap();
    std::fs::write(folder.path("inputs.csv"), "size,kind\n7,apples\n9,pears\n5000,pears\n").unwrap();
    let plain = || {
        let mut command = Command::cargo_bin("ah-collect").unwrap();
        command.current_dir(folder.path("."));
        command
    };
    insta::assert_snapshot!("json of a run", json(fake(&folder).args(["--inputs", "inputs.csv"])));
    insta::assert_snapshot!("json of a log", json(plain().args(["--describe", "train.txt", "train.txt"])));
    let judge = ["--use-heuristic", "model.json", "--inputs", "inputs.csv"];
    insta::assert_snapshot!("json of a judgement", json(fake(&folder).args(judge)));
    succeed(fake(&folder).args(["--num-samples", "2", "-o", "again.txt"]));
    let merge = ["merge", "train.txt", "again.txt", "-o", "merged.txt"];
    insta::assert_snapshot!("json of a merge", json(plain().args(merge)));
    insta::assert_snapshot!("json of the list", json(fake(&folder).arg("--list")));
}

#[test]
fn quiet_prints_only_results_and_verbose_every_input() {
    let folder = Folder::new();
    let run = |flag: &str, seed: &str| {
        let output =
            fake(&folder).args(["--num-samples", "3", "-o", seed, "--seed", seed, flag]).output().unwrap();
        assert!(output.status.success());
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(run("-q", "1"), (String::new(), String::new()));
    let (_, verbose) = run("-v", "2");
    assert!(verbose.contains("1 of 3 inputs") && verbose.contains("3 of 3 inputs"), "{verbose}");
}

#[test]
fn a_log_of_another_optimization_is_refused_in_two_lines() {
    let folder = Folder::new();
    succeed(fake(&folder).args(["--num-samples", "2"]));
    let mut command = Command::cargo_bin("ah-collect").unwrap();
    command.current_dir(folder.path(".")).args(["--name", "softmax", "--backend", "cpu"]);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let message = String::from_utf8(output.stderr).unwrap();
    let expected = "error: train.txt: the log is of fake, this run measures softmax\nwrite to another file: -o softmax.txt\n";
    assert_eq!(message, expected);
}

#[test]
fn logs_of_different_devices_do_not_merge() {
    let folder = Folder::new();
    succeed(fake(&folder).args(["--num-samples", "2"]));
    let other = folder.read("train.txt").replacen("\"model\":\"fake\"", "\"model\":\"another\"", 1);
    std::fs::write(folder.path("other.txt"), other).unwrap();
    let refused = ah_types::log::read(&["train.txt", "other.txt"].map(|l| folder.path(l))).unwrap_err();
    let message = refused.to_string();
    assert!(message.contains("autoheuristic_rs.device.model") && message.contains("another"), "{message}");
}
