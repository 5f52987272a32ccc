//! Tables become logs: every format and flag, and every bad table gives one clear sentence.

mod common;

use std::path::PathBuf;

use ah_train::import::{Format, ImportParams, ImportReport, Unit, import};
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

    /// Returns the text of the log that an import writes, without the folder's name.
    fn log(&self, params: &ImportParams) -> String {
        import(params).unwrap_or_else(|e| panic!("{e}"));
        std::fs::read_to_string(&params.output).unwrap()
    }

    /// Returns the sentence of the error, without the folder's name. The import leaves nothing behind.
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
    params.failed = Some(names("OOM,timeout"));
    assert_eq!(counts(&import(&params).unwrap()), (5, 2, 2, 2, 3, 0));
    let text = std::fs::read_to_string(&params.output).unwrap();
    assert!(text.contains("64,128,float32,BLOCK_M=32_num_warps=4,inf\n"), "{text}");
}

#[test]
fn formats_with_the_same_rows_give_the_same_log() {
    let folder = Folder::new();
    let expected = folder.log(&folder.table("timings.csv", TABLE));
    let objects: Vec<String> = TABLE
        .lines()
        .skip(1)
        .map(|line| {
            let f: Vec<&str> = line.split(',').collect();
            let ms = if f[5].parse::<f64>().is_ok_and(|ms| !ms.is_nan()) { f[5] } else { "null" };
            format!(
                r#"{{"M":{},"N":{},"dtype":"{}","BLOCK_M":{},"num_warps":{},"ms":{ms}}}"#,
                f[0], f[1], f[2], f[3], f[4]
            )
        })
        .collect();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, TABLE.as_bytes()).unwrap();
    for (name, bytes) in [
        ("tabs.tsv", TABLE.replace(',', "\t").into_bytes()),
        ("semicolons.csv", TABLE.replace(',', ";").into_bytes()),
        ("windows.csv", format!("\u{feff}{}", TABLE.replace('\n', "\r\n")).into_bytes()),
        ("packed.csv.gz", gzip.finish().unwrap()),
        ("rows.jsonl", objects.join("\n\n").into_bytes()),
        ("rows.json", format!("[{}]", objects.join(",")).into_bytes()),
    ] {
        let mut params = folder.table(name, bytes);
        params.output = folder.path(&format!("{name}.txt"));
        assert_eq!(folder.log(&params), expected, "{name}");
    }
}

