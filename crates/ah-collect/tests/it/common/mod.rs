//! Shared by the tests of the command line.
#![allow(dead_code)] // Each test file uses a part.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use ah_types::log::{Log, Sample};
use assert_cmd::Command;

/// A folder of one test.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn log(&self) -> PathBuf {
        self.path("train.txt")
    }

    /// A file's text; of a log, without the time of a decision, which each run measures anew.
    pub fn read(&self, name: &str) -> String {
        let text = std::fs::read_to_string(self.path(name)).unwrap();
        let Some((begin, rest)) = text.split_once("\"decision_ns\":{") else { return text };
        let (_, end) = rest.split_once("},").unwrap();
        format!("{begin}{end}")
    }
}

/// The program of an example. `cargo test` builds them all.
pub fn example(name: &str) -> PathBuf {
    let path = assert_cmd::cargo::cargo_bin!("ah-collect").with_file_name("examples").join(name);
    assert!(path.exists(), "{} is not built: run `cargo build -p ah-collect --examples`", path.display());
    path
}

/// The command of the fake device; with the argument `faults`, its choices hang and crash.
pub fn fake_worker(arguments: &str) -> String {
    format!("'{}' {arguments}", example("fake").display())
}

/// `ah-collect` on the fake device, with the folder's log unless a later `-o` overrides it.
pub fn fake(folder: &Folder) -> Command {
    fake_to(folder, "collect", "")
}

/// The same on a fake device whose choices hang, crash and lose the device, on even sizes.
pub fn faulty(folder: &Folder) -> Command {
    fake_to(folder, "collect", "faults")
}

/// A mode of `ah-collect` on the fake device.
pub fn fake_to(folder: &Folder, mode: &str, arguments: &str) -> Command {
    let mut command = Command::cargo_bin("ah-collect").unwrap();
    command.arg(mode).current_dir(&folder.0).env("AH_FAKE_PACE_US", "1");
    command.args(["--worker", &fake_worker(arguments)]);
    command
}

/// Runs it, expects success, and returns its messages.
pub fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{:?}\n{stderr}", output.status);
    stderr
}

/// Runs it, expects an error of one line on standard error and nothing on standard output. Returns the exit
/// code and the line.
pub fn error(command: &mut Command) -> (i32, String) {
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.stdout.is_empty(), "{output:?}");
    let lines: Vec<_> = stderr.lines().filter(|l| l.starts_with("error: ")).collect();
    assert_eq!(lines.len(), 1, "one sentence: {stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
    (output.status.code().unwrap(), lines[0].to_owned())
}

/// Runs it, expects an [`error`] with this exit code and all these parts.
pub fn refused(command: &mut Command, code: i32, parts: &[&str]) {
    let (found, message) = error(command);
    assert_eq!(found, code, "{command:?}: {message}");
    for part in parts {
        assert!(message.contains(part), "{command:?}: {part:?} is not in {message}");
    }
}

/// Runs it, expects success, and returns its results.
pub fn stdout(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The feedback of a choice on the input of this size.
pub fn feedback(log: &Log, size: f64, choice: &str) -> Vec<f64> {
    let input = (0..log.inputs.len()).find(|i| log.context(*i).number("size") == Some(size)).unwrap();
    let of_choice = |s: &&Sample| s.input as usize == input && log.choice_name(s.choice) == choice;
    log.samples.iter().filter(of_choice).map(|s| s.feedback).collect()
}

/// Tries each case, four at once: most of their time is waiting.
pub fn at_once<T: Sync>(cases: &[T], each: impl Fn(&T) + Sync) {
    for some in cases.chunks(4) {
        std::thread::scope(|scope| some.iter().for_each(|case| _ = scope.spawn(|| each(case))));
    }
}

/// Reports a part of a test that this machine cannot run. The test harness hides the output of a passing test,
/// but not direct writes to standard error.
pub fn skipped(reason: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {reason}");
}

/// Whether the machine has a GPU; else prints what is not tested.
pub fn gpu(what: &str) -> bool {
    let count = ah_kernels::cuda::count();
    if let Err(error) = &count {
        skipped(&format!("{error}; so {what} is not tried"));
    }
    count.is_ok()
}

/// The inputs of the folder's log, as text, in order.
pub fn inputs(folder: &Folder) -> Vec<String> {
    let log = ah_types::log::read(&[folder.log()]).unwrap();
    log.inputs.into_iter().map(|i| i.text.into_string()).collect()
}

/// Starts collecting with the fake device, `pace` microseconds a step, and returns once the log has `lines` lines.
pub fn collector_at_work(folder: &Folder, args: &[&str], pace: &str, lines: usize) -> Child {
    let child = std::process::Command::new(assert_cmd::cargo::cargo_bin!("ah-collect"))
        .args(["--worker", &fake_worker("")])
        .args(args)
        .arg("-o")
        .arg(folder.log())
        .env("AH_FAKE_PACE_US", pace)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while std::fs::read_to_string(folder.log()).map_or(0, |t| t.lines().count()) < lines {
        assert!(start.elapsed() < Duration::from_secs(60), "nothing is written");
        std::thread::sleep(Duration::from_millis(2));
    }
    child
}
