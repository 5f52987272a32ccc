//! What a headline claims, where the truth is known: *Take* for a gain that is there, and a loss as a range that holds it.

use std::fmt::Write as _;

use ah_model::Value;
use ah_train::{Advice, Params, Reason, TrainedModel, train};
use ah_types::random::{fraction, mix};

use crate::common::Run;

/// Logs of two numbers, 1 to 1000 as a rule, and three choices.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// No feature says which choice is the fastest.
    NoGain,
    /// `a` is the fastest for small x, `b` for large x; the best single choice loses 10 %.
    Gain,
    /// The same, where the best single choice loses 30 %.
    Great,
    /// `b` is twice as fast for the least x, and `a` elsewhere.
    Corner,
    /// As [`Gain`](Self::Gain), where one time in 25 is up to four times as long as its features say.
    Rare,
    /// The same with noise of 20 % and eight choices; six are copies of `a`.
    Noisy,
}

impl Kind {
    fn choices(self) -> u64 {
        if self == Self::Noisy { 8 } else { 3 }
    }

    fn features(seed: u64, input: u64) -> [f64; 2] {
        [0, 1].map(|at| (1.0 + 9999.0 * fraction(mix(seed, 7), 2 * input + at)).round())
    }

    /// The true milliseconds of a choice on an input.
    fn time(self, seed: u64, input: u64, choice: u64) -> f64 {
        let [x, _] = Self::features(seed, input);
        let draw = |at: u64| fraction(mix(seed, 11), (input * self.choices() + choice) * 2 + at);
        let is_fast = (x < 5000.0) == (choice != 1);
        match self {
            Self::NoGain => 1.0 + 0.02 * choice as f64 + 0.2 * draw(0),
            Self::Gain => (if is_fast && choice < 2 { 1.0 } else { 1.25 }) * (1.0 + 0.05 * draw(0)),
            Self::Great => (if is_fast && choice < 2 { 1.0 } else { 1.69 }) * (1.0 + 0.05 * draw(0)),
            Self::Corner if choice == 1 => {
                if x < 1000.0 {
                    0.5
                } else {
                    1.5
                }
            }
            Self::Corner => 1.0 + 0.02 * choice as f64,
            Self::Rare if draw(1) < 0.04 => 1.0 + 3.0 * draw(0),
            Self::Rare => {
                if is_fast && choice < 2 {
                    1.0
                } else {
                    1.25
                }
            }
            Self::Noisy => {
                if is_fast {
                    1.0
                } else {
                    1.25
                }
            }
        }
    }

    /// The log of so many inputs, each choice measured three times.
    fn log(self, seed: u64, inputs: u64) -> String {
        let mut text = r#"{"name": "own", "device_capa": [0, 0], "numerical_features": ["x", "y"], "categorical_features": []}
x,y,choice,feedback
"#
            .to_owned();
        let noise = if self == Self::Noisy { 0.4 } else { 0.04 };
        for (input, choice) in (0..inputs).flat_map(|input| (0..self.choices()).map(move |c| (input, c))) {
            let ([x, y], time) = (Self::features(seed, input), self.time(seed, input, choice));
            for sample in 0..3 {
                let draw = fraction(mix(seed, 13), (input * self.choices() + choice) * 3 + sample);
                let time = time * (1.0 + noise * draw);
                let _ = writeln!(text, "{x},{y},{},{time}", NAMES[choice as usize]);
            }
        }
        text
    }

    fn train(self, seed: u64, inputs: u64) -> TrainedModel {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.txt");
        std::fs::write(&path, self.log(seed, inputs)).unwrap();
        train(&Params::new(vec![path], "T")).unwrap()
    }

    /// The true loss of a model on fresh inputs, as a slowdown.
    fn loss(self, seed: u64, trained: &TrainedModel) -> f64 {
        let model = &trained.model;
        let loss = |input: u64| {
            let values = Self::features(seed, input).map(Value::Number);
            let choice = model.decide(&values, |_| true).ok().or(model.fallback);
            let name = model.choice_name(choice.unwrap());
            let time = |choice: u64| self.time(seed, input, choice);
            let taken = time(NAMES.iter().position(|known| *known == name).unwrap() as u64);
            (taken / (0..self.choices()).map(time).fold(f64::INFINITY, f64::min)).ln()
        };
        let fresh = 1_000_000..1_002_000;
        ((fresh.clone().map(loss).sum::<f64>()) / fresh.count() as f64).exp()
    }
}

