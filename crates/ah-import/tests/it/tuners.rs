//! The files of autotuners: each sample, made by us in the tool's format, needs no flag but a name.

use ah_import::{ImportParams, import};
use ah_types::log::{self, ReadOptions};
use insta::assert_snapshot;
use proptest::prelude::*;

use crate::{Folder, counts, sample};

const SAMPLES: [&str; 9] = [
    "matmul_kernel.autotune.json",
    "matmul_kernel.jsonl",
    "inductor_mm.json",
    "autotuning_result_json_list.txt",
    "helion_measurements.csv",
    "helion_log.csv",
    "aiter_profile.csv",
    "tokamax.json",
    "matmul.json.log",
];

/// Returns the parameters of an import of a table with a name alone.
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
    assert_snapshot!(imported("autotuning_result_json_list.txt"), @r#"
    2 rows: 1 inputs, 2 choices; 2 times, in milliseconds, 0 failed, 0 not measured
    choices: extern_mm, "type=triton_BLOCK-M=64_BLOCK-K=32_BLOCK-N=64_numstages=3_num…"
    numerical: m, k, n, mat1_stride_0, mat1_stride_1, mat2_stride_0, mat2_stride_1
    categorical: mat1_dtype, mat1_iscontig, mat2_dtype, mat2_iscontig
    left out: backend, kernel_call_name, op_name, cuda_device_name, cuda_device_count, input_nodes, autotuning_time, precompile_time, prescreening_time, num_stages, num_warps, tile_shape, GROUP_M, allow_tf32, acc_type
    {"name":"gemm","device_capa":[0,0],"numerical_features":["m","k","n","mat1_stride_0","mat1_stride_1","mat2_stride_0","mat2_stride_1"],"categorical_features":["mat1_dtype","mat1_iscontig","mat2_dtype","mat2_iscontig"]}
    m,k,n,mat1_dtype,mat1_stride_0,mat1_stride_1,mat1_iscontig,mat2_dtype,mat2_stride_0,mat2_stride_1,mat2_iscontig,choice,feedback
    512,1024,256,torch.float16,1024,1,True,torch.float16,1,1024,False,extern_mm,0.0123
    512,1024,256,torch.float16,1024,1,True,torch.float16,1,1024,False,type=triton_BLOCK-M=64_BLOCK-K=32_BLOCK-N=64_numstages=3_numwarps=4,0.0117
    "#);
}

