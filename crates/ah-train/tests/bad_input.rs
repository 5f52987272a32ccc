//! Every bad input gives one clear sentence and its exit code, and nothing is written.

mod common;

use std::path::Path;

use ah_cli::exit;
use common::{HEAD, Run, log};

#[test]
fn sound_log_learns() {
    let run = Run::new();
    run.write("train.txt", log(60));
    let (code, stdout, stderr) = run.train(&["train.txt"]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.starts_with("T: ") && stdout.lines().all(|line| line.len() <= 80), "{stdout}");
    let model = ah_types::Model::read(&run.path("model.json")).unwrap();
    assert_eq!(model.heuristic, "T");
    let left: Vec<_> =
        std::fs::read_dir(run.folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "only the log and the model: {left:?}");
}

#[test]
fn empty_file() {
    Run::new().write("a.txt", "").refuses(&["a.txt"], exit::BAD_INPUT, &["a.txt:1:1", "an empty file"]);
}

#[test]
fn header_only() {
    Run::new().write("a.txt", HEAD).refuses(&["a.txt"], exit::TOO_LITTLE, &["a.txt", "no rows"]);
}

#[test]
fn one_choice() {
    let text: String = log(40).lines().filter(|l| !l.contains(",pad,")).map(|l| format!("{l}\n")).collect();
    Run::new().write("a.txt", text).refuses(&["a.txt"], exit::TOO_LITTLE, &["at least 2 choices", "orig"]);
}

#[test]
fn one_input() {
    Run::new().write("a.txt", log(1)).refuses(
        &["a.txt"],
        exit::TOO_LITTLE,
        &["at least 10 distinct inputs", "found 1"],
    );
}

#[test]
fn not_a_number_and_negative_times() {
    for bad in ["nan", "-1", "0", "", "1.5ms"] {
        let text = log(20) + &format!("512,512,512,torch.float16,orig,{bad}\n");
        Run::new().write("a.txt", text).refuses(
            &["a.txt"],
            exit::BAD_INPUT,
            &["a.txt:123:", "a time in milliseconds"],
        );
    }
}

#[test]
fn bad_rows_can_be_skipped() {
    let run = Run::new();
    run.write("a.txt", log(20) + "512,512,512,torch.float16,orig,-1\n512,5");
    let (code, _, stderr) = run.train(&["a.txt", "--skip-bad-rows"]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("2 malformed rows skipped"), "{stderr}");
}

#[test]
fn truncated_last_line() {
    let text = log(20) + "512,512,512,torch.fl";
    Run::new().write("a.txt", text).refuses(&["a.txt"], exit::BAD_INPUT, &["a.txt:123", "6 fields", "4"]);
}

#[test]
fn last_line_without_end_gives_a_warning() {
    let run = Run::new();
    run.write("a.txt", log(20).trim_end());
    let (code, _, stderr) = run.train(&["a.txt"]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("the last line has no line end"), "{stderr}");
}

#[test]
fn mixed_metadata() {
    let run = Run::new();
    run.write("a.txt", log(20)).write("b.txt", log(20).replace("[8, 0]", "[9, 0]"));
    run.refuses(&["a.txt", "b.txt"], exit::BAD_INPUT, &["b.txt", "device_capa", "[8,0]", "[9,0]"]);
}

#[test]
fn an_optimization_that_only_the_log_declares_gives_a_warning() {
    let run = Run::new();
    run.write("a.txt", log(40).replace("pad_mm", "my_op"));
    let (code, _, stderr) = run.train(&["a.txt"]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("\"my_op\"") && stderr.contains("--fallback"), "{stderr}");
}

#[test]
fn unknown_column() {
    let text = log(20).replace("m,k,n,mat1_dtype,choice", "m,k,q,mat1_dtype,choice");
    Run::new().write("a.txt", text).refuses(&["a.txt"], exit::BAD_INPUT, &["a.txt:2:5", "\"q\""]);
}

