//! NVIDIA GPUs from a user's view: the faults that a run survives on a machine with a GPU, and the message
//! on a machine without one. If the machine with the GPU has no Rust, copy this test's binary and
//! `ah-collect` there, and put the path of the latter into `CARGO_BIN_EXE_ah-collect`.

use crate::common;

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ah_cli::exit;
use ah_types::log;
use common::{Folder, error, feedback, gpu, inputs, skipped, succeed};

fn cuda(folder: &Folder, name: &str) -> assert_cmd::Command {
    let mut command = assert_cmd::Command::cargo_bin("ah-collect").unwrap();
    command.args(["--backend", "cuda", "--name", name, "-o"]).arg(folder.log());
    command
}

/// The same, to be interrupted.
fn start(folder: &Folder, arguments: &[&str]) -> Child {
    Command::new(assert_cmd::Command::cargo_bin("ah-collect").unwrap().get_program())
        .args(["--backend", "cuda", "--name", "softmax", "-o"])
        .arg(folder.log())
        .args(arguments)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits until the log has this many lines. Reads nothing else of it, as it may be half written.
fn wait_for_lines(folder: &Folder, child: &mut Child, count: usize) {
    let begin = Instant::now();
    while std::fs::read_to_string(folder.log()).unwrap_or_default().lines().count() < count {
        if child.try_wait().unwrap().is_some() {
            let message = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
            panic!("the run ended before it had {count} lines: {message}");
        }
        assert!(begin.elapsed() < Duration::from_secs(120), "nothing is measured");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_kernels_fault_costs_its_choice_on_its_input_and_nothing_else() {
    if !gpu("what real kernels' faults cost") {
        return;
    }
    let folder = Folder::new();
    std::fs::write(folder.path("inputs.csv"), "size\n1000\n68719476736\n1001\n4194304\n").unwrap();
    let mut command = assert_cmd::Command::cargo_bin("ah-collect").unwrap();
    command.args(["--optimization", "tests/faults/faults.toml", "--hang-seconds", "3", "--inputs"]);
    let stderr = succeed(command.arg(folder.path("inputs.csv")).arg("-o").arg(folder.log()));
    eprintln!("{stderr}");
    let log = log::read(&[folder.log()]).unwrap();
    assert_eq!(log.inputs.len(), 3, "the input that fits no memory is skipped, the others are measured");
    let measured = |size, choice| {
        let rows = feedback(&log, size, &format!("FAULT={choice}"));
        assert!(
            rows.len() == 3 && rows.iter().all(|ms| *ms > 0.0 && *ms < 1.0),
            "{choice} on {size}: {rows:?}"
        );
    };
    for size in [1000.0, 1001.0, 4_194_304.0] {
        let failed = |choice| feedback(&log, size, &format!("FAULT={choice}")) == [f64::INFINITY];
        measured(size, "steady");
        for faulty in ["wrong", "unwritten", "not-compiling", "not-launching"] {
            assert!(failed(faulty), "{faulty} on {size}");
        }
        for lethal in ["illegal-address", "misaligned-address", "hanging"] {
            if size % 2.0 == 0.0 {
                assert!(failed(lethal), "{lethal} on {size}");
            } else {
                measured(size, lethal);
            }
        }
    }
    let outcomes = folder.read("train.txt.outcomes.jsonl");
    for reason in [
        "do not fit the device's memory",
        r#"wrong result: \"y\": differs from the reference by"#,
        r#"wrong result: \"y\": 1 elements are not the reference's"#,
        "faults.cu(39): error: identifier",
        "ask for shared memory",
        "CUDA_ERROR_ILLEGAL_ADDRESS",
        "CUDA_ERROR_MISALIGNED_ADDRESS",
        "hung: no answer within 3 s",
    ] {
        assert!(outcomes.contains(reason), "{reason} in {outcomes}");
    }
}

#[test]
fn an_interrupted_run_finishes_its_input_and_continues_later() {
    if !gpu("an interruption") {
        return;
    }
    let folder = Folder::new();
    let mut child = start(&folder, &["--num-samples", "100000"]);
    wait_for_lines(&folder, &mut child, 300);
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(i32::from(exit::INTERRUPTED)), "{stderr}");
    assert!(stderr.contains("interrupted after the current input"), "{stderr}");
    let before = inputs(&folder);
    let goal = (before.len() + 5).to_string();
    succeed(cuda(&folder, "softmax").args(["--num-samples", &goal]));
    assert_eq!(inputs(&folder)[..before.len()], before);
    assert_eq!(inputs(&folder).len(), before.len() + 5);
}

#[test]
fn a_killed_run_loses_at_most_the_input_in_hand() {
    if !gpu("a kill") {
        return;
    }
    let folder = Folder::new();
    let mut child = start(&folder, &["--num-samples", "100000"]);
    wait_for_lines(&folder, &mut child, 1000);
    child.kill().unwrap();
    child.wait().unwrap();
    let before = inputs(&folder);
    let goal = before.len() + 5;
    succeed(cuda(&folder, "softmax").args(["--num-samples", &goal.to_string()]));
    let resumed = inputs(&folder);
    assert_eq!(resumed[..before.len()], before, "what was measured stays");
    // The same sequence as an uninterrupted run: nothing is left out, nothing comes twice.
    let whole = Folder::new();
    succeed(cuda(&whole, "softmax").args(["--num-samples", &goal.to_string()]));
    assert_eq!(resumed, inputs(&whole));
}

#[test]
fn bad_input_is_named() {
    if !gpu("bad input on a GPU") {
        return;
    }
    let folder = Folder::new();
    let (code, message) = error(cuda(&folder, "pad_mm").args(["--device", "99"]));
    assert_eq!(code, i32::from(exit::DEVICE), "{message}");
    assert!(message.contains("found device 99"), "{message}");
    let head = "m,k,n,mat1_stride_0,mat1_stride_1,mat2_stride_0,mat2_stride_1,mat1_dtype,mat2_dtype,\
                mat1_iscontig,mat2_iscontig,using_tf32";
    for (name, row, expected) in [
        (
            "mm",
            "64,64,99999999,64,1,99999999,1,torch.float16,torch.float16,True,True,not_float_32",
            "n must be",
        ),
        (
            "mm",
            "64,64,64,64,1,64,1,torch.float8_e4m3fn,torch.float16,True,True,not_float_32",
            "float8_e4m3fn",
        ),
        ("mm", "64,64,64,63,1,64,1,torch.float16,torch.float16,True,True,not_float_32", "strides must be"),
        (
            "mixed_mm",
            "200,64,64,64,1,64,1,torch.float16,torch.int8,True,True,not_float_32",
            "m may be at most 128",
        ),
    ] {
        let path = folder.path("inputs.csv");
        std::fs::write(&path, format!("{head}\n{row}\n")).unwrap();
        let (code, message) = error(cuda(&folder, name).arg("--inputs").arg(&path));
        assert_eq!(code, i32::from(exit::BAD_INPUT), "{message}");
        assert!(message.contains(expected) && message.contains("inputs.csv:2"), "{message}");
    }
    assert!(!folder.log().exists(), "nothing was measured, so there is no log");
}

#[test]
fn without_a_gpu_one_sentence_names_what_is_missing() {
    if ah_kernels::cuda::count().is_ok() {
        skipped("this machine has a GPU, so nothing is missing");
        return;
    }
    let folder = Folder::new();
    let (code, message) = error(cuda(&folder, "pad_mm").args(["--num-samples", "1"]));
    assert_eq!(code, i32::from(exit::DEVICE), "{message}");
    assert!(message.contains("libcuda.so") || message.contains("finds no GPU"), "{message}");
    assert!(!folder.log().exists(), "nothing was measured, so there is no log");
}