const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

/// Of how many of these logs `is` is true.
fn count(logs: u64, is: impl Fn(u64) -> bool + Sync) -> u64 {
    use rayon::prelude::*;
    (0..logs).into_par_iter().filter(|seed| is(*seed)).count() as u64
}

fn takes(kind: Kind, logs: u64, inputs: u64) -> u64 {
    count(logs, |seed| kind.train(seed, inputs).verdict.advice == Advice::Take)
}

/// In how many logs the range of the loss holds the true one.
fn holds(kind: Kind, logs: u64, inputs: u64) -> u64 {
    count(logs, |seed| {
        let trained = kind.train(seed, inputs);
        let (range, loss) = (trained.held_out.evaluation.comparison.range, kind.loss(seed, &trained));
        range.low <= loss && loss <= range.high
    })
}

#[test]
fn a_gain_that_is_there_is_taken_and_no_other() {
    assert!(takes(Kind::NoGain, 20, 100) <= 2);
    assert!(takes(Kind::Gain, 10, 200) >= 9);
}

/// `b` is twice as fast on one input of ten, and 12 held-out ones often hold none of them. They said "Always take a".
#[test]
fn a_few_inputs_never_show_that_there_is_no_gain() {
    for seed in 0..12 {
        let trained = Kind::Corner.train(seed, 70);
        let held_out = trained.held_out.evaluation.judged.len();
        assert!(held_out >= 40 || trained.verdict.reason != Reason::GainIsLittle, "{seed}");
    }
}

#[test]
fn a_range_holds_the_true_loss() {
    for kind in [Kind::Gain, Kind::Rare] {
        let held = holds(kind, 10, 100);
        assert!(held >= 8, "{kind:?}: {held} of 10");
    }
}

/// 8 held-out inputs often hold none of the tenth that errs, and the range was "0.00 to 0.00 %".
#[test]
fn a_range_holds_the_loss_of_inputs_that_are_not_held_out() {
    assert_eq!(holds(Kind::Corner, 24, 40), 24);
}

#[test]
#[ignore = "minutes: 200 logs of each kind"]
fn of_200_logs_the_verdict_and_the_range_are_right() {
    for inputs in [60, 200] {
        let wrong = takes(Kind::NoGain, 200, inputs);
        println!("no gain, {inputs} inputs: {wrong} of 200 say Take");
        assert!(wrong <= 10, "{wrong}");
    }
    let right = takes(Kind::Gain, 200, 200);
    println!("a gain of 10 %, 200 inputs: {right} of 200 say Take");
    assert!(right >= 180, "{right}");
    for inputs in [60, 80, 100, 150] {
        for kind in [Kind::Gain, Kind::Great] {
            let right = takes(kind, 200, inputs);
            println!("{kind:?}, {inputs} inputs: {right} of 200 say Take");
            assert!(inputs < 100 || right >= 170, "{kind:?}, {inputs} inputs: {right}");
        }
    }
    for (kind, inputs) in
        [(Kind::Gain, 70), (Kind::Rare, 70), (Kind::Rare, 400), (Kind::NoGain, 200), (Kind::Noisy, 200)]
    {
        let held = holds(kind, 200, inputs);
        println!("{kind:?}, {inputs} inputs: the range holds the true loss in {held} of 200 logs");
        assert!(held >= 180, "{kind:?}, {inputs} inputs: {held}");
    }
}

/// What a training of this log prints on both streams.
fn printed(log: &str, flags: &[&str]) -> String {
    let run = Run::new();
    run.write("log.txt", log);
    let (_, out, err) = run.train(&[&["log.txt"], flags].concat());
    format!("{out}---\n{err}")
}

/// A log in which 14 inputs are held out, and a time is up to 1.73 times the true one.
fn noisy(inputs: u64) -> String {
    let mut text = Kind::Gain.log(3, 0);
    for input in 0..inputs {
        let [x, y] = Kind::features(3, input);
        for (choice, sample) in (0..2_u64).flat_map(|choice| (0..3).map(move |sample| (choice, sample))) {
            let time = 1.0 + 0.73 * fraction(17, (input * 2 + choice) * 3 + sample);
            let _ = writeln!(text, "{x},{y},{},{time}", NAMES[choice as usize]);
        }
    }
    text
}