#[test]
fn binary_garbage() {
    let garbage: Vec<u8> = (0..5000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    Run::new().write("a.txt", garbage).refuses(&["a.txt"], exit::BAD_INPUT, &["a.txt:1", "JSON"]);
    let broken_gzip = [&[0x1f, 0x8b, 8, 0][..], &[7; 100]].concat();
    Run::new().write("a.txt", broken_gzip).refuses(&["a.txt"], exit::IO, &["a.txt", "cannot read"]);
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
    let (code, _, stderr) = run.run(&["train.txt", "--heuristic-name", "SimpleHeuristic"]);
    assert_eq!(code, 0, "{stderr}");
    let source = std::fs::read_to_string(run.path("generated/simple_heuristic/src/lib.rs")).unwrap();
    assert!(source.contains("no_std"), "{source}");
    // A folder that cannot be written is an error; the model is written all the same.
    run.write("file", "");
    let (code, _, stderr) = run.run(&["train.txt", "--heuristic-name", "T", "--out", "file"]);
    assert_eq!(code, i32::from(exit::IO), "{stderr}");
    assert_eq!(stderr.lines().filter(|l| l.starts_with("error: ")).count(), 1, "{stderr}");
}

#[test]
fn flags_that_contradict() {
    let run = Run::new();
    run.write("a.txt", log(20)).write("b.txt", log(30));
    run.refuses(
        &["a.txt", "--also-train", "x", "b.txt", "--weight", "2", "--weight", "3"],
        exit::USAGE,
        &["--weight", "one for each of the 1"],
    );
    run.refuses(
        &["a.txt", "--also-train", "x", "b.txt", "--weight", "-0.0"],
        exit::USAGE,
        &["--weight", "above 0"],
    );
    run.refuses(&["a.txt", "--max-risk", "2"], exit::USAGE, &["--max-risk", "2"]);
    run.refuses(&["a.txt", "--max-slowdown", "0.5"], exit::USAGE, &["--max-slowdown"]);
    run.refuses(&["a.txt", "--trees", "9"], exit::USAGE, &["--trees", "1 to 3"]);
    run.refuses(&["a.txt", "--max-choices", "1"], exit::USAGE, &["--max-choices"]);
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
        (format!("{input}\t1\n{input}\t2\n"), ["w.tsv:2", "one weight for an input"]),
    ] {
        run.write("w.tsv", weights).refuses(&["a.txt", "--weights", "w.tsv"], exit::BAD_INPUT, &parts);
    }
    run.write("w.tsv", format!("{input}\t100\nno,such,input,x\t2\n"));
    let (code, _, stderr) = run.train(&["a.txt", "--weights", "w.tsv"]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("39 inputs of the log are not listed"), "{stderr}");
    assert!(stderr.contains("1 lines name no input"), "{stderr}");
}

#[test]
fn every_choice_fails() {
    let text: String = log(40)
        .lines()
        .map(|l| match l.rsplit_once(',') {
            Some((head, time)) if time.parse::<f64>().is_ok() => format!("{head},inf\n"),
            _ => format!("{l}\n"),
        })
        .collect();
    Run::new().write("a.txt", text).refuses(&["a.txt"], exit::TOO_LITTLE, &["found 0"]);
}

#[test]
fn flags_out_of_range() {
    let run = Run::new();
    run.write("a.txt", log(20));
    run.refuses(&["a.txt", "--max-depth", "0"], exit::USAGE, &["--max-depth", "1 to 64", "0"]);
    run.refuses(&["a.txt", "--max-depth", "1000"], exit::USAGE, &["--max-depth"]);
    run.refuses(&["a.txt", "--min-samples-leaf", "0"], exit::USAGE, &["--min-samples-leaf"]);
    for threads in ["0", "1025", "20000"] {
        run.refuses(&["a.txt", "--threads", threads], exit::USAGE, &["--threads", "is not in 1..=1024"]);
    }
    run.refuses(&["a.txt", "--fallback", "no"], exit::USAGE, &["unknown choice \"no\"", "orig", "pad"]);
    let (code, _, stderr) = run.run(&["a.txt", "--heuristic-name", "no-name;drop"]);
    assert_eq!(code, i32::from(exit::USAGE));
    assert!(stderr.contains("--heuristic-name"), "{stderr}");
}

#[test]
fn broken_optimization_file() {
    let run = Run::new();
    run.write("a.txt", log(20));
    run.write("o.toml", "name = \"pad_mm\"\nfallbak = []\n");
    run.refuses(&["a.txt", "--optimization", "o.toml"], exit::BAD_INPUT, &["o.toml", "line 2"]);
    run.write("o.toml", "name = \"pad_mm\"\n[[derived]]\nname = \"x\"\nexpression = \"m * mat1_dtype\"\n");
    run.refuses(&["a.txt", "--optimization", "o.toml"], exit::BAD_INPUT, &["\"x\"", "expected a number"]);
    run.write("o.toml", "name = \"pad_mm\"\n[training]\nrow_filter = \"m + \"\n");
    run.refuses(&["a.txt", "--optimization", "o.toml"], exit::BAD_INPUT, &["row_filter"]);
    run.refuses(&["a.txt", "--optimization", "none.toml"], exit::IO, &["none.toml"]);
}

#[test]
fn misspelt_names_are_errors_that_propose_another() {
    let run = Run::new();
    run.write("a.txt", log(20));
    let optimization = |rest: &str| format!("name = \"pad_mm\"\nfallback = [\"orig\"]\n{rest}");
    let arguments = ["a.txt", "--optimization", "o.toml"];
    // A feature that the file declares and the log lacks may be in another log; "mat1_dtyp" is nowhere.
    run.write(
        "o.toml",
        optimization(
            "[[feature]]\nname = \"batch\"\nkind = \"numerical\"\n\
             [[derived]]\nname = \"b\"\nexpression = \"batch * m\"\n\
             [[derived]]\nname = \"x\"\nexpression = 'if mat1_dtyp == \"a\" then 1 else 0'\n",
        ),
    );
    let parts = ["derived feature \"x\"", "unknown feature \"mat1_dtyp\"", "; did you mean \"mat1_dtype\"?"];
    run.refuses(&arguments, exit::BAD_INPUT, &parts);
    run.write("o.toml", optimization("[training]\ndimensions = [\"m\", \"mat1_dtpe\"]\n"));
    run.refuses(
        &arguments,
        exit::BAD_INPUT,
        &["dimensions", "\"mat1_dtpe\"", "; did you mean \"mat1_dtype\"?"],
    );
    run.write("o.toml", optimization("[training]\nalways_included = [\"orgi\"]\n"));
    let ranking = [&arguments[..], &["--ranking", "2"]].concat();
    run.refuses(&ranking, exit::USAGE, &["always_included", "\"orgi\"", "; did you mean \"orig\"?"]);
    let fallback = [&arguments[..1], &["--fallback", "padd"]].concat();
    run.refuses(&fallback, exit::USAGE, &["--fallback", "\"padd\"", "; did you mean \"pad\"?"]);
}

