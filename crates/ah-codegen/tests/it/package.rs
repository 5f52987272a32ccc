//! A generated crate in the hands of its user: packaged, and with the feature `serde`.

use crate::models;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use ah_codegen::{C, CodegenError, Python, Request, Rust, Target, generate};
use ah_types::{Feature, Features, Leaf, Model, Node, Schema};
use rand::SeedableRng;
use rand_pcg::Pcg64;

fn model(choices: &[&str]) -> Model {
    let base = models::model(&mut Pcg64::seed_from_u64(1), "Small", 0, 1);
    let features = [
        Feature { integer: true, ..Feature::numerical("m") },
        Feature::numerical("type"),
        Feature::categorical("dtype"),
    ];
    let features = Features::new(Schema::new(features).unwrap(), &[]).unwrap();
    let categories = vec![vec![], vec![], vec!["torch.float16".into(), "torch.float32".into()]];
    let mut nodes = base.tree.nodes.clone();
    nodes.truncate(1);
    let choices = choices.iter().map(ToString::to_string).collect();
    for node in &mut nodes {
        if let Node::Leaf(leaf) = node {
            *leaf = Leaf { samples: leaf.samples, ..Leaf::default() };
        }
    }
    let (tree, boosters, margin) = (ah_types::Tree { nodes }, Vec::new(), None);
    let (precondition, eligible, fallback) = (None, BTreeMap::new(), None);
    let model = Model {
        features,
        categories,
        missing: Default::default(),
        precondition,
        eligible,
        choices,
        fallback,
        tree,
        boosters,
        margin,
        ..base
    };
    Model::parse(&model.to_json()).unwrap()
}

fn write(model: &Model, out: &Path) -> Result<(), CodegenError> {
    generate_at(model, &Rust, out)
}

fn generate_at(model: &Model, target: &dyn Target, out: &Path) -> Result<(), CodegenError> {
    generate(&Request::new(model, &[target], out)).map(drop)
}

fn cargo(folder: &Path, arguments: &[&str]) -> String {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("package");
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", target)
        .env_remove("RUSTFLAGS")
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo {arguments:?}: {err}");
    assert!(!err.contains("warning: unused"), "{err}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn it_packages_and_documents_itself() {
    let folder = tempfile::tempdir().unwrap();
    let model = models::model(&mut Pcg64::seed_from_u64(2), "Small", 4, 40);
    write(&model, folder.path()).unwrap();
    let place = folder.path().join("small");
    // The checks of `cargo publish --dry-run` except asking the registry, and the documented example.
    cargo(&place, &["package", "--offline", "--allow-dirty", "--quiet"]);
    cargo(&place, &["test", "--offline", "--quiet", "--doc"]);
    let doc = ["rustdoc", "--offline", "--quiet", "--", "-D", "warnings"];
    cargo(&place, &doc);
}

#[test]
fn serde_speaks_in_names() {
    let folder = tempfile::tempdir().unwrap();
    write(&model(&["a b"]), folder.path()).unwrap();
    let said = run_user(folder.path(), USER);
    assert_eq!(
        said,
        "{\"m\":9007199254740993,\"type\":-0.5,\"dtype\":\"torch.float32\"}\n\
         true\n\
         {\"m\":1,\"type\":0.5,\"dtype\":\"\"}\n\
         \"a b\"\n\
         the heuristic has no choice of this name at line 1 column 3\n"
    );
}

const USER: &str = r##"
use small::{Choice, Context, Dtype};

fn main() {
    let context = Context { m: 9007199254740993, type_2: -0.5, dtype: Dtype::from_name("torch.float32") };
    let text = serde_json::to_string(&context).unwrap();
    println!("{text}");
    println!("{}", serde_json::from_str::<Context>(&text).unwrap() == context);
    // A category that is not in the training data is any other.
    let other: Context = serde_json::from_str(r#"{"m":1,"type":0.5,"dtype":"torch.int8"}"#).unwrap();
    println!("{}", serde_json::to_string(&other).unwrap());
    let choice: Choice = serde_json::from_str("\"a b\"").unwrap();
    println!("{}", serde_json::to_string(&choice).unwrap());
    println!("{}", serde_json::from_str::<Choice>("\"c\"").unwrap_err());
}
"##;

/// Builds a program that uses the crate `small` in this folder, and returns what it prints.
fn run_user(folder: &Path, main: &str) -> String {
    let user = folder.join("user");
    fs::create_dir_all(user.join("src")).unwrap();
    let manifest = "[package]\nname = \"user\"\nedition = \"2024\"\n[workspace]\n[dependencies]\nserde_json = \"1\"\n\
                    small = { path = \"../small\", features = [\"serde\"] }\n";
    fs::write(user.join("Cargo.toml"), manifest).unwrap();
    fs::write(user.join("src/main.rs"), main).unwrap();
    cargo(&user, &["run", "--offline", "--quiet"])
}

const STRUCTURED: [&str; 3] =
    ["BLOCK_M=128_warps=4_mma=\"x\"_on=True", "BLOCK_M=64_warps=0.5_on=False_*/\"\n#=\\\"*/\n'", "std"];

#[test]
fn structured_choices_have_fields_in_rust() {
    let folder = tempfile::tempdir().unwrap();
    write(&model(&STRUCTURED), folder.path()).unwrap();
    let main = "fn main() { for choice in small::Choice::ALL { println!(\"{:?}\", choice.config()); } }";
    let said = run_user(folder.path(), main);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(
        lines,
        [
            r#"Some(Config { block_m: 128, warps: 4.0, mma: Some("\"x\""), on: true, times_over: None })"#,
            r#"Some(Config { block_m: 64, warps: 0.5, mma: None, on: false, times_over: Some("\\\"*/\n'") })"#,
            "None"
        ]
    );
}

#[test]
fn structured_choices_are_dicts_in_python() {
    let folder = tempfile::tempdir().unwrap();
    generate_at(&model(&STRUCTURED), &Python, folder.path()).unwrap();
    let mut python = Command::new("python3");
    python.args(["-B", "-c", "import small; print(*small.CONFIGS, sep='\\n')"]).current_dir(folder.path());
    let Ok(output) = python.output() else {
        let _ = writeln!(std::io::stderr(), "skipped: there is no python3, so no module was imported");
        return;
    };
    let said = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(
        lines,
        [
            r#"{'BLOCK_M': 128, 'warps': 4, 'mma': '"x"', 'on': True}"#,
            r#"{'BLOCK_M': 64, 'warps': 0.5, 'on': False, '*/"\n#': '\\"*/\n\''}"#,
            "std"
        ]
    );
}

#[test]
fn structured_choices_have_fields_in_c() {
    if Command::new("gcc").arg("--version").output().is_err() {
        let _ = writeln!(std::io::stderr(), "skipped: there is no gcc, so no fields were read in C");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // `small` is a macro of Windows, so no header has this name.
    let heuristic = "Product".to_owned();
    let model = Model { heuristic, fallback: Some(ah_types::ChoiceId(2)), ..model(&STRUCTURED) };
    generate_at(&model, &C, folder.path()).unwrap();
    let main = r#"
#include "product.h"
#include <stdio.h>
int main(void) {
    int i;
    for (i = 0; i < PRODUCT_CHOICES; ++i) {
        const product_config *c = product_choice_config(i);
        if (c) printf("%d %g %s %d %d\n", (int)c->block_m, c->warps, c->has_mma ? c->mma : "-", c->has_mma, c->on);
        else printf("none, %s the fallback\n", i == PRODUCT_FALLBACK ? "and" : "but not");
    }
    return 0;
}"#;
    fs::write(folder.path().join("main.c"), main).unwrap();
    let mut gcc = Command::new("gcc");
    gcc.args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "main.c", "-lm", "-o", "main"]);
    assert!(gcc.current_dir(folder.path()).status().unwrap().success());
    let output = Command::new(folder.path().join("main")).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said, "128 4 \"x\" 1 1\n64 0.5 - 0 0\nnone, and the fallback\n");
}