#[test]
fn the_summary_in_six_situations() {
    insta::assert_snapshot!("a gain", printed(&Kind::Gain.log(1, 1600), &["--fallback", "a"]));
    insta::assert_snapshot!("no gain", printed(&Kind::NoGain.log(1, 300), &[]));
    insta::assert_snapshot!("14 held-out inputs in noise", printed(&noisy(70), &["--learner", "boosted"]));
    insta::assert_snapshot!("80 inputs", printed(&Kind::Gain.log(2, 80), &[]));
    let run = Run::new();
    let mut table = "size,depth,way,ms\n".to_owned();
    for (input, way) in (0..120_u64).flat_map(|input| [0, 1].map(|way| (input, way))) {
        let [x, y] = Kind::features(5, input);
        let _ = writeln!(
            table,
            "{x},{y},{},{:.4}",
            ["scan", "index"][way],
            Kind::Gain.time(5, input, way as u64)
        );
    }
    run.write("t.csv", table);
    let import = "import t.csv --name find --features size,depth --choice way --time ms -o log.txt --heuristic-name Find \
                  --target python";
    let (out, err) = run.succeeds(&import.split_whitespace().collect::<Vec<_>>());
    insta::assert_snapshot!("a table for Python", format!("{out}---\n{err}"));
    let winners: String = (0..60).map(|n| format!("{n},{n},{},{n}.5\n", NAMES[n % 3])).collect();
    insta::assert_snapshot!("winners only", printed(&(Kind::Gain.log(1, 0) + &winners), &[]));
}

/// Of 30 inputs, 3 to 6 are held out. The first line said "0.00 to 667.00 times as fast" of these, and "Loses 0.00 to 0.00 %".
#[test]
fn no_range_is_printed_that_a_few_inputs_cannot_show() {
    let run = Run::new();
    let mut text = Kind::Gain.log(1, 0);
    for input in 0..20 {
        let [x, y] = Kind::features(1, input);
        let _ = writeln!(
            text,
            "{x},{y},a,{}\n{x},{y},b,{}",
            if x < 5000.0 { 1 } else { 1000 },
            if x < 5000.0 { 1000 } else { 1 }
        );
    }
    run.write("log.txt", text);
    let (text, _) = run.learns(&["log.txt", "--objective", "total"]);
    let [first, loses] =
        ["Take ", "Loses "].map(|start| text.lines().find(|line| line.starts_with(start)).unwrap());
    assert!(
        first.contains(" times as fast as always ") && first.contains(" on 20 cross-validated inputs"),
        "{text}"
    );
    assert!(!loses.contains(" to the best choice, ") && loses.contains(" to the best choice here"), "{text}");
}

#[test]
fn a_program_reads_the_verdict() {
    let run = Run::new();
    run.write("log.txt", Kind::Gain.log(1, 300));
    let (json, _) = run.learns(&["log.txt", "--json"]);
    let figures: serde_json::Value = serde_json::from_str(&json).unwrap();
    let verdict = &figures["verdict"];
    assert_eq!((&verdict["advice"], &verdict["reason"]), (&"take".into(), &"gain_is_shown".into()));
    assert_eq!((&verdict["choices"][0], verdict["gain"]["low"].as_f64() > Some(1.0)), (&"b".into(), true));
    assert!(figures["summary"].as_str().unwrap().starts_with("Take T"));
    let model = ah_model::Model::read(&run.path("model.json")).unwrap();
    assert_eq!(&model.provenance.metrics["verdict"], verdict);
}

/// Above 11 GB `new` does not fit. "Always take new" would fail there, and so would "new, and old where new has no time" for a program
/// that cannot tell: the heuristic can.
#[test]
fn a_choice_that_cannot_run_everywhere_is_not_taken_always() {
    for failed in ["", "inf"] {
        let mut text = String::from(
            r#"{"name": "x", "device_capa": [0, 0], "numerical_features": ["n", "gb"], "categorical_features": [], "autoheuristic_rs": {"fallback": ["old"]}}
n,gb,choice,feedback
"#,
        );
        for i in 0..400_u32 {
            let (n, gb) = (i * 7919 % 10_007, f64::from(i * 31 % 397) / 25.0);
            let _ = writeln!(text, "{n},{gb},old,{}", 3.0 + f64::from(n) / 1e4);
            match (gb <= 11.0, failed) {
                (true, _) => _ = writeln!(text, "{n},{gb},new,{}", 2.0 + f64::from(n) / 1e4),
                (false, "") => {}
                (false, failed) => _ = writeln!(text, "{n},{gb},new,{failed}"),
            }
        }
        let run = Run::new();
        run.write("train.txt", text);
        for target in ["rust", "python"] {
            let (text, _) = run.learns(&["train.txt", "--target", target]);
            assert!(text.starts_with("Take T, which chooses among 2 choices "), "{failed:?} {text}");
        }
    }
}

