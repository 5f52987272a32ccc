//! Tables of decisions: a row changes only where a log proves the gain, and the readers find their files.

use std::fs;
use std::path::Path;

use assert_cmd::Command;

const SMALL: &str = "BLOCK_SIZE_M=16_BLOCK_SIZE_N=32_BLOCK_SIZE_K=64_GROUP_SIZE_M=1_num_warps=4";
const LARGE: &str = "BLOCK_SIZE_M=64_BLOCK_SIZE_N=128_BLOCK_SIZE_K=64_GROUP_SIZE_M=8_num_warps=8";

/// A model that takes `choices[0]` up to M = 100 and `choices[1]` above.
fn model(choices: [&str; 2], fallback: Option<&str>, features: &[&str]) -> String {
    let feature = |name: &&str| serde_json::json!({ "name": name, "kind": "numerical", "integer": true });
    let features: Vec<_> = features.iter().map(feature).collect();
    let leaf = |first: u32| {
        let ranking = [(first, 0.01), (1 - first, 0.3)]
            .map(|(choice, score)| serde_json::json!([choice, score, 9, 0.5, 1.1, 1.2, 1.2, "ea"]));
        serde_json::json!({ "samples": 9, "ranking": ranking })
    };
    serde_json::json!({
        "format": "autoheuristic-model", "version": 11, "heuristic": "FusedMoe", "optimization": "fused_moe",
        "features": features, "derived": [], "categories": {}, "precondition": null,
        "device": { "kind": "cuda", "name": "NVIDIA H200", "capability": [9, 0], "multiprocessors": 132,
            "shared_memory": 232448, "l2": 1, "memory": 1, "clock_khz": 1, "memory_clock_khz": 1, "driver": "1",
            "runtime": "1" },
        "shared_memory": 232448, "device_capa": [9, 0], "choices": choices, "fallback": fallback, "eligible": {},
        "promise": null,
        "purpose": { "objective": "geomean", "targets": [], "overlaps": false, "max_slowdown": 1.05 },
        "tree": [{ "feature": "M", "threshold": 100, "right": 2 }, leaf(0), leaf(1)],
        "provenance": { "tool": "ah-train 0.1.0", "logs": [], "seed": 0, "parameters": {}, "metrics": {} }
    })
    .to_string()
}

/// A log with these times of a choice at each M.
fn log(rows: &[(u32, &str, &[f64])]) -> String {
    let head = r#"{"name":"fused_moe","shared_memory":232448,"device_capa":[9,0],"numerical_features":["M"],"categorical_features":[]}"#;
    let row = |(m, choice, times): &(u32, &str, &[f64])| -> String {
        times
            .iter()
            .map(|ms| {
                format!("{m},{choice},{}\n", if ms.is_infinite() { "inf".to_owned() } else { ms.to_string() })
            })
            .collect()
    };
    format!("{head}\nM,choice,feedback\n{}", rows.iter().map(row).collect::<String>())
}

const TWICE: [f64; 6] = [0.5, 0.51, 0.49, 0.5, 0.52, 0.5];
const ONCE: [f64; 6] = [1.0, 1.01, 0.99, 1.0, 1.02, 1.0];
/// Faster than [`ONCE`] in five of six turns.
const NOISY: [f64; 6] = [0.9, 0.9, 0.9, 0.9, 0.9, 1.1];

