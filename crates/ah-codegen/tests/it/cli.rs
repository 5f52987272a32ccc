//! The command: the files that it writes and checks, and its answers to bad input.

use crate::models;

use std::fs;
use std::path::Path;

use ah_model::{Model, Target};
use assert_cmd::Command;
use rand::SeedableRng;
use rand_pcg::Pcg64;

fn model(seed: u64, name: &str) -> Model {
    models::model(&mut Pcg64::seed_from_u64(seed), name, 5, 40)
}

fn codegen(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output =
        Command::cargo_bin("ah-codegen").unwrap().current_dir(folder).args(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

/// Every file below a folder with its bytes.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).unwrap().display().to_string();
            all.push((name, fs::read(&path).unwrap()));
        }
    }
    all.sort();
    all
}

#[test]
fn the_same_model_gives_the_same_bytes_and_check_finds_what_differs() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    model(5, "SimpleHeuristic").write(&at.join("model.json")).unwrap();
    let all = ["model.json", "--target", "rust,pytorch,c"];
    let with = |more: &[&str]| codegen(at, &[&all[..], more].concat());

    assert_eq!(with(&["--mode", "check"]).0, 1);
    assert!(!at.join("generated").exists());

    assert_eq!(with(&[]).0, 0);
    let first = files(&at.join("generated"));
    assert!(first.iter().any(|(path, _)| path == "simple_heuristic/src/lib.rs"));
    assert!(first.iter().any(|(path, _)| path == "_SimpleHeuristic.py"));
    assert!(first.iter().any(|(path, _)| path == "simple_heuristic.h"));
    assert_eq!(with(&["--out", "again"]).0, 0);
    assert_eq!(first, files(&at.join("again")));
    assert_eq!(with(&["--mode", "check"]).0, 0);

    let lib = at.join("generated/simple_heuristic/src/lib.rs");
    let text = fs::read_to_string(&lib).unwrap();
    fs::write(&lib, text.replace("fn choose(", "fn twist(")).unwrap();
    let (code, out, err) = with(&["--mode", "check"]);
    assert_eq!(code, 1);
    assert!(out.contains("-pub fn twist(") && out.contains("+pub fn choose("), "{out}");
    assert!(err.contains("run: ") && err.contains("model.json --target 'rust,pytorch,c'"), "{err}");

    // Cargo's files stay; the stale file is replaced.
    fs::create_dir(at.join("generated/simple_heuristic/target")).unwrap();
    fs::write(at.join("generated/simple_heuristic/target/x"), "x").unwrap();
    assert_eq!(with(&[]).0, 0);
    assert!(at.join("generated/simple_heuristic/target/x").exists());
    fs::remove_dir_all(at.join("generated/simple_heuristic/target")).unwrap();
    assert_eq!(first, files(&at.join("generated")));
}

#[test]
fn a_printed_command_can_be_pasted_into_a_shell() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("two  spaces & --mode check");
    fs::create_dir(&at).unwrap();
    model(5, "Mine").write(&at.join("it's.json")).unwrap();
    for (flags, is_stale) in [
        (["--out", "a  b; --mode check"], "a  b; --mode check is stale"),
        (["--into", "c $d/mod.rs"], "c $d/mod.rs is stale"),
    ] {
        let (code, _, err) = codegen(&at, &[&["it's.json", "--mode", "check"], &flags[..]].concat());
        assert!(code == 1 && err.contains(is_stale), "{err}");
        let (_, command) = err.split_once("run: ").unwrap();
        let shell = Command::new("sh").current_dir(&at).args(["-c", command]).output().unwrap();
        let err = String::from_utf8(shell.stderr).unwrap();
        assert!(shell.status.success(), "{err}");
        match flags[0] {
            "--out" => assert!(err.contains("cargo add --path 'a  b; --mode check/mine'; then"), "{err}"),
            _ => assert!(err.contains("declare it: mod c $d; then ask c $d::choose"), "{err}"),
        }
        assert_eq!(codegen(&at, &[&["it's.json", "--mode=check"], &flags[..]].concat()).0, 0);
    }
}

