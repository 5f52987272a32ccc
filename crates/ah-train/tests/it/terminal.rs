//! The output of `ah-train`: JSON for programs, and how much it prints.

use crate::common;

use common::{Run, log};
use serde_json::Value;

/// The keys of a JSON text to a depth of three, with the type in place of each value: figures change when
/// learning improves.
fn shape(text: &str) -> String {
    fn of(value: &Value, depth: u32) -> Value {
        match value {
            Value::Object(_) if depth == 0 => "object".into(),
            Value::Object(fields) => {
                fields.iter().map(|(key, value)| (key.clone(), of(value, depth - 1))).collect()
            }
            Value::Array(items) => items.iter().take(1).map(|item| of(item, depth)).collect(),
            Value::Number(_) => "number".into(),
            Value::String(_) => "text".into(),
            Value::Bool(_) => "true or false".into(),
            Value::Null => "null".into(),
        }
    }
    serde_json::to_string_pretty(&of(&serde_json::from_str(text).expect(text), 3)).unwrap()
}

#[test]
fn figures_are_complete_as_json() {
    let run = Run::new();
    run.write("train.txt", log(60));
    let json = |arguments: &[&str]| {
        let (code, out, err) = run.run(&[arguments, &["--json", "-q"]].concat());
        assert_eq!(code, 0, "{err}");
        shape(&out)
    };
    insta::assert_snapshot!(
        "json of a training",
        json(&["train.txt", "--heuristic-name", "T", "--no-codegen"])
    );
    insta::assert_snapshot!("json of an evaluation", json(&["evaluate", "model.json", "train.txt"]));
}

#[test]
fn quiet_prints_results_and_verbose_the_table() {
    let run = Run::new();
    run.write("train.txt", log(60));
    let train = |flag: &str| {
        let (code, out, err) = run.train(&["train.txt", flag]);
        assert_eq!(code, 0, "{err}");
        (out, err)
    };
    let (results, messages) = train("-q");
    assert!(messages.lines().all(|line| line.starts_with("warning: ")), "{messages}");
    assert!((5..=8).contains(&results.lines().count()), "{results}");
    assert!(results.lines().all(|line| line.chars().count() <= 80), "{results}");
    assert!(train("-v").0.lines().count() > results.lines().count() + 5);
}

/// Once wrote the header and then failed for want of a log with the table's inputs.
#[test]
fn a_table_is_written_by_the_next_command() {
    let run = Run::new();
    run.write("train.txt", log(60));
    let (code, _, messages) = run.run(&["train.txt", "--heuristic-name", "T", "--target", "c,table"]);
    assert_eq!(code, 0, "{messages}");
    let next = "table: run ah-train table model.json LOG, with a log of the table's inputs\n";
    assert!(messages.contains(next) && messages.contains("c: wrote "), "{messages}");
}

#[test]
fn parameters_of_learners_are_flags() {
    let run = Run::new();
    run.write("train.txt", log(120));
    let train = |flags: &[&str]| run.train(&[&["train.txt"], flags].concat());
    let linfa = ["--learner", "linfa", "--min-samples-leaf", "0.05", "-v"];
    let (code, out, err) = train(&linfa);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("linfa (flag)") && out.contains("min_samples_leaf  0.05 (flag)"), "{out}");
    let refused = |flags: &[&str], part: &str| {
        let (code, _, err) = train(flags);
        assert_eq!(code, 2, "{err}");
        assert!(err.contains(part), "{err}");
    };
    refused(
        &["--min-samples-leaf", "1.5"],
        "--min-samples-leaf: expected a number of inputs from 1, or a share",
    );
    refused(&["--learner", "lifna"], "[possible values: auto, cost_tree, boosted, linfa]");
}

#[test]
fn an_import_refuses_a_flag_of_learning_that_would_have_no_effect() {
    let run = Run::new();
    run.write("t.csv", "m,way,ms\n1,a,2\n1,b,3\n");
    let import = "import t.csv --name t --features m --choice way --time ms --fallback a";
    let (code, _, err) = run.run(&import.split(' ').collect::<Vec<_>>());
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("--heuristic-name <NAME>"), "{err}");
}

