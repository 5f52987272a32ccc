//! A corrupt or hostile log changes a training little, and never silently.

use crate::common;

use std::fmt::Write as _;
use std::process::Command;
use std::time::{Duration, Instant};

use ah_cli::exit;
use ah_model::{Model, Node};
use common::{Run, log};

/// Learns from these files a model without bounds of its own and returns it with the messages.
fn learned(run: &Run, files: &[&str]) -> (Model, String) {
    let (_, stderr) = run.learns(&[files, &["--outside", "decide"]].concat());
    (Model::read(&run.path("model.json")).unwrap(), stderr)
}

fn outside(m: u32) -> String {
    format!("{m},512,512,torch.float16,orig,1\n{m},512,512,torch.float16,pad,2\n")
}

#[test]
fn one_corrupt_row_does_not_remove_the_precondition() {
    let run = Run::new();
    run.write("a.txt", log(60) + &outside(7));
    let (model, stderr) = learned(&run, &["a.txt"]);
    assert_eq!(model.precondition.unwrap().expression, "m >= 512 and k >= 512 and n >= 512");
    let parts = "1 of 61 inputs are outside the precondition m >= 512 and k >= 512 and n >= 512 and are not \
                 learned from; with 2 the precondition would be left out. The first is \"7,512,512,torch.float16\"";
    assert!(stderr.contains(parts), "{stderr}");
    run.write("a.txt", log(60) + &outside(7) + &outside(8));
    let (model, stderr) = learned(&run, &["a.txt"]);
    assert_eq!(model.precondition, None);
    assert!(stderr.contains("is left out: the log measures 2 of its 62 inputs outside it"), "{stderr}");
    // A thousandth of the inputs, if that is more than two.
    run.write("a.txt", log(3000) + &outside(7) + &outside(8) + &outside(9));
    assert!(learned(&run, &["a.txt"]).0.precondition.is_some());
}

#[test]
fn a_choice_that_the_metadata_do_not_list_is_not_shipped_in_silence() {
    let run = Run::new();
    let listing = log(60).replace("[\"mat1_dtype\"]", "[\"mat1_dtype\"], \"choices\": [\"orig\", \"pad\"]");
    run.write("a.txt", &listing);
    assert!(!learned(&run, &["a.txt"]).1.contains("does not list"));
    run.write("a.txt", listing + "512,512,512,torch.float16,orgi,1\n");
    let (_, stderr) = learned(&run, &["a.txt"]);
    assert!(stderr.contains("its first line does not list: orgi; remove these rows"), "{stderr}");
    let (_, stderr) = run.succeeds(&["evaluate", "model.json", "a.txt"]);
    assert!(stderr.contains("its first line does not list: orgi"), "{stderr}");
}

/// A corrupt name in one row, with a short time, beat both choices of its leaf.
#[test]
fn a_choice_of_one_row_is_not_learned() {
    let run = Run::new();
    let is_ranked = |model: &Model| {
        let leaf = |node: &Node| match node {
            Node::Leaf(leaf) => leaf.ranking.iter().any(|c| model.choices[c.choice.index()] == "orgi"),
            Node::Split { .. } => false,
        };
        model.tree.nodes.iter().any(leaf)
    };
    // Without a declared fallback, the best single choice takes its place.
    for name in ["pad_mm", "own"] {
        let log = |inputs| log(inputs).replace("pad_mm", name);
        run.write("a.txt", log(60) + "512,512,512,torch.float16,orgi,0.001\n");
        let (model, stderr) = learned(&run, &["a.txt"]);
        let parts =
            "1 of 3 choices are not learned, because fewer than 2 of 60 inputs measure them: orgi; measure";
        assert!(stderr.contains(parts), "{stderr}");
        assert!(!is_ranked(&model), "{}", model.to_json());
        assert!(!is_ranked(&learned(&run, &["a.txt", "--ranking", "3"]).0), "nor in long rankings");
        assert_ne!(model.fallback.map(|f| model.choices[f.index()].as_str()), Some("orgi"));
        // Two of 60 inputs are enough; of more than 2,000, it takes a thousandth.
        let second = "519,513,515,torch.float32,orgi,0.001\n";
        run.write("a.txt", log(60) + "512,512,512,torch.float16,orgi,0.001\n" + second);
        assert!(!learned(&run, &["a.txt"]).1.contains("are not learned, because"));
        run.write("a.txt", log(2001) + "512,512,512,torch.float16,orgi,0.001\n" + second);
        assert!(learned(&run, &["a.txt"]).1.contains("fewer than 3 of 2001 inputs"));
    }
}

