//! The decision and the features count, in every language; sizes compete on a ladder.

use crate::common;

use std::fmt::Write as _;

use ah_model::Model;
use common::Run;

/// A log of a processor where `left` is faster for small x and `right` elsewhere, by a fifth. A time is about
/// `microseconds` long. The feature `hint` tells more than x: it names the faster choice also where x is misleading. It takes
/// `hint_ms` milliseconds.
fn log(microseconds: f64, hint_ms: f64) -> String {
    let mut text = format!(
        r#"{{"name": "ways", "device_capa": [0, 0], "numerical_features": ["x", "hint"], "categorical_features": [], "autoheuristic_rs": {{"feature_ms": {{"hint": {hint_ms}}}}}}}
x,hint,choice,feedback
"#
    );
    for i in 0..600 {
        let x = i % 97;
        // Every tenth input is an exception that x does not show.
        let is_left = (x < 48) != (i % 10 == 0);
        let (left, right) = if is_left { (1.0, 1.2) } else { (1.2, 1.0) };
        let time = |relative: f64| relative * microseconds * 1e-3 * (1.0 + 0.0005 * f64::from(i % 7));
        let _ = writeln!(text, "{x},{},left,{:e}", i32::from(is_left) * 1000 + i, time(left));
        let _ = writeln!(text, "{x},{},right,{:e}", i32::from(is_left) * 1000 + i, time(right));
    }
    text
}

/// Learns with these flags: the model, and the figures.
fn learn(run: &Run, flags: &[&str]) -> (Model, serde_json::Value) {
    let (out, _) = run.learns(&[&["train.txt", "--json"], flags].concat());
    (Model::read(&run.path("model.json")).unwrap(), serde_json::from_str(&out).unwrap())
}

#[test]
fn a_decision_that_takes_longer_than_it_saves_is_not_taken() {
    let run = Run::new();
    // A fifth of 0.3 µs is 60 ns, saved on every second input: in Rust a decision costs less, in Python more.
    run.write("train.txt", log(0.3, 0.0));
    let (_, stderr) = run.learns(&["train.txt"]);
    assert!(
        stderr.contains("the log names no device") && stderr.contains("--target rust counts"),
        "{stderr}"
    );
    let (in_rust, _) = learn(&run, &["--target", "rust"]);
    assert!(in_rust.leaf_count() > 1);
    let (in_python, figures) = learn(&run, &["--target", "rust,python"]);
    assert_eq!(in_python.leaf_count(), 1);
    // Always one choice asks nobody.
    assert_eq!(
        figures["metrics"]["held_out"]["slowdown"],
        figures["metrics"]["best_single"]["metrics"]["slowdown"]
    );
    let (text, _) = run.learns(&["train.txt", "--target", "python"]);
    assert!(text.starts_with("Always take left: no heuristic pays in Python here.\n"), "{text}");
    let (text, _) = run.learns(&["train.txt", "--target", "rust,python"]);
    assert!(
        text.starts_with("Always take left: no heuristic pays in Python, the slowest target.\n"),
        "{text}"
    );
    // PyTorch decides while a model compiles.
    let (in_pytorch, figures) = learn(&run, &["--target", "pytorch"]);
    assert!(in_pytorch.leaf_count() > 1);
    assert!(figures["metrics"]["held_out"]["slowdown"].as_f64() < Some(1.02));
    // Where a run takes a millisecond, Python's decisions cost nothing.
    run.write("train.txt", log(1000.0, 0.0));
    assert!(learn(&run, &["--target", "python"]).0.leaf_count() > 1);
}

/// `--size best` compares what is taken, whatever asking costs; the verdict counts it.
#[test]
fn the_best_size_has_the_best_picks_and_the_verdict_says_what_asking_costs() {
    let run = Run::new();
    run.write("train.txt", log(0.3, 0.0));
    let asked = ["train.txt", "--target", "python", "--max-risk", "none"];
    let (text, _) = run.learns(&asked);
    assert!(text.starts_with("Always take left: no heuristic pays in Python here.\n"), "{text}");
    let (text, _) = run.learns(&[&asked[..], &["--size", "best"]].concat());
    let verdict = text.lines().next().unwrap();
    assert!(verdict.starts_with("Always take left: T is 0."), "{text}");
    assert!(verdict.contains("times as fast as always left on"), "{text}");
    let size = text.lines().find(|line| line.starts_with("Size: ")).unwrap();
    assert!(
        size.contains("a decision") && size.contains("whose picks lose least. Asking makes it slower than"),
        "{size}"
    );
    // The picks alone: no other size loses less.
    let (_, figures) = learn(&run, &[&asked[1..], &["--size", "best"]].concat());
    let sizes = &figures["sizes"];
    let picks = |rung: &serde_json::Value| rung["slowdown_of_picks"].as_f64().unwrap();
    let rungs = sizes["rungs"].as_array().unwrap();
    let chosen = &rungs[sizes["chosen"].as_u64().unwrap() as usize];
    assert!(rungs.iter().all(|rung| picks(rung) >= picks(chosen)) && picks(chosen) < 1.02, "{sizes}");
    // A feature that takes long is read if it improves the picks.
    run.write("train.txt", log(20.0, 0.05));
    let reads_hint = |flags: &[&str]| {
        let (model, _) = learn(&run, &[&["--target", "rust", "--max-risk", "none"], flags].concat());
        model.reads().contains(&1)
    };
    assert_eq!([reads_hint(&[]), reads_hint(&["--size", "best"])], [false, true]);
}