/// On a full disk nothing is replaced. The test needs a small file system of its own.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_costs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let mount = ["-t", "tmpfs", "-o", "size=256k", "ah-codegen-test"];
    if !Command::new("mount").args(mount).arg(&disk).output().is_ok_and(|o| o.status.success()) {
        let reason = "cannot mount a small tmpfs here (needs root), so a full disk was not tried";
        let _ = writeln!(std::io::stderr(), "skipped: {reason}");
        return;
    }
    // Unmounts even when an assertion fails.
    struct Mounted<'a>(&'a Path);
    impl Drop for Mounted<'_> {
        fn drop(&mut self) {
            let _ = Command::new("umount").arg(self.0).status();
        }
    }
    let _mounted = Mounted(&disk);
    let small = models::model(&mut Pcg64::seed_from_u64(3), "Narrow", 2, 10);
    write(&small, &disk).unwrap();
    let before = fs::read(disk.join("narrow/src/pick.rs")).unwrap();
    let mut rng = Pcg64::seed_from_u64(4);
    let model = models::model(&mut rng, "Narrow", 4, 40);
    let large = models::with_leaves(&mut rng, model, 5000);
    let error = write(&large, &disk).unwrap_err();
    assert_eq!(ah_cli::FatalError::exit_code(&error), ah_cli::exit::IO);
    let text = error.to_string();
    assert!(text.contains("cannot write") && text.contains("space"), "{text}");
    assert_eq!(fs::read(disk.join("narrow/src/pick.rs")).unwrap(), before);
    let left: Vec<_> = fs::read_dir(&disk).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["narrow"], "what was begun is removed");
}

#[test]
fn a_program_can_pin_the_version_of_a_generated_crate() {
    let out = tempfile::tempdir().unwrap();
    let model = model(&["a", "b"]);
    let runtime = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ah-runtime");
    let request = Request { runtime_path: Some(&runtime), ..Request::new(&model, &[&Rust], out.path()) };
    generate(&request).unwrap();
    let text = fs::read_to_string(out.path().join("small/src/runtime.rs")).unwrap();
    assert!(text.contains(&format!("Some(\"{}\")", model.version())), "{text}");
}