/// A feature without a description was once documented as `x-y: ` and `x-y:  One of a, b.`.
#[test]
fn a_name_without_a_description_ends_without_a_colon() {
    let folder = tempfile::tempdir().unwrap();
    let mut model = model(5, "Mine");
    let (features, derived) = (model.features.base().features().to_vec(), model.features.derived());
    let derived: Vec<_> = derived.iter().map(|(derived, _)| derived.clone()).collect();
    let bare =
        features.into_iter().map(|feature| ah_model::Feature { description: None, unit: None, ..feature });
    let schema = ah_model::Schema::new(bare.collect::<Vec<_>>()).unwrap();
    model.features = ah_model::Features::new(schema, &derived).unwrap();
    model.write(&folder.path().join("model.json")).unwrap();
    assert_eq!(codegen(folder.path(), &["model.json", "--target", "c"]).0, 0);
    let text = fs::read_to_string(folder.path().join("generated/mine.h")).unwrap();
    let (_, fields) = text.split_once("struct mine_context {").unwrap();
    let (fields, _) = fields.split_once("};").unwrap();
    assert!(fields.contains("/* "), "{fields}");
    assert!(!fields.contains(": */") && !fields.contains(":  One of"), "{fields}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_whose_name_is_not_unicode_is_checked() {
    use std::os::unix::ffi::OsStrExt as _;

    let folder = tempfile::tempdir().unwrap();
    model(5, "Mine").write(&folder.path().join("model.json")).unwrap();
    let out = std::ffi::OsStr::from_bytes(b"g\xff");
    let check = ["model.json", "--target", "c", "--mode", "check", "--out"];
    let output = Command::cargo_bin("ah-codegen")
        .unwrap()
        .current_dir(folder.path())
        .args(check)
        .arg(out)
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("is stale; run: ") && !err.contains("panicked"), "{err}");
}

#[test]
fn a_model_becomes_what_it_was_learned_for() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let mut model = model(6, "Mine");
    model.purpose.targets = vec![Target::Python, Target::ModelFile];
    model.write(&at.join("model.json")).unwrap();
    let (code, _, err) = codegen(at, &["model.json"]);
    assert!(code == 0 && err.starts_with("python: wrote generated/mine.py"), "{err}");
    assert_eq!(codegen(at, &["model.json", "--mode", "check"]).0, 0);
    let (code, _, err) = codegen(at, &["model.json", "--target", "c"]);
    assert!(code == 3 && err.contains("learned for python, model-file"), "{err}");
    // Nothing is written where one target is refused.
    let (code, _, _) = codegen(at, &["model.json", "--target", "python,c", "--out", "new"]);
    assert!(code == 3 && !at.join("new").exists());
    // Of several targets, --into writes the one that its ending names.
    model.purpose.targets = vec![Target::C, Target::Rust];
    model.write(&at.join("model.json")).unwrap();
    let (code, _, err) = codegen(at, &["model.json", "--into", "picker.rs"]);
    assert!(code == 0 && err.starts_with("rust: wrote picker.rs"), "{err}");
    let (code, _, err) = codegen(at, &["model.json", "--runtime-path", "x"]);
    assert_eq!(code, 2, "the flag would have no effect: {err}");
    let (code, _, err) = codegen(at, &["model.json", "--force", "--target", "rust", "--with", "runtime"]);
    assert_eq!(code, 0, "{err}");
    let manifest = fs::read_to_string(at.join("generated/mine/Cargo.toml")).unwrap();
    assert!(manifest.contains("path = \"../../crates/ah-runtime\""), "{manifest}");
}

#[test]
fn files_of_others_are_never_lost() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    model(6, "Mine").write(&at.join("model.json")).unwrap();
    fs::create_dir_all(at.join("generated/mine/src")).unwrap();
    for file in ["mine/src/lib.rs", "mine.h"] {
        fs::write(at.join("generated").join(file), "fn main() {}").unwrap();
    }
    let before = files(&at.join("generated"));
    for target in ["rust", "c"] {
        let (code, _, err) = codegen(at, &["model.json", "--target", target]);
        assert_eq!(code, 4);
        assert!(err.contains(": another program wrote it"), "{err}");
    }
    assert_eq!(files(&at.join("generated")), before);
}