#[test]
fn check_learns_again_and_compares() {
    let run = Run::new();
    run.write("train.txt", log(120));
    let train = |more: &[&str]| run.run(&[&["train.txt", "--heuristic-name", "T"], more].concat());
    assert_eq!(train(&["--check"]).0, 4, "there is no model");
    assert_eq!(train(&[]).0, 0);
    let (code, _, stderr) = train(&["--check"]);
    assert!(code == 0 && stderr.contains("model.json is current"), "{stderr}");
    // The name of a packed log; its bytes tell whether it is packed.
    run.write("train.txt.gz", log(120));
    assert_eq!(run.run(&["train.txt.gz", "--heuristic-name", "T", "--check"]).0, 0, "the same log");
    // Another name for the same log is said to be just that.
    run.write("other.txt", log(120));
    let (code, _, stderr) = run.run(&["other.txt", "--heuristic-name", "T", "--check"]);
    let same = "model.json is stale: only its log differs: train.txt (BLAKE3 ";
    assert!(code == 1 && stderr.contains(same) && stderr.contains(") in the file, other.txt ("), "{stderr}");
    let model = std::fs::read(run.path("model.json")).unwrap();
    let (code, stdout, stderr) = train(&["--check", "--max-risk", "none"]);
    assert!(stderr.contains("learning again gives another one"), "{stderr}");
    assert!(code == 1 && stderr.contains("model.json is stale"), "{stderr}");
    assert!(stderr.trim_end().ends_with(" train.txt --heuristic-name T --max-risk none"), "{stderr}");
    assert!(stdout.contains("+++ model.json (generated)") && stdout.contains("\n-"), "{stdout}");
    assert_eq!(std::fs::read(run.path("model.json")).unwrap(), model, "a check writes nothing");
    std::fs::remove_dir_all(run.path("generated")).unwrap();
    let (code, _, stderr) = train(&["--check"]);
    assert!(code == 1 && stderr.contains("generated is stale"), "{stderr}");

    assert_eq!(train(&["--check", "--json"]).0, 2, "a check prints a difference, not figures");

    // The source of the choices is compared too.
    for (target, file) in [("c", "generated/t.h"), ("rust", "generated/t/src/lib.rs")] {
        let with_source =
            |more: &[&str]| train(&[&["--source", "kernel.cu", "--target", target], more].concat());
        run.write("kernel.cu", "// one\n");
        assert_eq!(with_source(&[]).0, 0);
        let code = std::fs::read_to_string(run.path(file)).unwrap();
        assert!(code.contains("Its choices were measured from kernel.cu (BLAKE3 "), "{target}: {code}");
        assert_eq!(with_source(&["--check"]).0, 0);
        run.write("kernel.cu", "// another\n");
        let (code, _, stderr) = with_source(&["--check"]);
        let changed = "model.json is stale: kernel.cu changed since the choices were measured (BLAKE3 ";
        assert!(code == 1 && stderr.contains(changed), "{target}: {stderr}");
    }
    assert_eq!(train(&[]).0, 0);
    std::fs::remove_dir_all(run.path("generated")).unwrap();

    // The command can be pasted into a shell.
    let (_, _, stderr) = train(&["--check", "--out", "a  b"]);
    assert!(stderr.trim_end().ends_with("train.txt --heuristic-name T --out 'a  b'"), "{stderr}");

    // The same for a module of one's own library.
    assert_eq!(train(&["--into", "picker.rs"]).0, 0);
    assert_eq!(train(&["--into", "picker.rs", "--check"]).0, 0);
    run.write("picker.rs", "// @generated by ah-codegen, and edited\n");
    let (code, stdout, stderr) = train(&["--into", "picker.rs", "--check"]);
    assert!(code == 1 && stderr.contains("picker.rs is stale"), "{stderr}");
    assert!(stdout.contains("\n+pub fn choose("), "{stdout}");
    run.write("mine.rs", "fn main() {}\n");
    let (code, _, stderr) = train(&["--into", "mine.rs"]);
    assert!(code != 0 && stderr.contains("another program wrote it"), "{stderr}");
    // Before learning.
    for wrong in [["--into", "picker.py", "--target", "rust"], ["--into", "picker.rs", "--target", "rust,c"]]
    {
        let (code, stdout, stderr) = train(&wrong);
        assert!(code == 2 && stdout.is_empty() && stderr.starts_with("error: --into"), "{stderr}");
    }
    assert!(!run.path("generated").exists(), "the module is all that is generated");
}
