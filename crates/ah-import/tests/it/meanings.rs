//! What a table means: each test is a table that was once misread without a word, or of that kind.

use ah_import::{Decimal, ImportParams, import};
use insta::assert_snapshot;

use crate::{Folder, names};

#[test]
fn numbers_in_another_notation_are_a_question() {
    let folder = Folder::new();
    for values in [
        "1_000,2_000",
        "0x64,0xC8",
        "10k,20K",
        "1Ki,2Mi",
        "2^10,2**12",
        "50%,75 %",
        "1.5GB,2GiB",
        "12,34,567;1,23,456",
        "0b11,0o17",
    ] {
        let separator = if values.contains(';') { ';' } else { ',' };
        let rows = values.split(separator).map(|n| format!("{n};a;2\n{n};b;3\n")).collect::<String>();
        let mut params = table(&folder, &format!("n;way;ms\n{rows}"), "ms");
        let error = folder.error(&params);
        assert!(error.contains("expected a number") && error.contains("--categorical"), "{values}: {error}");
        params.categorical = names("n");
        read(&folder, &params);
    }
    let params = table(&folder, "n,way,ms\n\"1,000\",a,2\n\"2,000\",b,3\n", "ms");
    assert!(folder.error(&params).contains("--decimal comma"));
    // Names.
    for values in ["fp16,1k", "1x1,3x3", "16_16,32_32", "1.2.3,1.3.0", "1a,1b", "sm_90,sm_80", "4d,3d"] {
        let rows = values.split(',').map(|n| format!("{n},a,2\n")).collect::<String>();
        read(&folder, &table(&folder, &format!("n,way,ms\n{rows}"), "ms"));
    }
}

#[test]
fn how_far_times_differ_is_no_time() {
    let folder = Folder::new();
    for name in [
        "us_stddev", "std_us", "Std Dev (ms)", "time_mad_ns", "cv", "Error", "ci95_ms", "scoreError",
        "iqr (us)",
    ] {
        let mut params = table(&folder, &format!("n,way,unit,{name}\n1,a,us,5\n"), name);
        for higher_is_better in [false, true] {
            params.higher_is_better = higher_is_better;
            let error = folder.error(&params);
            assert!(
                error.starts_with("time: expected a column of times")
                    && error.contains("says how far times differ"),
                "{error}"
            );
        }
    }
    let mut params = table(&folder, "n,way,std_us\n1,a,5\n", "std_us");
    params.unit = Some("us".parse().unwrap());
    assert_eq!(rows(&folder, &params), "1,a,0.005");
}

#[test]
fn statistics_are_no_rival_choices() {
    let folder = Folder::new();
    for columns in [
        "p50,p99",
        "min,mean",
        "sort_mean,sort_std",
        "mean_ms,max_ms",
        "radix,radix_stddev",
        "time (min),time (max)",
    ] {
        let mut params = table(&folder, &format!("n,{columns}\n1,2,3\n"), "ms");
        (params.choice, params.time, params.wide) = (Vec::new(), Vec::new(), true);
        let error = folder.error(&params);
        assert!(
            error.starts_with("wide: expected") && error.contains("found statistics of one: "),
            "{columns}: {error}"
        );
        params.choice = names(columns);
        params.unit = Some("ms".parse().unwrap());
        assert_eq!(read(&folder, &params).0.matches(';').count(), 1, "{columns}");
    }
    for columns in ["radix,std::sort", "a_mean,b_mean", "best_fit,first_fit"] {
        let mut params = table(&folder, &format!("n,{columns}\n1,2,3\n"), "ms");
        (params.choice, params.time, params.wide) = (Vec::new(), Vec::new(), true);
        read(&folder, &params);
    }
}

/// The parameters of a table with the columns `n` and `way` and these times. An earlier log is gone.
fn table(folder: &Folder, text: &str, time: &str) -> ImportParams {
    let _ = std::fs::remove_file(folder.path("train.txt"));
    let mut params = folder.table("t.csv", text);
    (params.features, params.choice, params.time) = (names("n"), names("way"), vec![time.to_owned()]);
    params
}

/// The rows of the log that an import writes, and its warnings but that of the device.
fn read(folder: &Folder, params: &ImportParams) -> (String, Vec<String>) {
    let _ = std::fs::remove_file(&params.output);
    let report = import(params).unwrap_or_else(|e| panic!("{e}"));
    let log = std::fs::read_to_string(&params.output).unwrap();
    let rows = log.split_once("feedback\n").unwrap().1.trim_end().replace('\n', "; ");
    let warnings = report.warnings.iter().filter(|text| !text.starts_with("the log names no device"));
    (rows, warnings.map(|text| folder.without_folder(text)).collect())
}

fn rows(folder: &Folder, params: &ImportParams) -> String {
    read(folder, params).0
}

