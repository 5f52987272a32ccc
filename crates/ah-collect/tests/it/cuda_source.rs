//! Optimizations whose choices are configurations of a user's CUDA kernel.

use crate::common;

use std::path::PathBuf;

use ah_cli::exit;
use ah_types::log;
use assert_cmd::Command;
use common::{Folder, error, gpu, inputs, skipped, succeed};

fn example() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples/cuda/rms_norm.toml")
}

fn collect(folder: &Folder, toml: &PathBuf) -> Command {
    tool(folder, "collect", toml)
}

fn tool(folder: &Folder, mode: &str, toml: &PathBuf) -> Command {
    let mut command = Command::cargo_bin("ah-collect").unwrap();
    command.current_dir(folder.path("")).arg(mode).arg("--optimization").arg(toml);
    command
}

/// `ah-collect` on the example with one text replaced by another.
fn changed(folder: &Folder, from: &str, to: &str) -> Command {
    let text = std::fs::read_to_string(example()).unwrap();
    assert!(text.contains(from), "{from}");
    std::fs::write(folder.path("rms_norm.toml"), text.replacen(from, to, 1)).unwrap();
    std::fs::copy(example().with_extension("cu"), folder.path("rms_norm.cu")).unwrap();
    collect(folder, &folder.path("rms_norm.toml"))
}

#[test]
fn the_choices_are_the_combinations_that_the_constraints_allow() {
    let folder = Folder::new();
    let output = tool(&folder, "list", &example()).output().unwrap();
    let list = String::from_utf8(output.stdout).unwrap();
    assert!(list.contains("28 choices:\n    CACHE=0_ROWS=1_THREADS=128_VECTOR=1\n"), "{list}");
    assert!(!list.contains("ROWS=16_THREADS=256"), "4096 threads: {list}");
}

#[test]
fn a_mistake_is_named_with_its_line() {
    for (from, to, parts) in [
        (
            "ceil(rows / ROWS)",
            "ceil(row / ROWS)",
            &["cuda.grid", "unknown feature \"row\"", "did you mean \"rows\"?"][..],
        ),
        ("grid = \"ceil(rows / ROWS)\"", "grid = \"ceil(rows / ROWS\"", &["cuda.grid", "column 17"]),
        ("grid = \"ceil(rows / ROWS)\"", "grid = \"rows > ROWS\"", &["computes a number"]),
        ("grid = \"ceil(rows / ROWS)\"", "grid = [1, 1, 1, 1]", &["one to three sizes, found 4"]),
        ("block = [\"THREADS\", \"ROWS\"]", "block = true", &["computes a number, found \"true\""]),
        (
            "\"columns % VECTOR == 0\"",
            "\"columns % VECTOR\"",
            &["cuda.constraints", "expected a truth value"],
        ),
        ("kernel = \"rms_norm_in_float64\"", "kernal = \"x\"", &["cuda.reference", "unknown field `kernal`"]),
        (
            "shared_memory = ",
            "shared_memroy = ",
            &["line 35", "unknown field `shared_memroy`, expected one of"],
        ),
        (
            "type = \"float32\"",
            "type = \"flaot32\"",
            &["unknown type \"flaot32\"", "did you mean \"float32\"?"],
        ),
        (
            "length = \"rows * columns\"",
            "length = \"ROWS * columns\"",
            &["\"x\": length", "unknown feature \"ROWS\""],
        ),
        ("length = \"rows * columns\"", "", &["\"x\"", "either length (a buffer) or value (a scalar)"]),
        ("type = \"int32\"", "type = \"int8\"", &["\"rows\": type", "a scalar is one of float32"]),
        (
            "fill = { from = 0.5, to = 1.5 }",
            "fill = \"random\"",
            &["line 57", "\"normal\", \"index\", \"nothing\""],
        ),
        ("output = true", "", &["no buffer is an output"]),
        ("source = \"rms_norm.cu\"", "source = \"rms_nrom.cu\"", &["cannot read", "rms_nrom.cu"]),
        ("kernel = \"rms_norm\"", "kernel = \"layer_norm\"", &["does not mention \"layer_norm\""]),
        ("THREADS = [32, 128, 256, 1024]", "THREADS = []", &["at least one value"]),
        ("THREADS = [32, 128, 256, 1024]", "THREADS = [32, \"x\"]", &["numbers alone or texts alone"]),
        ("ROWS = [1, 4, 16]", "rows = [1, 4, 16]", &["a feature has this name too"]),
        (
            "\"THREADS * ROWS <= 1024\"",
            "\"THREADS * ROWS <= 1\"",
            &["cuda.parameters, within cuda.constraints: expected 2 to 10000 choices, found 0"],
        ),
        (
            "THREADS=256_VECTOR=1\"]",
            "THREADS=257_VECTOR=1\"]",
            &["none of the choices", "did you mean \"CACHE=0_ROWS=1_THREADS=256_VECTOR=1\"?"],
        ),
        ("rows = { from = 1,", "rows = { from = 0,", &["cuda.inputs.rows: expected 1 <= from <= to"]),
    ] {
        let folder = Folder::new();
        let output = changed(&folder, from, to).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(i32::from(exit::BAD_INPUT)), "{to}: {message}");
        for part in parts {
            assert!(message.contains(part), "{part} for {to}: {message}");
        }
    }
}

