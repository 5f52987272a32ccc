//! Tables become logs: the roles of columns, the times, the device, and adding to a log. `formats` has every
//! format of a table, `tuners` those of autotuners, `presets` of other tools, `meanings` what the numbers are, and `questions` what is asked, and `mistakes` the sentence about every bad
//! table.

mod formats;
mod meanings;
mod mistakes;
mod presets;
mod questions;
mod tuners;

use std::path::PathBuf;

use ah_import::{ImportParams, ImportReport, Unit, import};
use ah_types::log::{self, Log};
use insta::assert_snapshot;
use proptest::prelude::*;

const TABLE: &str = "\
M,N,dtype,BLOCK_M,num_warps,ms,note
64,128,float16,16,4,0.5,a
64,128,float16,32,4,0.25,b
64,128.0,float32,16,4,,c
64,128,float32,32,4,NaN,d
6.4e1,128,float16,16,4,0.625,e
";

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes this table and returns the parameters of an import of it, with the roles of [`TABLE`].
    fn table(&self, name: &str, bytes: impl AsRef<[u8]>) -> ImportParams {
        std::fs::write(self.path(name), bytes).unwrap();
        ImportParams {
            tables: vec![self.path(name)],
            name: "gemm".to_owned(),
            features: names("M,N,dtype"),
            choice: names("BLOCK_M,num_warps"),
            time: names("ms"),
            output: self.path("train.txt"),
            ..ImportParams::default()
        }
    }

    /// The text of the log that an import writes, without the folder's name.
    fn log(&self, params: &ImportParams) -> String {
        import(params).unwrap_or_else(|e| panic!("{e}"));
        std::fs::read_to_string(&params.output).unwrap()
    }

    /// The sentence of the error, without the folder's name. The import leaves nothing behind.
    fn error(&self, params: &ImportParams) -> String {
        let before = self.files();
        let error = import(params).expect_err("an error");
        assert_eq!(self.files(), before, "a failed import leaves no file");
        self.without_folder(&error.to_string())
    }

    fn without_folder(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.0.path().display()), "")
    }

    fn files(&self) -> Vec<std::ffi::OsString> {
        let mut files: Vec<_> = self.0.path().read_dir().unwrap().map(|e| e.unwrap().file_name()).collect();
        files.sort();
        files
    }
}

fn names(list: &str) -> Vec<String> {
    list.split(',').map(str::to_owned).collect()
}

fn sample(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/tables").join(name)
}

fn counts(report: &ImportReport) -> (u64, u64, usize, u64, u64, u64) {
    (report.rows, report.inputs, report.choices, report.measured, report.failed, report.not_measured)
}