#[test]
fn a_column_of_rates_needs_the_flag() {
    let folder = Folder::new();
    for name in ["items_per_second", "Bandwidth (GB/s)", "TFLOPS", "tok/s", "throughput", "ops"] {
        let mut params = table(&folder, &format!("n,way,{name}\n1,a,500\n1,b,250\n"), name);
        let error = folder.error(&params);
        assert!(error.starts_with("higher_is_better: expected to be given"), "{name}: {error}");
        params.higher_is_better = true;
        assert_eq!(rows(&folder, &params), "1,a,2; 1,b,4", "{name}");
        (params.higher_is_better, params.unit) = (false, Some("ms".parse().unwrap()));
        assert_eq!(rows(&folder, &params), "1,a,500; 1,b,250", "{name}");
    }
    let mut params = table(&folder, "n,way,time_ms\n1,a,500\n", "time_ms");
    params.higher_is_better = true;
    assert_snapshot!(folder.error(&params), @r#"higher_is_better: expected a column of rates, found time_ms"#);
}

#[test]
fn each_row_may_hold_a_rate() {
    let folder = Folder::new();
    let mut params =
        table(&folder, "n,way,score,unit\n1,a,500,ops/s\n1,b,0.25,ops/ms\n1,c,4000,us/op\n", "score");
    let report = read(&folder, &params);
    assert_eq!(report.0, "1,a,2; 1,b,4; 1,c,4");
    params.higher_is_better = true;
    assert_snapshot!(folder.error(&ImportParams { output: folder.path("b.txt"), ..params.clone() }), @r#"t.csv:4: column "unit": expected rates, as the flags or the column of times say, found microseconds; leave the flag out, and the times of each row are taken in its own unit; or keep some rows with --where"#);
    params = table(&folder, "n,way,score,unit\n1,a,500,us/op\n1,b,2,MB/sec\n", "score");
    assert_snapshot!(folder.error(&params), @r#"t.csv:3: column "score": expected microseconds, as in the rows before, found rates (MB/sec); keep the rows of one kind with --where"#);
    params.only_where = names("unit=us/op");
    assert_eq!(rows(&folder, &params), "1,a,0.5");
    params = table(&folder, "n,way,score,unit\n1,a,2,GB/s\n1,b,500,MB/s\n", "score");
    assert_eq!(rows(&folder, &params), "1,a,500; 1,b,2000");
    // The unit of another column: Google Benchmark writes its times' unit beside rates.
    params = table(&folder, "n,way,items_per_second,time_unit\n1,a,500,ns\n", "items_per_second");
    params.higher_is_better = true;
    assert_eq!(rows(&folder, &params), "1,a,2");
}

#[test]
fn a_unit_that_is_not_known_is_a_question() {
    let folder = Folder::new();
    let mut params = table(&folder, "n,way,cycles\n1,a,2500\n", "cycles");
    assert_snapshot!(folder.error(&params), @r#"unit: expected the unit of the times (ps, ns, us, ms, s, min, h, or a number of one, as 0.4ns for the cycles of 2.5 GHz), or --higher-is-better for rates, found column "cycles", and "cycles" is no unit that import knows"#);
    params.unit = Some("0.4ns".parse().unwrap());
    assert_eq!(rows(&folder, &params), "1,a,0.001");
    for (name, ms) in [("Mean (ps)", "0.000004"), ("time [min]", "240000000"), ("elapsed_h", "14400000000")] {
        let params = table(&folder, &format!("n,way,{name}\n1,a,4000\n"), name);
        assert_eq!(rows(&folder, &params), format!("1,a,{ms}"), "{name}");
    }
    assert!("3 parsecs".parse::<ah_import::Unit>().is_err() && "-1ms".parse::<ah_import::Unit>().is_err());
}

#[test]
fn a_cell_may_name_its_unit() {
    let folder = Folder::new();
    let text = "n,way,Mean\n1,a,32.5µs\n1,b,40.00 μs\n1,c,1.5 ms\n1,d,\"1,234.5 ns\"\n1,e,12.5 ± 0.4 us\n";
    let mut params = table(&folder, text, "Mean");
    assert_eq!(rows(&folder, &params), "1,a,0.0325; 1,b,0.04; 1,c,1.5; 1,d,0.0012345; 1,e,0.0125");
    (params.unit, params.output) = (Some("us".parse().unwrap()), folder.path("b.txt"));
    assert_snapshot!(folder.error(&params), @r#"t.csv:4: column "Mean": expected microseconds, as the flags or the column of times say, found milliseconds; leave the flag out, and each time is taken in its own unit"#);
    let params = table(&folder, "n,way,Mean\n1,a,30 %\n", "Mean");
    assert!(folder.error(&params).contains("found \"30 %\""));
}

#[test]
fn another_column_may_say_that_a_row_failed() {
    let folder = Folder::new();
    let text = "n,way,us,is_correct,exit code,note\n1,a,5,true,0,x\n1,b,0.7,false,0,y\n1,c,-1,true,3,z\n";
    let mut params = table(&folder, text, "us");
    params.failed = Some(names("-1"));
    let (_, warnings) = read(&folder, &params);
    assert_snapshot!(warnings.join("\n"), @r#"column "is_correct" is "false" in rows with the least time of their input (inputs: 1). If such rows failed, give --failed-where 'is_correct=false'; if they are no measurements, --where 'is_correct!=false'"#);
    params.failed_where = names("is_correct=false,exit code!=0");
    params.failed = None;
    let (log, warnings) = read(&folder, &params);
    assert_eq!((&*log, warnings.len()), ("1,a,0.005; 1,b,inf; 1,c,inf", 0));
    (params.failed, params.failed_where) = (Some(names("-1")), names("is_correct=no"));
    // A value that no row has is said, and the warning stays.
    let (_, warnings) = read(&folder, &params);
    assert_snapshot!(warnings.join("\n"), @r#"
    no row has "is_correct=no"; its column has "true", "false"
    column "is_correct" is "false" in rows with the least time of their input (inputs: 1). If such rows failed, give --failed-where 'is_correct=false'; if they are no measurements, --where 'is_correct!=false'
    "#);
    for wrong in ["is_correct=fals", "is_correct!=tru", "is_correct=f?lse*"] {
        params.failed_where = names(wrong);
        assert!(
            read(&folder, &params).1[0]
                .starts_with(&format!("no row has \"{}\"; its column", wrong.replacen("!=", "=", 1))),
            "{wrong}"
        );
    }
    params.failed_where = Vec::new();
    params.only_where = names("is_correct!=fals");
    assert_snapshot!(read(&folder, &params).1[0], @r#"no row has "is_correct=fals"; its column has "true", "false""#);
    params.failed_where = names("is_corect=false");
    params.output = folder.path("b.txt");
    assert!(folder.error(&params).contains("did you mean \"is_correct\"?"));
    // The states of the runs of a row.
    let mut params = folder.table("t.json", r#"[{"n": 1, "way": "a", "s": [1, 2, 3], "codes": [0, 1, 0]}]"#);
    (params.features, params.choice, params.time) = (names("n"), names("way"), names("s"));
    params.failed_where = names("codes!=0");
    assert_eq!(rows(&folder, &params), "1,a,1000; 1,a,inf; 1,a,3000");
    // An empty list beside one time is the state of its row, and holds nothing.
    let text = r#"[{"n": 1, "way": "a", "s": 1, "codes": []}, {"n": 1, "way": "b", "s": 2, "codes": [0]}]"#;
    params.tables = folder.table("empty.json", text).tables;
    params.failed_where = names("codes=1");
    assert_eq!(rows(&folder, &params), "1,a,1000; 1,b,2000");
}

#[test]
fn rows_that_are_no_measurements_are_left_out() {
    let folder = Folder::new();
    let text = "n,way,us\n1,a,5\n1,a:p0.00,2\n1,b,4\n1,b:p0.00,1\n";
    let mut params = table(&folder, text, "us");
    let (_, warnings) = read(&folder, &params);
    assert_snapshot!(warnings.join("\n"), @r#"choices that look like statistics of another one: 2, for example "a:p0.00" beside "a". If they are no choices, give --where 'way!=*:*'"#);
    params.only_where = names("way!=*:*");
    let (log, warnings) = read(&folder, &params);
    assert_eq!((&*log, warnings.len()), ("1,a,0.005; 1,b,0.004", 0));
    (params.only_where, params.output) = (names("way=*:*:*"), folder.path("b.txt"));
    assert_snapshot!(folder.error(&params), @r#"t.csv: no row fulfils --where (rows: 4); no row has "way=*:*:*"; its column has "a", "a:p0.00", "b", "b:p0.00""#);
    params.only_where = names("way");
    assert_snapshot!(folder.error(&params), @r#"where: expected COLUMN=VALUE, COLUMN!=VALUE, COLUMN<NUMBER or COLUMN>NUMBER, found "way""#);
}

#[test]
fn points_that_may_group_digits_are_a_question() {
    let folder = Folder::new();
    let text = "n;way;ns\n100;a;500\n1.000;a;1.500\n2.000;b;700\n";
    let mut params = table(&folder, text, "ns");
    assert_snapshot!(folder.error(&params), @r#"t.csv:3: column "n": expected numbers that can be read in one way alone, as each value with a point has three digits behind it and whole numbers stand beside them, found "1.000"; give --decimal comma where a comma begins the fraction and points group digits (`tr -d . < TABLE | tr , . > NEW.csv` does the same where no commas separate the cells), or --decimal point where a point begins it"#);
    params.decimal = Some(Decimal::Comma);
    assert_eq!(rows(&folder, &params), "100,a,0.0005; 1000,a,0.0015; 2000,b,0.0007");
    params.decimal = Some(Decimal::Point);
    assert_eq!(rows(&folder, &params), "100,a,0.0005; 1,a,0.0000015; 2,b,0.0007");
    // Without doubt: a fraction of two digits, or no whole number.
    for text in ["n;way;ms\n100;a;5\n1.000;a;1.50\n2.5;b;7\n", "n;way;ms\n1.000;a;1.500\n2.000;b;0.500\n"] {
        let params = table(&folder, text, "ms");
        assert!(rows(&folder, &params).contains("1,a,1.5"), "{text}");
    }
    let mut params = table(&folder, "n,way,ms\n900,a,5\n\"1,000\",a,\"1,5\"\n", "ms");
    params.output = folder.path("b.txt");
    assert!(folder.error(&params).contains("--decimal comma"));
    params.decimal = Some(Decimal::Comma);
    assert_eq!(rows(&folder, &params), "900,a,5; 1,a,1.5");
}

#[test]
fn a_time_far_above_all_others_may_be_a_failure() {
    let folder = Folder::new();
    let text = |time: &str| format!("n,way,ms\n1,a,5\n1,b,{time}\n2,a,7\n2,b,{time}\n3,b,2.5\n");
    assert_snapshot!(read(&folder, &table(&folder, &text("1e+20"), "ms")).1.join("\n"), @r#"1e+20 is 10 or more times all other times (rows: 2): if it stands for a failure or a limit, give --failed=1e+20"#);
    assert!(read(&folder, &table(&folder, &text("9999"), "ms")).1[0].contains("--failed=9999"));
    assert_eq!(read(&folder, &table(&folder, &text("60"), "ms")).1, Vec::<String>::new());
    let mut params = table(&folder, &text("1e+20"), "ms");
    params.failed = Some(names("1e+20"));
    assert_eq!(read(&folder, &params), ("1,a,5; 1,b,inf; 2,a,7; 2,b,inf; 3,b,2.5".to_owned(), Vec::new()));
}

#[test]
fn a_list_with_lists_inside_holds_more_than_times() {
    let folder = Folder::new();
    let text = r#"{"n": 1, "way": "a", "result": [[0.5, 0.6], 0, 1.7]}
{"n": 1, "way": "b", "result": [[1e10], 4, 1.7]}
"#;
    let mut params = folder.table("t.jsonl", text);
    (params.features, params.choice, params.time) = (names("n"), names("way"), names("result"));
    assert_snapshot!(folder.error(&params), @r#"t.jsonl:1: column "result": expected a list of times, not one with lists inside, found a list of 3; name the place of the times in the list, for example --time result.0"#);
    (params.time, params.failed_where) = (names("result.0"), names("result.1!=0"));
    assert_eq!(rows(&folder, &params), "1,a,0.5; 1,a,0.6; 1,b,inf");
}

#[test]
fn rows_lie_under_several_lists_and_names_lie_in_values() {
    let folder = Folder::new();
    let text = r#"{"sections": [
        {"way": "a", "results": [{"parameters": [{"Name": "n", "Value": 1}], "ms": 2}]},
        {"way": "b", "results": [{"parameters": [{"Name": "n", "Value": 1}], "ms": 3}]}]}"#;
    let mut params = folder.table("t.json", text);
    (params.features, params.choice, params.time) = (names("n"), names("way"), names("ms"));
    params.rows = Some("sections.results".to_owned());
    assert_eq!(rows(&folder, &params), "1,a,2; 1,b,3");
    // The keys of an object are values.
    let mut params = folder.table("u.json", r#"{"cache": {"a": {"n": 1, "ms": 2}, "b": {"n": 1, "ms": 3}}}"#);
    (params.features, params.choice, params.time) = (names("n"), names("key"), names("ms"));
    params.rows = Some("cache.*".to_owned());
    assert_eq!(rows(&folder, &params), "1,a,2; 1,b,3");
}

#[test]
fn names_matter_where_they_are_asked_for() {
    let folder = Folder::new();
    let mut params = table(&folder, "n,way,ms,Noise,Noise\n1,a,2,3,4\n", "ms");
    assert_eq!(rows(&folder, &params), "1,a,2");
    (params.time, params.output) = (names("Noise"), folder.path("b.txt"));
    assert_snapshot!(folder.error(&params), @r#"time: expected one column of t.csv with this name (rename one), found two columns "Noise""#);
}

#[test]
fn a_row_of_names_is_no_row_and_blank_lines_count() {
    let folder = Folder::new();
    let mut params = table(&folder, "n,way,ms\n1,a,2\n\nn,way,ms\n2,a,3\n", "ms");
    let (log, warnings) = read(&folder, &params);
    assert_eq!(log, "1,a,2; 2,a,3");
    assert_snapshot!(warnings[0], @"repeated lines of names: 1, for example t.csv:4: expected values, found the names of the columns; the row is left out");
    for end in ["\n", "\r\n"] {
        params = table(&folder, &"n,way,ms\n\n1,\"a\nb\",2\n\n\n2,a,x".replace('\n', end), "ms");
        params.choice = names("n");
        params.features = names("way");
        params.output = folder.path("b.txt");
        let error = folder.error(&ImportParams { categorical: names("way"), ..params });
        assert!(error.starts_with("t.csv:3: column \"way\": expected a name of one line"), "{error}");
        params = table(&folder, &"n,way,ms\n\n1,a,2\n\n\n2,a,x".replace('\n', end), "ms");
        params.output = folder.path("b.txt");
        let error = folder.error(&params);
        assert!(error.starts_with("t.csv:6: column \"ms\""), "{error}");
    }
}

#[test]
fn a_quote_behind_a_space_is_pointed_out() {
    let folder = Folder::new();
    let params = table(&folder, "n,way,ms\n1, \"a, b\",2\n", "ms");
    assert_snapshot!(folder.error(&params), @r#"t.csv:2: expected a quote directly behind the separator, found a space before it (" \"a"); remove the space, or fix the row, or skip such rows with --skip-bad-rows"#);
}

#[test]
fn where_all_rows_are_skipped_the_reason_is_told() {
    let folder = Folder::new();
    let mut params = table(&folder, "n,way,ms\n1,a,x\n2,a,y\n", "ms");
    params.skip_bad_rows = true;
    let error = folder.error(&params);
    assert!(
        error.starts_with("t.csv: all rows were skipped (rows: 2), for example t.csv:2: column \"ms\""),
        "{error}"
    );
}

#[test]
fn whole_numbers_are_exact() {
    let folder = Folder::new();
    let mut params = table(&folder, "n,way,ms\n36028797018963968,a,1\n", "ms");
    assert_eq!(rows(&folder, &params), "36028797018963968,a,1");
    params = table(&folder, "n,way,ms\n36028797018963969,a,1\n", "ms");
    params.output = folder.path("b.txt");
    assert!(folder.error(&params).contains("found \"36028797018963969\""));
}

#[test]
fn none_is_a_name_among_names_and_missing_among_numbers() {
    let folder = Folder::new();
    let mut params = table(&folder, "n,way,ms,activation\n1,a,2,relu\nNone,b,3,None\n", "ms");
    params.features = names("n,activation");
    let (log, warnings) = read(&folder, &params);
    assert_eq!(log, "1,relu,a,2; ,None,b,3");
    assert_snapshot!(warnings.join("\n"), @r#"
    None is read as missing: column "n" (rows: 1)
    None is a name in column "activation" (rows: 1); an empty cell would be missing
    "#);
}

#[test]
fn two_devices_are_two_devices() {
    let folder = Folder::new();
    let mut params = table(&folder, "n,way,ms,GPU\n1,a,2,A100\n1,b,3,H100\n", "ms");
    assert_snapshot!(folder.error(&params), @r#"t.csv: expected times of one device, found A100, H100 in column "GPU"; keep the rows of one (--where "GPU=A100"), or make the column a feature (--features); --device LOG says that all rows are of that log's device"#);
    params.only_where = names("GPU=A100");
    assert_eq!(rows(&folder, &params), "1,a,2");
    (params.only_where, params.device_capa) = (Vec::new(), Some((9, 0)));
    assert_eq!(rows(&folder, &params), "1,a,2; 1,b,3");
}

#[test]
fn a_word_for_a_missing_value_is_said() {
    let folder = Folder::new();
    let mut params =
        table(&folder, "n,act,way,ms\n1,relu,a,2\n1,NA,a,3\n2,null,a,4\nnan,relu,a,5\n3,,a,6\n", "ms");
    params.features = names("n,act");
    let (log, warnings) = read(&folder, &params);
    assert_eq!(log, "1,relu,a,2; 1,,a,3; 2,,a,4; ,relu,a,5; 3,,a,6");
    assert_snapshot!(warnings.join("\n"), @r#"
    NaN is read as missing: column "n" (rows: 1)
    an empty cell is read as missing: column "act" (rows: 1)
    NA is read as missing: column "act" (rows: 1)
    null is read as missing: column "act" (rows: 1)
    "#);
}

#[test]
fn an_error_that_is_no_number_belongs_to_a_wrong_result() {
    let folder = Folder::new();
    let warning = |column: &str, bad: &str, good: &str| {
        let row = |n: u32| format!("{n},plain,5,{good}{n}\n{n},hasty,1,{bad}\n");
        let rows: String = (1..30).map(row).collect();
        let params = table(&folder, &format!("n,way,ms,{column}\n{rows}"), "ms");
        read(&folder, &params).1.into_iter().next().unwrap_or_default()
    };
    assert_snapshot!(warning("max_abs_err", "NaN", "0.00"), @r#"column "max_abs_err" is NaN or infinite in rows with the least time of their input, and 1.0e-3 in others (inputs: 29). If such results are wrong, give --failed-where 'max_abs_err>LIMIT'"#);
    assert_snapshot!(warning("mse", "35", "1e-1"), @r#"column "mse" is 3.5e1 in rows with the least time of their input, and 1.0e-129 in others (inputs: 29). If such results are wrong, give --failed-where 'mse>LIMIT'"#);
    let mut params = table(&folder, "n,way,ms,err\n1,a,5,0.5\n1,b,1,NaN\n1,c,2,inf\n", "ms");
    params.failed_where = names("err=NaN");
    assert_eq!(rows(&folder, &params), "1,a,5; 1,b,inf; 1,c,2");
    params.failed_where = names("err>0.1");
    assert_eq!(rows(&folder, &params), "1,a,inf; 1,b,inf; 1,c,inf");
    params.failed_where = names("err>0.5");
    assert_eq!(rows(&folder, &params), "1,a,5; 1,b,inf; 1,c,inf");
    params.only_where = names("err<inf");
    assert_eq!(rows(&folder, &params), "1,a,5");
    // Many numbers that say nothing.
    assert_eq!(warning("max_abs_err", "0.3", "0.00"), "");
    assert_eq!(warning("temperature", "NaN", "0.00"), "");
    for (column, bad, good) in [
        ("timed_out", "True", "False"),
        ("converged", "false", "true"),
        ("Fehler", "17", "0"),
        ("korrekt", "nein", "ja"),
    ] {
        let rows: String = (1..30).map(|n| format!("{n},plain,5,{good}\n{n},hasty,1,{bad}\n")).collect();
        let params = table(&folder, &format!("n,way,ms,{column}\n{rows}"), "ms");
        let first = read(&folder, &params).1.into_iter().next().unwrap_or_default();
        assert!(first.contains(&format!("--failed-where '{column}={bad}'")), "{first}");
    }
}

#[test]
fn statistics_of_a_choice_are_no_choices() {
    let folder = Folder::new();
    for end in ["_mean", " (p99)", "/real_time", "[p99.9]", ":max", ".BigO"] {
        let params = table(&folder, &format!("n,way,ms\n1,a,2\n1,a{end},3\n"), "ms");
        let warnings = read(&folder, &params).1;
        assert!(
            warnings.iter().any(|warning| warning.contains("look like statistics")),
            "{end}: {warnings:?}"
        );
    }
    for end in ["_simd", "(n=4)", "/unstable", "2", " p"] {
        let params = table(&folder, &format!("n,way,ms\n1,a,2\n1,a{end},3\n"), "ms");
        assert_eq!(read(&folder, &params).1, Vec::<String>::new(), "{end}");
    }
}

/// The parameters of a wide table with the feature `n`.
fn wide(folder: &Folder, text: &str) -> ImportParams {
    let params = table(folder, text, "ms");
    ImportParams { choice: Vec::new(), time: Vec::new(), wide: true, ..params }
}

/// Rows of these choices on eight inputs: `row` returns each from the input, the choice and a time.
fn grid(head: &str, choices: &[&str], row: impl Fn(u32, &str, f64) -> String) -> String {
    let cells = (1..9).flat_map(|n| choices.iter().map(move |choice| (n, *choice)));
    let time = |n: u32, choice: &str| f64::from(n) + 0.3 * f64::from(choice.len() as u32);
    let rows: String = cells.map(|(n, choice)| row(n, choice, time(n, choice)) + "\n").collect();
    format!("{head}\n{rows}")
}

#[test]
fn numbers_that_nothing_names_are_said_to_be_milliseconds() {
    let folder = Folder::new();
    let text = "n,way,value\n1,a,5\n";
    assert_snapshot!(read(&folder, &table(&folder, text, "value")).1.join("\n"), @r#"nothing says what the numbers of value are: they are read as milliseconds, where less is better (give --unit, or --higher-is-better for rates)"#);
    assert_snapshot!(read(&folder, &wide(&folder, "n,cuBLAS,Triton\n1,100,200\n")).1.join("\n"), @r#"nothing says what the numbers of cuBLAS, Triton are: they are read as milliseconds, where less is better (give --unit, or --higher-is-better for rates)"#);
    let mut params = table(&folder, text, "value");
    params.unit = Some("ms".parse().unwrap());
    assert_eq!(read(&folder, &params).1, Vec::<String>::new());
}

#[test]
fn columns_of_several_units_that_one_flag_contradicts_are_a_question() {
    let folder = Folder::new();
    let mut params = wide(&folder, "n,a_ms,b_us\n1,2,3\n");
    params.unit = Some("us".parse().unwrap());
    assert_snapshot!(folder.error(&params), @r#"unit: expected to be left out, as the columns name units of their own, found microseconds, and columns a_ms, b_us"#);
    let mut params = wide(&folder, "n,a (GB/s),b (GB/s)\n1,500,250\n");
    params.higher_is_better = true;
    assert_eq!(rows(&folder, &params), "1,a,2; 1,b,4");
}

#[test]
fn figures_beside_choices_are_no_choices() {
    let folder = Folder::new();
    for name in
        ["speedup", "ratio", "id", "Unnamed: 0", "seed", "timestamp", "run_id", "count", "batch", "time %"]
    {
        let params = wide(&folder, &format!("n,radix,std,{name}\n1,2,3,4\n"));
        let error = folder.error(&params);
        assert!(
            error.ends_with(&format!("found what may be no choices: {}", ah_model::shown::listed([name]))),
            "{error}"
        );
        read(&folder, &ImportParams { choice: names("radix,std"), ..params });
    }
    let error = folder.error(&wide(&folder, "n,radix,merge,total\n1,2,3,5\n"));
    assert!(error.ends_with("found statistics of one: total"), "{error}");
}

#[test]
fn statistics_are_known_without_the_choice_itself() {
    let folder = Folder::new();
    for (choices, example) in [
        ("a_mean,a_p99,b_mean,b_p99", "\"a_mean\" beside \"a_p99\""),
        ("mean a,p99 a", "\"mean a\" beside \"p99 a\""),
        ("a,b,average", "\"average\" beside \"a\""),
        ("plain,TOTAL", "\"TOTAL\" beside \"plain\""),
    ] {
        let rows: String = choices.split(',').map(|way| format!("1,{way},2\n")).collect();
        let warnings = read(&folder, &table(&folder, &format!("n,way,ms\n{rows}"), "ms")).1.join("\n");
        assert!(
            warnings.contains("look like statistics") && warnings.contains(example),
            "{choices}: {warnings}"
        );
    }
    for choices in ["best_fit,first_fit", "total_order,partial_order", "best"] {
        let rows: String = choices.split(',').map(|way| format!("1,{way},2\n")).collect();
        assert_eq!(
            read(&folder, &table(&folder, &format!("n,way,ms\n{rows}"), "ms")).1,
            Vec::<String>::new()
        );
    }
}

#[test]
fn a_total_of_different_numbers_of_runs_is_pointed_out() {
    let folder = Folder::new();
    let text = |time: &str| {
        grid(&format!("n,way,Instances,{time}"), &["plain", "packed"], |n, way, ms| {
            format!("{n},{way},{},{ms}", 100 * way.len())
        })
    };
    let warnings = read(&folder, &table(&folder, &text("Total Time (ns)"), "Total Time (ns)")).1;
    assert_snapshot!(warnings.join("\n"), @r#"rows differ in Instances: if "Total Time (ns)" is a total of that many runs, divide it first"#);
    // Criterion's raw.csv, with two samples each.
    let csv = "function,value,sample_measured_value,unit,iteration_count\na,8,100,ns,10\na,8,190,ns,20\nb,8,300,ns,15\nb,8,580,ns,30\n";
    let mut params = table(&folder, csv, "sample_measured_value");
    (params.features, params.choice) = (names("value"), names("function"));
    assert!(read(&folder, &params).1[0].starts_with("rows differ in iteration_count: if"));
    assert_eq!(read(&folder, &table(&folder, &text("Avg (ns)"), "Avg (ns)")).1, Vec::<String>::new());
}

#[test]
fn a_column_without_a_role_that_changes_the_times_is_pointed_out() {
    let folder = Folder::new();
    let text = |column: &str, factor: f64| {
        let row = |n: u32, way: &str, ms: f64| format!("{n},{way},64,{ms}\n{n},{way},128,{}", ms * factor);
        grid(&format!("n,way,{column},ms"), &["plain", "packed"], row)
    };
    let warnings =
        |column: &str, factor: f64| read(&folder, &table(&folder, &text(column, factor), "ms")).1.join("\n");
    assert!(warnings("stat", 1.4).contains("column \"stat\" may change the times"));
    assert_snapshot!(warnings("block", 1.4), @r#"column "block" may change the times of one choice on one input. Is it a part of --choice or --features? Or keep some rows with --where"#);
    assert_eq!((warnings("block", 1.01), warnings("run", 1.4)), (String::new(), String::new()));
    // Better on some inputs and worse on others, as in a grid.
    let row = |n: u32, way: &str, ms: f64| {
        let factor = if n.is_multiple_of(2) { 1.3 } else { 0.8 };
        format!("{n},{way},64,{ms}\n{n},{way},128,{}", ms * factor)
    };
    for (column, is_said) in [("block", true), ("threads", true), ("run", false)] {
        let text = grid(&format!("n,way,{column},ms"), &["plain", "packed"], row);
        let warnings = read(&folder, &table(&folder, &text, "ms")).1.join("\n");
        assert_eq!(warnings.contains("may change the times"), is_said, "{column}: {warnings}");
    }
    // Noise that no column explains.
    let row = |n: u32, way: &str, ms: f64| {
        let noise = |run: u32| ms * (1.0 + f64::from((n * 7 + run * 5 + way.len() as u32) % 11) / 20.0);
        format!("{n},{way},{},{}\n{n},{way},{},{}", n % 3, noise(1), n % 2, noise(2))
    };
    let text = grid("n,way,half,ms", &["plain", "packed"], row);
    assert_eq!(read(&folder, &table(&folder, &text, "ms")).1, Vec::<String>::new());
}

#[test]
fn a_list_whose_places_differ_is_no_list_of_repetitions() {
    let folder = Folder::new();
    let warnings = |times: &dyn Fn(f64) -> String| {
        let rows: String = (1..9)
            .map(|n| format!("{{\"n\": {n}, \"way\": \"a\", \"ms\": {}}}\n", times(f64::from(n))))
            .collect();
        let mut params = folder.table("t.jsonl", rows);
        (params.features, params.choice, params.time) = (names("n"), names("way"), names("ms"));
        read(&folder, &params).1.join("\n")
    };
    assert_snapshot!(warnings(&|ms| format!("[{ms}, {}]", 1_690_000_000.0 + ms)), @r#"the times of a row differ by their place: if they are no repetitions, name one of them, as in --time COLUMN.0"#);
    assert!(warnings(&|ms| format!("[{ms}, {}]", ms / 50.0)).contains("differ by their place"));
    assert!(warnings(&|ms| format!("[{}, {ms}, {}]", 3.0 * ms, 1.01 * ms)).contains("differ by their place"));
    assert_eq!(warnings(&|ms| format!("[{ms}, {}]", 1.5 * ms)), "");
}

#[test]
fn spaces_may_separate_numbers_and_notations_of_a_choice_are_asked_about() {
    let folder = Folder::new();
    assert!(
        folder.error(&table(&folder, "n,way,ns\n1,a,512 498 505\n", "ns")).contains("found \"512 498 505\"")
    );
    for (values, expected) in
        [("512;1.024", "found \"1.024\""), ("512;1k", "found \"1k\""), ("512;\"1,024\"", "found \"1,024\"")]
    {
        let rows = values.split(';').map(|block| format!("1;{block};2\n")).collect::<String>();
        let mut params = table(&folder, &format!("n;way;ms\n{rows}"), "ms");
        let error = folder.error(&params);
        assert!(
            error.starts_with("t.csv:3: column \"way\": expected numbers that can be read in one way alone")
                && error.ends_with(expected)
                || error.contains(expected),
            "{error}"
        );
        params.categorical = names("way");
        read(&folder, &params);
    }
    // Names of one notation, and names without numbers.
    for values in ["0x40;0x80", "1k;2k", "4x4;8x8;512"] {
        let rows = values.split(';').map(|block| format!("1,{block},2\n")).collect::<String>();
        read(&folder, &table(&folder, &format!("n,way,ms\n{rows}"), "ms"));
    }
}

#[test]
fn lines_that_are_no_rows() {
    let folder = Folder::new();
    let expected = "1,a,2; 2,a,3";
    for text in [
        "# host a, 2 threads\n# x\nn,way,ms\n1,a,2\n2,a,3\n",
        "# n,way,ms\n1,a,2\n# cooled down\n2,a,3\n",
        "sep=;\nn;way;ms\n1;a;2\n2;a;3\n",
        "n|way|ms\n1|a|2\n2|a|3\n",
        "| n | way | ms |\n|---:|:---|----|\n| 1 | a | 2 |\n| 2 | a | 3 |\n",
        " n | way | ms\n---+-----+----\n 1 | a | 2\n 2 | a | 3\n",
        "n    way   ms\n1    a     2\n2    a     3\n",
        " n  way  ms\n 1  \"a\"  2\n 2  a    3\n",
        "n,way,ms\n1,a,2\n\u{feff}n,way,ms\n2,a,3\n",
        "n,way,ms\n1,a,2\nN,Way,MS\n2,a,3\n",
        ",n,way,ms\n0,1,a,2\n,n,way,ms\n0,2,a,3\n",
    ] {
        assert_eq!(rows(&folder, &table(&folder, text, "ms")), expected, "{text}");
    }
    // The lines before the names count.
    let error = folder.error(&table(&folder, "# a\nn,way,ms\n1,a,2\n# b\n2,a,x\n", "ms"));
    assert!(error.starts_with("t.csv:5: "), "{error}");
    let error = folder.error(&table(&folder, "n,way,ms\n1,a,2\nway,n,ms\nb,2,3\n", "ms"));
    assert!(error.ends_with("split the file"), "{error}");
    let error = folder.error(&table(&folder, "n,way,ms\n-,-,us\n1,a,2\n", "ms"));
    assert!(error.contains("remove this row of names or units, and give --unit"), "{error}");
    let mut params = folder
        .table("t.json", "{\"n\": 1, \"way\": \"a\", \"ms\": 2}\n{\"n\": 2, \"way\": \"a\", \"ms\": 3}\n");
    (params.features, params.choice, params.time) = (names("n"), names("way"), names("ms"));
    assert_eq!(rows(&folder, &params), expected);
}

#[test]
fn a_truth_value_among_names_is_a_name() {
    let folder = Folder::new();
    let rows_of = |values: &str| {
        let text = values.split(',').map(|flag| format!("{flag},a,2\n")).collect::<String>();
        rows(&folder, &table(&folder, &format!("n,way,ms\n{text}"), "ms"))
    };
    assert_eq!(rows_of("true,FALSE"), "True,a,2; False,a,2");
    assert_eq!(rows_of("true,false,auto"), "true,a,2; false,a,2; auto,a,2");
}

#[test]
fn numbers_inside_names_are_pointed_out() {
    let folder = Folder::new();
    let warnings = |values: &[&str]| {
        let rows: String = values.iter().map(|value| format!("\"{value}\",a,2\n")).collect();
        read(&folder, &table(&folder, &format!("n,way,ms\n{rows}"), "ms")).1.join("\n")
    };
    assert_snapshot!(warnings(&["64x128", "64x64", "32x32", "8x8"]), @r#"column n has numbers inside names, so nothing is learned for other numbers: --name-column n --name-pattern makes columns of them"#);
    assert!(warnings(&["(8, 16)", "(8, 8)", "(1, 2)", "(2, 2)"]).contains("--name-pattern"));
    assert!(warnings(&["bs=8", "bs=16", "bs=32", "bs=64"]).contains("--name-pattern"));
    for values in [["fp8", "fp16", "fp32", "fp64"], ["1x1", "3x3", "5x5", "same"]] {
        assert_eq!(warnings(&values), "");
    }
}

#[test]
fn words_about_validity_are_known_by_their_beginning_and_inside_a_text() {
    let folder = Folder::new();
    let warnings = |column: &str, bad: &str, good: &str| {
        let text = grid(&format!("n,way,ms,{column}"), &["plain", "hasty", "x"], |n, way, ms| {
            format!("{n},{way},{ms},{}", if way == "x" { bad } else { good })
        });
        read(&folder, &table(&folder, &text, "ms")).1.join("\n")
    };
    for (column, bad, good) in [
        ("match", "False", "True"),
        ("validation", "0", "1"),
        ("verify", "no", "yes"),
        ("num_mismatches", "17", "0"),
        ("notes", "wrong result", ""),
        ("message", "CUDA error: invalid argument", "no errors"),
        ("equal", "false", "true"),
        ("passed_tests", "0", "5"),
        ("log", "OutOfMemory: 3 GB", ""),
        ("errno", "4", "0"),
    ] {
        assert!(
            warnings(column, bad, good).contains(&format!("column \"{column}\" is \"{bad}\"")),
            "{column}"
        );
    }
    for (column, odd, usual) in [
        ("passes", "2", "3"),
        ("outcome_index", "1", "0"),
        ("match_length", "4", "8"),
        ("notes", "no errors", ""),
        ("mode", "fast", "slow"),
    ] {
        assert_eq!(warnings(column, odd, usual), "", "{column}");
    }
}

#[test]
fn equal_conditions_on_several_tables_are_one() {
    let folder = Folder::new();
    let mut params = table(&folder, "n,way,ms,kind\n1,a,2,run\n", "ms");
    std::fs::write(folder.path("u.csv"), "n,way,ms,kind\n2,a,3,setup\n").unwrap();
    params.tables.push(folder.path("u.csv"));
    params.only_where = names("kind=run,kind=run");
    assert_eq!(read(&folder, &params), ("1,a,2".to_owned(), Vec::new()));
}