#[test]
fn a_run_pays_its_share_of_a_decision_that_many_runs_keep() {
    let run = Run::new();
    run.write("train.txt", log(0.3, 0.0));
    let (each, _) = learn(&run, &["--target", "python"]);
    assert_eq!(each.leaf_count(), 1);
    let (kept, figures) = learn(&run, &["--target", "python", "--runs-per-decision", "1000"]);
    assert!(kept.leaf_count() > 1);
    assert_eq!(kept.purpose.runs_per_decision, Some(1000.0));
    // 0.15 µs of a decision are 0.15 ns of a run.
    let slowdown = figures["metrics"]["held_out"]["slowdown"].as_f64();
    assert!(slowdown < Some(1.02), "{slowdown:?}");
    let (judged, _) = run.succeeds(&["evaluate", "model.json", "train.txt", "--json"]);
    let judged: serde_json::Value = serde_json::from_str(&judged).unwrap();
    assert!(judged["model"]["slowdown"].as_f64() < Some(1.02), "{judged}");
    let (code, _, err) = run.train(&["train.txt", "--runs-per-decision", "0.5"]);
    assert_eq!(code, 2);
    assert!(err.contains("--runs-per-decision") && err.contains("1 or more"), "{err}");
}

/// Three in ten inputs are so short that asking alone makes them more than 5 % slower; on the others `right` takes half the time.
#[test]
fn where_asking_alone_breaks_the_promise_the_first_line_says_so() {
    let run = Run::new();
    let mut text = log(1.0, 0.0).lines().take(2).collect::<Vec<_>>().join("\n");
    for x in 0..600 {
        let (left, right) = if x < 180 { (3e-4, 9e-4) } else { (0.1, 0.05) };
        let _ = write!(text, "\n{x},0,left,{left}\n{x},0,right,{right}");
    }
    run.write("train.txt", text);
    // A default promise is not worth a third of the time.
    let asked = ["train.txt", "--target", "python", "--fallback", "left"];
    let (text, _) = run.learns(&asked);
    let no_promise =
        "No promise: only left would keep one (--max-risk 5%).\nIt declines only what it does not know.\n";
    assert!(text.starts_with("Take ") && text.contains(no_promise), "{text}");
    let (text, _) = run.learns(&[&asked[..], &["--max-risk", "2%"]].concat());
    assert!(
        text.starts_with("Always take left: nothing else keeps the promise in Python; --max-risk none"),
        "{text}"
    );
    let (text, _) = run.learns(&[&asked[..], &["--max-risk", "none"]].concat());
    assert!(text.starts_with("Take "), "{text}");
}

#[test]
fn an_evaluation_pays_for_decisions_as_the_training_did() {
    let run = Run::new();
    run.write("train.txt", log(20.0, 0.0));
    let (model, figures) = learn(&run, &["--target", "python"]);
    assert!(model.leaf_count() > 1);
    let paid = |figures: &serde_json::Value| {
        let of = |name: &str| figures[name].as_f64().unwrap();
        of("slowdown") / of("without_asking")
    };
    let (out, _) = run.succeeds(&["evaluate", "model.json", "train.txt", "--json"]);
    let evaluated: serde_json::Value = serde_json::from_str(&out).unwrap();
    let (training, evaluation) = (paid(&figures["metrics"]["held_out"]), paid(&evaluated["model"]));
    assert!(training > 1.001 && (training - evaluation).abs() < 1e-3, "{training} {evaluation}");
}

