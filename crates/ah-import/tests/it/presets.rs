//! The files of tools: each is recognized, and gives the log that its tool means. Tools wrote the files in `tests/tables`. The texts
//! in this file were typed after the documented formats of tools that no registry has, or that need a GPU.

use ah_import::{ImportParams, import, preset_text};
use insta::assert_snapshot;

use crate::{Folder, counts, names, sample};

/// The flags that a tool does not set.
#[derive(Default)]
struct Flags {
    features: &'static str,
    choice: &'static str,
    pattern: &'static str,
    set: &'static str,
}

fn list(names_of: &str) -> Vec<String> {
    if names_of.is_empty() { Vec::new() } else { names(names_of) }
}

fn params(folder: &Folder, flags: &Flags) -> ImportParams {
    ImportParams {
        name: "d".to_owned(),
        features: list(flags.features),
        choice: list(flags.choice),
        set: list(flags.set),
        name_pattern: Some(flags.pattern.to_owned()).filter(|pattern| !pattern.is_empty()),
        output: folder.path("train.txt"),
        ..ImportParams::default()
    }
}

/// Imports a text as a file of this name without `--tool`, and with it. Returns the rows of the log.
fn recognized(tool: &str, file: &str, text: &str, flags: &Flags) -> String {
    let folder = Folder::new();
    std::fs::write(folder.path(file), text).unwrap();
    let mut params = params(&folder, flags);
    params.tables = vec![folder.path(file)];
    let log = folder.log(&params);
    std::fs::remove_file(&params.output).unwrap();
    params.tool = Some(tool.to_owned());
    let report = import(&params).unwrap();
    assert!(report.tools.len() == 1 && report.tools[0].starts_with(tool), "{:?}", report.tools);
    assert_eq!(std::fs::read_to_string(&params.output).unwrap(), log);
    log.split_once("feedback\n").unwrap().1.trim_end().replace('\n', "; ")
}

#[test]
fn files_that_the_tools_wrote() {
    for (file, tool, flags, expected) in [
        (
            "pytest_benchmark.json",
            "pytest-benchmark",
            Flags { choice: "way", ..Flags::default() },
            (10, 5, 2, 50, 0, 0),
        ),
        (
            "google_benchmark.json",
            "google-benchmark",
            Flags { features: "n", choice: "way", pattern: r"BM_(?<way>\w+)/(?<n>\d+)", ..Flags::default() },
            (16, 4, 2, 16, 0, 0),
        ),
        (
            "hyperfine_gzip.json",
            "hyperfine",
            Flags { choice: "level", ..Flags::default() },
            (4, 2, 2, 20, 0, 0),
        ),
        ("criterion", "criterion", Flags::default(), (6, 3, 2, 6, 0, 0)),
        // Kernel Tuner 1.5.0 with its C backend, on a kernel that two loops make.
        ("kernel_tuner_c.json", "kernel-tuner", Flags::default(), (2, 1, 2, 6, 0, 0)),
        ("kernel_tuner_t4.json", "t4", Flags { set: "n=4096", ..Flags::default() }, (2, 1, 2, 6, 0, 0)),
    ] {
        let folder = Folder::new();
        let params = ImportParams { tables: vec![sample(file)], ..params(&folder, &flags) };
        let report = import(&params).unwrap_or_else(|e| panic!("{file}: {e}"));
        assert_eq!(report.tools, [tool]);
        assert_eq!(counts(&report), expected, "{file}");
        assert_eq!(report.warnings.len(), 1, "{file}: {:?}", report.warnings);
    }
}

/// The log of a file that a tool wrote, recognized by its contents.
fn of_tool(tool: &str, file: &str, flags: &Flags) -> String {
    let text = std::fs::read_to_string(sample(file)).unwrap();
    recognized(tool, file, &text, flags)
}

