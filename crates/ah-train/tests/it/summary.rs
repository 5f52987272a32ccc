//! What the summary says fits the log: one choice that wins everywhere, a choice without some times, groups.

use std::fmt::Write as _;

use crate::common::Run;

/// A log of two numerical features and the ways `old`, which is the fallback, and `new`; `row` returns an input and the times.
fn log(inputs: u32, row: impl Fn(u32) -> ([u32; 2], f64, Option<f64>)) -> String {
    let mut text = r#"{"name": "own", "device_capa": [0, 0], "numerical_features": ["x", "y"], "categorical_features": [], "autoheuristic_rs": {"fallback": ["old"]}}
x,y,choice,feedback"#
        .to_owned();
    for at in 0..inputs {
        let ([x, y], old, new) = row(at);
        let noise = 1.0 + f64::from(at * 37 % 101) / 10_000.0;
        let _ = write!(text, "\n{x},{y},old,{}", old * noise);
        if let Some(new) = new {
            let _ = write!(text, "\n{x},{y},new,{new}");
        }
    }
    text
}

/// Two whole numbers that follow no rule, from 1 to 100,000.
fn independent(at: u32) -> [u32; 2] {
    [7919, 104_729].map(|prime| (u64::from(at + 1) * prime * prime % 99_991) as u32 + 1)
}

#[test]
fn one_choice_that_wins_everywhere_keeps_the_promise() {
    let run = Run::new();
    run.write("log.txt", log(800, |at| (independent(at), 1.0, Some(0.7))));
    let (text, _) = run.learns(&["log.txt"]);
    assert!(text.starts_with("Always take new: no heuristic pays in Rust here.\n"), "{text}");
    let (text, _) = run.learns(&["log.txt", "--target", "rust,python,c"]);
    assert!(
        text.starts_with("Always take new: no heuristic pays in Python, the slowest target.\n"),
        "{text}"
    );
}

