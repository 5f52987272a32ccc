//! Every bad input gives one clear sentence and its exit code, and nothing is written.

use crate::common;

use std::path::Path;

use ah_cli::exit;
use common::{HEAD, Run, log};

#[test]
fn sound_log_learns() {
    let run = Run::new();
    run.write("train.txt", log(60));
    let (stdout, _) = run.learns(&["train.txt"]);
    assert!(stdout.starts_with("Take T, ") && stdout.lines().all(|line| line.len() <= 80), "{stdout}");
    let model = ah_model::Model::read(&run.path("model.json")).unwrap();
    assert_eq!(model.heuristic, "T");
    let left: Vec<_> =
        std::fs::read_dir(run.folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "only the log and the model: {left:?}");
}

/// An independent draw for each input held out none of 12 at one seed in 15.
#[test]
fn a_dozen_inputs_learn_at_every_seed() {
    let run = Run::new();
    run.write("train.txt", log(12));
    for seed in 0..40 {
        run.learns(&["train.txt", "--seed", &seed.to_string()]);
    }
}

/// The log with every line changed, or left out.
fn each_line(text: &str, change: impl Fn(&str) -> Option<String>) -> String {
    text.lines().filter_map(change).map(|line| line + "\n").collect()
}

#[test]
fn logs_that_are_refused() {
    let orig_only = each_line(&log(40), |line| (!line.contains(",pad,")).then(|| line.to_owned()));
    let all_fail = each_line(&log(40), |line| match line.rsplit_once(',') {
        Some((head, time)) if time.parse::<f64>().is_ok() => Some(format!("{head},inf")),
        _ => Some(line.to_owned()),
    });
    let other_column = log(20).replace("m,k,n,mat1_dtype,choice", "m,k,q,mat1_dtype,choice");
    let garbage: Vec<u8> = (0..5000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let broken_gzip = [&[0x1f, 0x8b, 8, 0][..], &[7; 100]].concat();
    let torn = log(20) + "512,512,512,torch.fl";
    let cases: [(Vec<u8>, u8, &[&str]); 9] = [
        (vec![], exit::BAD_INPUT, &["a.txt:1:1", "an empty file"]),
        (HEAD.into(), exit::TOO_LITTLE, &["a.txt", "no rows"]),
        (orig_only.into(), exit::TOO_LITTLE, &["at least 2 choices", "orig"]),
        (log(1).into(), exit::TOO_LITTLE, &["at least 10 distinct inputs", "found 1"]),
        (all_fail.into(), exit::TOO_LITTLE, &["found 0"]),
        (torn.into(), exit::BAD_INPUT, &["a.txt:123", "6 fields", "4"]),
        (other_column.into(), exit::BAD_INPUT, &["a.txt:2", "\"q\""]),
        (garbage, exit::BAD_INPUT, &["a.txt:1", "JSON"]),
        (broken_gzip, exit::IO, &["a.txt", "cannot read"]),
    ];
    for (bytes, code, parts) in cases {
        Run::new().write("a.txt", bytes).refuses(&["a.txt"], code, parts);
    }
    for bad in ["nan", "-1", "0", "", "1.5ms"] {
        let text = log(20) + &format!("512,512,512,torch.float16,orig,{bad}\n");
        let parts = ["a.txt:123:", "a time in milliseconds"];
        Run::new().write("a.txt", text).refuses(&["a.txt"], exit::BAD_INPUT, &parts);
    }
}

#[test]
fn flags_that_are_refused() {
    let run = Run::new();
    run.write("a.txt", log(20));
    let cases: [(&str, &[&str]); 14] = [
        ("--max-risk 2", &["--max-risk", "2"]),
        ("--max-slowdown 0.5", &["--max-slowdown"]),
        ("--max-choices 1", &["--max-choices"]),
        ("--max-depth 0", &["--max-depth", "1 to 64", "0"]),
        ("--max-depth 1000", &["--max-depth"]),
        ("--min-samples-leaf 0", &["--min-samples-leaf"]),
        ("--threads 0", &["--threads", "is not in 1..=1024"]),
        ("--threads 1025", &["--threads", "is not in 1..=1024"]),
        ("--threads 20000", &["--threads", "is not in 1..=1024"]),
        ("--fallback no", &["--fallback: expected one of the choices orig, pad, found \"no\""]),
        ("--feature-ns m", &["--feature-ns", "\"m\": expected FEATURE=NS"]),
        ("--feature-ns m=-1", &["--feature-ns", "\"m=-1\": expected FEATURE=NS", "0 or more"]),
        ("--feature-ns mm=1", &["--feature-ns", "\"mm\""]),
        ("--target rust,c,rust", &["--target", "each target once", "rust twice"]),
    ];
    for (flags, parts) in cases {
        let arguments: Vec<&str> = ["a.txt"].into_iter().chain(flags.split(' ')).collect();
        run.refuses(&arguments, exit::USAGE, parts);
    }
    let (code, _, stderr) = run.run(&["a.txt", "--heuristic-name", "no-name;drop"]);
    assert_eq!(code, i32::from(exit::USAGE));
    assert!(stderr.contains("--heuristic-name"), "{stderr}");
}

#[test]
fn the_library_refuses_times_of_features_that_are_none() {
    for ms in [-1.0, f64::NAN, f64::INFINITY] {
        let mut params = ah_train::Params::new(vec!["no.txt".into()], "x");
        params.feature_ms.insert("m".to_owned(), ms);
        let error = ah_train::train(&params).err().unwrap().to_string();
        assert!(error.contains("feature_ns: expected 0 or more"), "{error}");
    }
}

#[test]
fn optimization_files_that_are_refused() {
    let run = Run::new();
    run.write("a.txt", log(20));
    // A feature that the file declares and the log lacks may be in another log; "mat1_dtyp" is nowhere.
    let derived = "[[feature]]\nname = \"batch\"\nkind = \"numerical\"\n\
        [[derived]]\nname = \"b\"\nexpression = \"batch * m\"\n\
        [[derived]]\nname = \"x\"\nexpression = 'if mat1_dtyp == \"a\" then 1 else 0'\n";
    let mistyped = "[[derived]]\nname = \"x\"\nexpression = \"m * mat1_dtype\"\n";
    let cases: [(&str, &[&str]); 8] = [
        ("[training]\nmax_depth = 70\n", &["\"pad_mm\": training: max_depth: expected 1 to 64, found 70"]),
        ("[feature_ms]\nm = -1.0\n", &["feature_ms", "\"m\", 0 or more, found -1"]),
        ("[feature_ms]\nmm = 1.0\n", &["feature_ms: unknown feature \"mm\"", "; did you mean \"m\"?"]),
        ("[training]\nfeature_ms = { m = -1 }\n", &["training: expected a table [feature_ms] of its own"]),
        ("fallbak = []\n", &["o.toml", "line 3"]),
        (mistyped, &["\"x\"", "expected a number"]),
        (
            derived,
            &["derived feature \"x\"", "unknown feature \"mat1_dtyp\"", "; did you mean \"mat1_dtype\"?"],
        ),
        (
            "[training]\ndimensions = [\"m\", \"mat1_dtpe\"]\n",
            &["dimensions", "\"mat1_dtpe\"", "; did you mean \"mat1_dtype\"?"],
        ),
    ];
    let arguments = ["a.txt", "--optimization", "o.toml", "--ranking", "2"];
    let write = |rest: &str| run.write("o.toml", format!("name = \"pad_mm\"\nfallback = [\"orig\"]\n{rest}"));
    for (rest, parts) in cases {
        write(rest).refuses(&arguments[..3], exit::BAD_INPUT, parts);
    }
    // TOML's messages show the line, so they have several.
    let shown = [
        ("learner = \"lifna\"", "; did you mean \"linfa\"?"),
        ("size = \"small\"", "expected smallest, default, best, or a share"),
        ("logs = []", "unknown field `logs`"),
        ("max_depth = [3]", "expected usize"),
    ];
    for (setting, hint) in shown {
        write(&format!("[training]\n{setting}\n"));
        let (code, _, stderr) = run.train(&arguments[..3]);
        assert_eq!(code, i32::from(exit::BAD_INPUT), "{stderr}");
        assert!(stderr.contains("o.toml") && stderr.contains("line 4") && stderr.contains(hint), "{stderr}");
    }
    let fallback = ["a.txt", "--fallback", "padd"];
    run.refuses(&fallback, exit::USAGE, &["--fallback", "\"padd\"", "; did you mean \"pad\"?"]);
    run.refuses(&["a.txt", "--optimization", "none.toml"], exit::IO, &["none.toml"]);
    run.write("o.toml", "name = \"padmm\"\nfallback = [\"orig\"]\n");
    let parts = ["o.toml", "the log is of \"pad_mm\"", "describes \"padmm\""];
    run.refuses(&arguments[..3], exit::BAD_INPUT, &parts);
}

#[test]
fn bad_rows_can_be_skipped() {
    let run = Run::new();
    run.write("a.txt", log(20) + "512,512,512,torch.float16,orig,-1\n512,5");
    let (_, stderr) = run.learns(&["a.txt", "--skip-bad-rows"]);
    assert!(stderr.contains("2 malformed rows skipped"), "{stderr}");
}

#[test]
fn last_line_without_end_gives_a_warning() {
    let run = Run::new();
    run.write("a.txt", log(20).trim_end());
    let (_, stderr) = run.learns(&["a.txt"]);
    assert!(stderr.contains("the last line has no line end"), "{stderr}");
}

#[test]
fn mixed_metadata() {
    let run = Run::new();
    run.write("a.txt", log(20)).write("b.txt", log(20).replace("[8, 0]", "[9, 0]"));
    run.write("c.txt", log(20).replace("pad_mm", "other"));
    run.refuses(&["a.txt", "c.txt"], exit::BAD_INPUT, &["c.txt", "name", "pad_mm", "other"]);
    let (_, stderr) = run.learns(&["a.txt", "b.txt"]);
    assert!(stderr.contains("of 2 devices (\"capability 8.0\", \"capability 9.0\")"), "{stderr}");
}

#[test]
fn an_optimization_that_only_the_log_declares_has_no_promise() {
    let run = Run::new();
    run.write("a.txt", log(40).replace("pad_mm", "my_op"));
    let (stdout, _) = run.learns(&["a.txt"]);
    assert!(stdout.contains("No promise without a fallback (--fallback CHOICE)"), "{stdout}");
}

#[test]
fn directory_and_missing_file() {
    Run::new().refuses(&["."], exit::IO, &["it is a directory"]);
    Run::new().refuses(&["none.txt"], exit::IO, &["none.txt", "cannot read"]);
}

#[test]
fn full_disk_and_unwritable_output() {
    let run = Run::new();
    run.write("a.txt", log(20)).write("file", "");
    run.refuses(&["a.txt", "--model", "file/model.json"], exit::IO, &["file/model.json", "cannot write"]);
    run.refuses(&["a.txt", "--model", "/proc/none/model.json"], exit::IO, &["cannot write the model"]);
    // This device is always full. The model is first written beside its place, so the error shows there.
    if Path::new("/dev/full").exists() {
        run.refuses(&["a.txt", "--model", "/dev/full/model.json"], exit::IO, &["cannot write the model"]);
    }
}

#[test]
fn learns_and_generates_in_one_command() {
    let run = Run::new();
    run.write("train.txt", log(60));
    run.succeeds(&["train.txt", "--heuristic-name", "SimpleHeuristic"]);
    let source = std::fs::read_to_string(run.path("generated/simple_heuristic/src/lib.rs")).unwrap();
    assert!(source.contains("no_std"), "{source}");
    // A folder that cannot be written is an error before anything is learned.
    run.write("file", "");
    let (code, _, stderr) =
        run.run(&["train.txt", "--heuristic-name", "T", "--model", "new.json", "--out", "file"]);
    assert!(!run.path("new.json").exists());
    assert_eq!(code, i32::from(exit::IO), "{stderr}");
    assert_eq!(stderr.lines().filter(|l| l.starts_with("error: ")).count(), 1, "{stderr}");
}

#[test]
fn inputs_without_a_time_are_named_as_the_reason() {
    let run = Run::new();
    let head =
        r#"{"name": "own", "device_capa": [0, 0], "numerical_features": ["n"], "categorical_features": []}"#;
    let rows: String = (0..30).map(|n| format!("{n},a,inf\n{n},b,inf\n")).collect();
    run.write("a.txt", format!("{head}\nn,choice,feedback\n{rows}"));
    run.refuses(&["a.txt"], exit::TOO_LITTLE, &["found 0; on the log's other inputs every choice failed"]);

    // Once `Loses -100.00 %`.
    run.write(
        "b.txt",
        format!("{head}\nn,choice,feedback\n{}", rows.replace(",a,inf", ",a,2").replace(",b,inf", ",b,1")),
    );
    run.learns(&["b.txt"]);
    for command in ["evaluate", "report"] {
        let (code, stdout, stderr) = run.run(&[command, "model.json", "a.txt"]);
        assert!(code == i32::from(exit::TOO_LITTLE) && stdout.is_empty(), "{stdout}{stderr}");
        assert!(stderr.contains("a.txt: every choice failed on all inputs"), "{stderr}");
    }
}

#[test]
fn weights_are_checked() {
    let run = Run::new();
    run.write("a.txt", log(40));
    let input = "512,512,512,torch.float16";
    for (weights, parts) in [
        (format!("{input}\t-1\n"), ["w.tsv:1", "a weight above 0"]),
        (format!("{input}\tnan\n"), ["w.tsv:1", "a weight above 0"]),
        (format!("{input} 3\n"), ["w.tsv:1", "a tab"]),
        (format!("{input}\t3\r\n{input} 3\r\n"), ["w.tsv:2", "a tab"]),
        (format!("{input}\t1\n{input}\t2\n"), ["w.tsv:2", "one weight for an input"]),
        (format!("{input}\t1\n512.0,512,5.12e2,torch.float16\t2\n"), ["w.tsv:2", "one weight for an input"]),
    ] {
        run.write("w.tsv", weights).refuses(&["a.txt", "--weights", "w.tsv"], exit::BAD_INPUT, &parts);
    }
    // With a feature left out, no line names an input any more.
    run.write("w.tsv", format!("{input}\t100\n"));
    let excluded = ["a.txt", "--weights", "w.tsv", "--exclude", "n"];
    run.refuses(
        &excluded,
        exit::USAGE,
        &["--weights: expected inputs of the log, each by m, k, mat1_dtype, found 1 lines"],
    );
    run.write("w.tsv", "512.0,+512,512,torch.float16\t100\n\nno,such,input,x\t2\n");
    let (_, stderr) = run.learns(&["a.txt", "--weights", "w.tsv"]);
    assert!(stderr.contains("39 inputs of the log are not listed"), "{stderr}");
    assert!(stderr.contains("1 lines name no input"), "{stderr}");

    // An evaluation and a page weigh alike, and never replace the file. The other choice is faster on 20 inputs.
    let is_loss = |args: &[&str], share: f64| {
        let (figures, _) = run.succeeds(&[&["evaluate", "model.json", "a.txt", "--json"], args].concat());
        let figures: serde_json::Value = serde_json::from_str(&figures).unwrap();
        let found = figures["always_fallback"]["metrics"]["slowdown"].as_f64().unwrap();
        assert!((found - (2.01_f64 / 1.01).powf(share)).abs() < 1e-12, "{found}");
    };
    is_loss(&[], 20.0 / 40.0);
    is_loss(&["--weights", "w.tsv"], 20.0 / 139.0);
    for (weights, is_weighted) in [(&["--weights", "w.tsv"][..], true), (&[], false)] {
        run.succeeds(&[&["report", "model.json", "a.txt", "-o", "page.html"], weights].concat());
        let page = std::fs::read_to_string(run.path("page.html")).unwrap();
        assert!(page.contains(&format!("\"weighted\":{is_weighted}")));
    }
    let (code, _, stderr) = run.run(&["report", "model.json", "a.txt", "--weights", "w.tsv", "-o", "w.tsv"]);
    assert!(code == 2 && stderr.contains("w.tsv"), "{stderr}");
}

#[test]
fn a_fallback_that_the_log_lacks_gives_a_warning() {
    let run = Run::new();
    run.write("a.txt", log(20)).write("o.toml", "name = \"pad_mm\"\nfallback = [\"orgi\"]\n");
    let (_, stderr) = run.learns(&["a.txt", "--optimization", "o.toml"]);
    assert!(stderr.contains("the log has none of the optimization's fallbacks (orgi)"), "{stderr}");
    assert!(stderr.contains("; did you mean \"orig\"?"), "{stderr}");
}

#[test]
fn a_number_that_counts_the_inputs_is_named() {
    let run = Run::new();
    for (step, is_counter) in [(1, true), (2, false)] {
        let name = |(at, line): (usize, &str)| match at {
            0 => line.replace("[\"m\"", "[\"id\",\"m\""),
            1 => format!("id,{line}"),
            _ => format!("{},{line}", step * ((at - 2) / 6)),
        };
        let lines: Vec<String> = log(300).lines().enumerate().map(name).collect();
        run.write("a.txt", lines.join("\n") + "\n");
        let (_, stderr) = run.learns(&["a.txt"]);
        assert_eq!(stderr.contains("id counts the inputs, as a row's number does"), is_counter, "{stderr}");
    }
    run.learns(&["a.txt", "--exclude", "id"]);
}

#[test]
fn a_category_for_each_input_is_left_out() {
    let run = Run::new();
    let name = |(at, line): (usize, &str)| match at {
        0 => line.replace("\"mat1_dtype\"", "\"mat1_dtype\",\"id\""),
        1 => format!("id,{line}"),
        // Six rows an input.
        _ => format!("id{},{line}", (at - 2) / 6),
    };
    let lines: Vec<String> = log(300).lines().enumerate().map(name).collect();
    run.write("a.txt", lines.join("\n") + "\n");
    let (_, stderr) = run.learns(&["a.txt"]);
    assert!(stderr.contains("nearly every input has its own value of id, so it is left out"), "{stderr}");
    let model = std::fs::read_to_string(run.folder.path().join("model.json")).unwrap();
    assert!(!model.contains("id17"), "{model}");
}

/// A log of inputs that each have a category of their own.
fn own_categories(inputs: usize) -> String {
    let mut text = HEAD.replace("\"mat1_dtype\"", "\"id\"").replace("mat1_dtype,", "id,");
    for i in 0..inputs {
        let (orig, pad) = if i % 3 == 0 { (2.0, 1.0) } else { (1.0, 1.25) };
        for (choice, time) in [("orig", orig), ("pad", pad)] {
            text.push_str(&format!("{},{},{},u{i},{choice},{time}\n", i % 512, i % 3, i % 7));
        }
    }
    text
}

/// Fewer than 100 names were once learned from. The heuristic then declined nearly all fresh inputs.
#[test]
fn a_category_for_each_of_a_few_inputs_is_left_out() {
    for inputs in [12, 40, 99] {
        let run = Run::new();
        run.write("a.txt", own_categories(inputs));
        let (_, stdout, stderr) = run.train(&["a.txt"]);
        assert!(stderr.contains("nearly every input has its own value of id, so it is left out"), "{stderr}");
        assert!(stdout.contains("Decides 100.0 %"), "{stdout}");
    }
}

/// 10,000 such inputs once took 187 s and 804 MB, and 100,000 all memory.
#[test]
fn a_category_for_each_of_100_000_inputs_costs_little() {
    let run = Run::new();
    run.write("a.txt", own_categories(10_000)).write("b.txt", own_categories(100_000));
    for log in ["a.txt", "b.txt"] {
        // Half of what 100,000 categories once took. Only Linux keeps to it.
        let limited = format!(
            "ulimit -v 2000000 2> /dev/null; exec '{}' {log} --learner cost_tree --threads 1 --heuristic-name T --no-codegen",
            assert_cmd::cargo::cargo_bin("ah-train").display()
        );
        let output = std::process::Command::new("sh")
            .args(["-c", &limited])
            .current_dir(run.folder.path())
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{log}: {stderr}");
        assert!(stderr.contains("nearly every input has its own value of id, so it is left out"), "{stderr}");
    }
}

#[test]
fn a_fallback_that_the_log_names_wrongly_gives_a_warning() {
    let run = Run::new();
    let collection =
        r#"{"autoheuristic_rs": {"format": 1, "seed": 1, "tool": "t", "fallback": ["orgi"]}, "name": "mine""#;
    run.write("a.txt", log(20).replace("{\"name\": \"pad_mm\"", collection));
    let (_, stderr) = run.learns(&["a.txt"]);
    assert!(stderr.contains("(orgi)") && stderr.contains("; did you mean \"orig\"?"), "{stderr}");
}

#[test]
fn division_by_zero_on_some_rows_is_a_missing_value() {
    let run = Run::new();
    run.write("a.txt", log(60));
    run.write(
        "o.toml",
        "name = \"pad_mm\"\nfallback = [\"orig\"]\n[[derived]]\nname = \"r\"\nexpression = \"k / (n - 515)\"\n",
    );
    let (_, stderr) = run.learns(&["a.txt", "--optimization", "o.toml"]);
    assert!(!stderr.contains("not learned from"), "{stderr}");
    let model = ah_model::Model::read(&run.path("model.json")).unwrap();
    assert_eq!(model.features.derived().len(), 1);
}

#[test]
fn evaluate_refuses_what_does_not_fit() {
    let run = Run::new();
    run.write("a.txt", log(40)).write("b.txt", log(40).replace("\"pad_mm\"", "\"mm\"")).write("m.json", "{}");
    let (code, _, stderr) = run.run(&["evaluate", "m.json", "a.txt"]);
    assert_eq!(code, i32::from(exit::BAD_INPUT), "{stderr}");
    assert!(stderr.contains("m.json: not a valid model"), "{stderr}");
    run.learns(&["a.txt"]);
    let (code, _, stderr) = run.run(&["evaluate", "model.json", "b.txt"]);
    assert_eq!(code, i32::from(exit::BAD_INPUT), "{stderr}");
    assert!(stderr.contains("the model decides pad_mm, the log is of mm"), "{stderr}");
}

/// The figures were "1.000 times as fast" and "the same".
#[test]
fn a_fallback_without_a_time_is_compared_with_nothing() {
    let run = Run::new();
    run.write("a.txt", log(60)).learns(&["a.txt", "--model", "model.json"]);
    let failed = each_line(&log(60), |line| match line.split_once(",orig,") {
        Some((head, _)) => Some(format!("{head},orig,inf")),
        None => Some(line.to_owned()),
    });
    let (stdout, _) = run.write("b.txt", failed).succeeds(&["evaluate", "model.json", "b.txt"]);
    assert!(stdout.contains("orig has no time on any logged input.\n"), "{stdout}");
    assert!(!stdout.contains("times as fast") && !stdout.contains("Total time"), "{stdout}");
}

#[test]
fn evaluate_takes_unknown_choices_features_and_categories() {
    let run = Run::new();
    run.write("a.txt", log(40));
    run.learns(&["a.txt"]);
    // Another GPU.
    let other = log(40)
        .replace("[8, 0]", "[9, 0]")
        .replace(",pad,", ",other,")
        .replace("torch.float32", "torch.int8");
    run.write("b.txt", other);
    let (stdout, stderr) = run.succeeds(&["evaluate", "model.json", "b.txt", "--decisions", "d.tsv"]);
    assert!(stderr.contains("the model does not know these choices and never takes them: other"), "{stderr}");
    assert!(!stderr.contains("takes its place"), "{stderr}");
    run.write("c.txt", log(40).replace(",orig,", ",other,"));
    let (_, instead) = run.succeeds(&["evaluate", "model.json", "c.txt"]);
    let expected = "the log has no choice \"orig\", the model's fallback; \"pad\" takes its place";
    assert!(instead.contains(expected), "{instead}");
    assert!(
        stderr
            .contains("the model's promise does not hold on this log: learned on another compute capability"),
        "{stderr}"
    );
    assert!(stdout.starts_with("T: 1.000 times as fast as always orig (40 logged inputs)"), "{stdout}");
    let decisions = std::fs::read_to_string(run.path("d.tsv")).unwrap();
    assert_eq!(decisions.lines().count(), 40);
    assert!(
        decisions.lines().all(|l| l.split('\t').nth(1).is_some_and(|d| d.is_empty() || d == "orig")),
        "{decisions}"
    );
}

#[test]
fn decisions_name_the_inputs_in_the_order_of_the_log() {
    let run = Run::new();
    // The columns are in another order than the metadata's. A number in another form is the same number.
    let text = log(40).replace("m,k,n,mat1_dtype,choice", "n,k,m,mat1_dtype,choice");
    run.write("a.txt", text.replace("\n512,", "\n512.0,"));
    run.learns(&["a.txt"]);
    run.succeeds(&["evaluate", "model.json", "a.txt", "--decisions", "d.tsv"]);
    let decisions = std::fs::read_to_string(run.path("d.tsv")).unwrap();
    assert_eq!(decisions.lines().count(), 40);
    for line in decisions.lines() {
        let (features, choices) = line.split_once('\t').unwrap();
        assert!(text.contains(&format!("\n{features},")), "{features}");
        assert!(["orig;pad", "pad;orig", "orig", "pad", ""].contains(&choices), "{choices}");
    }
}

#[test]
fn no_command_writes_over_what_it_reads() {
    let run = Run::new();
    run.write("a.txt", log(200));
    run.learns(&["a.txt"]);
    let model = std::fs::read(run.path("model.json")).unwrap();
    for (flag, args) in [
        ("--model", "a.txt --heuristic-name T --no-codegen --model a.txt"),
        ("--model", "a.txt --heuristic-name T --no-codegen --model ./a.txt"),
        ("--report", "a.txt --heuristic-name T --no-codegen --report a.txt"),
        ("--report", "a.txt --heuristic-name T --no-codegen --report model.json"),
        ("--report", "a.txt --heuristic-name T --no-codegen --model new.json --report ./new.json"),
        ("--decisions", "evaluate model.json a.txt --decisions a.txt"),
        ("--decisions", "evaluate model.json a.txt --decisions model.json"),
        ("--output", "report model.json a.txt -o a.txt"),
    ] {
        let (code, _, stderr) = run.run(&args.split(' ').collect::<Vec<_>>());
        assert_eq!(code, i32::from(exit::USAGE), "{args}: {stderr}");
        assert!(stderr.contains(flag) && stderr.contains("does not read"), "{args}: {stderr}");
        assert_eq!(std::fs::read_to_string(run.path("a.txt")).unwrap(), log(200), "{args}");
        assert_eq!(std::fs::read(run.path("model.json")).unwrap(), model, "{args}");
    }
}

#[test]
fn a_fallback_that_failed_everywhere_is_an_error() {
    let run = Run::new();
    let failed = |line: &str| match line.split_once(",orig,") {
        Some((input, _)) => format!("{input},orig,inf"),
        None => line.to_owned(),
    };
    run.write("a.txt", log(60).lines().map(failed).collect::<Vec<_>>().join("\n") + "\n");
    run.refuses(
        &["a.txt"],
        exit::TOO_LITTLE,
        &["\"orig\"", "failed on all 60 inputs", "name another fallback"],
    );
}

#[test]
fn dimensions_that_the_log_lacks_are_refused() {
    let run = Run::new();
    run.write("a.txt", log(60).replacen("pad_mm", "own", 1));
    run.refuses(&["a.txt", "--test-split", "dims"], exit::USAGE, &["--test-split", "dims", "dimensions"]);
}

/// `--model notes.md` was written over.
#[test]
fn no_command_writes_over_what_another_program_wrote() {
    let run = Run::new();
    let notes = "# Notes\n\nNot a model.\n";
    run.write("a.txt", log(20)).write("model.json", "{}").write("notes.md", notes).write("empty.json", "");
    for args in [
        "a.txt --heuristic-name T --no-codegen",
        "a.txt --heuristic-name T --no-codegen --model notes.md",
        "a.txt --heuristic-name T --no-codegen --model new.json --report notes.md",
        "a.txt --heuristic-name T --model new.json --into notes.rs",
        "a.txt --heuristic-name T --model new.json --target c --into notes.rs",
        "a.txt --heuristic-name T --model new.json --into a.py",
        "a.txt --heuristic-name T --model new.json --with ranked",
    ] {
        run.write("notes.rs", notes);
        let (code, stdout, stderr) = run.run(&args.split(' ').collect::<Vec<_>>());
        assert!(code != 0 && stdout.is_empty(), "{args}: {stderr}");
        let is_named = ["it would be lost", "would be lost", "--into", "--with"]
            .iter()
            .any(|part| stderr.contains(part));
        assert!(is_named && !run.path("new.json").exists(), "{args}: {stderr}");
        for name in ["notes.md", "notes.rs"] {
            assert_eq!(std::fs::read_to_string(run.path(name)).unwrap(), notes, "{args}");
        }
    }
    // An empty file, and one of ours, hold nothing to lose.
    for _ in 0..2 {
        run.succeeds(
            &"a.txt --heuristic-name T --no-codegen --model empty.json --report r.html"
                .split(' ')
                .collect::<Vec<_>>(),
        );
    }
    for args in [
        &["evaluate", "a.txt", "empty.json"][..],
        &["report", "a.txt", "empty.json"],
        &["explain", "a.txt", "m=1"],
    ] {
        let (code, _, stderr) = run.run(args);
        assert!(code == i32::from(exit::BAD_INPUT) && stderr.contains("it is a log"), "{stderr}");
    }
}

#[test]
fn unknown_names_on_the_command_line_are_wrong_usage() {
    let run = Run::new();
    run.write("a.txt", log(20));
    run.refuses(
        &["a.txt", "--exclude", "mat1_dtpe"],
        exit::USAGE,
        &["--exclude", "; did you mean \"mat1_dtype\"?"],
    );
}

/// A log of one number and two choices that cross at 50: `time` may replace a time or leave it out.
fn crossing(time: impl Fn(u32, &str, f64) -> Option<f64>) -> String {
    let mut text =
        r#"{"name": "own", "device_capa": [0, 0], "numerical_features": ["n"], "categorical_features": []}
n,choice,feedback
"#
        .to_owned();
    for n in 1..=100 {
        let times = [("a", 0.01 * f64::from(n)), ("b", 0.25 + 0.005 * f64::from(n))];
        for (choice, ms) in times.iter().filter_map(|(name, ms)| Some((name, time(n, name, *ms)?))) {
            text += &format!("{n},{choice},{ms:e}\n");
        }
    }
    text
}

#[test]
fn one_impossible_time_changes_nothing() {
    let run = Run::new();
    let leaves = |run: &Run| ah_model::Model::read(&run.path("model.json")).unwrap().leaf_count();
    run.write("a.txt", crossing(|_, _, ms| Some(ms)));
    let (clean, _) = run.learns(&["a.txt"]);
    assert!(clean.starts_with("Take T") && leaves(&run) > 1, "{clean}");
    for wrong in [1e-12, 2e-7, 4e-4, 4e2, 1e9] {
        run.write("a.txt", crossing(|n, choice, ms| Some(if (n, choice) == (30, "b") { wrong } else { ms })));
        let (text, notes) = run.learns(&["a.txt"]);
        assert!(text.starts_with("Take T") && leaves(&run) > 1, "{wrong}: {text}");
        assert!(notes.contains("1 time is impossible") && notes.contains("on \"30\""), "{notes}");
    }
}

#[test]
fn a_huge_time_that_repeats_is_a_failure() {
    let run = Run::new();
    run.write("a.txt", crossing(|n, choice, ms| Some(if choice == "a" && n % 3 == 0 { 1e20 } else { ms })));
    let (text, notes) = run.learns(&["a.txt", "--fallback", "b"]);
    assert!(
        notes.contains("the time 1e20 ms occurs 33 times") && notes.contains("--failed=VALUE"),
        "{notes}"
    );
    assert!(!text.contains("100.00 %") && !text.contains("e18"), "{text}");
}

#[test]
fn inputs_with_the_time_of_one_choice_compare_nothing() {
    let run = Run::new();
    let winner = |n: u32, choice: &str, ms| ((choice == "a") == (n < 50)).then_some(ms);
    run.write("a.txt", crossing(winner));
    run.refuses(
        &["a.txt"],
        exit::TOO_LITTLE,
        &["100 of 100 inputs have the time of one choice: nothing can be compared"],
    );
    // Forty are compared.
    run.write("a.txt", crossing(|n, choice, ms| if n % 5 < 2 { Some(ms) } else { winner(n, choice, ms) }));
    let (_, notes) = run.learns(&["a.txt"]);
    let first = notes.lines().find(|line| line.starts_with("warning: ")).unwrap();
    assert!(
        first.contains("60 of 100 inputs have the time of one choice") && first.contains("the other 40"),
        "{notes}"
    );
}

#[test]
fn too_many_choices_are_refused() {
    let run = Run::new();
    let rows: String = (0..10_001).map(|at| format!("{},c{at},1\n", at % 50)).collect();
    run.write("a.txt", crossing(|_, _, _| None) + &rows);
    run.refuses(&["a.txt"], exit::BAD_INPUT, &["at most 10000 choices, found 10001", "make it a feature"]);
}