/// JMH 1.37, built from its source, on Java 17; `rates` with `-bm thrpt`, `sample` with `-bm sample -prof gc`.
#[test]
fn jmh() {
    let log = |file| of_tool("jmh", file, &Flags::default());
    assert_snapshot!(log("jmh.json"), @"64,sorts.Sort.parallel,0.0346119142130689; 4096,sorts.Sort.parallel,2.6362113678571433; 64,sorts.Sort.plain,0.0253485175043834; 4096,sorts.Sort.plain,4.385764913533834");
    assert_snapshot!(log("jmh_rates.json"), @"64,sorts.Sort.parallel,0.04159403741805444; 64,sorts.Sort.plain,0.01818465815316048");
    assert_snapshot!(log("jmh.csv"), @"64,sorts.Sort.parallel,0.015576765; 4096,sorts.Sort.parallel,2.204167563; 64,sorts.Sort.plain,0.011484792; 4096,sorts.Sort.plain,2.6205619099999997");
    assert_snapshot!(log("jmh_sample.csv"), @"64,sorts.Sort.parallel,0.039714396; 64,sorts.Sort.plain,0.013384459");
}

/// The tuner of CLBlast 1.5.3 for products, on a processor (PoCL 3.1).
#[test]
fn clblast() {
    let log = of_tool("clblast", "clblast.json", &Flags::default());
    assert_snapshot!(log.replace("_KREG=2_KWG=1_KWI=1_MDIMA=", " … "), @"128,128,128,GEMMK=1 … 16_MDIMC=16_MWG=128_NDIMB=4_NDIMC=4_NWG=16_PRECISION=32_SA=0_SB=0_STRM=0_STRN=0_VWM=8_VWN=1,0.159; 128,128,128,GEMMK=1 … 4_MDIMC=4_MWG=128_NDIMB=4_NDIMC=4_NWG=128_PRECISION=32_SA=0_SB=0_STRM=0_STRN=0_VWM=8_VWN=2,0.492");
}

/// nanobench 4.6.0 by its templates, and the text of Go 1.19.8.
#[test]
fn names_with_parts() {
    let flags = |pattern| Flags { features: "n", choice: "way", pattern, ..Flags::default() };
    let nanobench = flags(r"(?<way>\w+)/(?<n>\d+)");
    let log = of_tool("nanobench", "nanobench.json", &nanobench);
    assert_snapshot!(log, @"8,std,0.0000341063675832127; 8,stable,0.000087599194573972; 64,std,0.000481252976190476; 64,stable,0.000696081545064378");
    assert_eq!(of_tool("nanobench", "nanobench.csv", &nanobench), log);
    let go = flags(r"Sort/(?<way>\w+)/n=(?<n>\d+)");
    assert_snapshot!(of_tool("go-bench", "go_bench.txt", &go), @"8,std,0.0009639; 8,std,0.000677; 8,insertion,0.0001097; 8,insertion,0.0000903; 64,std,0.008801; 64,std,0.005913; 64,insertion,0.004959; 64,insertion,0.005484; 512,std,0.155342; 512,std,0.143824; 512,insertion,0.513682; 512,insertion,0.685014");
}

/// CSV of tools that JSON is known of: seconds.
#[test]
fn csv_of_tools() {
    let csv = "command,mean,stddev,median,user,system,min,max,parameter_way,parameter_n\n./x plain 20,0.005,0,0.005,0,0,0.0045,0.0055,plain,20\n";
    let flags = Flags { choice: "parameter_way", ..Flags::default() };
    assert_eq!(recognized("hyperfine", "h.csv", csv, &flags), "20,plain,5");
    let csv = "name,param:way,param:n,min,max,mean,stddev,rounds,median,iqr,ops,total,iterations\na.py::test[plain-20],plain,20,4.5e-06,5.5e-06,5e-06,0,3,5e-06,0,200000,1.5e-05,1\n";
    let flags = Flags { choice: "param:way", ..Flags::default() };
    assert_eq!(recognized("pytest-benchmark", "p.csv", csv, &flags), "20,plain,0.005");
}

