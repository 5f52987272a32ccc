//! Picks on disk: they outlive the program, are shared between processes, and are never trusted.

use crate::common::virtual_kernels;

use std::path::Path;

use ah_runtime::MultiKernel;
use virtual_kernels::*;

#[test]
fn picks_outlive_the_program_until_kernels_versions_or_device_change() {
    let folder = tempfile::tempdir().unwrap();
    let build = || two(cached_in(folder.path())).build().unwrap();
    assert_eq!(measured(&build(), 64.0, 1000.0, "f32"), "pad");
    assert_eq!(remembered(&build(), 64.0, 1000.0, "f32"), "pad");
    let newer = MultiKernel::<Kernel>::builder(decision().environment(cached_in(folder.path())))
        .kernel("orig", 2, orig as Kernel)
        .kernel("pad", 1, pad)
        .timer(virtual_time);
    assert_eq!(measured(&newer.build().unwrap(), 64.0, 1000.0, "f32"), "pad");
    let more = two(cached_in(folder.path())).kernel("stream", 1, stream);
    assert_eq!(measured(&more.build().unwrap(), 64.0, 1000.0, "f32"), "stream");
    let mut device = ah_model::this_cpu();
    if let ah_model::Device::Cpu(cpu) = &mut device {
        cpu.model.push_str(" II");
    }
    let elsewhere = two_at(decision().environment(cached_in(folder.path())).device(device));
    assert_eq!(measured(&elsewhere.build().unwrap(), 64.0, 1000.0, "f32"), "pad");
    // The first program's picks are still there.
    assert_eq!(remembered(&build(), 64.0, 1000.0, "f32"), "pad");
    let without = environment(&[("AUTOHEURISTIC_CACHE_DIR", Path::new("off"))]);
    assert_eq!(measured(&two(without).build().unwrap(), 64.0, 1000.0, "f32"), "pad");
}

#[test]
fn of_two_processes_the_last_one_wins() {
    let folder = tempfile::tempdir().unwrap();
    let build = || two(cached_in(folder.path())).build().unwrap();
    let (ours, theirs) = (build(), build());
    assert_eq!(measured(&theirs, 64.0, 1000.0, "f32"), "pad");
    assert_eq!(measured(&ours, 64.0, 100.0, "f32"), "orig");
    let third = build();
    assert_eq!(third.pick(&values(64.0, 1000.0, "f32")), None);
    assert_eq!(remembered(&third, 64.0, 100.0, "f32"), "orig");
}

fn only_file(folder: &Path) -> std::path::PathBuf {
    let mut found = Vec::new();
    for device in std::fs::read_dir(folder).unwrap() {
        for file in std::fs::read_dir(device.unwrap().path()).unwrap() {
            found.extend(Some(file.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "json")));
        }
    }
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

#[test]
fn a_hostile_cache_is_ignored_and_written_anew() {
    let folder = tempfile::tempdir().unwrap();
    let build = || two(cached_in(folder.path())).exact("k").build().unwrap();
    assert_eq!(measured(&build(), 64.0, 1000.0, "f32"), "pad");
    let path = only_file(folder.path());
    let good = std::fs::read_to_string(&path).unwrap();
    let swap = |from: &str, to: &str| {
        assert!(good.contains(from), "{from} is not in {good}");
        good.replace(from, to).into_bytes()
    };
    let hostile = [
        Vec::new(),
        b"{".to_vec(),
        vec![0xff; 100],
        vec![b'['; 1_000_000],
        swap("\"kernel\": 1", "\"kernel\": 2"),
        swap("\"kernel\": 1", "\"kernel\": \"rm -rf\""),
        swap("\"version\": \"1\"", "\"version\": \"0\""),
        swap("\"equals\": 1000.0", "\"equals\": 1e999"),
        swap("\"equals\": 1000.0", "\"above\": -5.0"),
        swap("\"equals\": 1000.0", "\"above\": 7.0, \"up_to\": 0.0"),
        swap("\"equals\": 1000.0", "\"is\": \"f32\""),
        swap("\"equals\": 1000.0", "\"equals\": 1000.0, \"above\": 0.0"),
        swap("\"ms\": [", "\"ms\": [ 0.25, "),
        swap(" 0.5\n", " null\n"),
        swap(" 0.5\n", " -1\n"),
        swap("autoheuristic-picks", "other"),
        good.as_bytes()[..good.len() / 2].to_vec(),
    ];
    for text in hostile {
        std::fs::write(&path, &text).unwrap();
        let what = String::from_utf8_lossy(&text[..text.len().min(2000)]).into_owned();
        let multi = build();
        assert_eq!(multi.pick(&values(64.0, 1000.0, "f32")), None, "taken from {what}");
        assert_eq!(measured(&multi, 64.0, 1000.0, "f32"), "pad");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), good, "after {what}");
    }
    // A folder in place of the file.
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    assert_eq!(measured(&build(), 64.0, 1000.0, "f32"), "pad");
}
