//! Every folder of `../shared/cases`: a table or a log that was once misread, with the command that somebody would give.
//! `make cases` prints which of them are kept.
//!
//! A check runs the command of the folder, then looks at what the tools said and at what the model decides. Where the right
//! answer is a question, it gives the answer and looks at the decision then.

use std::path::Path;
use std::process::Command;

use ah_model::{Context, Model, Value};

use crate::common::skipped;

type Check = fn(&Case) -> Result<(), String>;

/// The check of each folder.
const CHECKS: [(&str, Check); 17] = [
    ("01-rate-unit-column", rate_unit_column),
    ("02-mixed-rate-units", mixed_rate_units),
    ("04-rate-column-name", rate_column_name),
    ("05-picoseconds", picoseconds),
    ("06-wrong-result-wins", wrong_result_wins),
    ("07-one-near-zero-time", one_near_zero_time),
    ("08-winners-only", winners_only),
    ("10-thousands-points", thousands_points),
    ("11-duplicate-unused-columns", duplicate_unused_columns),
    ("12-nested-result-list", nested_result_list),
    ("13-sentinel", sentinel),
    ("14-repeated-header", repeated_header),
    ("15-exact-2pow55", exact_2pow55),
    ("16-none-category", none_category),
    ("17-statistic-rows", statistic_rows),
    ("18-grouped-inputs", grouped_inputs),
    ("19-factor-of-a-grid", factor_of_a_grid),
];

