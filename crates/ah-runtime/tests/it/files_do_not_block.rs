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

/// Returns the files in the only folder below this one.
fn cache_files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let device = std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let files = std::fs::read_dir(device).unwrap().map(|file| file.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|e| e == extension)).collect()
}

#[test]
fn a_pipe_in_place_of_any_file() {
    let folder = tempfile::tempdir().unwrap();
    let [cache, records] = ["cache", "records"].map(|name| folder.path().join(name));
    let variables = [("AUTOHEURISTIC_CACHE_DIR", cache.clone()), ("AUTOHEURISTIC_RECORD", records.clone())];
    let run = move |k: f64| {
        let variables: Vec<_> = variables.iter().map(|(name, path)| (*name, path.as_path())).collect();
        let multi = two(environment(&variables)).build().unwrap();
        multi.run(&values(64.0, k, "f32"), |kernel| kernel(k), None).unwrap()
    };
    // Creates the files.
    run(1.0);
    let files = [cache_files(&cache, "json"), cache_files(&cache, "lock")].concat();
    let files = [files, vec![records.join("pad_mm.json"), records.join("pad_mm.lock")]];
    for (turn, file) in files.concat().iter().enumerate() {
        assert!(file.is_file(), "{}", file.display());
        make_pipe(file);
        let run = run.clone();
        let k = 1000.0 * (turn + 1) as f64;
        assert_eq!(soon(file.display(), move || run(k)), 2.0 * k, "{}", file.display());
    }
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
    Outcome::Measured { feedback: vec![0.5] }
}

/// Locks the file through another open file, which excludes this process's writers like another process would.
fn hold(path: &Path) -> File {
    let file = File::options().append(true).open(path).unwrap();
    file.lock().unwrap();
    file
}

#[test]
fn measurements_wait_in_memory_while_the_log_is_locked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.txt");
    let auto = collecting(&path);
    auto.choose_or_collect(&[1.into()], measured_choice);
    let holder = hold(&path);
    let auto = soon("the log or cache", move || {
        for length in 2..7 {
            assert_eq!(auto.choose_or_collect(&[length.into()], measured_choice).choice, "std");
        }
        auto
    });
    let lengths = || {
        let inputs = log::read(&[&path]).unwrap().inputs;
        inputs.into_iter().map(|input| input.text.parse::<u32>().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(lengths(), [1]);
    drop(holder);
    auto.choose_or_collect(&[7.into()], measured_choice);
    assert_eq!(lengths(), [1, 2, 3, 4, 5, 6, 7], "none is lost, and their order stays");
    // Dropping the decision point writes the inputs that still wait.
    let holder = hold(&path);
    auto.choose_or_collect(&[8.into()], measured_choice);
    drop(holder);
    drop(auto);
    assert_eq!(lengths().last(), Some(&8));
}

#[test]
fn picks_wait_in_memory_while_their_file_is_locked() {
    let folder = tempfile::tempdir().unwrap();
    let environment = cached_in(folder.path());
    let multi = two(environment.clone()).build().unwrap();
    assert_eq!(measured(&multi, 64.0, 1000.0, "f32"), "pad");
    let holder = hold(&cache_files(folder.path(), "lock")[0]);
    let multi = soon("the log or cache", move || {
        for k in [2000.0, 4000.0, 8000.0, 16000.0] {
            assert_eq!(measured(&multi, 64.0, k, "f32"), "pad");
            assert_eq!(remembered(&multi, 64.0, k, "f32"), "pad");
        }
        multi
    });
    let next = || two(environment.clone()).build().unwrap();
    assert_eq!(next().pick(&values(64.0, 8000.0, "f32")), None, "it could not be written");
    drop(holder);
    assert_eq!(measured(&multi, 64.0, 32000.0, "f32"), "pad");
    assert_eq!(remembered(&next(), 64.0, 8000.0, "f32"), "pad");
}