#[test]
fn other_backends_and_machines_without_a_gpu_get_a_message() {
    let folder = Folder::new();
    let (code, message) = error(collect(&folder, &example()).args(["--backend", "cpu"]));
    assert_eq!(code, i32::from(exit::USAGE));
    assert!(message.contains("leave --backend out"), "{message}");
    if ah_kernels::cuda::count().is_ok() {
        return skipped("this machine has a GPU, so nothing is missing");
    }
    let (code, message) = error(&mut collect(&folder, &example()));
    assert_eq!(code, i32::from(exit::DEVICE), "{message}");
    assert!(message.contains("a kernel in a TOML file needs a GPU"), "{message}");
}

#[test]
fn configurations_are_measured_and_faults_cost_their_choice() {
    if !gpu("a user's kernel") {
        return;
    }
    let folder = Folder::new();
    let shapes = "rows,columns\n1000,1024\n7,63\n64,16384\n";
    std::fs::write(folder.path("inputs.csv"), shapes).unwrap();
    let stderr = succeed(collect(&folder, &example()).args(["--inputs", "inputs.csv"]));
    assert_eq!(inputs(&folder).len(), 3, "{stderr}");
    assert!(stderr.contains("not eligible: columns % VECTOR == 0"), "{stderr}");
    assert!(!stderr.contains("wrong result"), "{stderr}");
    let log = log::read(&[folder.log()]).unwrap();
    assert!(log.samples.iter().all(|s| s.feedback.is_finite()), "{stderr}");

    // A kernel that forgets the weight only on vectors, and one that does not compile.
    for (from, to, reason) in [
        ("v.x * w.x * s", "v.x * s", "wrong result: \"y\": differs from the reference"),
        ("typedef float4 Vector;", "typedef float5 Vector;", "rms_norm.cu("),
    ] {
        let folder = Folder::new();
        std::fs::write(folder.path("inputs.csv"), "rows,columns\n1000,1024\n").unwrap();
        let mut command = changed(&folder, "rms_norm", "rms_norm");
        let source = std::fs::read_to_string(folder.path("rms_norm.cu")).unwrap();
        std::fs::write(folder.path("rms_norm.cu"), source.replacen(from, to, 1)).unwrap();
        let stderr = succeed(command.args(["--inputs", "inputs.csv"]));
        assert!(stderr.contains(reason), "{stderr}");
        let log = log::read(&[folder.log()]).unwrap();
        let failed = log.samples.iter().filter(|s| s.feedback.is_infinite()).count();
        assert_eq!(failed, 14, "half of the choices: {stderr}");
    }
}