#[test]
fn benchmarkdotnet() {
    let csv = "Method;N;Mean;Error;StdDev;Allocated\nSort;10;\"1,234.5 ns\";1.2 ns;1.1 ns;40 B\nMerge;10;2.5 μs;0.1 μs;0.1 μs;-\nRadix;10;NA;NA;NA;NA\n";
    let flags = Flags { features: "N", ..Flags::default() };
    assert_eq!(
        recognized("benchmarkdotnet", "report.csv", csv, &flags),
        "10,Sort,0.0012345; 10,Merge,0.0025"
    );
}

#[test]
fn tools_of_gpus() {
    let csv = "Benchmark,Device,Device Name,Elements,Algo,Skipped,Samples,CPU Time (sec),Noise (%),GPU Time (sec),Noise (%),Samples,Batch GPU (sec)\n\
               sort,0,H100,20,plain,No,90,6e-6,1.5,5e-6,0.7,200,5e-6\nsort,0,H100,20,packed,Yes,,,,,,,\nsort,0,H100,20,wide,No,90,6e-6,1.5,7e-6,0.7,200,5e-6\n";
    let flags = Flags { features: "Elements", choice: "Algo", ..Flags::default() };
    assert_eq!(recognized("nvbench", "nvbench.csv", csv, &flags), "20,plain,0.005; 20,wide,0.007");

    let state = |algo: &str, time: &str, skipped: bool| {
        format!(
            r#"{{"name": "Device=0", "device": 0, "axis_values": [{{"name": "Elements", "type": "int64", "value": "20"}}, {{"name": "Algo", "type": "string", "value": "{algo}"}}],
            "summaries": [{{"tag": "nv/cold/time/gpu/mean", "name": "GPU Time", "data": [{{"name": "value", "type": "float64", "value": "{time}"}}]}}], "is_skipped": {skipped}}}"#
        )
    };
    let json = format!(
        r#"{{"meta": {{}}, "benchmarks": [{{"name": "sort", "index": 0, "states": [{}, {}, {}]}}]}}"#,
        state("plain", "5e-6", false),
        state("packed", "0", true),
        state("wide", "7e-6", false)
    );
    let flags = Flags { choice: "Algo", ..Flags::default() };
    assert_eq!(recognized("nvbench", "nvbench.json", &json, &flags), "20,plain,0.005; 20,wide,0.007");

    let csv = "Problem,Provider,OperationKind,Operation,Disposition,Status,m,n,k,Bytes,Flops,Runtime,GB/s,GFLOPs\n\
               1,CUTLASS,gemm,tensor_a,passed,success,64,32,16,1,1,0.5,1,1\n1,CUTLASS,gemm,tensor_b,incorrect,success,64,32,16,1,1,0.1,1,1\n\
               1,CUTLASS,gemm,tensor_c,not_run,success,64,32,16,1,1,0,1,1\n";
    assert_eq!(
        recognized("cutlass-profiler", "cutlass.csv", csv, &Flags::default()),
        "64,32,16,tensor_a,0.5; 64,32,16,tensor_b,inf"
    );

    let csv =
        "transA,transB,m,n,k,solution,hipblaslt-Gflops,hipblaslt-GB/s,us\nN,N,64,32,16,7,100.5,3.5,12.5\n";
    let flags = Flags { choice: "solution", ..Flags::default() };
    assert_eq!(recognized("hipblaslt-bench", "hip.csv", csv, &flags), "64,32,16,solution=7,0.0125");
}

