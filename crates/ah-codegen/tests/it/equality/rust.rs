//! Rust: one workspace of generated crates, built, run and linted.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use ah_codegen::Rust;

use super::cases::{Case, cases, compare, emit, learned, run, total};

#[test]
fn rust_decides_as_the_model_does() {
    let mut cases = cases(1, 12, false);
    cases.extend(learned(false));
    rust(&cases, &[]);
    println!("rust: {}", total(&cases));
}

/// Builds the crates and compares; `profile` are arguments for Cargo.
pub fn rust(cases: &[Case], profile: &[&str]) -> Duration {
    let folder = tempfile::tempdir().unwrap();
    let templates = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/templates");
    let mut manifest = "[workspace]\nresolver = \"3\"\nmembers = [\n".to_owned();
    let mut names = Vec::new();
    for case in cases {
        let place = emit(&case.model, &Rust, folder.path(), Some(&templates));
        let name = place.file_name().unwrap().to_str().unwrap().to_owned();
        // The crates share one workspace, so that one build compiles them all.
        let path = place.join("Cargo.toml");
        let text = std::fs::read_to_string(&path).unwrap();
        let text = format!(
            "{text}\n[[bin]]\nname = \"{name}-driver\"\npath = \"src/bin/driver.rs\"\nrequired-features = [\"runtime\"]\n"
        );
        case.simple.write(&folder.path().join(format!("{name}.json"))).unwrap();
        std::fs::write(path, text).unwrap();
        writeln!(manifest, "    \"{name}\",").unwrap();
        names.push(name);
    }
    manifest.push_str("]\n");
    std::fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
    // The folder is kept, so that ah-runtime is built once.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("crates");
    let cargo = |arguments: &[&str]| {
        let status = Command::new(env!("CARGO"))
            .args(arguments)
            .current_dir(folder.path())
            .env("CARGO_TARGET_DIR", &target)
            .env_remove("RUSTFLAGS")
            .status()
            .unwrap();
        assert!(status.success(), "cargo {arguments:?}");
    };
    // Timed without the build of ah-runtime.
    let begin = Instant::now();
    cargo(&[&["build", "--offline", "--quiet", "--workspace", "--lib"], profile].concat());
    let built = begin.elapsed();
    cargo(&[&["build", "--offline", "--quiet", "--workspace", "--features", "runtime"], profile].concat());
    let built_in = if profile.is_empty() { "debug" } else { "release" };
    for (case, name) in cases.iter().zip(&names) {
        let program = target.join(built_in).join(format!("{name}-driver"));
        let mut driver = Command::new(program);
        driver.arg(folder.path().join(format!("{name}.json")));
        compare(case, &run(&mut driver, &case.input, name), name);
    }
    // The crates pass pedantic lints; the drivers are not part of them.
    for name in &names {
        std::fs::remove_dir_all(folder.path().join(name).join("src/bin")).unwrap();
        let path = folder.path().join(name).join("Cargo.toml");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.split("\n[[bin]]").next().unwrap()).unwrap();
    }
    let lint = ["clippy", "--offline", "--quiet", "--workspace", "--keep-going", "--features", "runtime"];
    cargo(&[&lint[..], &["--", "-D", "warnings"]].concat());
    built
}
