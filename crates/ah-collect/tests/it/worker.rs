//! The faults that a worker process survives, on the fake device: choices that hang, crash and lose the
//! device, on every second size.

use crate::common;

use std::process::Stdio;
use std::time::{Duration, Instant};

use ah_types::log;
use common::{Folder, fake, fake_to, fake_worker, faulty, feedback, refused, skipped, succeed};

#[test]
fn a_fault_costs_its_choice_on_its_input_and_nothing_else() {
    let folder = Folder::new();
    std::fs::write(folder.path("inputs.csv"), "kind,size\npears,10\npears,11\npears,12\n").unwrap();
    let stderr = succeed(faulty(&folder).args(["--hang-seconds", "0.3", "--inputs", "inputs.csv"]));
    let log = log::read(&[folder.log()]).unwrap();
    assert_eq!(log.inputs.len(), 3);
    for size in [10.0, 12.0] {
        for faulty in ["hanging", "crashing", "losing"] {
            assert_eq!(feedback(&log, size, faulty), [f64::INFINITY], "{faulty} on {size}");
        }
    }
    for faulty in ["hanging", "crashing", "losing"] {
        assert_eq!(feedback(&log, 11.0, faulty).len(), 3, "{faulty} works on odd sizes");
    }
    for size in [10.0, 11.0, 12.0] {
        assert_eq!(feedback(&log, size, "steady"), [size * 1e-3; 3], "the others keep their times");
    }
    for reason in [
        "hung: no answer within 0.3 s",
        "crashed: the worker process ended with signal",
        "an illegal address",
    ] {
        assert!(stderr.contains(reason), "{reason} in {stderr}");
    }
}

#[test]
fn several_devices_share_one_sequence_and_one_log() {
    let (one, many) = (Folder::new(), Folder::new());
    succeed(fake(&one).args(["--num-samples", "24"]));
    let stderr = succeed(fake(&many).args(["--device", "0,1,2", "--num-samples", "24"]));
    assert!(stderr.contains("measured 24 inputs"), "{stderr}");
    let log = log::read(&[many.log()]).unwrap();
    assert_eq!(log.inputs.len(), 24);
    let mut order: Vec<u32> = log.samples.iter().map(|s| s.input).collect();
    order.dedup();
    assert_eq!(order.len(), 24, "each input is measured once, and its rows stand together");
    let sorted = |folder: &Folder| {
        let mut inputs = common::inputs(folder);
        inputs.sort();
        inputs
    };
    assert_eq!(sorted(&one), sorted(&many));
}

#[test]
fn a_time_that_is_no_number_fails_its_choice_alone() {
    let folder = Folder::new();
    let stderr = succeed(fake_to(&folder, "collect", "nan").args(["--num-samples", "5"]));
    assert!(stderr.contains("failed 5 times (slow): a sample took NaN ms"), "{stderr}");
    let log = folder.read("train.txt");
    let times = |choice: &str| -> Vec<String> {
        let rows = log.lines().filter(|row| row.split(',').nth(2) == Some(choice));
        rows.map(|row| row.rsplit(',').next().unwrap().to_owned()).collect()
    };
    assert!(times("slow").len() == 5 && times("slow").iter().all(|ms| ms == "inf"), "{log}");
    assert!(times("steady").len() >= 5 && times("steady").iter().all(|ms| ms != "inf"), "{log}");
}

#[test]
fn a_hung_worker_does_not_outlive_its_parent() {
    if !std::path::Path::new("/proc/self/task").exists() {
        skipped("no /proc here, so the worker cannot be found");
        return;
    }
    let folder = Folder::new();
    std::fs::write(folder.path("inputs.csv"), "kind,size\npears,10\n").unwrap();
    let mut parent = std::process::Command::new(assert_cmd::cargo::cargo_bin!("ah-collect"))
        .args(["--worker", &fake_worker("faults"), "--hang-seconds", "3600", "--inputs"])
        .arg(folder.path("inputs.csv"))
        .arg("-o")
        .arg(folder.log())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let until = |what: &str, done: &dyn Fn() -> bool| {
        let start = Instant::now();
        while !done() {
            assert!(start.elapsed() < Duration::from_secs(60), "{what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    // The head of the log is written when all workers have started.
    until("the run does not begin", &|| folder.log().exists());
    // The crashing choice ends the first worker, the hanging one holds another.
    std::thread::sleep(Duration::from_millis(500));
    let tasks = std::fs::read_dir(format!("/proc/{}/task", parent.id())).unwrap();
    let children = tasks.flat_map(|task| std::fs::read_to_string(task.unwrap().path().join("children")));
    let children: Vec<String> =
        children.flat_map(|text| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect();
    assert!(children.len() >= 2, "a worker and the guard: {children:?}");
    parent.kill().unwrap();
    parent.wait().unwrap();
    // Its new parent may not collect it, so a zombie has ended as well.
    let ended = || {
        children.iter().all(|child| {
            let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
            stat.is_empty() || stat.contains(") Z")
        })
    };
    until("the worker lives on", &ended);
}

#[test]
fn a_device_that_cannot_be_opened_is_named() {
    let folder = Folder::new();
    let mut command = assert_cmd::Command::cargo_bin("ah-collect").unwrap();
    command.args(["--name", "mm", "--backend", "cpu", "--device", "7", "-o"]).arg(folder.log());
    refused(&mut command, 5, &["--device 7"]);
    assert!(!folder.log().exists());
}

/// The optimizations of the project name fallbacks of several devices; a worker has the choices of one.
#[test]
fn an_optimization_of_several_devices_is_measured_in_a_worker_of_one() {
    let folder = Folder::new();
    let inputs = "m,k,n,mat1_stride_0,mat1_stride_1,mat2_stride_0,mat2_stride_1,mat1_dtype,mat2_dtype,\
                  mat1_iscontig,mat2_iscontig,using_tf32\n\
                  8,8,8,8,1,8,1,torch.float32,torch.float32,True,True,False\n";
    std::fs::write(folder.path("inputs.csv"), inputs).unwrap();
    let mut command = assert_cmd::Command::cargo_bin("ah-collect").unwrap();
    command.args(["--name", "mm", "--backend", "cpu", "--inputs"]);
    succeed(command.arg(folder.path("inputs.csv")).arg("-o").arg(folder.log()));
    assert_eq!(log::read(&[folder.log()]).unwrap().inputs.len(), 1);
}
