//! Each command that the summary names does what the summary says of it.

use std::fmt::Write as _;

use ah_types::log;
use ah_types::random::fraction;

use crate::common::{self, Run};

/// A log of `inputs` inputs. The choice `other` saves a third on most of them; on a share of `risk` that no feature tells,
/// it takes a quarter longer. A time is about `ms` long.
fn risky(inputs: usize, risk: f64, ms: f64) -> String {
    let mut text = String::from(
        r#"{"name": "ways", "device_capa": [0, 0], "numerical_features": ["x", "y"], "categorical_features": []}
x,y,choice,feedback
"#,
    );
    for i in 0..inputs {
        let (x, y) = (i * 7919 % 1009, i * 104_729 % 997);
        let is_slow = ((i * 2_654_435_761) % 10_007) as f64 / 10_007.0 < risk;
        let other = if x < 300 || is_slow { 1.25 } else { 0.7 };
        let _ = writeln!(text, "{x},{y},usual,{:e}\n{x},{y},other,{:e}", ms, ms * other);
    }
    text
}

/// A log of 300 inputs without risk, and behind it further runs: in each, a row takes `factor(row, run)` times as long.
fn with_runs(runs: usize, factor: impl Fn(usize, usize) -> f64) -> String {
    let mut text = risky(300, 0.0, 1.0);
    let rows: Vec<String> = text.lines().skip(2).map(str::to_owned).collect();
    for run in 0..runs {
        for (at, row) in rows.iter().enumerate() {
            let (input, time) = row.rsplit_once(',').unwrap();
            let time: f64 = time.parse().unwrap();
            let _ = writeln!(text, "{input},{:e}", time * factor(at, run));
        }
    }
    text
}

/// The number behind `before`, if the text has it.
fn number(text: &str, before: &str) -> Option<f64> {
    let rest = &text[text.find(before)? + before.len()..];
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    rest[..end].trim_end_matches('.').parse().ok()
}

/// Follows the advice of one summary; returns the advice that it found. `more` writes a log like this one of so many inputs.
fn follow(run: &Run, args: &[&str], more: Option<&dyn Fn(usize) -> String>) -> Vec<&'static str> {
    let (said, _) = run.learns(&[args, &["--fallback", "usual"]].concat());
    let again = |file: &str, flags: &[&str]| {
        let (out, _) = run.learns(&[&[file, "--fallback", "usual"], flags].concat());
        out
    };
    let mut found = Vec::new();
    // The split is random, so the number is about right.
    let enough = |needed: f64| (needed * 1.1) as usize;
    if let (Some(needed), Some(more)) = (number(&said, "1 % needs about "), more) {
        run.write("more.txt", more(enough(needed)));
        let out = again("more.txt", &[]);
        assert!(out.contains("Promise: at most 1 %"), "{said}\n{out}");
        found.push("1 % needs");
    }
    if let (Some(needed), Some(more)) = (number(&said, "; measure about "), more) {
        // A constant does not decide.
        assert_eq!(
            said.contains(" for one.\nIt declines only what it does not know.\n"),
            !said.starts_with("Always take"),
            "{said}"
        );
        run.write("more.txt", more(enough(needed)));
        let out = again("more.txt", &[]);
        assert!(out.contains("Promise: at most "), "{said}\n{out}");
        found.push("measure for one");
    }
    if let (Some(needed), Some(more)) = (number(&said, "too few for the promise. Measure about "), more) {
        run.write("more.txt", more(enough(needed)));
        let out = again("more.txt", &args[1..]);
        assert!(!out.contains("too few"), "{said}\n{out}");
        let out = again(args[0], &["--max-risk", "none"]);
        assert!(out.contains("Decides 100.0 %"), "{said}\n{out}");
        found.push("measure or accept");
    }
    if let Some(share) = number(&said, "usual would keep one (--max-risk ") {
        let out = again(args[0], &[&args[1..], &["--max-risk", &format!("{share}%")]].concat());
        assert!(out.starts_with("Always take usual: nothing else keeps the promise"), "{said}\n{out}");
        found.push("max-risk");
    }
    if said.contains("; --max-risk none learns without one") {
        let out = again(args[0], &["--max-risk", "none"]);
        assert!(out.contains("No promise was requested") && out.contains("Decides 100.0 %"), "{said}\n{out}");
        found.push("max-risk none");
    }
    found
}

#[test]
fn each_command_of_a_summary_does_what_it_says() {
    let mut found = Vec::new();
    // (inputs, risk, milliseconds, flags)
    let own: [(usize, f64, f64, &[&str]); 8] = [
        (60, 0.0, 1.0, &[]),
        (88, 0.0, 1.0, &[]),
        (160, 0.0, 1.0, &[]),
        (300, 0.0, 1.0, &[]),
        (300, 0.0, 1.0, &["--max-risk", "0.5%"]),
        (1200, 0.1, 1.0, &["--max-risk", "1%"]),
        (600, 0.0, 2e-4, &["--target", "python"]),
        (600, 0.0, 2e-4, &["--target", "python", "--max-risk", "2%"]),
    ];
    for (inputs, risk, ms, flags) in own {
        let run = Run::new();
        run.write("log.txt", risky(inputs, risk, ms));
        let more = |inputs: usize| risky(inputs, risk, ms);
        found.extend(follow(&run, &[&["log.txt"], flags].concat(), Some(&more)));
    }
    for advice in ["1 % needs", "measure for one", "measure or accept", "max-risk", "max-risk none"] {
        assert!(found.contains(&advice), "no log gives the advice {advice:?}: {found:?}");
    }
}

