//! Tables of kinds that were read wrongly without a word: each is a question or a warning now, or is read as a person means it.

use ah_import::{ImportParams, import};

use crate::{Folder, names};

fn long(folder: &Folder, text: &str) -> ImportParams {
    let params = folder.table("t.csv", text);
    ImportParams { features: names("n"), choice: names("way"), device_capa: Some((9, 0)), ..params }
}

fn wide(folder: &Folder, features: &str, text: &str) -> ImportParams {
    let params = folder.table("t.csv", text);
    let (choice, time) = (Vec::new(), Vec::new());
    ImportParams { features: names(features), choice, time, wide: true, device_capa: Some((9, 0)), ..params }
}

/// The rows of the log, and the warnings.
fn read(folder: &Folder, params: &ImportParams) -> (String, String) {
    let _ = std::fs::remove_file(&params.output);
    let report = import(params).unwrap_or_else(|e| panic!("{e}"));
    let log = std::fs::read_to_string(&params.output).unwrap();
    let rows = log.lines().skip(2).collect::<Vec<_>>().join("; ");
    (rows, folder.without_folder(&report.warnings.join("\n")))
}

fn error(folder: &Folder, params: &ImportParams) -> String {
    let _ = std::fs::remove_file(&params.output);
    folder.error(params)
}

#[test]
fn a_failure_beside_an_empty_time_is_pointed_out() {
    let folder = Folder::new();
    for (column, value) in [("status", "OOM"), ("state", "error"), ("note", "CUDA out of memory")] {
        let text = format!("n,way,ms,{column}\n1,a,2,ok\n1,b,3,ok\n2,a,,{value}\n2,b,4,ok\n");
        let mut params = long(&folder, &text);
        let (_, warnings) = read(&folder, &params);
        let said = format!("column \"{column}\" is \"{value}\"");
        assert!(warnings.contains(&said) && warnings.contains("(rows: 1)"), "{warnings}");
        assert!(warnings.contains("--failed-where"), "{warnings}");
        params.failed_where = vec![format!("{column}={value}")];
        let (rows, warnings) = read(&folder, &params);
        assert!(rows.contains("2,a,inf") && warnings.is_empty(), "{rows} {warnings}");
    }
    // Not measured, and nothing says that it failed.
    let (_, warnings) =
        read(&folder, &long(&folder, "n,way,ms,status\n1,a,2,ok\n1,b,3,ok\n2,a,,pending\n2,b,4,ok\n"));
    assert_eq!(warnings, "");
}

#[test]
fn a_choice_may_be_named_none() {
    let folder = Folder::new();
    let (rows, warnings) = read(&folder, &long(&folder, "n,way,ms\n1,None,2\n1,gzip,3\n"));
    assert_eq!(
        (rows.as_str(), warnings.as_str()),
        ("1,None,2; 1,gzip,3", "None is a name in column \"way\" (rows: 1); an empty cell would be missing")
    );
    for (word, found) in [("NA", "NA"), ("", "nothing"), ("null", "null")] {
        let said = error(&folder, &long(&folder, &format!("n,way,ms\n1,{word},2\n")));
        assert!(said.contains(&format!("expected the name of a choice, found {found}; rename it")), "{said}");
    }
}

#[test]
fn tables_of_other_choices_are_joined_with_a_warning() {
    let folder = Folder::new();
    let of = |ways: [&str; 2], from: u32| -> String {
        let rows = (from..from + 5).flat_map(|n| ways.map(|way| format!("{n},{way},{n}\n")));
        format!("n,way,ms\n{}", rows.collect::<String>())
    };
    let mut params = long(&folder, &of(["a", "b"], 1));
    assert_eq!(read(&folder, &params).1, "");
    std::fs::write(folder.path("t.csv"), of(["c", "d"], 9)).unwrap();
    params.append = true;
    let said = "inputs share no choices, so nothing compares them: 5 inputs time a, b; 5 inputs time c, d.";
    let warnings = import(&params).unwrap().warnings.join("\n");
    assert!(warnings.contains(said), "{warnings}");
    // The same choices, and others on the same inputs.
    std::fs::write(folder.path("t.csv"), of(["a", "c"], 20)).unwrap();
    assert_eq!(import(&params).unwrap().warnings, Vec::<String>::new());
}

