//! The files of autotuners: each sample, made by us in the tool's format, needs no flag but a name.

use ah_import::{ImportParams, Unit, import};
use ah_types::log::{self, ReadOptions};
use insta::assert_snapshot;
use proptest::prelude::*;

use crate::{Folder, counts, names, sample};

const SAMPLES: [&str; 3] = ["matmul_kernel.autotune.json", "matmul_kernel.jsonl", "inductor_mm.json"];

/// The parameters of an import of a table with a name alone.
fn named(folder: &Folder, table: &str) -> ImportParams {
    ImportParams {
        tables: vec![sample(table)],
        name: "gemm".to_owned(),
        output: folder.path("train.txt"),
        ..ImportParams::default()
    }
}

/// Imports a sample, and returns its log and the lines of the report but for the last one.
fn imported(table: &str) -> String {
    let folder = Folder::new();
    let params = named(&folder, table);
    let log = folder.log(&params);
    std::fs::remove_file(&params.output).unwrap();
    let report = import(&params).unwrap().to_string();
    format!("{}\n{log}", report.split_once("wrote ").unwrap().0.trim_end())
}

#[test]
fn triton() {
    assert_snapshot!(imported("matmul_kernel.autotune.json"), @r#"
    read as triton
    3 rows: 1 inputs, 3 choices; 2 times, in milliseconds, 1 failed, 0 not measured
    choices: "BLOCK_M=128_BLOCK_N=128_EVEN_K=True_num_warps=8_num_stages=3…", BLOCK_M=128_BLOCK_N=64_EVEN_K=True_num_warps=4_num_stages=3, "BLOCK_M=256_BLOCK_N=256_EVEN_K=False_num_warps=8_num_stages=…"
    numerical: key0, key1
    categorical: key2, key3
    {"name":"gemm","device_capa":[0,0],"numerical_features":["key0","key1"],"categorical_features":["key2","key3"]}
    key0,key1,key2,key3,choice,feedback
    1024,512,torch.float16,torch.float16,BLOCK_M=128_BLOCK_N=64_EVEN_K=True_num_warps=4_num_stages=3,0.0215
    1024,512,torch.float16,torch.float16,BLOCK_M=128_BLOCK_N=128_EVEN_K=True_num_warps=8_num_stages=3_maxnreg=128,0.0184
    1024,512,torch.float16,torch.float16,BLOCK_M=256_BLOCK_N=256_EVEN_K=False_num_warps=8_num_stages=5_num_ctas=2,inf
    "#);
    assert_snapshot!(imported("matmul_kernel.jsonl"), @r#"
    read as triton
    4 rows: 2 inputs, 2 choices; 3 times, in milliseconds, 1 failed, 0 not measured
    choices: BLOCK_M=128_num_warps=4_num_stages=3, BLOCK_M=64_num_warps=4_num_stages=3
    numerical: key0, key1
    categorical: key2
    left out: kernel
    {"name":"gemm","device_capa":[0,0],"numerical_features":["key0","key1"],"categorical_features":["key2"]}
    key0,key1,key2,choice,feedback
    1024,512,torch.float16,BLOCK_M=64_num_warps=4_num_stages=3,0.03
    1024,512,torch.float16,BLOCK_M=128_num_warps=4_num_stages=3,0.02
    64,512,torch.float16,BLOCK_M=64_num_warps=4_num_stages=3,0.004
    64,512,torch.float16,BLOCK_M=128_num_warps=4_num_stages=3,inf
    "#);
}

#[test]
fn inductor() {
    assert_snapshot!(imported("inductor_mm.json"), @r#"
    read as inductor
    3 rows: 1 inputs, 3 choices; 2 times, in milliseconds, 1 failed, 0 not measured
    choices: extern_mm, "type=triton_BLOCK-M=256_BLOCK-K=128_BLOCK-N=256_numstages=5_…", "type=triton_BLOCK-M=64_BLOCK-K=32_BLOCK-N=64_numstages=3_num…"
    numerical: m, k, n
    left out: type, BLOCK_M, BLOCK_K, BLOCK_N, num_stages, num_warps
    {"name":"gemm","device_capa":[0,0],"numerical_features":["m","k","n"],"categorical_features":[]}
    m,k,n,choice,feedback
    512,1024,256,extern_mm,0.0123
    512,1024,256,type=triton_BLOCK-M=64_BLOCK-K=32_BLOCK-N=64_numstages=3_numwarps=4,0.0117
    512,1024,256,type=triton_BLOCK-M=256_BLOCK-K=128_BLOCK-N=256_numstages=5_numwarps=8,inf
    "#);
}

/// The recipes of docs/tables.md: the files of other tools need a few flags.
#[test]
fn rows_inside_json_have_the_values_around_them() {
    let folder = Folder::new();
    let log = |table: &str, rows: &str, features: &str, choice: &str, time: &str, unit: Unit| {
        let list = |list: &str| if list.is_empty() { Vec::new() } else { names(list) };
        let params = ImportParams {
            rows: Some(rows.to_owned()).filter(|rows| !rows.is_empty()),
            features: list(features),
            set: if features.is_empty() { vec!["n=4096".to_owned()] } else { Vec::new() },
            choice: list(choice),
            time: list(time),
            unit: Some(unit),
            failed: (table == "t4.json").then(Vec::new),
            skip_bad_rows: true,
            output: folder.path(&format!("{table}.txt")),
            ..named(&folder, table)
        };
        let log = folder.log(&params);
        log.split_once("choice,feedback\n").unwrap().1.to_owned()
    };
    // Runs without a time failed; an empty list of runs was not measured.
    assert_snapshot!(log("t4.json", "results", "", "block_size_x,vector", "times.runtimes", Unit::MS), @r#"
    4096,block_size_x=64_vector=1,0.03
    4096,block_size_x=64_vector=1,0.015
    4096,block_size_x=256_vector=1,inf
    "#);
    assert_snapshot!(log("hyperfine.json", "results", "file", "threads", "times", Unit::S), @r#"
    a.txt,threads=1,500
    a.txt,threads=1,500
    a.txt,threads=2,250
    a.txt,threads=2,250
    a.txt,threads=4,10
    a.txt,threads=4,10
    "#);
    // The values around the list: the key of the operation. A kernel without a time is a bad row here.
    assert_snapshot!(log("matmul.json.log", "value.results", "m,scale", "Ok.name", "median.nanos", Unit::NS), @r#"
    1024,Large,simple,0.051
    1024,Large,double_buffering,0.0405
    64,Small,simple,0.0089
    64,Small,double_buffering,0.0119
    "#);
    assert_snapshot!(log("aiter_profile.csv", "", "M", "kernelId,splitK", "us", Unit::US), @r#"
    128,kernelId=7_splitK=0,0.01825
    128,kernelId=9_splitK=2,0.0155
    128,kernelId=11_splitK=0,inf
    128,kernelId=12_splitK=0,0.0095
    4096,kernelId=7_splitK=0,0.1305
    4096,kernelId=9_splitK=2,inf
    "#);
}

/// The sample `table` with `from` replaced by `to`, as a table in the folder.
fn changed(folder: &Folder, table: &str, from: &str, to: &str) -> ImportParams {
    let text = std::fs::read_to_string(sample(table)).unwrap();
    assert!(text.contains(from), "{from}");
    std::fs::write(folder.path(table), text.replace(from, to)).unwrap();
    ImportParams { tables: vec![folder.path(table)], ..named(folder, table) }
}

#[test]
fn records_that_their_tool_does_not_write_are_one_sentence() {
    let folder = Folder::new();
    let mut messages = Vec::new();
    for (table, from, to) in [
        ("matmul_kernel.autotune.json", "\"kwargs\"", "\"arguments\""),
        (
            "matmul_kernel.jsonl",
            "\"kernel\": \"matmul_kernel\", \"key\": [\"64\"",
            "\"kernel\": \"other\", \"key\": [\"64\"",
        ),
        ("matmul_kernel.jsonl", "\"key\": [\"64\", ", "\"key\": [\"sixty\", "),
        // Cut off: what would close it is not guessed.
        ("matmul_kernel.jsonl", ", \"duration\": 1.5}", ""),
        ("inductor_mm.json", "\"(512, 1024, 256)\": [", "\"(512, 1024)\": ["),
        ("inductor_mm.json", "\"BLOCK_M\": 64,", ""),
        ("kernel_tuner_4096.json", "\"schema_version\": \"1.1.0\"", "\"schema_version\": \"2.0.0\""),
    ] {
        let params = changed(&folder, table, from, to);
        messages.push(folder.error(&params));
    }
    assert_snapshot!(messages.join("\n"), @r#"
    matmul_kernel.autotune.json: expected results of Triton's autotuner with the keys and values that it writes, found "{\"key\":[\"1024\",\"512\",\"torch.float16\",\"torch.float16\"],\"confi…" (missing field `kwargs`); fix the file, or name its format with --format
    matmul_kernel.jsonl: expected one kernel in all rows (split the file by it), found matmul_kernel, other; fix the file, or name its format with --format
    matmul_kernel.jsonl:2: column "key0": expected a number, as in 2 other rows, found "sixty"; fix it; or give --categorical with this column if these are names
    matmul_kernel.jsonl:2: expected a JSON object, found "{\"kernel\": \"matmul_kernel\", \"key\": [\"64\", \"512\", \"torch.floa…" (EOF while parsing an object at line 1 column 367); fix the row, or skip such rows with --skip-bad-rows
    inductor_mm.json: expected a log of TORCHINDUCTOR_MM_LOGGING_FILE with the sizes "(M, K, N)" as keys, found "(512, 1024)"; fix the file, or name its format with --format
    inductor_mm.json: expected a log of TORCHINDUCTOR_MM_LOGGING_FILE with a whole number BLOCK_M in each template, found none; fix the file, or name its format with --format
    kernel_tuner_4096.json: expected a cache of Kernel Tuner with schema_version 1, found "2.0.0"; fix the file, or name its format with --format
    "#);
}

#[test]
fn a_bad_record_can_be_skipped() {
    let folder = Folder::new();
    let mut params = changed(&folder, "matmul_kernel.jsonl", "\"key\": [\"64\"", "\"keys\": [\"64\"");
    params.skip_bad_rows = true;
    let report = import(&params).unwrap();
    assert_eq!((counts(&report), report.bad_rows), ((2, 1, 2, 2, 0, 0), 1));
}

/// Two caches with other numbers of features once gave rows with the features of the wrong columns.
#[test]
fn tables_with_other_features_are_refused() {
    let folder = Folder::new();
    let mut params = named(&folder, "kernel_tuner_4096.json");
    let one_size = changed(&folder, "kernel_tuner_8192.json", "[8192, 1]", "[8192]");
    params.tables.extend(one_size.tables);
    let error = folder.error(&params).replace(env!("CARGO_MANIFEST_DIR"), "");
    assert_snapshot!(error, @r#"kernel_tuner_8192.json: expected the features problem_size_x, problem_size_y, as in /tests/tables/kernel_tuner_4096.json, found problem_size_x; name the features of all tables with --features"#);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    /// A file that is cut off, or has other bytes, gives an error in words or a log that can be read.
    #[test]
    fn spoilt_files_do_no_harm(
        table in prop::sample::select(&SAMPLES[..]),
        cut in 0.0..1.0_f64,
        spoilt in prop::collection::vec((0.0..1.0_f64, any::<u8>()), 0..4),
        skip_bad_rows: bool,
    ) {
        let folder = Folder::new();
        let mut bytes = std::fs::read(sample(table)).unwrap();
        for (at, byte) in spoilt {
            let at = (at * bytes.len() as f64) as usize;
            bytes[at] = byte;
        }
        // Half of the files are whole.
        bytes.truncate((bytes.len() as f64 * (2.0 * cut).min(1.0)) as usize);
        std::fs::write(folder.path(table), bytes).unwrap();
        let params = ImportParams { tables: vec![folder.path(table)], skip_bad_rows, ..named(&folder, table) };
        match import(&params) {
            Ok(report) => {
                let text = std::fs::read(&params.output).unwrap();
                let log = log::read_bytes(&params.output, &text, ReadOptions::default()).unwrap();
                prop_assert_eq!(log.samples.len() as u64, report.measured + report.failed);
            }
            Err(error) => {
                let text = error.to_string();
                prop_assert!(text.len() < 4000 && !text.contains(char::is_control), "{:?}", text);
            }
        }
    }
}