/// A promise of 1 % took 19 % longer than one of 2 %, which was only found by asking for it.
#[test]
fn a_costly_default_promise_gives_way_to_one_that_is_nearly_free() {
    let run = Run::new();
    let mut text = risky(0, 0.0, 1.0);
    for i in 0..1500 {
        let draw = |at: u64| fraction(4, 3 * i + at);
        let [x, y] = [0, 1].map(|at| (draw(at) * 1e6).floor());
        let other = if x < 3e5 || draw(2) < 0.01 { 1.25 } else { 0.7 };
        let _ = writeln!(text, "{x},{y},usual,1\n{x},{y},other,{other}");
    }
    run.write("log.txt", text);
    let (said, _) = run.learns(&["log.txt", "--fallback", "usual"]);
    let price = number(&said, "A promise of 1 % would take ");
    assert!(said.contains("Promise: at most 2 %") && price > Some(5.0), "{said}");
    let (said, _) = run.learns(&["log.txt", "--fallback", "usual", "--max-risk", "1%"]);
    assert!(said.contains("Promise: at most 1 %") && !said.contains("would take"), "{said}");
}

/// "120 inputs are too few; measure about 451" was said of 1,200 inputs.
#[test]
fn the_inputs_to_measure_are_counted_like_those_of_the_log() {
    // Ten near-copies of each shape: only copies tell which way is better.
    let copies = |inputs: usize| {
        let mut text = risky(0, 0.0, 1.0);
        for at in 0..inputs {
            let (shape, y) = (at / 10, at % 10 + 1);
            // Further apart than near numbers are.
            let x = 1.004_f64.powf((shape * 7919 % 1009) as f64);
            let time = if shape * shape % 7 < 3 { 0.5 } else { 2.0 };
            let _ = writeln!(text, "{x},{y},usual,1\n{x},{y},other,{time}");
        }
        text
    };
    let run = Run::new();
    run.write("log.txt", copies(800));
    let (said, _) = run.learns(&["log.txt", "--fallback", "usual"]);
    assert!(said.contains("800 inputs count as 80 (one for each x), which are too few"), "{said}");
    assert_eq!(follow(&run, &["log.txt"], Some(&copies)), ["measure for one"]);
    // One input of four counts ten times.
    run.write("log.txt", risky(400, 0.0, 1.0));
    let weight = |i: usize| if i.is_multiple_of(4) { 10 } else { 1 };
    let weights = (0..400).map(|i| format!("{},{}\t{}\n", i * 7919 % 1009, i * 104_729 % 997, weight(i)));
    run.write("weights.txt", weights.collect::<String>());
    let (said, _) = run.learns(&["log.txt", "--fallback", "usual", "--weights", "weights.txt"]);
    let needed = number(&said, "; measure about ").unwrap();
    assert!(said.contains("400 inputs count as ") && needed > 400.0, "{said}");
}

/// On published logs nobody can measure more inputs, but the risk can be accepted.
#[test]
fn each_command_of_a_summary_of_a_published_log_does_what_it_says() {
    for name in ["spmv_v100", "spmv_mi100", "mm_hf_a100"] {
        let Some(path) = common::published(&format!("{name}.txt.gz")) else { continue };
        let log = log::read(&[&path]).unwrap();
        let args = ["log.txt", "--fallback", &log.choices[0], "--learner", "cost_tree", "--max-risk"];
        let run = Run::new();
        run.write("log.txt", common::part(&log, 0, 500));
        let (said, _) = run.learns(&[&args[..], &["0.1%"]].concat());
        assert!(said.contains("--max-risk none"), "{name}: {said}");
        let (out, _) = run.learns(&[&args[..], &["none"]].concat());
        assert!(
            out.contains("No promise was requested") && out.contains("Decides 100.0 %"),
            "{name}: {said}\n{out}"
        );
    }
}

#[test]
fn noise_larger_than_the_differences_is_said() {
    let log = |noise: f64| with_runs(1, |at, _| 1.0 + noise * (0.5 + (at % 5) as f64 / 5.0));
    let run = Run::new();
    let (text, stderr) = run.write("quiet.txt", log(0.01)).learns(&["quiet.txt"]);
    assert!(!text.contains("runs of one choice") && !stderr.contains("noise of this log"), "{text}{stderr}");
    let (text, _) = run.write("loud.txt", log(2.0)).learns(&["loud.txt"]);
    assert!(text.starts_with("Measure more: runs of one choice differ by 180.00 %"), "{text}");
}