#[test]
fn columns_that_may_be_repetitions_are_a_question() {
    let folder = Folder::new();
    for head in ["n,a_1,a_2,b_1,b_2", "n,a,a.1,b,b.1", "n,a0,b0,a1,b1"] {
        let mut params = wide(&folder, "n", &format!("{head}\n1,2,3,4,5\n"));
        let said = error(&folder, &params);
        assert!(said.contains("what may be repetitions"), "{head}: {said}");
        params.choice = head.split(',').skip(1).map(str::to_owned).collect();
        read(&folder, &params);
    }
    // Versions, and sizes of tiles.
    for head in ["n,kernel_1,kernel_2", "n,a_16,a_32,b_16,b_32", "n,a1,b1", "n,a_1,a_2,b_1"] {
        let zeros = head.split(',').skip(2).map(|_| ",2").collect::<String>();
        read(&folder, &wide(&folder, "n", &format!("{head}\n1,2{zeros}\n")));
    }
}

#[test]
fn a_transposed_table_is_a_question() {
    let folder = Folder::new();
    for head in ["kernel,64,128,256", "kernel,64x64,64x128,128x128", "kernel,1K,4K,1M"] {
        let said = error(&folder, &wide(&folder, "kernel", &format!("{head}\na,2,3,4\nb,3,4,5\n")));
        assert!(said.contains("transpose the table") && said.contains("names in kernel"), "{head}: {said}");
    }
    // Sizes of blocks are choices where the rows have numbers.
    read(&folder, &wide(&folder, "n", "n,64,128,256\n1,2,3,4\n"));
    let mut params = wide(&folder, "kernel", "kernel,64,128\na,2,3\n");
    params.choice = names("64,128");
    read(&folder, &params);
}

#[test]
fn units_of_wide_columns_are_read_and_leave_the_names() {
    let folder = Folder::new();
    for (head, rows) in [
        ("sort (µs),radix (µs)", "1,sort,0.002; 1,radix,0.003"),
        ("sort_us,radix_us", "1,sort,0.002; 1,radix,0.003"),
        ("sort_us,radix_ms", "1,sort,0.002; 1,radix,3"),
        ("sort [ns],radix [ms]", "1,sort,0.000002; 1,radix,3"),
        // One name twice.
        ("sort (us),sort (ms)", "1,sort (us),0.002; 1,sort (ms),3"),
        ("us,radix_us", "1,us,0.002; 1,radix_us,0.003"),
    ] {
        assert_eq!(read(&folder, &wide(&folder, "n", &format!("n,{head}\n1,2,3\n"))).0, rows, "{head}");
    }
    for head in ["sort_us,radix", "gemm_s,gemm_ms", "sort_us,radix (GB/s)"] {
        let said = error(&folder, &wide(&folder, "n", &format!("n,{head}\n1,2,3\n")));
        assert!(said.starts_with("unit: expected the unit"), "{head}: {said}");
    }
    let mut rates = wide(&folder, "n", "n,a (GB/s),b (MB/s)\n1,500,500\n");
    rates.higher_is_better = true;
    assert_eq!(read(&folder, &rates).0, "1,a,2; 1,b,2000");
}

