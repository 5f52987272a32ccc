//! A model on another device: it is judged there beside one that was learned there, and the better one is kept.

use ah_model::Model;

use crate::common::{Run, log};

/// Returns a log in which `orig` is fast where `pad` was, and the other way round.
fn swapped(inputs: usize) -> String {
    log(inputs).replace(",orig,", ",x,").replace(",pad,", ",orig,").replace(",x,", ",pad,")
}

fn learned(run: &Run) {
    run.write("old.txt", log(1000));
    run.learns(&["old.txt"]);
}

#[test]
fn two_choices_that_swap_are_learned_anew() {
    let run = Run::new();
    learned(&run);
    run.write("new.txt", swapped(400));
    let (stdout, _) = run.succeeds(&["adapt", "model.json", "new.txt"]);
    assert!(stdout.contains("keeps the new one") && stdout.contains("Promise: at most 5 %"), "{stdout}");
    let (_, json, _) = run.run(&["adapt", "model.json", "new.txt", "--json"]);
    let figures: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert!(figures["old"]["slowdown"].as_f64() > Some(1.4), "{json}");
    assert_eq!((&figures["learned"]["slowdown"], &figures["keeps_old"]), (&1.0.into(), &false.into()));
}

#[test]
fn an_old_model_that_loses_less_is_kept_without_its_promise() {
    let run = Run::new();
    learned(&run);
    assert!(Model::read(&run.path("model.json")).unwrap().promise.is_some());
    // Too few inputs to tell odd from even.
    run.write("new.txt", log(24));
    let (stdout, _) = run.succeeds(&["adapt", "model.json", "new.txt"]);
    assert!(
        stdout.contains("keeps the old model")
            && stdout.contains("No promise: the old one does not hold for these inputs."),
        "{stdout}"
    );
    let kept = Model::read(&run.path("adapted.json")).unwrap();
    let old = Model::read(&run.path("model.json")).unwrap();
    assert_eq!((kept.promise, kept.tree), (None, old.tree));
}

#[test]
fn wrong_arguments_are_named() {
    let run = Run::new();
    run.write("old.txt", log(100));
    assert_eq!(run.train(&["old.txt"]).0, 0);
    run.write("other.txt", log(100).replacen("pad_mm", "other", 1)).write("few.txt", log(3));
    for (args, part) in [
        (&["other.txt"][..], "the model decides pad_mm, the log is of other"),
        (&["few.txt"], "expected at least 10 distinct inputs"),
        (&["old.txt", "--max-risk", "0"], "--max-risk: expected a share above 0 and below 1"),
        (&["none.txt"], "none.txt"),
    ] {
        let (code, stdout, stderr) = run.run(&[&["adapt", "model.json"], args].concat());
        assert!(code != 0 && stdout.is_empty() && stderr.contains(part), "{args:?}: {stderr}");
    }
}