#[test]
fn names_never_lead_out_of_the_folder() {
    let names =
        ["../../etc/passwd", "/tmp/x", "..", "", "a/b", "con", "C:\\x", "\0", "core", &"x".repeat(10_000)];
    for (i, name) in names.iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        model(i as u64, name).write(&at.join("model.json")).unwrap();
        let (code, _, err) =
            codegen(at, &["model.json", "--out", "out", "--target", "rust,pytorch,c,python"]);
        assert_eq!(code, 0, "{name:?}: {err}");
        let mut beside: Vec<_> = fs::read_dir(at).unwrap().map(|e| e.unwrap().file_name()).collect();
        beside.sort();
        assert_eq!(beside, ["model.json", "out"], "{name:?}");
        let places: Vec<_> = fs::read_dir(at.join("out")).unwrap().collect();
        assert_eq!(places.len(), 4, "{name:?}");
    }
}

#[test]
fn bad_input_gets_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let good = model(8, "Good");
    good.write(&at.join("model.json")).unwrap();
    fs::write(at.join("empty.json"), "").unwrap();
    fs::write(at.join("garbage.json"), [0xff, 0xfe, 0]).unwrap();
    let mut newer: serde_json::Value = serde_json::from_str(&good.to_json()).unwrap();
    newer["version"] = 99.into();
    fs::write(at.join("newer.json"), newer.to_string()).unwrap();
    fs::create_dir(at.join("folder.json")).unwrap();
    fs::write(at.join("file"), "").unwrap();
    let cases: [(&[&str], i32); 10] = [
        (&["missing.json"], 4),
        (&["empty.json"], 3),
        (&["garbage.json"], 4),
        (&["newer.json"], 3),
        (&["folder.json"], 4),
        (&["model.json", "--out", "file"], 4),
        (&["model.json", "--target", "table"], 2),
        (&["model.json", "--target", "cobol"], 2),
        (&["model.json", "--into", "x.py"], 2),
        (&["model.json", "--into", "x.rs", "--target", "rust,c"], 2),
    ];
    for (arguments, expected) in cases {
        let (code, out, err) = codegen(at, arguments);
        assert_eq!((code, out.as_str()), (expected, ""), "{arguments:?}: {err}");
        assert!(err.starts_with("error: ") && !err.contains("panicked"), "{arguments:?}: {err}");
        assert!(expected == 2 || err.lines().count() == 1, "{arguments:?}: {err}");
    }
    assert!(!at.join("generated").exists());
    #[cfg(target_os = "linux")]
    if Path::new("/dev/full").exists() {
        // A folder that cannot be made.
        let (code, _, err) = codegen(at, &["model.json", "--out", "/proc/nowhere"]);
        assert_eq!(code, 4, "{err}");
    }
}

#[test]
fn a_keyword_is_no_name_of_a_crate() {
    let folder = tempfile::tempdir().unwrap();
    for (name, package) in [
        ("fn", "fn_heuristic"),
        ("Math", "math_heuristic"),
        ("core", "core_heuristic"),
        ("Numpy", "numpy_heuristic"),
    ] {
        model(8, name).write(&folder.path().join("model.json")).unwrap();
        let (code, _, err) = codegen(folder.path(), &["model.json", "--target", "rust,python,c"]);
        assert_eq!(code, 0, "{err}");
        for usage in [
            format!("ask {package}::choose"),
            format!("from {package} import choose"),
            format!("ask {package}_choose"),
        ] {
            assert!(err.contains(&usage), "{err}");
        }
        let manifest = folder.path().join("generated").join(package).join("Cargo.toml");
        assert!(fs::read_to_string(manifest).unwrap().contains(&format!("name = \"{package}\"")));
    }
}

#[test]
fn names_from_models_do_not_move_the_cursor() {
    let folder = tempfile::tempdir().unwrap();
    let evil = "Evil\u{1b}[2J\u{9b}31m";
    let json = model(3, "Plain").to_json();
    for (file, text) in [
        ("name.json", json.replace("Plain", &evil.replace('\u{1b}', "\\u001b").replace('\u{9b}', "\\u009b"))),
        ("key.json", json.replacen('{', "{\"\\u001b[2J\": 1,", 1)),
        (evil, "{".to_owned()),
    ] {
        fs::write(folder.path().join(file), text).unwrap();
        let (_, stdout, stderr) = codegen(folder.path(), &[file, "--target", "rust", "--out", "out"]);
        let control = |c: char| c.is_control() && c != '\n' && c != '\t';
        assert!(!stdout.contains(control) && !stderr.contains(control), "{file:?}: {stdout:?} {stderr:?}");
    }
}