#[test]
fn a_constant_learned_twice_needs_no_warning() {
    let run = Run::new();
    let without_fallback = |text: String| text.replace(r#", "autoheuristic_rs": {"fallback": ["old"]}"#, "");
    run.write("log.txt", without_fallback(log(200, |at| (independent(at), 1.0, Some(1.5)))));
    let (text, notes) = run.learns(&["log.txt"]);
    assert!(text.starts_with("Always take old: no heuristic pays in Rust here.\n"), "{text}");
    assert!(!notes.contains("the final heuristic"), "{notes}");
}

/// All 800 inputs keep the promise, the training part alone does not: the figures are of a heuristic that declines everywhere.
#[test]
fn figures_of_another_heuristic_are_called_so() {
    let run = Run::new();
    let mut text = log(0, |at| (independent(at), 1.0, None));
    for i in 0..800_u64 {
        let (x, y, is_slow) = (i * 7919 % 1009, i * 104_729 % 997, i * 2_654_435_761 % 10_007 < 340);
        let _ = write!(text, "\n{x},{y},old,1\n{x},{y},new,{}", if is_slow { 1.25 } else { 0.7 });
    }
    run.write("log.txt", text);
    let (text, notes) = run.learns(&["log.txt", "--max-risk", "5%"]);
    assert!(text.starts_with("Always take new: ") && text.contains("\nDecides 0.0 %;"), "{text}");
    assert!(
        notes.contains("the final heuristic always takes new; the held-out figures judge the one"),
        "{notes}"
    );
}

#[test]
fn a_choice_that_some_inputs_did_not_time_is_no_constant() {
    let run = Run::new();
    let row = |at| (independent(at), 1.0, (at % 20 != 7).then_some(0.7));
    run.write("log.txt", log(800, row));
    let (text, notes) = run.learns(&["log.txt"]);
    assert!(text.starts_with("Always take old: new has no time on some inputs."), "{text}");
    assert!(text.contains("\n1.000 times as fast as always old"), "{text}");
    assert!(notes.contains("A program that says which choices it can run loses 0.00 %"), "{notes}");
    // PyTorch says which choices it can run.
    let (text, notes) = run.learns(&["log.txt", "--target", "pytorch"]);
    let first = "Always take new, and old where new has no time: T is 1.000 times as fast as always new, and old where";
    assert!(text.starts_with(first), "{text}");
    assert!(!notes.contains("says which choices it can run"), "{notes}");
}

#[test]
fn only_copies_are_groups() {
    let run = Run::new();
    // `new` is better in stripes of x.
    let times = |x: u32| if (x / 9000).is_multiple_of(2) { 0.5 } else { 2.0 };
    let spread = log(800, |at| (independent(at), 1.0, Some(times(independent(at)[0]))));
    let copies = |count: u32| {
        log(800, |at| {
            // Only copies tell which way is better.
            let shape = at / count;
            let new = if shape * shape % 7 < 3 { 0.5 } else { 2.0 };
            ([independent(shape)[0], at % count + 1], 1.0, Some(new))
        })
    };
    for (text, are_copies) in [(spread, false), (copies(10), true), (copies(2), true)] {
        run.write("log.txt", text);
        let (text, _) = run.learns(&["log.txt"]);
        assert_eq!(text.contains(" to the best choice on new values of x ("), are_copies, "{text}");
    }
}

/// Of shapes with ordinary sizes, many agree in each number, so no number tells that a shape is new: 6 of 6 simulated logs promised
/// 1 %, and 4 surely broke it.
#[test]
fn copies_of_shapes_with_ordinary_sizes_are_groups() {
    // 120 of 480 shapes, or all of 48.
    for (shapes, depths, are_copies) in [(120, 10, true), (48, 1, false)] {
        let mut text =
            log(0, |at| (independent(at), 1.0, None)).replace(r#""x", "y""#, r#""w", "h", "d", "batch""#);
        text = text.replace("x,y,", "w,h,d,batch,");
        for (shape, batch) in (0..shapes).flat_map(|shape| (0..10).map(move |batch| (shape, 1 << batch))) {
            let at = shape * 101 % (48 * depths);
            let input = format!("{},{},{},{batch}", 7 << (at % 6), 32 << (at / 6 % 8), 16 << (at / 48));
            let new = if at * at % 7 < 3 { 0.5 } else { 2.0 };
            let _ = write!(text, "\n{input},old,1\n{input},new,{new}");
        }
        let run = Run::new();
        let (text, _) = run.write("log.txt", text).learns(&["log.txt"]);
        assert_eq!(text.contains(" to the best choice on new values of w, h, d ("), are_copies, "{text}");
    }
}

/// Copies in two numbers are copies in each one too. Held out by one of them, the others stay: 52 of 60 simulated logs broke their
/// promise.
#[test]
fn copies_on_a_grid_of_two_numbers_are_groups() {
    let mut text =
        log(0, |at| (independent(at), 1.0, None)).replace(r#""x", "y""#, r#""x", "y", "batch", "beams""#);
    text = text.replace("x,y,", "x,y,batch,beams,");
    for (shape, copy) in (0..80).flat_map(|shape| (0..10).map(move |copy| (shape, copy))) {
        let [x, y] = independent(shape);
        let new = if shape * shape % 7 < 3 { 0.5 } else { 2.0 };
        let input = format!("{x},{y},{},{}", 1 << (copy / 2), copy % 2 + 1);
        let _ = write!(text, "\n{input},old,1\n{input},new,{new}");
    }
    let run = Run::new();
    let (text, _) = run.write("log.txt", text).learns(&["log.txt"]);
    assert!(text.contains(" to the best choice on new values of x, y ("), "{text}");
}

/// A shape in two element types: 56 of 60 simulated logs surely broke their promise.
#[test]
fn copies_in_a_category_are_groups() {
    let mut text = log(0, |at| (independent(at), 1.0, None));
    text = text
        .replace(r#""categorical_features": []"#, r#""categorical_features": ["type"]"#)
        .replace("x,y,", "x,y,type,");
    assert!(text.contains(r#"["type"]"#) && text.contains("x,y,type,"), "{text}");
    for (shape, ty) in (0..400).flat_map(|shape| ["float16", "bfloat16"].map(|ty| (shape, ty))) {
        let [x, y] = independent(shape);
        let new = if shape * shape % 7 < 3 { 0.5 } else { 2.0 };
        let _ = write!(text, "\n{x},{y},{ty},old,1\n{x},{y},{ty},new,{new}");
    }
    let run = Run::new();
    let (text, _) = run.write("log.txt", text).learns(&["log.txt"]);
    assert!(text.contains(" to the best choice on new values of x, y ("), "{text}");
}

/// A program may not know the file when it asks.
#[test]
fn a_person_names_groups() {
    let mut text = log(0, |at| (independent(at), 1.0, None));
    text = text
        .replace(r#""categorical_features": []"#, r#""categorical_features": ["file"]"#)
        .replace("x,y,", "x,y,file,");
    for at in 0..600 {
        let ([x, y], file) = (independent(at), at / 20);
        let new = if file * file % 7 < 3 { 0.5 } else { 2.0 };
        let _ = write!(text, "\n{x},{y},f{file},old,1\n{x},{y},f{file},new,{new}");
    }
    let run = Run::new();
    run.write("log.txt", text);
    let parts =
        ["--group: expected features of the log (x, y, file), found \"fil\"", "did you mean \"file\"?"];
    run.refuses(&["log.txt", "--group", "fil"], 2, &parts);
    let learns = |group: &str| run.learns(&["log.txt", "--exclude", "file", "--group", group]).0;
    let named = learns("file");
    assert!(
        named.contains(" on new values of file (") && named.contains("by the 30 in the log, always "),
        "{named}"
    );
    // Nothing tells which files are slow, so on new ones always taking one choice loses much too.
    let (_, single) = named.split_once("in the log, always new: ").unwrap();
    let (single, _) = single.split_once(" %").unwrap();
    assert!((10.0..36.0).contains(&single.parse::<f64>().unwrap()), "{named}");
    assert!(named.contains("600 inputs count as 30 (one for each file), which are too few"), "{named}");
    assert!(!learns("none").contains("on new"), "{}", learns("none"));
}

/// The summary began with "Take" above "0.968 times as fast".
#[test]
fn a_heuristic_that_is_slower_than_the_fallback_on_held_out_inputs_is_called_so() {
    let run = Run::new();
    for seed in 0..4 {
        // No feature explains the times.
        let time = |at: u32, way| 1.0 + ah_types::random::fraction(seed, u64::from(2 * at + way));
        let row = |at| (independent(at), time(at, 0), Some(time(at, 1)));
        run.write("log.txt", log(300, row));
        let (text, _) = run.learns(&["log.txt", "--learner", "boosted", "--max-risk", "none"]);
        assert!(text.starts_with("Measure more: T is ") || text.starts_with("Always take "), "{text}");
    }
}

#[test]
fn a_size_that_keeps_the_promise_only_by_the_fallback_is_called_so() {
    let run = Run::new();
    // A tenth of a microsecond, which a decision in Python exceeds.
    let new = |x: u32| if x < 50_000 { 0.5e-4 } else { 2e-4 };
    run.write("log.txt", log(600, |at| (independent(at), 1e-4, Some(new(independent(at)[0])))));
    let (text, _) = run.learns(&["log.txt", "-v", "--target", "python", "--learner", "boosted"]);
    assert!(text.contains("boosted trees  ") && text.contains("the fallback alone"), "{text}");
    assert!(!text.contains("no run waits for it"), "{text}");
}