#[test]
fn several_columns_make_one_structured_choice() {
    let folder = Folder::new();
    let params = folder.table("timings.csv", TABLE);
    assert_eq!(counts(&import(&params).unwrap()), (5, 2, 2, 3, 0, 2));
    assert_snapshot!(std::fs::read_to_string(&params.output).unwrap(), @r#"
    {"name":"gemm","device_capa":[0,0],"numerical_features":["M","N"],"categorical_features":["dtype"]}
    M,N,dtype,choice,feedback
    64,128,float16,BLOCK_M=16_num_warps=4,0.5
    64,128,float16,BLOCK_M=32_num_warps=4,0.25
    64,128,float16,BLOCK_M=16_num_warps=4,0.625
    "#);
    let log = log::read(&[&params.output]).unwrap();
    assert_eq!(log.choices, ["BLOCK_M=16_num_warps=4", "BLOCK_M=32_num_warps=4"]);
}

#[test]
fn a_missing_time_can_mean_that_the_choice_failed() {
    let folder = Folder::new();
    let mut params = folder.table("timings.csv", TABLE.replace(",0.25,", ",OOM,"));
    assert!(folder.error(&params).contains("found \"OOM\""));
    assert!(folder.error(&params).contains("; give \"--failed=OOM\" if the choice failed here, or "));
    params.failed = Some(names("OOM,timeout"));
    assert_eq!(counts(&import(&params).unwrap()), (5, 2, 2, 2, 3, 0));
    let text = std::fs::read_to_string(&params.output).unwrap();
    assert!(text.contains("64,128,float32,BLOCK_M=32_num_warps=4,inf\n"), "{text}");
}

#[test]
fn wide_tables_have_a_column_a_choice() {
    let folder = Folder::new();
    // The column without a name is the index that pandas writes.
    let text = ",length,std,radix,insertion\n0,10,1,3,0.5\n1,20,2,3,\n";
    let mut params = folder.table("sort.csv", text);
    (params.features, params.choice, params.time) = (names("length"), Vec::new(), Vec::new());
    params.wide = true;
    let expected = "length,choice,feedback\n10,std,1\n10,radix,3\n10,insertion,0.5\n20,std,2\n20,radix,3\n";
    assert!(folder.log(&params).ends_with(expected));
    // A column that is no choice may be one here, so the summary names the choices.
    std::fs::write(folder.path("sort.csv"), text.replace("std", "width")).unwrap();
    params.output = folder.path("width.txt");
    let summary = import(&params).unwrap().to_string();
    assert!(
        summary.contains("3 choices; ") && summary.contains("\nchoices: insertion, radix, width\n"),
        "{summary}"
    );
    std::fs::write(folder.path("sort.csv"), text).unwrap();
    params.choice = names("radix,std");
    params.output = folder.path("two.txt");
    assert!(folder.log(&params).ends_with("feedback\n10,radix,3\n10,std,1\n20,radix,3\n20,std,2\n"));
}

#[test]
fn one_column_of_names_is_the_choice_as_it_is() {
    let folder = Folder::new();
    let mut params = folder.table("t.csv", "n,algorithm,ms\n1,\"a, \"\"b\"\"\",2\n2,row_major,3\n");
    (params.features, params.choice) = (names("n"), names("algorithm"));
    folder.log(&params);
    let log: Log = log::read(&[&params.output]).unwrap();
    assert_eq!(log.choices, ["a, \"b\"", "row_major"]);
    // Numbers alone are not names.
    let mut params = folder.table("u.csv", "n,block,ms\n1,64,2\n2,32.0,3\n");
    (params.features, params.choice, params.output) = (names("n"), names("block"), folder.path("u.txt"));
    assert!(folder.log(&params).ends_with("1,block=64,2\n2,block=32,3\n"));
}

#[test]
fn units_rates_and_several_columns_of_times() {
    let folder = Folder::new();
    let mut params = folder.table("t.csv", "n,algorithm,t1,t2\n1,a,250,500\n");
    (params.features, params.choice, params.time) = (names("n"), names("algorithm"), names("t1,t2"));
    params.unit = Some(Unit::US);
    assert!(folder.log(&params).ends_with("1,a,0.25\n1,a,0.5\n"));
    (params.unit, params.higher_is_better, params.output) = (None, true, folder.path("rates.txt"));
    assert!(folder.log(&params).ends_with("1,a,4\n1,a,2\n"));
}

#[test]
fn the_name_of_the_column_says_the_unit() {
    let folder = Folder::new();
    for (name, ms) in
        [("seconds", "2000"), ("time_us", "0.002"), ("latency (ms)", "2"), ("real", "2"), ("rows", "2")]
    {
        let mut params = folder.table("t.csv", format!("n,algorithm,{name}\n1,a,2\n"));
        (params.features, params.choice, params.time) = (names("n"), names("algorithm"), names(name));
        params.output = folder.path(&format!("{name}.txt"));
        assert!(folder.log(&params).ends_with(&format!("1,a,{ms}\n")), "{name}");
        (params.unit, params.output) = (Some(Unit::NS), folder.path(&format!("{name} ns.txt")));
        let report = import(&params).unwrap();
        assert!(report.to_string().contains("1 times, in nanoseconds, 0 failed"), "{report}");
    }
}

#[test]
fn a_table_of_100_000_choices_is_read() {
    let folder = Folder::new();
    let choices: Vec<String> = (0..100_000).map(|i| format!("c{i}")).collect();
    let times = vec!["1"; choices.len()].join(",");
    let mut params = folder.table("wide.csv", format!("n,{}\n1,{times}\n2,{times}\n", choices.join(",")));
    (params.features, params.choice, params.time, params.wide) = (names("n"), Vec::new(), Vec::new(), true);
    assert_eq!(counts(&import(&params).unwrap()), (2, 2, 100_000, 200_000, 0, 0));
}

#[test]
fn features_can_be_set_and_numbers_can_be_names() {
    let folder = Folder::new();
    let mut params = folder.table("t.csv", "version,algorithm,ms\n1.10,a,1\n1.1,b,2\n");
    (params.features, params.choice) = (names("version"), names("algorithm"));
    (params.set, params.categorical) = (vec!["threads=2".to_owned()], names("version"));
    let text = folder.log(&params);
    assert!(
        text.contains(r#""numerical_features":["threads"],"categorical_features":["version"]"#),
        "{text}"
    );
    assert!(text.ends_with("version,threads,choice,feedback\n1.10,2,a,1\n1.1,2,b,2\n"), "{text}");
}

#[test]
fn logs_are_added_to_only_on_request() {
    let folder = Folder::new();
    let mut params = folder.table("timings.csv", TABLE);
    let first = folder.log(&params);
    assert_snapshot!(folder.error(&params), @r#"output: expected a new file; write to another one, or add to this one with --append, found train.txt, which exists"#);
    params.append = true;
    // Another order of the features; the log keeps its own.
    params.features = names("dtype,M,N");
    let both = folder.log(&params);
    assert_eq!(both, format!("{first}{}", first.split_once("feedback\n").unwrap().1));
    params.features = names("M,N");
    assert_snapshot!(folder.error(&params), @r#"train.txt: the metadata differs from this run's: categorical_features (log: ["dtype"], other: []); write to another file (-o), or use the settings that the log began with"#);
    assert_eq!(std::fs::read_to_string(&params.output).unwrap(), both);
}

#[test]
fn the_device_is_that_of_a_flag() {
    let folder = Folder::new();
    let mut params = folder.table("timings.csv", TABLE);
    assert!(import(&params).unwrap().warnings[0].starts_with("the log names no device"));
    (params.device_capa, params.shared_memory, params.output) =
        (Some((9, 0)), Some(232_448), folder.path("b.txt"));
    assert_eq!(import(&params).unwrap().warnings, Vec::<String>::new());
    let log = log::read(&[&params.output]).unwrap();
    assert_eq!((log.metadata.device_capa, log.metadata.shared_memory), ((9, 0), Some(232_448)));

    let cpu = r#"{"kind":"cpu","model":"EPYC","cores":2,"caches":[],"instruction_sets":["avx2"]}"#;
    let head = format!(
        r#"{{"name":"other","shared_memory":0,"device_capa":[0,0],"numerical_features":["n"],"categorical_features":[],"autoheuristic_rs":{{"format":1,"device":{cpu},"seed":3,"tool":"ah-collect 0.1.0"}}}}"#
    );
    std::fs::write(folder.path("there.txt"), head + "\nn,choice,feedback\n1,a,2\n").unwrap();
    let device = Some(folder.path("there.txt"));
    let params = ImportParams {
        device,
        device_capa: None,
        shared_memory: None,
        output: folder.path("c.txt"),
        ..params
    };
    assert_eq!(import(&params).unwrap().warnings, Vec::<String>::new());
    let log = log::read(&[&params.output]).unwrap();
    assert_eq!(log.metadata.device().unwrap().name(), "EPYC");
    let collection = log.metadata.collection.unwrap();
    assert_eq!((collection.timing, collection.seed), (None, 0));
    let no_log =
        ImportParams { device: Some(folder.path("timings.csv")), output: folder.path("d.txt"), ..params };
    assert_snapshot!(folder.error(&no_log), @r#"timings.csv:1:1: expected a JSON object with name, device_capa, numerical_features and categorical_features, found "M,N,dtype,BLOCK_M,num_warps,ms,note" (expected value); is this a log of AutoHeuristic? `ah-train import` makes one of a table"#);
}

proptest! {
    /// Values written by a CSV library are read back from the log unchanged.
    #[test]
    fn values_survive(rows in prop::collection::vec((any::<i32>(), -1e300..1e300_f64, "[a-z ,\"_=']{0,8}z", 1e-9..1e9_f64), 1..20)) {
        let folder = Folder::new();
        let mut csv = csv::Writer::from_writer(Vec::new());
        csv.write_record(["i", "x", "name", "choice", "ms"]).unwrap();
        for (i, x, name, ms) in &rows {
            csv.write_record([&i.to_string(), &x.to_string(), name, "c", &format!("{ms:e}")]).unwrap();
        }
        let mut params = folder.table("t.csv", csv.into_inner().unwrap());
        (params.features, params.choice) = (names("i,x,name"), names("choice"));
        import(&params).unwrap();
        let log = log::read(&[&params.output]).unwrap();
        prop_assert_eq!(log.samples.len(), rows.len());
        for (sample, (i, x, name, ms)) in log.samples.iter().zip(&rows) {
            let input = log.context(sample.input as usize);
            prop_assert_eq!(input.number("i"), Some(f64::from(*i)));
            prop_assert_eq!(input.number("x"), Some(*x));
            prop_assert_eq!(input.category("name"), Some(name.trim()));
            prop_assert_eq!(sample.feedback, *ms);
        }
    }
}