#[test]
fn optimization_of_another_name() {
    let run = Run::new();
    run.write("a.txt", log(20)).write("o.toml", "name = \"padmm\"\nfallback = [\"orig\"]\n");
    run.refuses(
        &["a.txt", "--optimization", "o.toml"],
        exit::BAD_INPUT,
        &["o.toml", "the log is of \"pad_mm\"", "describes \"padmm\""],
    );
}

#[test]
fn a_fallback_that_the_log_lacks_gives_a_warning() {
    let run = Run::new();
    run.write("a.txt", log(20)).write("o.toml", "name = \"pad_mm\"\nfallback = [\"orgi\"]\n");
    let (code, _, stderr) = run.train(&["a.txt", "--optimization", "o.toml"]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("the log has none of the optimization's fallbacks (orgi)"), "{stderr}");
}

#[test]
fn division_by_zero_on_some_rows_is_counted() {
    let run = Run::new();
    run.write("a.txt", log(60));
    run.write(
        "o.toml",
        "name = \"pad_mm\"\nfallback = [\"orig\"]\n[[derived]]\nname = \"r\"\nexpression = \"k / (n - 515)\"\n",
    );
    let (code, _, stderr) = run.train(&["a.txt", "--optimization", "o.toml"]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("12 inputs are not learned from") && stderr.contains("\"r\""), "{stderr}");
}

#[test]
fn evaluate_refuses_what_does_not_fit() {
    let run = Run::new();
    run.write("a.txt", log(40)).write("b.txt", log(40).replace("\"pad_mm\"", "\"mm\"")).write("m.json", "{}");
    let (code, _, stderr) = run.run(&["evaluate", "m.json", "a.txt"]);
    assert_eq!(code, i32::from(exit::BAD_INPUT), "{stderr}");
    assert!(stderr.contains("m.json: not a valid model"), "{stderr}");
    assert_eq!(run.train(&["a.txt"]).0, 0);
    let (code, _, stderr) = run.run(&["evaluate", "model.json", "b.txt"]);
    assert_eq!(code, i32::from(exit::BAD_INPUT), "{stderr}");
    assert!(stderr.contains("the model decides pad_mm, the log is of mm"), "{stderr}");
}

#[test]
fn evaluate_takes_unknown_choices_features_and_categories() {
    let run = Run::new();
    run.write("a.txt", log(40));
    assert_eq!(run.train(&["a.txt"]).0, 0);
    let other = log(40).replace(",pad,", ",other,").replace("torch.float32", "torch.int8");
    run.write("b.txt", other);
    let (code, stdout, stderr) = run.run(&["evaluate", "model.json", "b.txt", "--decisions", "d.tsv"]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("the model does not know these choices and never takes them: other"), "{stderr}");
    assert!(stdout.starts_with("T: 1.000 times as fast as orig on the log's 40 inputs"), "{stdout}");
    let decisions = std::fs::read_to_string(run.path("d.tsv")).unwrap();
    assert_eq!(decisions.lines().count(), 40);
    assert!(
        decisions.lines().all(|l| l.split('\t').nth(1).is_some_and(|d| d.is_empty() || d == "orig")),
        "{decisions}"
    );
}

#[test]
fn decisions_are_the_log_s_own_text() {
    let run = Run::new();
    // The columns are in another order than the metadata's, and a number is written in another form.
    let text =
        log(40).replace("m,k,n,mat1_dtype,choice", "n,k,m,mat1_dtype,choice").replace("\n512,", "\n512.0,");
    run.write("a.txt", &text);
    assert_eq!(run.train(&["a.txt"]).0, 0);
    let (code, _, stderr) = run.run(&["evaluate", "model.json", "a.txt", "--decisions", "d.tsv"]);
    assert_eq!(code, 0, "{stderr}");
    let decisions = std::fs::read_to_string(run.path("d.tsv")).unwrap();
    for line in decisions.lines() {
        let (features, choices) = line.split_once('\t').unwrap();
        assert!(text.contains(&format!("\n{features},")), "{features}");
        assert!(["orig;pad", "pad;orig", "orig", "pad", ""].contains(&choices), "{choices}");
    }
    assert!(decisions.contains("512.0,"), "{decisions}");
}