#[test]
fn labels_are_coloured_where_they_are_asked_for() {
    let error = |variable: &str, arguments: &[&str]| {
        let mut command = Command::cargo_bin("ah-codegen").unwrap();
        command
            .env_remove("NO_COLOR")
            .env("TERM", "xterm")
            .env(variable, "1")
            .arg("missing.json")
            .args(arguments);
        String::from_utf8(command.output().unwrap().stderr).unwrap()
    };
    assert!(error("ANY", &[]).starts_with("error: missing.json"), "a pipe is no terminal");
    assert!(error("CLICOLOR_FORCE", &[]).starts_with("\u{1b}[1;31merror:\u{1b}[0m missing.json"));
    // clap's own errors too.
    assert!(error("CLICOLOR_FORCE", &["--target", "x"]).contains("\u{1b}["));
    assert!(!error("NO_COLOR", &["--target", "x"]).contains('\u{1b}'));
}

#[test]
fn a_name_with_a_number_is_kept_in_every_target() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    model(5, "MixedMMA100").write(&at.join("model.json")).unwrap();
    let (code, _, err) = codegen(at, &["model.json", "--target", "rust,pytorch,c,python"]);
    assert_eq!(code, 0, "{err}");
    let has = |file: &str, text: &str| {
        let code = fs::read_to_string(at.join("generated").join(file)).unwrap();
        assert!(code.contains(text), "{file} lacks {text}");
    };
    has("mixed_mma100/Cargo.toml", "name = \"mixed_mma100\"");
    has("_MixedMMA100.py", "class MixedMMA100(");
    has("mixed_mma100.h", "mixed_mma100_choose(");
    has("mixed_mma100.py", "MixedMMA100 for ");
}

#[test]
fn the_last_line_says_how_to_use_what_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    model(5, "SimpleHeuristic").write(&at.join("model.json")).unwrap();
    let (_, _, err) = codegen(at, &["model.json", "--target", "rust,c,python,pytorch,triton,inductor"]);
    for line in [
        "(4 files); add it: cargo add --path generated/simple_heuristic; then ask simple_heuristic::choose",
        "(1 file); include it: #include \"simple_heuristic.h\"; then ask simple_heuristic_choose",
        "(1 file); ask it: from simple_heuristic import choose",
        "(1 file); copy it into torch/_inductor/autoheuristic/artifacts",
        "@autoheuristic.tune(heuristic=\"generated/simple_heuristic_prune.py\")",
        "import simple_heuristic_inductor and call simple_heuristic_inductor.register()",
    ] {
        assert!(err.contains(line), "expected {line} in {err}");
    }
    let (_, _, err) = codegen(at, &["model.json", "--into", "picker.rs"]);
    assert!(err.contains("picker.rs (1 file); declare it: mod picker; then ask picker::choose"), "{err}");
    fs::write(at.join("generated/simple_heuristic.h"), "/* @generated by ah-codegen */").unwrap();
    let (_, _, err) = codegen(at, &["model.json", "--target", "c"]);
    assert!(err.contains("(1 file, 1 changed); "), "{err}");
}

#[test]
fn a_model_without_a_device_has_no_guard() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let mut model = model(5, "Mine");
    (model.device, model.device_capa, model.shared_memory) = (None, (0, 0), None);
    model.write(&at.join("model.json")).unwrap();
    assert_eq!(codegen(at, &["model.json", "--target", "rust,c,python,triton"]).0, 0);
    let text = |file: &str| fs::read_to_string(at.join("generated").join(file)).unwrap();
    for file in ["mine/src/lib.rs", "mine.h", "mine.py", "mine_prune.py"] {
        assert!(!text(file).contains("device_mismatch") && !text(file).contains("DEVICE ="), "{file}");
    }
}
