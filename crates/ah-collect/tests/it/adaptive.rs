//! `--adaptive` and `--replay`: a log as a device, and choices that are left out because they are expected to be slow.

use crate::common;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;

use ah_types::log::{self, Log, RandomPart};
use assert_cmd::Command;
use common::{Folder, fake, refused, stdout, succeed};

const INPUTS: &str = "150";

/// Returns `ah-collect` on the times of a log.
fn replay(log: &Path, output: &Path) -> Command {
    let mut command = Command::cargo_bin("ah-collect").unwrap();
    command.arg("--replay").arg(log).arg("-o").arg(output);
    command
}

/// Returns the rows of each choice on each input.
fn rows(log: &Log) -> HashMap<(&str, &str), Vec<f64>> {
    let mut rows: HashMap<_, Vec<f64>> = HashMap::new();
    for sample in &log.samples {
        let input = &*log.inputs[sample.input as usize].text;
        rows.entry((input, log.choice_name(sample.choice))).or_default().push(sample.feedback);
    }
    rows
}

#[test]
fn a_replayed_log_is_the_log() {
    let folder = Folder::new();
    succeed(fake(&folder).args(["--num-samples", INPUTS]));
    let copy = folder.path("copy.txt");
    succeed(replay(&folder.log(), &copy).args(["--num-samples", INPUTS, "--num-reps", "3"]));
    let (original, copy) = (log::read(&[folder.log()]).unwrap(), log::read(&[copy]).unwrap());
    assert_eq!(original.metadata.device(), copy.metadata.device());
    let (original, copy) = (rows(&original), rows(&copy));
    assert_eq!(original.len(), copy.len());
    for (cell, times) in &original {
        // A choice that stopped early has fewer rows than three; then the first follows again.
        let asked = if times[0].is_infinite() { 1 } else { 3 };
        let again: Vec<f64> = times.iter().cycle().take(asked).copied().collect();
        assert_eq!(copy[cell], again, "{cell:?}");
    }
}

