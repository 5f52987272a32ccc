//! Bad tables and flags: one clear sentence each.

use ah_import::{Format, ImportParams, import};
use insta::assert_snapshot;

use crate::{Folder, TABLE, names};

#[test]
fn what_is_no_time_names_file_row_and_column() {
    let folder = Folder::new();
    for bad in ["0", "-1", "fast", "1.5 MB", "-inf"] {
        let mut params = folder.table("timings.csv", TABLE.replace(",0.25,", &format!(",{bad},")));
        let error = folder.error(&params);
        let failed = match bad {
            "1.5 MB" => String::new(),
            "0" => "give \"--failed=0\" if the choice failed here (a time that was rounded to 0 is none: write half of the last digit), or ".to_owned(),
            bad => format!("give \"--failed={bad}\" if the choice failed here, or "),
        };
        let expected = format!(
            "timings.csv:3: column \"ms\": expected a time in milliseconds above 0, inf where the choice failed, or nothing where it was not measured, found {bad:?}; {failed}fix the row, or skip such rows with --skip-bad-rows"
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
    assert_snapshot!(folder.error(&params), @r#"choice: expected one of the columns of timings.csv, which are M, N, dtype, BLOCK_M, num_warps, ms, note, found "BLOCKM"; did you mean "BLOCK_M"?"#);
    params.choice.clear();
    assert_snapshot!(folder.error(&params), @r#"choice: expected the columns that make up the choice, or --wide where each choice has a column of times, found none among the columns of timings.csv, which are M, N, dtype, BLOCK_M, num_warps, ms, note"#);
    (params.choice, params.time) = (names("BLOCK_M"), names("milliseconds"));
    assert_snapshot!(folder.error(&params), @r#"time: expected one of the columns of timings.csv, which are M, N, dtype, BLOCK_M, num_warps, ms, note, found "milliseconds"; did you mean "ms"?"#);
    params.time.clear();
    assert_snapshot!(folder.error(&params), @r#"time: expected the column of the times, found none among the columns of timings.csv, which are M, N, dtype, BLOCK_M, num_warps, ms, note"#);
    (params.time, params.features) = (names("ms"), Vec::new());
    assert_snapshot!(folder.error(&params), @r#"features: expected the columns that are known when choosing (or --set, or --name-pattern, which makes columns of a name), found none among the columns of timings.csv, which are M, N, dtype, BLOCK_M, num_warps, ms, note"#);
    params.features = names("M,BLOCK_M");
    assert_snapshot!(folder.error(&params), @r#"choice: expected each column once: as a feature, in the choice or as its time, found "BLOCK_M" twice"#);
}

#[test]
fn rows_that_contradict_each_other_are_pointed_out() {
    let folder = Folder::new();
    let table = "M,dtype,choice,ms\n1,a,x,1\n1,b,x,3\n1,a,y,2\n1,a,y,2.5\n";
    let mut params = folder.table("timings.csv", table);
    (params.features, params.choice) = (names("M"), names("choice"));
    let report = import(&params).unwrap();
    assert_snapshot!(folder.without_folder(&report.warnings[0]), @r#"rows contradict each other (pairs of an input and a choice: 1). The first: timings.csv:3 takes 3.000 times as long as timings.csv:2. Is a feature missing from --features? Columns without a role: dtype."#);
    (params.features, params.output) = (names("M,dtype"), folder.path("right.txt"));
    assert_eq!(import(&params).unwrap().warnings.len(), 1, "only that the device is unknown");
}

#[test]
fn a_feature_is_a_number_in_all_rows_or_in_none() {
    let folder = Folder::new();
    let mut params = folder.table("timings.csv", TABLE.replace("64,128.0,", "64,I28,"));
    assert_snapshot!(folder.error(&params), @r#"timings.csv:4: column "N": expected a number, as in 4 other rows, found "I28"; fix it; or give --categorical with this column if these are names"#);
    params.categorical = names("N");
    assert!(folder.log(&params).contains("64,128,float16,"));
    let params = ImportParams {
        output: folder.path("b.txt"),
        ..folder.table("b.csv", TABLE.replace(",float32,", ",,"))
    };
    assert!(!folder.log(&params).contains("float32"), "a missing value is no mistake");
}

/// Windows ends lines with CRLF, and so does Python's csv module. Once each line was called the one before it.
#[test]
fn lines_that_end_with_crlf_are_counted() {
    let folder = Folder::new();
    for (table, expected) in [
        ("n,choice,ms\r\n1,a,1\r\n2,a,x\r\n", "t.csv:3: column \"ms\""),
        ("n,choice,ms\r\n1,a,1\r\n2,a\r\n", "t.csv:3: expected 3 fields"),
        ("n,choice,ms\r\nx,a,x\r\n", "t.csv:2: "),
        (
            "n,choice,ms\r\n1,a,1\r\n2,NA,1\r\n",
            "t.csv:3: column \"choice\": expected the name of a choice, found NA",
        ),
    ] {
        let mut params = folder.table("t.csv", table);
        (params.features, params.choice) = (names("n"), names("choice"));
        let error = folder.error(&params);
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn decimal_commas_are_explained() {
    let folder = Folder::new();
    let mut params = folder.table("german.csv", "n;x;choice;ms\n1;0,5;a;1,0\n2;1,5;a;2\n");
    (params.features, params.choice) = (names("n"), names("choice"));
    assert_snapshot!(folder.error(&params), @r#"german.csv:2: column "ms": expected a time in milliseconds above 0, inf where the choice failed, or nothing where it was not measured, found "1,0"; give --decimal comma where a comma begins the fraction and points group digits (`tr -d . < TABLE | tr , . > NEW.csv` does the same where no commas separate the cells), or --decimal point where a point begins it"#);
    params.skip_bad_rows = true;
    params.features = names("n,x");
    assert_snapshot!(folder.error(&params), @r#"german.csv:3: column "x": expected a number, found "1,5"; give --decimal comma where a comma begins the fraction and points group digits (`tr -d . < TABLE | tr , . > NEW.csv` does the same where no commas separate the cells), or --decimal point where a point begins it; or give --categorical with this column if these are names"#);
    params.categorical = names("x");
    assert!(folder.log(&params).contains("\n2,\"1,5\",a,2\n"));
}

#[test]
fn bad_rows_of_one_kind_are_counted_together() {
    let folder = Folder::new();
    let table = "n,choice,ms\n1,a,OOM\n2,a,-1\n3,a,1\n,a,1\n1e400,a,1\n5,a\n";
    let mut params = folder.table("t.csv", table);
    (params.features, params.choice, params.skip_bad_rows) = (names("n"), names("choice"), true);
    let report = import(&params).unwrap();
    assert_eq!((report.rows, report.bad_rows), (2, 4));
    assert_snapshot!(folder.without_folder(&report.warnings[0]), @r#"bad rows skipped: 4, for example t.csv:2: column "ms": expected a time in milliseconds above 0, inf where the choice failed, or nothing where it was not measured, found "OOM"; give "--failed=OOM" if the choice failed here, or fix the row, or skip such rows with --skip-bad-rows (2 such rows); t.csv:6: column "n": expected a number that 64-bit floating point holds exactly (or --categorical), as it is a feature, found "1e400"; fix the row, or skip such rows with --skip-bad-rows; t.csv:7: expected 3 fields, found 2; fix the row, or skip such rows with --skip-bad-rows"#);
}

#[test]
fn values_that_would_break_a_structured_name_are_refused() {
    let folder = Folder::new();
    let params = folder.table("timings.csv", TABLE.replace(",32,4,", ",row_major,4,"));
    assert_snapshot!(folder.error(&params), @r#"timings.csv:3: column "BLOCK_M": expected a key without = and a value without _ and =, as the choice is named KEY=VALUE_KEY=VALUE, found "BLOCK_M=row_major"; rename it in the table, or give one column with whole names"#);
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
        ("twice.json", "[{\"M\":1,\"M\":2}]"),
        ("huge.jsonl", "{\"M\":1e400}\n"),
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
    empty.csv: expected a line of column names, found nothing; fix the file, or name its format with --format
    header.csv: the table has no rows to import; measure some inputs first
    features: expected one column of twice.csv with this name (rename one), found two columns "M"
    ragged.csv:2: expected 6 fields, found 2; fix the row, or skip such rows with --skip-bad-rows
    timings.xlsx: expected a name that ends in .csv, .tsv, .md, .jsonl or .json, found "timings.xlsx"; fix the file, or name its format with --format
    broken.json: expected a JSON document, found EOF while parsing a value at line 1 column 5; fix the file, or name its format with --format
    other.json: expected a list of objects, or a file of one of these: aiter, autotvm, benchmarkdotnet, clblast, criterion, cutlass-profiler, go-bench, google-benchmark, google-benchmark-csv, hipblaslt-bench, hyperfine, hyperfine-csv, inductor, jmh, jmh-csv, kernel-tuner, ktt, nanobench, nanobench-csv, nvbench, and 5 more, found an object with the keys a, b; name the keys that lead to the list of rows with --rows
    twice.json: expected a JSON document, found the key "M" twice at line 1 column 11; fix the file, or name its format with --format
    huge.jsonl:1: expected a JSON object, found "{\"M\":1e400}" (number out of range at line 1 column 10); fix the row, or skip such rows with --skip-bad-rows
    numbers.json, row 1: expected JSON objects as rows, found "1"; fix the file, or name its format with --format
    broken.jsonl:2: expected a JSON object, found "{\"M\":" (EOF while parsing a value at line 1 column 5); fix the row, or skip such rows with --skip-bad-rows
    no_times.csv: no row holds a time (rows: 1); name the column of the times with --time
    latin1.csv:2: expected text in UTF-8, found another byte in field 3; convert the table (iconv -f UTF-16 -t UTF-8, or -f LATIN1), or fix the row, or skip such rows with --skip-bad-rows
    absent.csv: cannot read: No such file or directory (os error 2)
    .: expected a table, or a folder with new/benchmark.json and new/estimates.json below it, found the folder "."; fix the file, or name its format with --format
    "#);
}

#[test]
fn flags_that_do_not_fit_together() {
    let folder = Folder::new();
    let params = folder.table("timings.csv", TABLE);
    let errors = [
        ImportParams { tables: Vec::new(), ..params.clone() },
        ImportParams { name: String::new(), ..params.clone() },
        ImportParams { name: "a\nb".to_owned(), ..params.clone() },
        ImportParams { set: names("M=3"), ..params.clone() },
        ImportParams { set: names("n"), ..params.clone() },
        ImportParams { features: names("M,M"), ..params.clone() },
        ImportParams { time: names("BLOCK_M"), ..params.clone() },
        ImportParams { features: Vec::new(), set: names("feedback=3"), ..params.clone() },
        ImportParams { rows: Some("results".to_owned()), ..params.clone() },
    ]
    .map(|params| folder.error(&params));
    assert_snapshot!(errors.join("\n"), @r#"
    tables: expected at least one table, found none
    name: expected the name of the decision in one line, for example my_gemm, found ""
    name: expected the name of the decision in one line, for example my_gemm, found "a\nb"
    features: expected each column once: as a feature, in the choice or as its time, found "M" twice
    set: expected FEATURE=VALUE, found "n"
    features: expected each column once: as a feature, in the choice or as its time, found "M" twice
    time: expected each column once: as a feature, in the choice or as its time, found "BLOCK_M" twice
    features: expected other names than those of the log's own columns; rename it in the table, found "feedback"
    rows: expected tables of JSON, found timings.csv
    "#);
}

/// Found by fuzzing: names of columns and entries moved the cursor, and a table of long names filled the screen.
#[test]
fn errors_are_short_and_printable() {
    let folder = Folder::new();
    let long = "x".repeat(5000);
    let bell = "a\u{7}\u{1b}[2J";
    let tables = [
        ("a.csv", format!("{bell},{long}\n1,2\n")),
        ("b.csv", format!("M,N,dtype,{bell},{bell}\n")),
        ("c.csv", format!("M,N,dtype,BLOCK_M,num_warps,ms\n1,2,{long},3,4,{bell}\n")),
        ("d.json", format!(r#"{{"{}": 1, "{long}": 2}}"#, "a\\u0007\\u001b")),
        ("e.json", format!(r#"{{"benchmarks": [{{"name": "a\u007f{long}", "time_unit": "{long}"}}]}}"#)),
        (
            "f.json",
            format!(r#"{{"tune_params_keys": ["b"], "cache": {{"a\u0007{long}": {{"b": "{long}"}}}}}}"#),
        ),
    ];
    for (name, table) in tables {
        let error = folder.error(&folder.table(name, &table));
        assert!(error.len() < 1000 && !error.contains(char::is_control), "{name}: {error:?}");
    }
}

#[test]
fn times_of_nanoseconds_without_a_unit_are_a_question() {
    let folder = Folder::new();
    let mut params = folder.table("t.csv", "n,choice,real\n1,a,2e-6\n2,a,1e-6\n3,a,4\n");
    (params.features, params.choice, params.time) = (names("n"), names("choice"), names("real"));
    assert_snapshot!(folder.error(&params), @r#"unit: expected the unit of the times (ps, ns, us, ms, s, min, h, or a number of one, as 0.4ns for the cycles of 2.5 GHz), or --higher-is-better for rates, found none, and times that are mostly below 5 ns if they are in milliseconds"#);
    params.unit = Some(ah_import::Unit::MS);
    assert!(folder.log(&params).ends_with("1,a,0.000002\n2,a,0.000001\n3,a,4\n"));
}

/// The times of Google Benchmark were once taken in one unit, whatever the `time_unit` of each row: 20 ns lost to 0.01 ms.
#[test]
fn each_row_may_name_its_unit() {
    let folder = Folder::new();
    let rows = "n,choice,real_time,aggregate_unit,time_unit\n1,a,20,,ns\n2,a,0.01,,ms\n3,a,1,,MB\n";
    let mut params = folder.table("t.csv", rows);
    (params.features, params.choice, params.time) = (names("n"), names("choice"), names("real_time"));
    assert_snapshot!(folder.error(&params), @r#"t.csv:4: column "time_unit": expected a unit of time (ns, us, ms, s …) or of a rate (ops/s, GB/s …), found "MB"; name the unit of all times with --unit, or --higher-is-better for rates"#);
    params.unit = Some(ah_import::Unit::NS);
    assert_snapshot!(folder.error(&params), @r#"t.csv:3: column "time_unit": expected nanoseconds, as the flags or the column of times say, found milliseconds; leave the flag out, and the times of each row are taken in its own unit; or keep some rows with --where"#);
    params.unit = None;
    params.skip_bad_rows = true;
    assert!(folder.log(&params).ends_with("1,a,0.00002\n2,a,0.01\n"));
    // A column of units that is about something else.
    let mut params = folder.table("v.csv", "n,choice,time,unit\n1,a,20,MB\n");
    (params.features, params.choice, params.time) = (names("n"), names("choice"), names("time"));
    (params.unit, params.output) = (Some(ah_import::Unit::NS), folder.path("v.txt"));
    // The summary once named the column, which says nothing of the times.
    assert_eq!(import(&params).unwrap().unit, "nanoseconds");
    assert!(std::fs::read_to_string(&params.output).unwrap().ends_with("1,a,0.00002\n"));
    // JMH's times are by operation.
    let mut params = folder.table("jmh.csv", "n,choice,score,scoreUnit\n1,a,20,ns/op\n1,b,3,us/op\n");
    (params.features, params.choice, params.time) = (names("n"), names("choice"), names("score"));
    params.output = folder.path("jmh.txt");
    assert!(folder.log(&params).ends_with("1,a,0.00002\n1,b,0.003\n"));

    let folder = Folder::new();
    let mut params = folder.table("u.csv", "n,choice,a_ms,b_us\n1,a,2,2000\n");
    (params.features, params.choice, params.time) = (names("n"), names("choice"), names("a_ms,b_us"));
    params.output = folder.path("u.txt");
    assert!(folder.log(&params).ends_with("1,a,2\n1,a,2\n"), "each column in its own unit");
    let mut params = ImportParams { wide: true, ..folder.table("wide.csv", "n,sgemm_s,dgemm_s\n1,20,30\n") };
    (params.features, params.choice, params.time) = (names("n"), Vec::new(), Vec::new());
    assert_snapshot!(folder.error(&params), @r#"unit: expected the unit of the times (ps, ns, us, ms, s, min, h, or a number of one, as 0.4ns for the cycles of 2.5 GHz), or --higher-is-better for rates, found none, and columns sgemm_s, dgemm_s"#);
    let mut params = ImportParams { wide: true, ..folder.table("ns.csv", "n,sort_ns,hash_ns\n1,20,30\n") };
    (params.features, params.choice, params.time) = (names("n"), Vec::new(), Vec::new());
    params.output = folder.path("ns.txt");
    assert!(folder.log(&params).ends_with("1,sort,0.00002\n1,hash,0.00003\n"));
}

/// An import once replaced `train.txt.partial`, whoever wrote it.
#[test]
fn no_file_of_the_user_is_touched() {
    let folder = Folder::new();
    let params = folder.table("timings.csv", TABLE);
    std::fs::write(folder.path("train.txt.partial"), "mine").unwrap();
    folder.log(&params);
    assert_eq!(std::fs::read_to_string(folder.path("train.txt.partial")).unwrap(), "mine");
    let endless = ImportParams {
        tables: vec!["/dev/zero".into()],
        format: Some(Format::Csv),
        output: folder.path("other.txt"),
        ..params
    };
    assert!(folder.error(&endless).contains("it is a device; give a file or a pipe"));
}

#[test]
fn whole_numbers_that_would_become_another_one_are_refused() {
    let folder = Folder::new();
    for (name, table) in [
        ("t.csv", "M,choice,ms\n9007199254740993,a,1\n".to_owned()),
        ("t.json", r#"[{"M": 9007199254740993, "choice": "a", "ms": 1}]"#.to_owned()),
    ] {
        let mut params = folder.table(name, table);
        (params.features, params.choice) = (names("M"), names("choice"));
        assert!(folder.error(&params).contains("found \"9007199254740993\""));
        (params.categorical, params.output) = (names("M"), folder.path(&format!("{name}.txt")));
        assert!(folder.log(&params).ends_with("9007199254740993,a,1\n"));
    }
}

#[test]
fn an_empty_list_has_no_columns() {
    let folder = Folder::new();
    let mut params = folder.table("t.json", "[]");
    (params.features, params.choice, params.time) = (names("n"), names("choice"), names("ms"));
    assert!(folder.error(&params).ends_with(", which has none, found \"n\""));
}