/// `timings.py` wrote both files with pandas.
#[test]
fn tables_that_pandas_wrote() {
    let folder = Folder::new();
    let mut params = folder.table("unused.csv", "");
    (params.features, params.choice) = (names("M,alpha,transposed,dtype"), names("BLOCK_M,stages"));
    params.tables = vec![sample("timings.csv")];
    let expected = folder.log(&params);
    assert_snapshot!(expected, @r#"
    {"name":"gemm","device_capa":[0,0],"numerical_features":["M","alpha"],"categorical_features":["transposed","dtype"]}
    M,alpha,transposed,dtype,choice,feedback
    64,0.5,True,float16,BLOCK_M=16_stages=2,0.5
    64,0.5,True,float16,BLOCK_M=16_stages=2,0.625
    64,0.5,True,float16,BLOCK_M=32,0.1
    128,1,False,float32,BLOCK_M=32,inf
    9007199254740992,0.0000001,False,"a, b",BLOCK_M=16_stages=2,0.001
    "#);
    (params.tables, params.output) = (vec![sample("timings.parquet")], folder.path("parquet.txt"));
    if cfg!(feature = "parquet") {
        assert_eq!(folder.log(&params), expected);
    } else {
        assert!(folder.error(&params).ends_with(
            "timings.parquet: expected a build of ah-train with the feature parquet, found one without; build with \
             `--features parquet`, or write the table as CSV"
        ));
        eprintln!("skipped: timings.parquet; it needs the feature parquet");
    }
}

#[cfg(feature = "parquet")]
#[test]
fn a_broken_parquet_file_is_one_sentence() {
    let folder = Folder::new();
    let whole = std::fs::read(sample("timings.parquet")).unwrap();
    for length in [0, 3, whole.len() / 2, whole.len() - 1] {
        let error = folder.error(&folder.table("broken.parquet", &whole[..length]));
        assert!(error.starts_with("broken.parquet: expected a Parquet file, found "), "{length}: {error}");
    }
    // A spoilt byte gives an error or another table, never a panic. All 4909 bytes take 8 s.
    for at in (0..whole.len()).step_by(7) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xff;
        let mut params = folder.table("broken.parquet", bytes);
        (params.features, params.choice) = (names("M,dtype"), names("BLOCK_M,stages"));
        let _ = import(&params);
    }
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
    params.unit = Some(Unit::Us);
    assert!(folder.log(&params).ends_with("1,a,0.25\n1,a,0.5\n"));
    (params.unit, params.higher_is_better, params.output) = (None, true, folder.path("rates.txt"));
    assert!(folder.log(&params).ends_with("1,a,4\n1,a,2\n"));
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
fn kernel_tuner_caches_need_a_name_alone() {
    let folder = Folder::new();
    let mut params = folder.table("unused.csv", "");
    (params.features, params.choice, params.time) = (Vec::new(), Vec::new(), Vec::new());
    params.tables = vec![sample("kernel_tuner_4096.json"), sample("kernel_tuner_8192.json")];
    assert_eq!(counts(&import(&params).unwrap()), (6, 2, 4, 10, 2, 0));
    assert_snapshot!(std::fs::read_to_string(&params.output).unwrap(), @r#"
    {"name":"gemm","device_capa":[0,0],"numerical_features":["problem_size_x","problem_size_y"],"categorical_features":[]}
    problem_size_x,problem_size_y,choice,feedback
    4096,1,block_size_x=64_vector=1,0.03
    4096,1,block_size_x=64_vector=1,0.015
    4096,1,block_size_x=64_vector=1,0.015
    4096,1,block_size_x=64_vector=2,0.01
    4096,1,block_size_x=64_vector=2,0.01
    4096,1,block_size_x=64_vector=2,0.01
    4096,1,block_size_x=128_vector=1,inf
    4096,1,block_size_x=128_vector=2,0.025
    8192,1,block_size_x=64_vector=1,0.04
    8192,1,block_size_x=64_vector=1,0.04
    8192,1,block_size_x=64_vector=1,0.04
    8192,1,block_size_x=64_vector=2,inf
    "#);
    // A tunable parameter may be a property of the input.
    (params.features, params.output) = (names("problem_size_x,vector"), folder.path("other.txt"));
    let text = folder.log(&params);
    assert!(text.contains("\n4096,2,block_size_x=128,0.025\n"), "{text}");
}

#[test]
fn a_cache_that_contradicts_itself_is_refused() {
    let folder = Folder::new();
    let text = std::fs::read_to_string(sample("kernel_tuner_4096.json")).unwrap();
    let params = folder.table(
        "cache.json",
        text.replace(r#"{"block_size_x": 64, "vector": 2"#, r#"{"block_size_x": 32, "vector": 2"#),
    );
    assert_snapshot!(folder.error(&params), @r#"cache.json: expected a cache of Kernel Tuner with the values 64,2 of block_size_x, vector in the entry "64,2", found 32,2; mend the file, or name its format with --format"#);
}

#[test]
fn t4_results_take_their_problem_size_from_a_flag() {
    let folder = Folder::new();
    let mut params = folder.table("unused.csv", "");
    params.tables = vec![sample("t4.json")];
    (params.features, params.choice, params.time) = (Vec::new(), Vec::new(), Vec::new());
    assert_snapshot!(folder.error(&params).replace(env!("CARGO_MANIFEST_DIR"), ""), @r#"--features: expected the columns that are known when choosing (or --set), found none; the columns of /tests/tables/t4.json are time, block_size_x, vector, runtimes"#);
    params.set = vec!["n=4096".to_owned()];
    let text = folder.log(&params);
    let expected = "4096,block_size_x=64_vector=1,0.03\n4096,block_size_x=64_vector=1,0.015\n4096,block_size_x=128_vector=1,0.0125\n4096,block_size_x=256_vector=1,inf\n";
    assert!(text.ends_with(expected), "{text}");
}

#[test]
fn google_benchmark_and_hyperfine() {
    let folder = Folder::new();
    let mut params = folder.table("unused.csv", "");
    params.tables = vec![sample("google_benchmark.json")];
    (params.features, params.choice, params.time) = (names("n"), names("arg0"), Vec::new());
    let text = folder.log(&params);
    assert!(
        text.ends_with("\n1024,std,0.0025\n1024,std,0.0026\n1024,radix,0.0015\n1024,gpu,inf\n"),
        "{text}"
    );
    params.tables = vec![sample("hyperfine.json")];
    (params.features, params.choice) = (names("file"), Vec::new());
    params.output = folder.path("hyperfine.txt");
    let text = folder.log(&params);
    let expected = "\na.txt,threads=1,500\na.txt,threads=1,500\na.txt,threads=2,250\na.txt,threads=2,250\na.txt,threads=4,inf\n";
    assert!(text.ends_with(expected), "{text}");
}

#[test]
fn what_is_no_time_names_file_row_and_column() {
    let folder = Folder::new();
    for bad in ["0", "-1", "fast", "1.5ms", "-inf"] {
        let mut params = folder.table("timings.csv", TABLE.replace(",0.25,", &format!(",{bad},")));
        let error = folder.error(&params);
        let expected = format!(
            "timings.csv:3: column \"ms\": expected a time in milliseconds above 0, inf where the choice failed, or nothing where it was not measured, found {bad:?}; mend the row, or skip such rows with --skip-bad-rows"
        );
        assert_eq!(error, expected);
        params.skip_bad_rows = true;
        let report = import(&params).unwrap();
        assert_eq!((report.rows, report.bad_rows), (4, 1));
        assert!(report.warnings[0].starts_with("bad rows skipped: 1, for example "), "{:?}", report.warnings);
        std::fs::remove_file(&params.output).unwrap();
    }
    let mut params = folder.table(
        "rows.jsonl",
        "{\"M\":1,\"N\":1,\"dtype\":\"a\",\"BLOCK_M\":1,\"num_warps\":1,\"ms\":[1,-2]}\n",
    );
    assert!(folder.error(&params).starts_with("rows.jsonl:1: column \"ms\": "));
    params = folder
        .table("rows.json", "[{\"M\":1,\"N\":1,\"dtype\":\"a\",\"BLOCK_M\":1,\"num_warps\":1,\"ms\":true}]");
    assert!(folder.error(&params).starts_with("rows.json, row 1: column \"ms\": "));
}

#[test]
fn misspelt_columns_are_answered_with_the_similar_one() {
    let folder = Folder::new();
    let mut params = folder.table("timings.csv", TABLE);
    params.choice = names("BLOCKM,num_warps");
    assert_snapshot!(folder.error(&params), @r#"timings.csv: --choice: there is no column "BLOCKM"; the columns are M, N, dtype, BLOCK_M, num_warps, ms, note; did you mean "BLOCK_M"?"#);
    params.choice.clear();
    assert_snapshot!(folder.error(&params), @r#"--choice: expected the columns that make up the choice, or --wide where each choice has a column of times, found none; the columns of timings.csv are M, N, dtype, BLOCK_M, num_warps, ms, note"#);
    (params.choice, params.time) = (names("BLOCK_M"), names("milliseconds"));
    assert_snapshot!(folder.error(&params), @r#"timings.csv: --time: there is no column "milliseconds"; the columns are M, N, dtype, BLOCK_M, num_warps, ms, note; did you mean "ms"?"#);
    params.time.clear();
    assert_snapshot!(folder.error(&params), @r#"--time: expected the column of the times, found none; the columns of timings.csv are M, N, dtype, BLOCK_M, num_warps, ms, note"#);
    (params.time, params.features) = (names("ms"), Vec::new());
    assert_snapshot!(folder.error(&params), @r#"--features: expected the columns that are known when choosing (or --set), found none; the columns of timings.csv are M, N, dtype, BLOCK_M, num_warps, ms, note"#);
    params.features = names("M,BLOCK_M");
    assert_snapshot!(folder.error(&params), @r#"--features: expected columns that are not the choice or its time, found "BLOCK_M""#);
}

#[test]
fn rows_that_contradict_each_other_are_pointed_out() {
    let folder = Folder::new();
    let table = "M,dtype,choice,ms\n1,a,x,1\n1,b,x,3\n1,a,y,2\n1,a,y,2.5\n";
    let mut params = folder.table("timings.csv", table);
    (params.features, params.choice) = (names("M"), names("choice"));
    let report = import(&params).unwrap();
    assert_snapshot!(folder.without_folder(&report.warnings[0]), @r#"rows contradict each other (pairs of an input and a choice: 1). The first: 1 ms in timings.csv:2, 3 ms in timings.csv:3. Is a feature missing from --features? Columns without a role: dtype."#);
    (params.features, params.output) = (names("M,dtype"), folder.path("right.txt"));
    assert_eq!(import(&params).unwrap().warnings.len(), 1, "only that the device is unknown");
}

#[test]
fn a_feature_is_a_number_in_all_rows_or_in_none() {
    let folder = Folder::new();
    let mut params = folder.table("timings.csv", TABLE.replace("64,128.0,", "64,I28,"));
    assert_snapshot!(folder.error(&params), @r#"timings.csv:4: column "N": expected a number, as in 4 other rows, found "I28"; mend it, or give --categorical with this column if its numbers are names"#);
    params.categorical = names("N");
    assert!(folder.log(&params).contains("64,128,float16,"));
    let params = ImportParams {
        output: folder.path("b.txt"),
        ..folder.table("b.csv", TABLE.replace(",float32,", ",,"))
    };
    assert_snapshot!(folder.error(&params), @r#"b.csv:4: column "dtype": expected a value, as it is a feature, found nothing; mend the row, or skip such rows with --skip-bad-rows"#);
}

#[test]
fn values_that_would_break_a_structured_name_are_refused() {
    let folder = Folder::new();
    let params = folder.table("timings.csv", TABLE.replace(",32,4,", ",row_major,4,"));
    assert_snapshot!(folder.error(&params), @r#"timings.csv:3: column "BLOCK_M": expected keys without = and values without _ and =, as the choice is named KEY=VALUE_KEY=VALUE, found "BLOCK_M=row_major_num_warps=4"; rename it in the table, or give one column with whole names"#);
}

#[test]
fn files_that_are_no_tables() {
    let folder = Folder::new();
    let mut messages = Vec::new();
    for (name, bytes) in [
        ("empty.csv", ""),
        ("header.csv", "M,N,dtype,BLOCK_M,num_warps,ms\n"),
        ("twice.csv", "M,M,ms\n1,2,3\n"),
        ("ragged.csv", "M,N,dtype,BLOCK_M,num_warps,ms\n1,2\n"),
        ("timings.xlsx", "PK"),
        ("broken.json", "{\"a\":"),
        ("other.json", "{\"a\":1,\"b\":2}"),
        ("numbers.json", "[1,2]"),
        (
            "broken.jsonl",
            "{\"M\":1,\"N\":1,\"dtype\":\"a\",\"BLOCK_M\":1,\"num_warps\":1,\"ms\":1}\n{\"M\":\n",
        ),
        ("no_times.csv", "M,N,dtype,BLOCK_M,num_warps,ms\n1,2,a,3,4,\n"),
    ] {
        messages.push(folder.error(&folder.table(name, bytes)));
    }
    let bytes = b"M,N,dtype,BLOCK_M,num_warps,ms\n1,2,\xff,3,4,5\n";
    messages.push(folder.error(&folder.table("latin1.csv", bytes)));
    messages.push(
        folder.error(&ImportParams { tables: vec![folder.path("absent.csv")], ..folder.table("a.csv", "") }),
    );
    messages.push(folder.error(&ImportParams {
        tables: vec![folder.0.path().join(".")],
        format: Some(Format::Csv),
        ..folder.table("a.csv", "")
    }));
    assert_snapshot!(messages.join("\n").replace(&format!("{}", folder.0.path().display()), "FOLDER"), @r#"
    empty.csv: expected a line of column names, found nothing; mend the file, or name its format with --format
    header.csv: the table has no rows to import; measure some inputs first
    twice.csv: expected distinct columns, found "M" twice; rename one
    ragged.csv:2: expected 6 fields, found 2; mend the row, or skip such rows with --skip-bad-rows
    timings.xlsx: expected a name that ends in .csv, .tsv, .jsonl, .json or .parquet, found "timings.xlsx"; mend the file, or name its format with --format
    broken.json: expected a JSON document, found EOF while parsing a value at line 1 column 5; mend the file, or name its format with --format
    other.json: expected a list of objects, or one of these: a cache of Kernel Tuner, T4 results, results of Google Benchmark, results of hyperfine, found an object with the keys a, b; mend the file, or name its format with --format
    numbers.json: expected a list of JSON objects, found "1"; mend the file, or name its format with --format
    broken.jsonl:2: expected a JSON object, found "{\"M\":" (EOF while parsing a value at line 1 column 5); mend the row, or skip such rows with --skip-bad-rows
    no_times.csv: no row holds a time (rows: 1); name the column of the times with --time
    latin1.csv:2: expected text in UTF-8, found another byte in field 3; mend the row, or skip such rows with --skip-bad-rows
    absent.csv: cannot read: No such file or directory (os error 2)
    .: cannot read: it is not a regular file; a table is read twice, so save it to one
    "#);
}

#[test]
fn logs_are_added_to_only_on_request() {
    let folder = Folder::new();
    let mut params = folder.table("timings.csv", TABLE);
    let first = folder.log(&params);
    assert_snapshot!(folder.error(&params), @r#"--output: expected a new file; write to another one, or add to this one with --append, found train.txt, which exists"#);
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
    assert_snapshot!(folder.error(&no_log), @r#"timings.csv: expected the first line of a log, found expected value at line 1 column 1; give --device a log that was measured on the same device (not packed)"#);
}

#[test]
fn flags_that_do_not_fit_together() {
    let folder = Folder::new();
    let params = folder.table("timings.csv", TABLE);
    let errors = [
        ImportParams { tables: Vec::new(), ..params.clone() },
        ImportParams { name: String::new(), ..params.clone() },
        ImportParams { set: names("M=3"), ..params.clone() },
        ImportParams { set: names("n"), ..params.clone() },
        ImportParams { features: names("M,M"), ..params.clone() },
        ImportParams { time: names("BLOCK_M"), ..params.clone() },
        ImportParams { features: Vec::new(), set: names("feedback=3"), ..params.clone() },
    ]
    .map(|params| folder.error(&params));
    assert_snapshot!(errors.join("\n"), @r#"
    TABLE: expected at least one table, found none
    --name: expected a name, found ""
    --set: expected a feature besides M, N, dtype, once, found "M"
    --set: expected FEATURE=VALUE, found "n"
    --features: expected each column once, found "M" twice
    --time: expected a column that is not the choice, found "BLOCK_M"
    --features: expected other names than those of the log's own columns; rename it in the table, found "feedback"
    "#);
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