#[test]
fn each_folder_is_kept_or_known_to_be_broken() {
    // A worktree lies one folder deeper.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let places = ["../shared/cases", "../../shared/cases"].map(|place| root.join(place));
    let Some(folder) = places.into_iter().find(|place| place.is_dir()) else {
        return skipped("../shared/cases is missing, so the tables that were once misread are not tried");
    };
    let mut wrong = Vec::new();
    for entry in folder.read_dir().unwrap().map(Result::unwrap).filter(|entry| entry.path().is_dir()) {
        let name = entry.file_name().into_string().unwrap();
        if !CHECKS.iter().any(|(known, _)| *known == name) {
            wrong.push(format!("{name} has no check"));
        }
    }
    for (name, check) in CHECKS.iter().filter(|(name, _)| folder.join(name).is_dir()) {
        match check(&Case::new(&folder.join(name))) {
            Ok(()) => println!("{name}: kept"),
            Err(why) => wrong.push(format!("{name}: {why}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A copy of a folder, and its command.
struct Case {
    folder: tempfile::TempDir,
    command: String,
}

/// What a command line printed.
struct Output {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Case {
    fn new(from: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for entry in from.read_dir().unwrap().map(Result::unwrap) {
            std::fs::write(folder.path().join(entry.file_name()), std::fs::read(entry.path()).unwrap())
                .unwrap();
        }
        let command = std::fs::read_to_string(from.join("cmd")).unwrap().trim().to_owned();
        Self { folder, command }
    }

    /// Runs the folder's command after the removal of what an earlier one wrote. `from` is replaced by `to`.
    fn run(&self, from: &str, to: &str) -> Output {
        assert!(self.command.contains(from), "{from}");
        for written in ["log.txt", "model.json"] {
            let _ = std::fs::remove_file(self.folder.path().join(written));
        }
        self.shell(&self.command.replace(from, to))
    }

    fn shell(&self, command: &str) -> Output {
        let tools = assert_cmd::cargo::cargo_bin("ah-train");
        let path = std::env::join_paths(
            std::iter::once(tools.parent().unwrap().to_owned())
                .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
        );
        let output = Command::new("bash")
            .args(["-c", command])
            .current_dir(self.folder.path())
            .env("PATH", path.unwrap())
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Output {
            code: output.status.code().unwrap_or(-1),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// The decisions of the model for these values of a feature.
    fn decisions(&self, feature: &str, values: &[f64]) -> Result<Vec<String>, String> {
        let model = Model::read(&self.folder.path().join("model.json")).map_err(|e| e.to_string())?;
        let decide = |value: f64| {
            let context: Context = [(feature, Value::from(value))].into_iter().collect();
            let picked = model.choose(&model.values(&context));
            picked.map_or_else(|unsure| format!("{unsure:?}"), |choice| model.choice_name(choice).to_owned())
        };
        Ok(values.iter().map(|&value| decide(value)).collect())
    }

    /// Checks that the model takes `below` for the first values of a feature, and `above` for the others.
    fn crosses(&self, feature: &str, below: (&str, &[f64]), above: (&str, &[f64])) -> Result<(), String> {
        for (choice, values) in [below, above] {
            let found = self.decisions(feature, values)?;
            if found.iter().any(|found| found != choice) {
                return Err(format!("{feature} = {values:?}: expected {choice}, found {}", found.join(", ")));
            }
        }
        Ok(())
    }
}

impl Output {
    /// Checks that the command was refused with a sentence that has one of these texts.
    fn refuses(&self, one_of: &[&str]) -> Result<(), String> {
        if self.code == 0 {
            return Err(format!("it was not refused: {}", self.stdout));
        }
        self.says(one_of)
    }

    /// Checks that a message has one of these texts.
    fn says(&self, one_of: &[&str]) -> Result<(), String> {
        match one_of.iter().any(|text| self.stderr.contains(text)) {
            true => Ok(()),
            false => Err(format!("no message has {}: {}", one_of.join(" or "), self.stderr)),
        }
    }

    /// Checks that the command succeeded and never printed one of these texts.
    fn succeeds_without(&self, texts: &[&str]) -> Result<(), String> {
        let printed = format!("{}{}", self.stdout, self.stderr);
        match texts.iter().find(|text| printed.contains(*text)) {
            _ if self.code != 0 => Err(format!("exit code {}: {}", self.code, self.stderr)),
            Some(text) => Err(format!("it prints {text:?}")),
            None => Ok(()),
        }
    }
}

const SMALL: &[f64] = &[20.0, 40.0, 60.0];
const LARGE: &[f64] = &[160.0, 300.0, 500.0];

fn plain_then_packed(case: &Case, feature: &str) -> Result<(), String> {
    case.crosses(feature, ("plain", SMALL), ("packed", LARGE))
}

/// The command may ask for `--higher-is-better`, or read the rates.
fn rate_unit_column(case: &Case) -> Result<(), String> {
    let output = case.run("", "");
    if output.code != 0 {
        output.refuses(&["--higher-is-better"])?;
        case.run("--time score", "--time score --higher-is-better");
    }
    plain_then_packed(case, "n")
}

fn mixed_rate_units(case: &Case) -> Result<(), String> {
    case.run("", "");
    plain_then_packed(case, "n")
}

fn rate_column_name(case: &Case) -> Result<(), String> {
    let tables = [("a", "items_per_second"), ("b", "Bandwidth (GB/s)"), ("c", "TFLOPS"), ("d", "tok/s")];
    for (table, column) in tables {
        let _ = std::fs::remove_file(case.folder.path().join("log.txt"));
        let import = format!(
            "ah-train import {table}.csv --name d --features n --choice way --time '{column}' -o log.txt --heuristic-name D --target rust --out gen"
        );
        case.shell(&import).refuses(&["--higher-is-better"])?;
        case.shell(&format!("{import} --higher-is-better"));
        plain_then_packed(case, "n").map_err(|why| format!("{column}: {why}"))?;
    }
    Ok(())
}

fn picoseconds(case: &Case) -> Result<(), String> {
    let output = case.run("", "");
    if output.code != 0 {
        return output.refuses(&["--unit"]);
    }
    output.succeeds_without(&["Take D", "in milliseconds"])?;
    output.says(&["picoseconds"])
}

fn wrong_result_wins(case: &Case) -> Result<(), String> {
    let output = case.run("", "");
    output.says(&["is_correct"])?;
    output.says(&["--failed-where"])?;
    case.run("--time time_us", "--time time_us --failed-where is_correct=false");
    plain_then_packed(case, "n")
}

/// The corrupt row is refused or left out; the table without it decides.
fn one_near_zero_time(case: &Case) -> Result<(), String> {
    let output = case.run("", "");
    output.says(&["1e-12", "0.000000000001"])?;
    if output.stdout.contains("29") && output.stdout.contains("1050001") {
        return Err("the figures are nonsense".to_owned());
    }
    case.crosses("m", ("a", &[64.0, 500.0, 2000.0]), ("b", &[4000.0, 8000.0]))
}

fn winners_only(case: &Case) -> Result<(), String> {
    let output = case.run("", "");
    let printed = format!("{}{}", output.stdout, output.stderr);
    if let Some(claim) = ["Loses 0.00 %", "no heuristic pays"].iter().find(|claim| printed.contains(*claim)) {
        return Err(format!("it prints {claim:?}"));
    }
    match ["61 of 61", "nothing can be compared"].iter().all(|text| printed.contains(text)) {
        true => Ok(()),
        false => Err(format!("it does not say that nothing can be compared: {printed}")),
    }
}

/// Points group digits: such a table is refused, and the advice leads to the right decision.
fn thousands_points(case: &Case) -> Result<(), String> {
    let import = |table: &str, time: &str, more: &str| {
        let _ = std::fs::remove_file(case.folder.path().join("log.txt"));
        case.shell(&format!(
            "ah-train import {table} --name d --features n --choice way --time '{time}' -o log.txt --heuristic-name D --target rust --out gen{more}"
        ))
    };
    import("t.csv", "ns", "").refuses(&["tr -d ."])?;
    import("u.csv", "Zeit (ms)", "").refuses(&["tr -d ."])?;
    // The old advice made 1.400 of 1400.
    import("v.csv", "Zeit (ms)", "").refuses(&["1.000"])?;
    for (table, time, rows) in [
        ("t.csv", "ns", ["\n100,scan,0.0005\n", "\n2000,scan,0.01\n", "\n2000,index,0.0029\n"]),
        ("u.csv", "Zeit (ms)", ["\n100,scan,0.05\n", "\n2000,scan,1\n", "\n1900,index,0.28\n"]),
    ] {
        case.shell(&format!("tr -d . < {table} | tr , . > right.csv"));
        for (table, more) in [("right.csv", ""), (table, " --decimal comma")] {
            import(table, time, more).succeeds_without(&[])?;
            let log =
                std::fs::read_to_string(case.folder.path().join("log.txt")).map_err(|e| e.to_string())?;
            if let Some(row) = rows.iter().find(|row| !log.contains(*row)) {
                return Err(format!("{table}{more}: the log lacks {row:?}: {log}"));
            }
            // The two lengths below the crossover are too few to learn it by.
            let large = [300.0, 1000.0, 1900.0];
            case.crosses("n", ("index", &large), ("index", &large))
                .map_err(|why| format!("{table}{more}: {why}"))?;
        }
    }
    Ok(())
}

fn duplicate_unused_columns(case: &Case) -> Result<(), String> {
    case.run("", "").succeeds_without(&[])?;
    plain_then_packed(case, "Elements")
}

/// The choices k1 and k2; k3 and k4 failed.
fn nested_result_list(case: &Case) -> Result<(), String> {
    case.run("", "").refuses(&["result.0"])?;
    case.run("--time result --unit s", "--time result.0 --unit s --failed-where result.1!=0");
    case.crosses("n", ("k1", SMALL), ("k2", LARGE))
}

fn sentinel(case: &Case) -> Result<(), String> {
    let output = case.run("", "");
    output.says(&["--failed=1e+20"])?;
    if output.stdout.contains("100.00 % less") {
        return Err("the figures are nonsense".to_owned());
    }
    case.run("--time time_ms", "--time time_ms --failed=1e+20").succeeds_without(&["100.00 %", "e9"])
}

/// Two joined files are one table.
fn repeated_header(case: &Case) -> Result<(), String> {
    let output = case.run("", "");
    if output.stderr.contains("--failed=ms") {
        return Err("it advises --failed=ms".to_owned());
    }
    output.says(&["names"])
}

fn exact_2pow55(case: &Case) -> Result<(), String> {
    case.run("", "").succeeds_without(&[])?;
    let log = std::fs::read_to_string(case.folder.path().join("log.txt")).map_err(|e| e.to_string())?;
    match log.contains("\n36028797018963968,") {
        true => Ok(()),
        false => Err("2^55 is not in the log".to_owned()),
    }
}

fn none_category(case: &Case) -> Result<(), String> {
    let output = case.run("", "");
    match output.stdout.lines().last() {
        Some(decisions) if decisions.starts_with("b ") => Ok(()),
        _ => output.says(&["None is read as missing"]),
    }
}

/// The file is known as one of JMH, whose statistics are no choices. Under another name of a column it is not known.
fn statistic_rows(case: &Case) -> Result<(), String> {
    let output = case.run("", "");
    output.succeeds_without(&["p0.00"])?;
    output.says(&["read as jmh"])?;
    case.crosses("Param: n", ("x.B.plain", SMALL), ("x.B.packed", LARGE))?;
    let rename = "sed -i 's/\"Mode\"/\"Kind\"/' t.csv; ah-train";
    case.run("ah-train", rename).refuses(&["--where"])?;
    // The statistics of a row are further rows.
    case.run("--time Score", "--time Score --where Unit=us/op").says(&["--where 'Benchmark!=*:*'"])?;
    case.run("--time Score", "--time Score --where 'Benchmark!=*:*'").succeeds_without(&[])?;
    case.crosses("Param: n", ("x.B.plain", SMALL), ("x.B.packed", LARGE))
}

/// 24 files promise nothing about the next file.
fn grouped_inputs(case: &Case) -> Result<(), String> {
    case.run("", "").succeeds_without(&["Loses 0.00 %", "Promise: at most"])
}

fn factor_of_a_grid(case: &Case) -> Result<(), String> {
    case.run("", "").succeeds_without(&["Always take std", "count as 8"])
}