#[test]
fn helion() {
    assert_snapshot!(imported("helion_measurements.csv"), @r#"
    3 rows: 2 inputs, 2 choices; 3 times, in milliseconds, 0 failed, 0 not measured
    choices: "{\"block_sizes\": [128, 128, 32], \"num_warps\": 8, \"num_stages\"…", "{\"block_sizes\": [64, 64, 32], \"num_warps\": 4, \"num_stages\": …"
    numerical: arg0_dim0
    left out: kernel_name, shape_hash, config_hash, arg0_ndim, arg0_dim1, arg0_dtype
    {"name":"gemm","device_capa":[0,0],"numerical_features":["arg0_dim0"],"categorical_features":[]}
    arg0_dim0,choice,feedback
    1024,"{""block_sizes"": [64, 64, 32], ""num_warps"": 4, ""num_stages"": 3, ""indexing"": ""pointer""}",0.0312
    1024,"{""block_sizes"": [128, 128, 32], ""num_warps"": 8, ""num_stages"": 3, ""indexing"": ""tensor_descriptor""}",0.0254
    64,"{""block_sizes"": [64, 64, 32], ""num_warps"": 4, ""num_stages"": 3, ""indexing"": ""pointer""}",0.0051
    "#);
    assert_snapshot!(imported("helion_log.csv"), @r#"
    4 rows: 2 inputs, 3 choices; 3 times, in milliseconds, 1 failed, 0 not measured
    choices: "helion.Config(block_sizes=[128], num_warps=4)", "helion.Config(block_sizes=[512], num_warps=4)", "helion.Config(block_sizes=[64], num_warps=4)"
    numerical: arg0_dim0
    left out: run_id, kernel_id, sample_id, timestamp_s, config_index, generation, status, compile_time_s, decorator, kernel_name, arg0_dim1, arg1_dim0, arg1_dim1, arg0_dtype, arg1_dtype
    {"name":"gemm","device_capa":[0,0],"numerical_features":["arg0_dim0"],"categorical_features":[]}
    arg0_dim0,choice,feedback
    1024,"helion.Config(block_sizes=[64], num_warps=4)",0.0312
    1024,"helion.Config(block_sizes=[512], num_warps=4)",inf
    64,"helion.Config(block_sizes=[64], num_warps=4)",0.0051
    64,"helion.Config(block_sizes=[128], num_warps=4)",0.0047
    "#);
}

#[test]
fn aiter() {
    assert_snapshot!(imported("aiter_profile.csv"), @r#"
    6 rows: 2 inputs, 4 choices; 3 times, in microseconds, 3 failed, 0 not measured
    choices: kernelId=11_splitK=0, kernelId=12_splitK=0, kernelId=7_splitK=0, kernelId=9_splitK=2
    numerical: M
    left out: gfx, cu_num, N, K, q_dtype_w, kernelName, tflops, bw, errRatio
    {"name":"gemm","device_capa":[0,0],"numerical_features":["M"],"categorical_features":[]}
    M,choice,feedback
    128,kernelId=7_splitK=0,0.01825
    128,kernelId=9_splitK=2,0.0155
    128,kernelId=11_splitK=0,inf
    128,kernelId=12_splitK=0,inf
    4096,kernelId=7_splitK=0,0.1305
    4096,kernelId=9_splitK=2,inf
    "#);
}

#[test]
fn tokamax() {
    assert_snapshot!(imported("tokamax.json"), @r#"
    3 rows: 2 inputs, 3 choices; 7 times, in milliseconds, 0 failed, 0 not measured
    choices: block_m=128_block_n=128_num_warps=8, block_m=64_block_n=128_num_warps=4, block_m=64_block_n=128_split_k=4_num_warps=4
    numerical: lhs.0, group_sizes.total_size
    categorical: activation
    left out: compile_time_ms, lower_time_ms, metadata, peak_memory_mb, lhs.dtype, lhs.1, rhs.dtype, rhs.0, rhs.1, rhs.2, group_sizes.num_groups, precision, transpose
    {"name":"gemm","device_capa":[0,0],"numerical_features":["lhs.0","group_sizes.total_size"],"categorical_features":["activation"]}
    lhs.0,group_sizes.total_size,activation,choice,feedback
    4096,4096,None,block_m=64_block_n=128_num_warps=4,0.0521
    4096,4096,None,block_m=64_block_n=128_num_warps=4,0.0518
    4096,4096,None,block_m=64_block_n=128_num_warps=4,0.0523
    4096,4096,None,block_m=128_block_n=128_num_warps=8,0.0411
    4096,4096,None,block_m=128_block_n=128_num_warps=8,0.0413
    4096,4096,None,block_m=128_block_n=128_num_warps=8,0.0412
    64,64,swish,block_m=64_block_n=128_split_k=4_num_warps=4,0.0091
    "#);
}

#[test]
fn cubecl() {
    assert_snapshot!(imported("matmul.json.log"), @r#"
    5 rows: 2 inputs, 3 choices; 4 times, in milliseconds, 1 failed, 0 not measured
    choices: double_buffering, simple, tma
    numerical: definition.m
    categorical: analysis.scale
    left out: definition.n, definition.k, definition.lhs_stride_factor, analysis.layout
    {"name":"gemm","device_capa":[0,0],"numerical_features":["definition.m"],"categorical_features":["analysis.scale"]}
    definition.m,analysis.scale,choice,feedback
    1024,Large,simple,0.051
    1024,Large,double_buffering,0.0405
    1024,Large,tma,inf
    64,Small,simple,0.0089
    64,Small,double_buffering,0.0119
    "#);
}

/// Returns the sample `table` with `from` replaced by `to`, as a table in the folder.
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
        (
            "autotuning_result_json_list.txt",
            ", \"benchmark_result\": 0.0117}",
            ", \"benchmark_result\": {\"median\": 1",
        ),
        ("inductor_mm.json", "\"(512, 1024, 256)\": [", "\"(512, 1024)\": ["),
        ("inductor_mm.json", "\"BLOCK_M\": 64,", ""),
        ("autotuning_result_json_list.txt", "\"Triton\"", "\"CUTLASS\""),
        ("autotuning_result_json_list.txt", "\"size\": \"(1024, 256)\"", "\"size\": \"(256,)\""),
        ("helion_measurements.csv", "matmul,7bb", "softmax,7bb"),
        (
            "helion_measurements.csv",
            "\"{\"\"arg0_ndim\"\": 2, \"\"arg0_dim0\"\": 64",
            "\"{\"\"arg0_ndim\"\": 2 \"\"arg0_dim0\"\": 64",
        ),
        ("helion_log.csv", "1,0,ok", "1,0,perhaps"),
        ("helion_log.csv", "b2,k,s1", "b3,k,s1"),
        ("aiter_profile.csv", ",18.25,", ",-3,"),
        ("tokamax.json", "{\\\"block_m\\\":128,", "block_m=128,"),
        ("matmul.json.log", "\"median\":{\"secs\":0,\"nanos\":40500}", "\"median\":40500"),
        ("kernel_tuner_4096.json", "\"schema_version\": \"1.1.0\"", "\"schema_version\": \"2.0.0\""),
        ("t4.json", "\"schema_version\": \"1.0.0\"", "\"schema_version\": \"2.0.0\""),
    ] {
        std::fs::copy(sample("helion_log.meta.jsonl"), folder.path("helion_log.meta.jsonl")).unwrap();
        let params = changed(&folder, table, from, to);
        messages.push(folder.error(&params));
    }
    std::fs::remove_file(folder.path("helion_log.meta.jsonl")).unwrap();
    messages.push(folder.error(&changed(&folder, "helion_log.csv", "b2", "b2")));
    assert_snapshot!(messages.join("\n"), @r#"
    matmul_kernel.autotune.json: expected results of Triton's autotuner with an object under "kwargs" of each configuration, found "{\"arguments\":{\"BLOCK_N\":64,\"BLOCK_M\":128,\"EVEN_K\":true},\"num…"; mend the file, or name its format with --format
    matmul_kernel.jsonl: expected results of Triton's autotuner with one kernel in all rows (split the file by it), found matmul_kernel, other; mend the file, or name its format with --format
    matmul_kernel.jsonl:2: column "key0": expected a number, as in 2 other rows, found "sixty"; mend it, or give --categorical with this column if its numbers are names
    autotuning_result_json_list.txt:2: expected a JSON object, found "{\"backend\": \"Triton\", \"num_stages\": 3, \"num_warps\": 4, \"tile…" (EOF while parsing an object at line 1 column 661); mend the row, or skip such rows with --skip-bad-rows
    inductor_mm.json: expected a log of TORCHINDUCTOR_MM_LOGGING_FILE with the sizes "(M, K, N)" as keys, found "(512, 1024)"; mend the file, or name its format with --format
    inductor_mm.json: expected a log of TORCHINDUCTOR_MM_LOGGING_FILE with choices with a type, and for Triton BLOCK_M, BLOCK_K, BLOCK_N, num_stages and num_warps, found "{\"type\":\"triton\",\"time\":0.0117,\"BLOCK_K\":32,\"BLOCK_N\":64,\"nu…"; mend the file, or name its format with --format
    autotuning_result_json_list.txt:2: expected Inductor's list of autotuning results with the backend extern with a kernel_call_name, or Triton with tile_shape, num_stages and num_warps, found "\"CUTLASS\""; mend the row, or skip such rows with --skip-bad-rows
    autotuning_result_json_list.txt:1: expected Inductor's list of autotuning results with the size and the stride of a matrix, or of a batch of them, found "{\"name\":\"arg1_1\",\"type\":\"ReinterpretView\",\"dtype\":\"torch.flo…"; mend the row, or skip such rows with --skip-bad-rows
    helion_measurements.csv: expected measurements of Helion with one kernel_name in all rows (split the file by it), found matmul, softmax; mend the file, or name its format with --format
    helion_measurements.csv:4: expected measurements of Helion with text that is a JSON object, found "{\"arg0_ndim\": 2 \"arg0_dim0\": 64, \"arg0_dim1\": 512, \"arg0_dty…"; mend the row, or skip such rows with --skip-bad-rows
    helion_log.csv:5: expected an autotune log of Helion with a status of ok, error, timeout, peer_compilation_fail, accuracy_error, started, filtered, deduplicated, source_rejected, unknown, found "perhaps"; mend the row, or skip such rows with --skip-bad-rows
    helion_log.csv: expected an autotune log of Helion with the run_id "b3" in helion_log.meta.jsonl, found none; mend the file, or name its format with --format
    aiter_profile.csv:2: column "us": expected a time in microseconds above 0, inf where the choice failed, or nothing where it was not measured, found "-3"; mend the row, or skip such rows with --skip-bad-rows
    tokamax.json: expected autotuning data of tokamax with text that is a JSON object, found "block_m=128,\"block_n\":128,\"split_k\":null,\"num_warps\":8}"; mend the file, or name its format with --format
    matmul.json.log:1: expected an autotune cache of cubecl with secs and nanos under /computation/median, found "{\"name\":\"double_buffering\",\"index\":1,\"computation\":{\"mean\":{…"; mend the row, or skip such rows with --skip-bad-rows
    kernel_tuner_4096.json: expected a cache of Kernel Tuner with schema_version 1, found "2.0.0"; mend the file, or name its format with --format
    t4.json: expected T4 results with schema_version 1, found "2.0.0"; mend the file, or name its format with --format
    helion_log.csv: expected an autotune log of Helion with the shapes in helion_log.meta.jsonl beside it, found No such file or directory (os error 2); mend the file, or name its format with --format
    "#);
}

#[test]
fn a_bad_record_can_be_skipped() {
    let folder = Folder::new();
    let mut params = changed(&folder, "autotuning_result_json_list.txt", "\"Triton\"", "\"CUTLASS\"");
    params.skip_bad_rows = true;
    let report = import(&params).unwrap();
    assert_eq!((counts(&report), report.bad_rows), ((1, 1, 1, 1, 0, 0), 1));
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
        std::fs::copy(sample("helion_log.meta.jsonl"), folder.path("helion_log.meta.jsonl")).unwrap();
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