#[test]
fn tuners() {
    let json = r#"{"Metadata": {"Device": "H100", "TimeUnit": "Microseconds"}, "Results": [
      {"KernelName": "a", "Status": "Ok", "TotalDuration": 12.5, "ComputationResults": [{"KernelFunction": "f", "Duration": 12.5}], "Configuration": [{"Name": "BLOCK", "Value": 16}, {"Name": "VEC", "Value": 2}]},
      {"KernelName": "a", "Status": "ComputationFailed", "TotalDuration": 0.0, "ComputationResults": [], "Configuration": [{"Name": "BLOCK", "Value": 32}, {"Name": "VEC", "Value": 2}]}]}"#;
    let flags = Flags { set: "n=64", ..Flags::default() };
    assert_eq!(
        recognized("ktt", "ktt.json", json, &flags),
        "64,BLOCK=16_VEC=2,0.0125; 64,BLOCK=32_VEC=2,inf"
    );

    let t4 = r#"{"metadata": {"timeunit": "miliseconds"}, "results": [
      {"configuration": {"block": 64, "vec": 1}, "times": {"compilation": 5.0, "runtimes": [0.5, 0.25]}, "invalidity": "correct", "correctness": 1},
      {"configuration": {"block": 32, "vec": 1}, "times": {"compilation": 5.0, "runtimes": [0.125]}, "invalidity": "runtime", "correctness": 0}]}"#;
    assert_eq!(
        recognized("t4", "t4.json", t4, &flags),
        "64,block=64_vec=1,0.5; 64,block=64_vec=1,0.25; 64,block=32_vec=1,inf"
    );

    let record = |index: u32, result: &str| {
        format!(
            r#"{{"input": ["cuda", "dense", [["TENSOR", [64, 32], "float32"], ["TENSOR", [16, 32], "float32"]], {{}}], "config": {{"index": {index}, "code_hash": null, "entity": [["tile", "sp", [-1, 8]]]}}, "result": {result}, "version": 0.2}}"#
        )
    };
    let log = format!(
        "{}\n{}\n",
        record(7, "[[0.5, 0.25], 0, 1.5, 1690000000.5]"),
        record(9, "[[1e10], 4, 1.5, 1690000000.5]")
    );
    let flags = Flags { features: "input.2.0.1.0", ..Flags::default() };
    assert_eq!(
        recognized("autotvm", "autotvm.log", &log, &flags),
        "64,config.index=7,500; 64,config.index=7,250; 64,config.index=9,inf"
    );
}

#[test]
fn a_preset_can_be_printed_and_a_wrong_one_is_refused() {
    assert!(preset_text("hyperfine").unwrap().contains("time = [\"times\"]"));
    // Code reads its rows.
    assert!(preset_text("triton").unwrap().contains("\"/configs_timings\""));
    assert_snapshot!(preset_text("hyperfin").unwrap_err(), @r#"tool: expected one of aiter, autotvm, benchmarkdotnet, clblast, criterion, cutlass-profiler, go-bench, google-benchmark, google-benchmark-csv, hipblaslt-bench, hyperfine, hyperfine-csv, inductor, jmh, jmh-csv, kernel-tuner, ktt, nanobench, nanobench-csv, nvbench, and 5 more, found "hyperfin"; did you mean "hyperfine"?"#);
    let folder = Folder::new();
    let mut params = folder.table("t.csv", "M,N,dtype,BLOCK_M,num_warps,ms\n1,1,a,1,1,1\n");
    params.tool = Some("jmh".to_owned());
    assert_snapshot!(folder.error(&params), @r#"t.csv: expected a file of jmh, found one that lacks its marks; `ah-train import --tool jmh --show` prints what its files have; leave --tool out for another table"#);
    params.tool = None;
    params.name_pattern = Some("a(b".to_owned());
    assert!(
        folder.error(&params).starts_with("name_pattern: expected a regular expression with named groups")
    );
    params.name_pattern = Some("(?<way>b)".to_owned());
    params.name_column = Some("dtype".to_owned());
    assert_snapshot!(folder.error(&params), @r#"t.csv:2: column "dtype": expected a name that fits "(?<way>b)", found "a"; correct --name-pattern, leave such rows out with --where, or skip them with --skip-bad-rows"#);
}
