//! Pipes in place of files, and locks held by other processes, do not stop a program.
#![cfg(unix)]

use crate::common::virtual_kernels;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use ah_runtime::{AutoHeuristic, Environment, Role};
use ah_types::{Outcome, log};
use virtual_kernels::*;

/// Much longer than the patience for a lock, and much shorter than a wait for one that is never released.
const SOON: Duration = Duration::from_secs(10);

/// Runs `work` on a thread, and fails the test if it does not end.
fn soon<T: Send + 'static>(what: impl std::fmt::Display, work: impl FnOnce() -> T + Send + 'static) -> T {
    let begin = Instant::now();
    let thread = std::thread::spawn(work);
    while !thread.is_finished() {
        assert!(begin.elapsed() < SOON, "{what} blocks");
        std::thread::sleep(Duration::from_millis(5));
    }
    thread.join().unwrap()
}

fn make_pipe(path: &Path) {
    let _ = std::fs::remove_file(path);
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// The files in the only folder below this one.
fn cache_files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let device = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let files = std::fs::read_dir(device).unwrap().map(|file| file.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|e| e == extension)).collect()
}

#[test]
fn a_pipe_in_place_of_the_picks() {
    let folder = tempfile::tempdir().unwrap();
    let cached = folder.path().to_owned();
    let run = move |k: f64| {
        let multi = two(cached_in(&cached)).build().unwrap();
        multi.try_run(&values(64.0, k, "f32"), |kernel| kernel(k), None).unwrap()
    };
    // Creates the file.
    run(1.0);
    let files = cache_files(folder.path(), "json");
    assert_eq!(files.len(), 1);
    make_pipe(&files[0]);
    assert_eq!(soon(files[0].display(), move || run(1000.0)), 2000.0);
}

#[test]
fn a_pipe_in_place_of_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.txt");
    make_pipe(&path);
    soon("the log or cache", move || {
        let auto = collecting(&path);
        assert_eq!(auto.choose_or_collect(&[7.into()], measured_choice).choice, "std");
        let error = auto.record_timings(&[7.into()], [("std", measured_choice("std"))]).unwrap_err();
        assert!(error.to_string().contains("expected a regular file"), "{error}");
    });
}

fn collecting(log: &Path) -> AutoHeuristic {
    let auto = AutoHeuristic::builder("sort").choices(["std", "radix"]).numerical("length");
    auto.role(Role::Collect).environment(Environment::default()).log(log).build().unwrap()
}

fn measured_choice(_: &str) -> Outcome {
    Ok(vec![0.5])
}

/// Locks the file through another open file, which excludes this process's writers like another process would.
fn hold(path: &Path) -> File {
    let file = File::options().append(true).open(path).unwrap();
    file.lock().unwrap();
    file
}

#[test]
fn a_locked_log_does_not_stop_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.txt");
    let auto = collecting(&path);
    auto.choose_or_collect(&[1.into()], measured_choice);
    let _holder = hold(&path);
    soon("the log", move || {
        let error = auto.record_timings(&[2.into()], [("std", measured_choice("std"))]).unwrap_err();
        assert!(error.to_string().contains("log.txt"), "{error}");
        assert_eq!(auto.choose_or_collect(&[3.into()], measured_choice).choice, "std");
    });
    assert_eq!(log::read(&[&path]).unwrap().inputs.len(), 1);
}