#[test]
fn the_same_log_twice_is_no_more_evidence() {
    let run = Run::new();
    run.write("a.txt", log(60)).write("b.txt", log(60));
    let (once, _) = learned(&run, &["a.txt"]);
    let (twice, stderr) = learned(&run, &["a.txt", "b.txt"]);
    assert!(stderr.contains("b.txt: the same bytes as an earlier log; it counts once"), "{stderr}");
    assert_eq!(once.tree, twice.tree);
}

#[test]
fn names_cannot_write_to_the_terminal() {
    let run = Run::new();
    let hostile = "or\u{1b}[2J\u{7}ig";
    run.write("a.txt", log(60).replace(",orig,", &format!(",{hostile},")).replace("pad_mm", "x\\u001b[2J"));
    for arguments in [&["a.txt"][..], &["a.txt", "--fallback", "none"], &["a.txt", "--fallback", hostile]] {
        let (_, stdout, stderr) = run.train(arguments);
        let control = |c: char| c.is_control() && c != '\n' && c != '\t';
        assert!(!stdout.contains(control) && !stderr.contains(control), "{stdout:?}\n{stderr:?}");
    }
    let (stdout, stderr) = run.succeeds(&["evaluate", "model.json", "a.txt"]);
    assert!(!stdout.contains('\u{1b}') && !stderr.contains('\u{1b}'), "{stdout:?}\n{stderr:?}");
}

/// An import reads its table once and keeps its times, not its rows: 50 MB of rows need 32 MB of address space more than a
/// few, growing lists included.
#[cfg(target_os = "linux")]
#[test]
fn an_import_of_many_rows_keeps_their_times_alone() {
    let run = Run::new();
    let note = "x".repeat(80);
    let table = |rows: u32| {
        let mut text = "m,k,choice,ms,note\n".to_owned();
        for i in 0..rows {
            let _ = writeln!(text, "{},{},c{},1.5,{note}", i / 3 % 100, i / 300 % 100, i % 3);
        }
        text
    };
    run.write("few.csv", table(300)).write("many.csv", table(500_000));
    let train = assert_cmd::cargo::cargo_bin("ah-train");
    let succeeds = |name: &str, megabytes: u32| {
        let _ = std::fs::remove_file(run.path("out.txt"));
        let import = "--name x --features m,k --choice choice --time ms -o out.txt";
        let limited =
            format!("ulimit -v {}; exec '{}' import {name} {import}", megabytes * 1024, train.display());
        // Without an arena of 64 MB for each thread.
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", &limited]).env("MALLOC_ARENA_MAX", "1").current_dir(run.folder.path());
        let output = shell.output();
        output.unwrap().status.success()
    };
    let least =
        (16..=512).step_by(8).find(|&megabytes| succeeds("few.csv", megabytes)).expect("512 MB are enough");
    assert!(succeeds("many.csv", least + 36), "few rows need {least} MB, many more than 36 MB beyond");
}

/// Searching each among all others took 14 s.
#[test]
fn ten_thousand_derived_features_cost_their_number() {
    let run = Run::new();
    run.write("a.txt", log(20));
    let mut optimization = "name = \"pad_mm\"\nfallback = [\"orig\"]\n".to_owned();
    for i in 0..10_000 {
        let _ = writeln!(optimization, "[[derived]]\nname = \"d{i}\"\nexpression = \"m + {i}\"");
    }
    run.write("o.toml", optimization);
    let begin = Instant::now();
    let (_, stderr) = learned(&run, &["a.txt", "--optimization", "o.toml"]);
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}: {stderr}", begin.elapsed());
}

#[test]
fn more_features_than_learning_has_memory_for_are_refused() {
    let run = Run::new();
    let names: Vec<String> = (0..5001).map(|i| format!("f{i}")).collect();
    let head = serde_json::json!({
        "name": "x", "device_capa": [8, 0], "numerical_features": names, "categorical_features": []
    });
    let row = vec!["1"; names.len()].join(",");
    run.write("a.txt", format!("{head}\n{},choice,feedback\n{row},a,1\n", names.join(",")));
    run.refuses(&["a.txt"], exit::BAD_INPUT, &["at most 5000 features, found 5001"]);
}