/// Rows that are missing where a choice is slow look like rows of a choice that is not offered.
#[test]
fn choices_without_a_time_are_said() {
    let run = Run::new();
    let text = risky(600, 0.0, 2.0);
    let args = |log| [log, "--fallback", "usual", "--max-risk", "5%"];
    let (_, stderr) = run.write("whole.txt", text.clone()).learns(&args("whole.txt"));
    assert!(!stderr.contains("counts as not offered"), "{stderr}");
    let rows = text.lines().enumerate().filter(|(at, row)| !row.contains(",other,") || at % 40 != 1);
    let rows: String = rows.map(|(_, row)| format!("{row}\n")).collect();
    let (_, stderr) = run.write("missing.txt", rows).learns(&args("missing.txt"));
    assert!(
        stderr.contains("of 600 inputs. There it counts as not offered, also in the promise"),
        "{stderr}"
    );
    // The name of a built-in optimization alone declares nothing.
    run.write("mm.txt", std::fs::read_to_string(run.path("missing.txt")).unwrap().replacen("ways", "mm", 1));
    let (_, stderr) = run.learns(&args("mm.txt"));
    assert!(stderr.contains("of 600 inputs. There it counts as not offered"), "{stderr}");
}

/// One draw of ten is slow, and no feature tells which.
#[test]
fn a_hidden_feature_is_said() {
    let log = |slow: f64| {
        with_runs(6, |at, run| (1.0 + 1e-3 * run as f64) * if (at * 7 + run) % 10 == 0 { slow } else { 1.0 })
    };
    let run = Run::new();
    let (_, stderr) = run.write("even.txt", log(1.0)).learns(&["even.txt"]);
    assert!(!stderr.contains("distinguishes these runs"), "{stderr}");
    let (_, stderr) = run.write("hidden.txt", log(3.0)).learns(&["hidden.txt"]);
    assert!(stderr.contains("a feature that distinguishes these runs is missing"), "{stderr}");
    // Where a choice fails now and then, its runs once differed "by more than inf %".
    let (_, stderr) = run.write("failing.txt", log(f64::INFINITY)).learns(&["failing.txt"]);
    assert!(!stderr.contains("distinguishes these runs"), "{stderr}");
}

/// A choice that saves 0.04 % on half of the inputs, or 4 %, and costs as much on the others.
#[test]
fn a_gain_that_rounds_to_none_is_no_gain() {
    for (share, is_gain) in [(4e-4, false), (0.04, true)] {
        let log = risky(300, 0.0, 1.0);
        let log = log.lines().map(|line| match line.rsplit_once(",other,") {
            Some((input, time)) => {
                let is_less = time.parse::<f64>().unwrap() < 1.0;
                format!("{input},other,{:e}\n", 1.0 + if is_less { -share } else { share })
            }
            None => format!("{line}\n"),
        });
        let run = Run::new();
        let (out, _) =
            run.write("log.txt", log.collect::<String>()).learns(&["log.txt", "--fallback", "usual"]);
        assert_eq!(out.starts_with("Take T"), is_gain, "{out}");
        assert_eq!(out.starts_with("Always take other: T is 1.000 times as fast"), !is_gain, "{out}");
    }
}

/// `other` saves a third on most inputs, and fails on one of 20, which no feature tells.
#[test]
fn a_dear_promise_has_its_price_said() {
    let speedup = |out: &str| number(out.lines().nth(1).unwrap(), "").unwrap();
    for (period, is_dear) in [(40, true), (4000, false)] {
        let run = Run::new();
        let failing = |(at, line): (usize, &str)| match line.rsplit_once(",other,") {
            Some((input, _)) if at % period == 3 => format!("{input},other,inf\n"),
            _ => format!("{line}\n"),
        };
        let log = risky(600, 0.0, 1.0);
        run.write("log.txt", log.lines().enumerate().map(failing).collect::<String>());
        // Generated `choose` never takes a choice that fails that often.
        let args = ["log.txt", "--fallback", "usual", "--target", "pytorch"];
        let (out, notes) = run.learns(&args);
        let saved = number(&notes, "the promise is costly: --max-risk none saves ");
        assert_eq!(saved.is_some(), is_dear, "{out}{notes}");
        if let Some(saved) = saved {
            assert!(notes.contains(" % more, but takes a choice that fails on "), "{notes}");
            let (always, _) = run.learns(&[&args[..], &["--max-risk", "none"]].concat());
            let truth = 100.0 * (1.0 - speedup(&out) / speedup(&always));
            assert!((saved - truth).abs() < 1.0, "{out}{notes}{always}");
        }
    }
}

/// Two heuristics that are learned in one folder have one `model.json`.
#[test]
fn a_model_of_another_heuristic_is_not_replaced_in_silence() {
    let run = Run::new();
    run.write("train.txt", risky(300, 0.0, 1.0));
    let learn = |name: &str| run.succeeds(&["train.txt", "--heuristic-name", name, "--no-codegen"]).1;
    learn("First");
    assert!(!learn("First").contains("held the heuristic"));
    let said = learn("Second");
    assert!(
        said.contains("model.json held the heuristic First")
            && said.contains("--model names a file for each"),
        "{said}"
    );
}