fn run(folder: &Path, model: &str, log: &str, arguments: &[&str]) -> (i32, String) {
    fs::write(folder.join("model.json"), model).unwrap();
    fs::write(folder.join("rows.txt"), log).unwrap();
    let output = Command::cargo_bin("ah-train")
        .unwrap()
        .current_dir(folder)
        .args([&["table", "model.json"], arguments].concat())
        .output()
        .unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

const TABLE: [&str; 3] = ["rows.txt", "-o", "moe.json"];

#[test]
fn only_rows_with_a_proof_are_changed() {
    let folder = tempfile::tempdir().unwrap();
    let fails = [f64::INFINITY];
    let log = log(&[
        (1, SMALL, &TWICE),
        (1, LARGE, &ONCE),
        (2, SMALL, &NOISY),
        (2, LARGE, &ONCE),
        (4, SMALL, &TWICE[..5]),
        (4, LARGE, &ONCE),
        (8, SMALL, &TWICE),
        (16, SMALL, &TWICE),
        (16, LARGE, &fails),
        (32, SMALL, &fails),
        (32, LARGE, &ONCE),
        (1024, SMALL, &ONCE),
        (1024, LARGE, &TWICE),
    ]);
    let (code, error) = run(folder.path(), &model([SMALL, LARGE], Some(LARGE), &["M"]), &log, &TABLE);
    assert_eq!(code, 0, "{error}");
    let place = folder.path().join("moe.json");
    let text = fs::read_to_string(&place).unwrap();
    let table: serde_json::Value = serde_json::from_str(&text).unwrap();
    let rows = table["rows"].as_array().unwrap();
    let blocks: Vec<(u64, u64)> = rows
        .iter()
        .map(|row| {
            (row["features"]["M"].as_f64().unwrap() as u64, row["config"]["BLOCK_SIZE_N"].as_u64().unwrap())
        })
        .collect();
    // The gain is proved at 1; at 16 the default fails. At 2, 4 and 8 the default is noisy, has too few turns, or has no times.
    let mut expected = [(1, 32), (2, 128), (4, 128), (8, 128), (16, 32), (32, 128), (1024, 128)];
    let mut blocks = blocks;
    blocks.sort();
    expected.sort();
    assert_eq!(blocks, expected);
    assert_eq!(rows[0]["config"]["num_warps"], 4);
    insta::assert_snapshot!(text);
    // A table can be written again; a file of the user's own is not lost.
    let model = model([SMALL, LARGE], Some(LARGE), &["M"]);
    assert_eq!(run(folder.path(), &model, &log, &TABLE).0, 0);
    assert_eq!(fs::read_to_string(&place).unwrap(), text);
    fs::write(place, "mine").unwrap();
    let (code, error) = run(folder.path(), &model, &log, &TABLE);
    assert!(code == 4 && error.contains("another program wrote it"), "{code} {error}");
}

#[test]
fn a_log_can_name_the_default_of_each_input() {
    let folder = tempfile::tempdir().unwrap();
    let log = log(&[(1, SMALL, &TWICE), (1, LARGE, &ONCE), (8, SMALL, &TWICE), (8, LARGE, &ONCE)])
        .replace("\"categorical_features\":[]", "\"categorical_features\":[\"default\"]")
        .replace("M,choice", "M,default,choice")
        .replace("\n1,", &format!("\n1,{SMALL},"))
        .replace("\n8,", &format!("\n8,{LARGE},"));
    let model = model([SMALL, LARGE], None, &["M"]);
    let (code, error) = run(folder.path(), &model, &log, &TABLE);
    assert_eq!(code, 0, "{error}");
    let table = fs::read_to_string(folder.path().join("moe.json")).unwrap();
    assert!(table.contains("1 of 2 rows are changed;") && table.contains("\"default\": null"), "{table}");
    let table: serde_json::Value = serde_json::from_str(&table).unwrap();
    assert_eq!(table["rows"][0]["proof"]["reason"], "the heuristic takes the default");
    assert_eq!(
        (&table["rows"][1]["choice"], &table["rows"][1]["proof"]["gain"]),
        (&SMALL.into(), &2.0.into())
    );
}

#[test]
fn bad_input_says_what_to_do() {
    let good = log(&[(1, SMALL, &TWICE), (1, LARGE, &ONCE)]);
    let with_default = model([SMALL, LARGE], Some(LARGE), &["M"]);
    let tried = |model: &str, log: &str, arguments: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        let (code, error) = run(folder.path(), model, log, arguments);
        assert!(!folder.path().join("moe.json").exists(), "{error}");
        format!("{code} {error}")
    };
    let said = [
        tried(&model([SMALL, LARGE], None, &["M"]), &good, &TABLE),
        tried(&with_default, &log(&[(1, SMALL, &TWICE)]), &TABLE),
        tried(&with_default, &good, &["missing.txt", "-o", "moe.json"]),
        tried(&model([SMALL, LARGE], Some(LARGE), &["M", "K"]), &good, &TABLE),
    ];
    insta::assert_snapshot!(said.concat());
}