/// A log with a fallback `a`, of so many inputs and the times of `row`.
fn of_rows(about: &str, inputs: u64, row: impl Fn(u64, f64) -> Vec<(&'static str, f64)>) -> String {
    let mut text = format!(
        r#"{{"name": "own", "device_capa": [0, 0], "numerical_features": ["x", "y"], "categorical_features": [], "autoheuristic_rs": {{{about}}}}}
x,y,choice,feedback
"#
    );
    for input in 0..inputs {
        let [x, y] = Kind::features(3, input);
        for (choice, time) in row(input, x) {
            let _ = writeln!(text, "{x},{y},{choice},{time}");
        }
    }
    text
}

const FALLS_BACK: &str = r#""fallback": ["a"]"#;

/// `b` and `c` are each twice as fast on a half of the inputs and fail on a random third. Generated code takes `a` everywhere unless the
/// program says what it can run; the first line said "Take T", by figures of such a program.
#[test]
fn a_choice_that_fails_at_random_is_judged_as_a_program_takes_it() {
    let run = Run::new();
    let row = |input, x: f64| {
        let fails = |at| fraction(mix(1, at), input) < 0.33;
        let times = if x < 5000.0 { [1.0, 2.4] } else { [2.4, 1.0] };
        let all = [("a", 2.0, false), ("b", times[0], fails(1)), ("c", times[1], fails(2))];
        all.into_iter()
            .filter(|(.., fails)| !fails)
            .map(|(choice, time, _)| (choice, time * (1.0 + x / 1e5)))
            .collect()
    };
    run.write("log.txt", of_rows(FALLS_BACK, 600, row));
    for target in ["rust", "python", "c", "go"] {
        let (text, notes) = run.learns(&["log.txt", "--target", target]);
        assert!(text.starts_with("Always take a: b has no time on some inputs."), "{target}: {text}");
        assert!(text.contains("\n1.000 times as fast as always a"), "{target}: {text}");
        assert!(
            notes.contains("A program that says which choices it can run loses 0.0"),
            "{target}: {notes}"
        );
    }
    let (text, notes) = run.learns(&["log.txt", "--target", "pytorch"]);
    assert!(text.starts_with("Take T") && !notes.contains("--with ranked"), "{text}{notes}");
}

/// All inputs name another one of two equal choices than the training part does. The first line named `a`, the figures `b`.
#[test]
fn of_equal_choices_one_is_named_everywhere() {
    let run = Run::new();
    for seed in 0..8 {
        let row = |input, x: f64| {
            let draw = |at| fraction(mix(seed, at), input);
            let slower = |choice: u64| if (x < 5000.0) == (choice == 0) { 1.02 } else { 1.0 };
            let time = |choice: u64| (1.0 + 0.1 * draw(choice)) * slower(choice);
            vec![("a", time(0)), ("b", time(1))]
        };
        run.write("log.txt", of_rows("", 150, row));
        let (text, notes) = run.learns(&["log.txt", "--target", "rust"]);
        let of = |start: &str| {
            let rest = &text[text.find(start).unwrap_or_else(|| panic!("{start}: {text}")) + start.len()..];
            rest[..1].to_owned()
        };
        let figures = of("times as fast as always ");
        if text.starts_with("Always take") {
            assert_eq!(of("Always take "), figures, "{seed}: {text}{notes}");
        }
        assert!(!notes.contains("the final heuristic always takes"), "{seed}: {text}{notes}");
    }
}

#[test]
fn more_inputs_are_asked_for_by_a_number_or_with_the_reason_why_there_is_none() {
    let run = Run::new();
    let mut asked = 0;
    for (kind, inputs) in
        [(Kind::Gain, 40), (Kind::Gain, 60), (Kind::NoGain, 60), (Kind::Corner, 60), (Kind::Noisy, 60)]
    {
        for seed in 0..4 {
            run.write("log.txt", kind.log(seed, inputs));
            let (text, _) = run.learns(&["log.txt", "--target", "rust"]);
            if let Some((_, advice)) =
                text.split_once("Measure more: ").map(|(_, rest)| rest.split_once('\n').unwrap())
            {
                asked += 1;
                let advice = advice.lines().next().unwrap();
                let has_number =
                    [" inputs would show ", "Measure at least "].iter().any(|part| advice.contains(part));
                let has_reason = ["No number of inputs", "more inputs do not show it", "show no gain"]
                    .iter()
                    .any(|part| advice.contains(part));
                assert!(has_number || has_reason, "{kind:?} {inputs} {seed}: {text}");
            }
        }
    }
    assert!(asked > 0, "{asked}");
}

/// A decision of 2 ns is nothing beside the time of a run, and nobody knows how long a run is beside 1 GB.
#[test]
fn a_decision_is_not_counted_beside_rates() {
    let run = Run::new();
    let row = |_, x: f64| {
        vec![("a", if x < 5000.0 { 2e-6 } else { 1e-6 }), ("b", if x < 5000.0 { 1e-6 } else { 2e-6 })]
    };
    let train = |about: &str| {
        run.write("log.txt", of_rows(about, 1200, row));
        run.learns(&["log.txt", "--target", "python", "--fallback", "a"])
    };
    let (text, _) = train("");
    assert!(text.starts_with("Always take ") && text.contains("(and 2 ns)"), "{text}");
    let (text, notes) = train(r#""rates": "GB/s""#);
    assert!(text.starts_with("Take T") && text.contains("(a decision is not counted)"), "{text}");
    assert!(
        !text.contains("2 ns") && notes.contains("the log has GB/s of an unknown amount"),
        "{text}{notes}"
    );
    run.succeeds(&["evaluate", "model.json", "log.txt"]);
}

#[test]
fn choices_that_no_input_compares_are_pointed_out() {
    let run = Run::new();
    let row = |names: [&'static str; 2]| move |_, x: f64| vec![(names[0], x), (names[1], 10_001.0 - x)];
    let one = of_rows("", 100, row(["a", "b"]));
    let other: String =
        of_rows("", 260, row(["c", "d"])).lines().skip(2 + 2 * 200).map(|line| format!("{line}\n")).collect();
    run.write("log.txt", format!("{one}{other}"));
    let (_, notes) = run.learns(&["log.txt"]);
    let said =
        "inputs share no choices, so nothing compares them: 100 inputs time a, b; 60 inputs time c, d.";
    assert!(notes.contains(said), "{notes}");
    run.write("log.txt", one);
    let (_, notes) = run.learns(&["log.txt"]);
    assert!(!notes.contains("share no choices"), "{notes}");
}

#[test]
fn times_that_are_equal_by_rounding_are_no_copies() {
    let run = Run::new();
    let rounded = |digits: i32| {
        move |input: u64, x: f64| {
            let time = |choice: u64, sample: u64| {
                let time = x * (1.0 + 0.004 * fraction(mix(choice, sample), input));
                let scale = 10_f64.powi(digits - 1 - time.log10().floor() as i32);
                (time * scale).round() / scale
            };
            let all = [("a", 0, 0), ("a", 0, 1), ("b", 1, 0), ("b", 1, if input == 7 { 0 } else { 1 })];
            all.into_iter().map(|(name, choice, sample)| (name, time(choice, sample))).collect()
        }
    };
    run.write("log.txt", of_rows("", 100, rounded(3)));
    let (_, notes) = run.learns(&["log.txt"]);
    assert!(!notes.contains("the log repeats"), "{notes}");
    run.write("log.txt", of_rows("", 100, rounded(12)));
    let (_, notes) = run.learns(&["log.txt"]);
    assert!(notes.contains("the log repeats 1 measurement;"), "{notes}");
}

#[test]
fn a_note_names_the_target_whose_decisions_a_table_prices() {
    let run = Run::new();
    run.write("log.txt", Kind::Gain.log(1, 300));
    let (_, notes) = run.learns(&["log.txt", "--target", "go"]);
    assert!(notes.contains("a table prices decisions in Go"), "{notes}");
}