/// Two ways to sort: `std` is faster for few elements or many bits. A short input takes less than 100 ns, so a path of 3 ns would break
/// the promise there, and what separates the ways best is a derived feature.
#[test]
fn short_inputs_leave_after_one_cheap_comparison() {
    let run = Run::new();
    let mut text = r#"{"name": "sorts", "device_capa": [0, 0], "numerical_features": ["n", "bits"], "categorical_features": [], "autoheuristic_rs": {"fallback": ["std"], "decision_ns": {"rust": 2.5}, "device": {"kind": "cpu", "model": "x", "cores": 1}}}
n,bits,choice,feedback
"#
    .to_owned();
    for i in 0..800_u32 {
        let n = if i % 2 == 0 { 2 + i % 30 } else { 40 + i * 37 % 4000 };
        let bits = [4, 8, 16, 32][(i / 2 % 4) as usize];
        let (std, radix) = (2.0 * f64::from(n), 60.0 + f64::from(n * bits) / 16.0);
        for (choice, ns) in [("std", std), ("radix", radix)] {
            let ms = ns * 1e-6 * (1.0 + f64::from(i % 7) * 0.001);
            let _ = writeln!(text, "{n},{bits},{choice},{ms:e}\n{n},{bits},{choice},{:e}", ms * 1.001);
        }
    }
    run.write("train.txt", text);
    let (model, figures) = learn(&run, &["--target", "rust"]);
    assert!(model.promise.is_some());
    let ah_model::Node::Split { test, .. } = &model.tree.nodes[0] else { panic!("one leaf") };
    assert_eq!(model.features.base().slot("n"), Some(test.column.slot));
    assert!(matches!(model.tree.nodes[1], ah_model::Node::Leaf(_)));
    assert!(figures["metrics"]["held_out"]["slowdown"].as_f64() < Some(1.05));
    assert_eq!(figures["metrics"]["held_out"]["over_limit"], 0.0);
}

#[test]
fn a_feature_that_costs_more_than_it_tells_is_left_out() {
    let reads = |model: &Model, name: &str| {
        let slot = model.features.base().slot(name).unwrap();
        let mut reads = false;
        model.tests().for_each(|test| {
            model.features.for_each_logged(test.column.slot, &mut |logged| reads |= logged == slot);
        });
        reads
    };
    let run = Run::new();
    run.write("train.txt", log(100.0, 1e-5));
    assert!(reads(&learn(&run, &["--target", "rust"]).0, "hint"));
    // It saves at most a fifth on a tenth of the inputs, 2 %, and takes 10 %.
    run.write("train.txt", log(100.0, 0.01));
    let (model, figures) = learn(&run, &["--target", "rust"]);
    assert!(!reads(&model, "hint") && reads(&model, "x"));
    assert!(figures["metrics"]["held_out"]["slowdown"].as_f64() < Some(1.04));
    // A GPU runs while the host decides.
    run.write("train.txt", log(100.0, 0.01).replace("[0, 0]", "[9, 0]"));
    assert!(reads(&learn(&run, &["--target", "rust"]).0, "hint"));
}

#[test]
fn declining_pays_for_the_decision_too() {
    let run = Run::new();
    // In Python any answer takes a sixth of a run: only a model that decides nothing keeps the promise.
    run.write(
        "train.txt",
        log(0.3, 0.0).replace("\"feature_ms\"", "\"fallback\": [\"left\"], \"feature_ms\""),
    );
    let (model, figures) = learn(&run, &["--max-risk", "5%", "--target", "python"]);
    assert!(model.promise.is_some());
    assert_eq!((model.leaf_count(), &figures["metrics"]["held_out"]["over_limit"]), (1, &0.0.into()));
    assert!(learn(&run, &["--max-risk", "5%", "--target", "pytorch"]).0.leaf_count() > 1);
}

#[test]
fn boosted_trees_are_not_grown_where_a_tree_is_good_enough() {
    let run = Run::new();
    run.write("train.txt", log(1000.0, 0.0));
    let boosted = |flags: &[&str]| {
        let (_, figures) = learn(&run, flags);
        let rungs = figures["sizes"]["rungs"].as_array().unwrap().clone();
        rungs.iter().any(|rung| rung["boosted_trees"].as_u64() > Some(0))
    };
    assert!(!boosted(&[]));
    // Nor for the best picks, where a tree's lose nothing.
    assert!(!boosted(&["--size", "best", "--target", "rust"]));
    assert!(!boosted(&["--size", "smallest"]));
}

#[test]
fn the_summary_shows_the_sizes() {
    let run = Run::new();
    run.write("train.txt", log(1000.0, 0.001));
    let (out, _) = run.learns(&["train.txt", "--target", "python", "--size", "smallest"]);
    insta::assert_snapshot!(out);
}