#[test]
fn rates_of_an_unknown_amount_are_noted_in_the_log() {
    let folder = Folder::new();
    for (column, noted) in [
        ("GB/s", Some("GB/s")),
        ("TFLOPS", Some("TFLOPS")),
        ("value", Some("rates")),
        ("ops/s", None),
        ("fps", None),
    ] {
        let mut params = long(&folder, &format!("n,way,{column}\n1,a,500\n"));
        (params.time, params.higher_is_better) = (names(column), true);
        read(&folder, &params);
        let log = std::fs::read_to_string(&params.output).unwrap();
        let expected = noted.map(|rates| format!(r#""rates":"{rates}""#));
        assert_eq!(log.contains(r#""rates""#), expected.is_some(), "{log}");
        assert!(expected.is_none_or(|expected| log.replace(": ", ":").contains(&expected)), "{log}");
    }
}

#[test]
fn a_table_of_markdown_is_read_with_its_spreads() {
    let folder = Folder::new();
    let text = "\
| Command | Mean [ms] | Min [ms] | Max [ms] | Relative |
|:---|---:|---:|---:|---:|
| `sort --n 64` | 84.5 ± 1.7 | 82.0 | 88.1 | 1.00 |
| `radix --n 64` | 90.1 ± 2.0 | 88.5 | 95.9 | 1.07 ± 0.03 |
";
    let mut params = long(&folder, "");
    std::fs::write(folder.path("t.md"), text).unwrap();
    params.tables = vec![folder.path("t.md")];
    (params.time, params.name_column) = (names("Mean [ms]"), Some("Command".to_owned()));
    params.name_pattern = Some(r"^(?<way>\w+) --n (?<n>\d+)$".to_owned());
    assert_eq!(read(&folder, &params).0, "64,sort,84.5; 64,radix,90.1");
}

#[test]
fn a_column_may_have_commas_in_its_name() {
    let folder = Folder::new();
    let mut params = long(&folder, "n,way,\"time, us\"\n1,a,2\n");
    params.time = names("time, us");
    assert_eq!(params.time.len(), 2, "as a flag splits it");
    assert_eq!(read(&folder, &params).0, "1,a,0.002");
    let mut params = long(&folder, "n,way,wall_clock\n1,a,2\n");
    params.time = names("wall_clock");
    assert_eq!(read(&folder, &params).0, "1,a,2");
}

#[test]
fn names_that_may_be_one_are_pointed_out() {
    let folder = Folder::new();
    let (_, warnings) = read(&folder, &long(&folder, "n,way,ms\n1,Plain,2\n2,plain,3\n2,fast-path,3\n"));
    assert_eq!(
        warnings,
        "\"Plain\" and \"plain\" are two names in the choice: if they are one, write them alike"
    );
    let (rows, warnings) = read(&folder, &long(&folder, "n,way,ms\n1.1,a,2\n1.10,a,2\n1.9,a,3\n"));
    assert_eq!(rows, "1.1,a,2; 1.1,a,2; 1.9,a,3");
    assert_eq!(
        warnings,
        "1.1 and 1.10 are one number in column \"n\": if they are versions or names, give --categorical \"n\""
    );
    let said = error(&folder, &long(&folder, "n,way,ms\n16 threads,a,2\n8 threads,a,3\n"));
    assert!(said.contains("expected a number, found \"16 threads\"; write its digits alone"), "{said}");
}

/// The second table has other places for its columns. Their words for missing values were looked for at the places of the first one.
#[test]
fn each_table_has_its_own_order_of_columns() {
    let folder = Folder::new();
    let mut params = long(&folder, "way,x,y,n,ms\na,NA,NA,1,2\n");
    std::fs::write(folder.path("u.csv"), "n,way,ms\nNA,a,3\n").unwrap();
    params.tables.push(folder.path("u.csv"));
    assert_eq!(
        read(&folder, &params),
        ("1,a,2; ,a,3".to_owned(), "NA is read as missing: column \"n\" (rows: 1)".to_owned())
    );
}

#[test]
fn rows_and_columns_of_statistics_are_pointed_out() {
    let folder = Folder::new();
    let mut params = wide(&folder, "query", "query,a,b\nq1,2,3\nq2,3,4\nTotal,5,7\n");
    params.unit = Some("ms".parse().unwrap());
    let (_, warnings) = read(&folder, &params);
    assert_eq!(
        warnings,
        "\"Total\" may be a statistic of other rows: if it is no input, give --where \"query!=Total\""
    );
    let mut params = long(&folder, "n,way,mean_ms,p99_ms\n64,a,1.5,9\n64,b,3,20\n");
    params.time = names("mean_ms,p99_ms");
    assert!(
        error(&folder, &params).contains("time: expected columns of repetitions, not several statistics")
    );
    // A spreadsheet leaves merged cells empty.
    let (_, warnings) = read(&folder, &long(&folder, "n,way,ms\n64,a,1\n,b,2\n128,a,2\n,b,3\n"));
    assert_eq!(warnings, "an empty cell is read as missing: column \"n\" (rows: 2)");
}

#[test]
fn a_column_of_units_is_the_unit_whatever_its_name() {
    let folder = Folder::new();
    for column in ["uom", "Einheit", "unit_of_time", "Unit of measure", "scale", "u"] {
        let text = format!("n,way,value,{column}\n1,a,2000,ns\n1,b,1,us\n2,a,3,ms\n2,b,5,\n");
        let mut params = ImportParams { time: names("value"), ..long(&folder, &text) };
        assert!(error(&folder, &params).contains("t.csv:5"), "{column}");
        params.skip_bad_rows = true;
        assert_eq!(read(&folder, &params).0, "1,a,0.002; 1,b,0.001; 2,a,3", "{column}");
    }
    let text = "n,way,value,metric\n1,a,500,ops/s\n1,b,2,ops/ms\n";
    let params = ImportParams { time: names("value"), ..long(&folder, text) };
    assert_eq!(read(&folder, &params).0, "1,a,2; 1,b,0.5");
    // The names of statistics are no units, and the name of the column says it where it can.
    for text in [
        "n,way,value,kind\n1,a,2,min\n1,b,3,min\n",
        "n,way,value,kind\n1,a,2,ms\n1,b,3,fast\n",
        "n,way,value (ms),kind\n1,a,2,ns\n1,b,3,ns\n",
    ] {
        let time = names(if text.contains("(ms)") { "value (ms)" } else { "value" });
        let params = ImportParams { time, ..long(&folder, text) };
        assert_eq!(read(&folder, &params).0, "1,a,2; 1,b,3", "{text}");
    }
}

#[test]
fn points_may_group_digits_in_every_format() {
    let folder = Folder::new();
    let of = |name: &str, text: &str| {
        let params = long(&folder, "");
        std::fs::write(folder.path(name), text).unwrap();
        ImportParams { tables: vec![folder.path(name)], ..params }
    };
    for (name, text) in [
        ("t.csv", "n,way,ms\n1,a,900\n1,b,1.000\n"),
        ("t.csv", "n way ms\n1 a 900\n1 b 1.000\n"),
        ("t.csv", "n;way;ms\n1;a;900 ms\n1;b;1.000 ms\n"),
        ("t.csv", "n,way,ms\n980,a,9\n1.020,b,7\n"),
        ("t.json", r#"[{"n": 1, "way": "a", "ms": "900"}, {"n": 1, "way": "b", "ms": "1.000"}]"#),
    ] {
        let said = error(&folder, &of(name, text));
        assert!(said.contains("expected numbers that can be read in one way alone"), "{text}: {said}");
    }
    // Whole numbers from 1000 on are not grouped, other fractions are none, and in JSON a number has a point for its fraction.
    for (name, text) in [
        ("t.csv", "n,way,ms\n1,a,1900\n1,b,1.125\n"),
        ("t.csv", "n,way,ms\n1,a,900\n1,b,1.125\n2,b,1.5\n"),
        ("t.json", r#"[{"n": 1, "way": "a", "ms": 900}, {"n": 1, "way": "b", "ms": 1.125}]"#),
    ] {
        assert!(read(&folder, &of(name, text)).0.contains("1,b,1.125"), "{text}");
    }
    let warnings = read(&folder, &of("t.csv", "n,way,ms\n1.280,a,9\n76.800,b,7\n")).1;
    let said = "each number in column \"n\" has three digits behind its point: 1.280 is read as 1.28; give --decimal comma if";
    assert!(warnings.contains(said), "{warnings}");
}

#[test]
fn types_in_the_names_of_columns_are_a_question() {
    let folder = Folder::new();
    for head in [
        "n,a fp16,a fp32,b fp16,b fp32",
        "n,a_int8,a_half,b_int8,b_half",
        "n,float32 a,bf16 a,float32 b,bf16 b",
    ] {
        let mut params = wide(&folder, "n", &format!("{head}\n1,2,3,4,5\n"));
        let said = error(&folder, &params);
        assert!(said.contains("what may be types of the input"), "{head}: {said}");
        params.choice = head.split(',').skip(1).map(str::to_owned).collect();
        read(&folder, &params);
    }
    for head in ["n,a fp16,a fp32", "n,a fp16,b fp32", "n,a fp16,a fp32,b fp16"] {
        let zeros = head.split(',').skip(2).map(|_| ",2").collect::<String>();
        read(&folder, &wide(&folder, "n", &format!("{head}\n1,2{zeros}\n")));
    }
}

/// Two inputs once became one.
#[test]
fn a_whole_number_of_json_keeps_its_digits() {
    let folder = Folder::new();
    for number in ["18446744073709551617", "-9223372036854775809", "123456789012345678901234567890"] {
        let text = format!(r#"[{{"n": {number}, "way": "a", "ms": 1.25, "note": "{number} \" NaN"}}]"#);
        std::fs::write(folder.path("t.json"), text).unwrap();
        let mut params = ImportParams { tables: vec![folder.path("t.json")], ..long(&folder, "") };
        let said = error(&folder, &params);
        assert!(said.contains(&format!("found \"{number}\"")), "{said}");
        params.categorical = names("n");
        assert_eq!(read(&folder, &params).0, format!("{number},a,1.25"));
    }
}

#[test]
fn a_text_that_becomes_a_truth_value_is_said() {
    let folder = Folder::new();
    let (rows, warnings) = read(&folder, &long(&folder, "n,way,ms\ntrue,a,2\nfalse,a,3\n"));
    assert_eq!(
        (rows.as_str(), warnings.as_str()),
        ("True,a,2; False,a,3", "false in column \"n\" is the truth value False, by which programs ask")
    );
    assert_eq!(read(&folder, &long(&folder, "n,way,ms\nTrue,a,2\nFalse,a,3\n")).1, "");
    assert_eq!(read(&folder, &long(&folder, "n,way,ms\ntrue,a,2\nauto,a,3\n")).1, "");
}

/// A program that asks with `" lead"`, as the table has it, was declined without a word.
#[test]
fn a_name_that_loses_its_spaces_is_said() {
    let folder = Folder::new();
    let asks = "programs must ask without the spaces around it";
    let spaced = format!(r#"" lead" in column "n" is read as "lead": {asks}"#);
    let lines = r#"{"n": " lead", "way": "a", "ms": 2}
{"n": "lead", "way": "b", "ms": 3}
"#;
    let of_json = ImportParams {
        features: names("n"),
        choice: names("way"),
        device_capa: Some((9, 0)),
        ..folder.table("table.jsonl", lines)
    };
    assert_eq!(read(&folder, &of_json), ("lead,a,2; lead,b,3".to_owned(), spaced.clone()));
    let of_csv = |table: &str| read(&folder, &long(&folder, table)).1;
    assert_eq!(of_csv("n,way,ms\n\" lead\",a,2\nlead,b,3\n"), spaced);
    let both = format!("{spaced}\n\"b \" in column \"way\" is read as \"b\": {asks}");
    assert_eq!(of_csv("n,way,ms\n\" lead\",a,2\nlead,\"b \",3\n"), both);
    // Numbers have no spaces, and neither have the cells of a table that separates them with some.
    assert_eq!(of_csv("n,way,ms\n 64,a,2\n64 ,b,3\n"), "");
    assert_eq!(of_csv("n, way, ms\nx, a, 2\ny, b, 3\n"), "");
}

/// The log itself was read again for this.
#[test]
fn several_tables_of_other_choices_are_imported_with_a_warning() {
    let folder = Folder::new();
    let of = |ways: [&str; 2], from: u32| -> String {
        let rows = (from..from + 5).flat_map(|n| ways.map(|way| format!("{n},{way},{n}\n")));
        format!("n,way,ms\n{}", rows.collect::<String>())
    };
    let mut params = long(&folder, &of(["d", "c"], 1));
    std::fs::write(folder.path("u.csv"), of(["b", "a"], 9)).unwrap();
    params.tables.push(folder.path("u.csv"));
    let warnings = read(&folder, &params).1;
    let said = "inputs share no choices, so nothing compares them: 5 inputs time a, b; 5 inputs time c, d.";
    assert!(warnings.contains(said), "{warnings}");
}

#[test]
fn the_likely_meaning_of_a_comma_is_named_first() {
    let folder = Folder::new();
    let said = error(&folder, &long(&folder, "n;way;ms\n1;a;5,000\n1;b;9,000\n"));
    assert!(said.contains("; give --decimal point where commas group digits, or"), "{said}");
    let said = error(&folder, &long(&folder, "n;way;ms\n1;a;5,25\n1;b;9,000\n"));
    assert!(said.contains("; give --decimal comma where a comma begins the fraction"), "{said}");
}

#[test]
fn a_limit_beside_its_unit_is_a_failure() {
    let folder = Folder::new();
    let mut params = long(&folder, "n,way,ms\n1,a,2 ms\n1,b,99999 ms\n2,a,2 ms\n2,b,99999 ms\n");
    let (_, warnings) = read(&folder, &params);
    assert!(warnings.contains("give --failed=99999") && !warnings.contains("99999 ms"), "{warnings}");
    params.failed = Some(names("99999"));
    assert_eq!(read(&folder, &params).0, "1,a,2; 1,b,inf; 2,a,2; 2,b,inf");
}