/// PyTorch's logs have the capability of a GPU and no device. Learning counts the time of a decision on a processor only.
#[test]
fn a_replayed_log_of_a_gpu_is_of_a_gpu() {
    let folder = Folder::new();
    let (log, copy) = (folder.path("gpu.txt"), folder.path("copy.txt"));
    let features = r#""numerical_features": ["m"], "categorical_features": []"#;
    let head = format!(r#"{{"name": "gpu", "shared_memory": 232448, "device_capa": [9, 0], {features}}}"#);
    std::fs::write(&log, format!("{head}\nm,choice,feedback\n1,a,0.5\n1,b,0.25\n2,a,0.5\n2,b,1\n")).unwrap();
    succeed(replay(&log, &copy).args(["--num-samples", "2"]));
    let copy = log::read(&[copy]).unwrap().metadata;
    assert_eq!((copy.device_capa, copy.shared_memory), ((9, 0), Some(232_448)));
    assert!(matches!(copy.device(), Some(ah_types::Device::Cuda(_))));
}

#[test]
fn slow_choices_are_left_out_except_on_the_random_part() {
    let folder = Folder::new();
    let stderr = succeed(fake(&folder).args(["--num-samples", INPUTS, "--adaptive=0.2"]));
    assert!(stderr.contains("with every choice on every input about"), "{stderr}");
    assert!(stderr.contains("expected to be slower"), "{stderr}");
    let log = log::read(&[folder.log()]).unwrap();
    let part = log.metadata.collection.as_ref().unwrap().random_part;
    assert_eq!(part, Some(RandomPart { share: 0.2 }));
    assert_eq!(log.inputs.len(), 150);
    let rows = rows(&log);
    let (mut random, mut slow, mut winners) = (0, 0, 0);
    for (index, input) in log.inputs.iter().enumerate() {
        let text = &*input.text;
        assert_eq!(input.random, part.unwrap().contains(text));
        let small = log.context(index).number("size").unwrap() < 1000.0;
        let winner = if small { "small_is_fast" } else { "steady" };
        winners += u32::from(rows.contains_key(&(text, winner)));
        if input.random {
            random += 1;
            assert!(rows.contains_key(&(text, "slow")), "{text} lacks a choice");
        } else {
            slow += u32::from(rows.contains_key(&(text, "slow")));
        }
    }
    assert!((15..=45).contains(&random), "{random} of 150");
    assert!(slow <= 30, "the slow choice was timed on {slow} of {} inputs", 150 - random);
    assert!(winners >= 145, "the winner was left out on {} inputs", 150 - winners);
}

#[test]
fn an_adaptive_run_that_was_cut_off_ends_like_an_undisturbed_one() {
    let (whole, cut) = (Folder::new(), Folder::new());
    let run = |folder: &Folder| succeed(fake(folder).args(["--num-samples", INPUTS, "--adaptive=0.2"]));
    run(&whole);
    run(&cut);
    let expected = whole.read("train.txt");
    assert_eq!(cut.read("train.txt"), expected, "the same seed gives the same log");
    for kept in [20, 90, 140] {
        let log = log::read(&[whole.log()]).unwrap();
        let first = &*log.inputs[kept].text;
        let end = expected.find(&format!("\n{first},")).unwrap() + 1;
        std::fs::write(cut.log(), &expected[..end]).unwrap();
        let stderr = run(&cut);
        assert!(stderr.contains(&format!("measured {} inputs", 150 - kept)), "{stderr}");
        assert_eq!(cut.read("train.txt"), expected, "{kept} inputs kept");
    }
    refused(fake(&whole).args(["--num-samples", INPUTS]), 3, &["random_part"]);
}

#[test]
fn an_input_that_lacks_the_planned_choice_gets_all_others() {
    let folder = Folder::new();
    let head = r#"{"name":"x","device_capa":[0,0],"numerical_features":["size"],"categorical_features":[]}"#;
    let (inputs, lacks) = (300, |size: u32| size % 20 == 7);
    let row = |size: u32| {
        let fast = if lacks(size) { String::new() } else { format!("{size},fast,1\n") };
        format!("{fast}{size},slow,9\n{size},slower,10\n")
    };
    let text: String = (1..=inputs).map(row).collect();
    std::fs::write(folder.path("source.txt"), format!("{head}\nsize,choice,feedback\n{text}")).unwrap();
    let run = |name: &str| {
        let mut command = replay(&folder.path("source.txt"), &folder.path(name));
        let json = stdout(command.args(["--num-samples", "300", "--adaptive=0.2", "--json"]));
        serde_json::from_str::<serde_json::Value>(&json).unwrap()["run"]["measured"].clone()
    };
    assert_eq!(run("log.txt"), inputs);
    let log = log::read(&[folder.path("log.txt")]).unwrap();
    let rows = rows(&log);
    let mut mended = 0;
    for (index, input) in log.inputs.iter().enumerate() {
        let has_slow = rows.contains_key(&(&*input.text, "slow"));
        if lacks(log.context(index).number("size").unwrap() as u32) {
            mended += u32::from(!input.random);
            assert!(has_slow && rows.contains_key(&(&*input.text, "slower")), "{}", input.text);
        }
    }
    assert!(mended >= 5, "{mended} inputs lack the planned choice");
    let timed = |choice| log.inputs.iter().filter(|input| rows.contains_key(&(&*input.text, choice))).count();
    assert!(timed("slow") < 150, "the slow choice was timed on {} of 300 inputs", timed("slow"));
    // A run that was cut off reads the same times from the log, and takes the same plan.
    let expected = folder.read("log.txt");
    let end = expected.find(&format!("\n{},", log.inputs[200].text)).unwrap() + 1;
    std::fs::write(folder.path("cut.txt"), &expected[..end]).unwrap();
    assert_eq!(run("cut.txt"), 100);
    assert_eq!(folder.read("cut.txt"), expected);
}

#[test]
fn the_usual_random_part_is_as_large_as_a_promise_needs() {
    let share = |folder: &Folder| {
        let log = log::read(&[folder.log()]).unwrap();
        log.metadata.collection.unwrap().random_part.unwrap().share
    };
    let folder = Folder::new();
    succeed(fake(&folder).args(["--num-samples", "20", "--adaptive"]));
    assert_eq!(share(&folder), 0.5, "half of a small log");
    succeed(fake(&folder).args(["--num-samples", "30", "--adaptive=0.5"]));
    succeed(fake(&folder).args(["--max-seconds", "0.2", "--adaptive"]));
    assert_eq!(share(&folder), 0.5, "a continued log keeps its share");
    for (draws, expected) in [("2000", 0.46), ("100000", 0.1)] {
        let folder = Folder::new();
        succeed(fake(&folder).args(["--draws", draws, "--max-seconds", "0.2", "--adaptive"]));
        assert_eq!(share(&folder), expected, "{draws} inputs");
    }
}

/// A dense log of 96 configurations on 120 inputs, where the best tile grows with the input.
fn many_choices(folder: &Folder) -> std::path::PathBuf {
    let head =
        r#"{"name":"tiles","device_capa":[0,0],"numerical_features":["size"],"categorical_features":[]}"#;
    let mut text = format!("{head}\nsize,choice,feedback\n");
    for size in (0..120_u32).map(|at| 16 + 37 * at) {
        for tile in [8_u32, 16, 32, 64, 128, 256] {
            for (unroll, warps) in (1..=4).flat_map(|unroll| [1, 2, 4, 8].map(|warps| (unroll, warps))) {
                let waste = f64::from(size.div_ceil(tile) * tile) / f64::from(size);
                let steps = f64::from(size.div_ceil(tile)).powf(0.6) + 0.02 * f64::from(tile);
                let ms =
                    0.01 * waste * steps * (1.0 + 0.05 * f64::from(unroll)) * (1.0 + 0.3 / f64::from(warps));
                let _ = writeln!(text, "{size},tile={tile}_unroll={unroll}_warps={warps},{ms}");
            }
        }
    }
    let path = folder.path("source.txt");
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn of_many_choices_a_joint_model_plans_a_few_near_the_best() {
    let folder = Folder::new();
    let source = many_choices(&folder);
    let run = |name: &str| {
        succeed(replay(&source, &folder.path(name)).args(["--num-samples", "120", "--adaptive"]));
        std::fs::read_to_string(folder.path(name)).unwrap()
    };
    let text = run("log.txt");
    let (dense, log) = (log::read(&[&source]).unwrap(), log::read(&[folder.path("log.txt")]).unwrap());
    assert_eq!(log.metadata.collection.as_ref().unwrap().random_part, None);
    assert_eq!(log.inputs.len(), 120);
    let (dense, planned) = (rows(&dense), rows(&log));
    let mut later = 0;
    for (at, input) in log.inputs.iter().enumerate() {
        let of_input = |rows: &HashMap<(&str, &str), Vec<f64>>| -> Vec<f64> {
            rows.iter().filter(|((text, _), _)| *text == &*input.text).map(|(_, times)| times[0]).collect()
        };
        let (timed, all) = (of_input(&planned), of_input(&dense));
        assert!(input.random, "every input may be held out");
        assert!(timed.len() <= 64, "{} choices", timed.len());
        let least = |times: &[f64]| times.iter().copied().fold(f64::INFINITY, f64::min);
        if at >= 30 {
            assert!(timed.len() <= 32, "{} choices", timed.len());
            later += usize::from(least(&timed) <= 1.05 * least(&all));
        }
    }
    assert!(later >= 85, "the best 5 % were timed on {later} of 90 inputs");

    // A run that was cut off ends like this one.
    for kept in [12, 70] {
        let end = text.find(&format!("\n{},", &*log.inputs[kept].text)).unwrap() + 1;
        std::fs::write(folder.path("cut.txt"), &text[..end]).unwrap();
        assert_eq!(run("cut.txt"), text, "{kept} inputs kept");
        std::fs::remove_file(folder.path("cut.txt.outcomes.jsonl")).unwrap();
    }
}