/// Sorts that cross once: a way that is the fastest on short lists takes a hundred times as long on others.
#[test]
fn a_few_sizes_show_a_crossover() {
    let log = |count: i32, offset: f64| {
        let mut text = r#"{"name": "sort", "device_capa": [0, 0], "numerical_features": ["n"], "categorical_features": []}
n,choice,feedback"#
            .to_owned();
        for at in 0..count {
            let n = (4.0 * 500_f64.powf((f64::from(at) + offset) / f64::from(count))).round();
            let [insertion, unstable] = [2.0 + 1.2 * n + 0.09 * n * n, 4.0 + 3.0 * n.min(20.0) + 1.5 * n];
            let _ = write!(text, "\n{n},insertion,{}\n{n},unstable,{}", insertion * 1e-6, unstable * 1e-6);
        }
        text
    };
    let run = Run::new();
    // Five held-out inputs show no gain, so the first line asks for more; the model decides all the same.
    let deciding = (0..8).filter(|&seed| {
        run.write("log.txt", log(24, f64::from(seed) / 8.0)).learns(&["log.txt"]);
        Model::read(&run.path("model.json")).unwrap().leaf_count() > 1
    });
    let deciding = deciding.count();
    assert!(deciding >= 6, "{deciding} of 8");
    let (text, _) = run.write("log.txt", log(10, 0.0)).learns(&["log.txt"]);
    let first = "Measure more: 10 inputs are too few to show that a heuristic pays in Rust.\n\
                 Measure at least 40. Until then, always take unstable.\n";
    assert!(text.starts_with(first), "{text}");
}

#[test]
fn reading_what_python_passes_counts_unless_something_says_what_it_takes() {
    let run = Run::new();
    // A fifth of 1.1 µs is saved on every second input. A decision takes 84 ns, and with reading `x` 130 ns.
    run.write("train.txt", log(1.1, 0.0));
    let leaves = |flags: &[&str]| learn(&run, flags).0.leaf_count();
    assert_eq!(leaves(&["--target", "python"]), 1);
    assert!(leaves(&["--target", "python", "--feature-ns", "x=0"]) > 1);
    assert!(leaves(&["--target", "rust"]) > 1);
    // The model keeps what it was told.
    let (model, _) = learn(&run, &["--target", "python", "--feature-ns", "x=20"]);
    assert_eq!(model.purpose.feature_ms, [("hint".to_owned(), 0.0), ("x".to_owned(), 2e-5)].into());
    run.write("train.txt", log(20.0, 0.0));
    let (text, stderr) = run.learns(&["train.txt", "--target", "python"]);
    assert!(text.contains(" a decision, 46 ns of it to read the features)"), "{text}");
    assert!(stderr.contains("reading the features counts as 46 ns (--feature-ns x=20,...)"), "{stderr}");
    let (_, stderr) = run.learns(&["train.txt", "--target", "rust"]);
    assert!(stderr.contains("reading the features counts as nothing"), "{stderr}");
    let (text, stderr) = run.learns(&["train.txt", "--target", "python", "--feature-ns", "x=0"]);
    assert!(!text.contains("to read") && !stderr.contains("reading the features"), "{text}{stderr}");
}

/// `right` takes 0.7 times the time on nine inputs in ten, 1.5 times on the others, and no feature distinguishes them. So some folds
/// decide, and the heuristic never does: the default promise is dropped.
#[test]
fn a_default_promise_that_leaves_no_decision_is_dropped() {
    let run = Run::new();
    let mut text =
        r#"{"name": "coin", "device_capa": [0, 0], "numerical_features": ["x"], "categorical_features": []}
x,choice,feedback"#
            .to_owned();
    for x in 0..400 {
        let right = if (x * 7919 + x * x * 31) % 100 < 10 { 1.5 } else { 0.7 };
        let _ = write!(text, "\n{x},left,1\n{x},right,{right}");
    }
    run.write("train.txt", text);
    let (text, _) = run.learns(&["train.txt", "--fallback", "left"]);
    assert!(text.starts_with("Always take right: "), "{text}");
    assert!(text.contains("No promise: only left would keep one (--max-risk 5%)"), "{text}");
}

/// A feature that takes time is an argument only where the code reads it; all others always are.
#[test]
fn learning_again_says_how_the_call_changes() {
    let run = Run::new();
    let learn = |hint_ms: f64| {
        run.write("train.txt", log(20.0, hint_ms));
        run.succeeds(&["train.txt", "--heuristic-name", "T", "--max-risk", "none", "--target", "rust"]).1
    };
    assert!(!learn(1e-6).contains("the call changes"));
    let said = learn(0.05);
    assert!(said.contains("note: the call changes (rust): callers do not give hint any more."), "{said}");
    let said = learn(1e-6);
    assert!(said.contains("note: the call changes (rust): callers must give hint now."), "{said}");
    assert!(!learn(1e-6).contains("the call changes"));
}
