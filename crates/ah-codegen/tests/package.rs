//! A generated crate as its user has it: packaged, and with the feature `serde`.

mod models;

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use ah_codegen::{CodegenError, Request, Rust, WriteMode, generate};
use ah_types::{Feature, Features, Model, Schema};
use rand::SeedableRng;
use rand_pcg::Pcg64;

fn model() -> Model {
    let base = models::model(&mut Pcg64::seed_from_u64(1), "Small", 0, 1);
    let features = [
        Feature { integer: true, ..Feature::numerical("m") },
        Feature::numerical("type"),
        Feature::categorical("dtype"),
    ];
    let features = Features::new(Schema::new(features).unwrap(), &[]).unwrap();
    let categories = vec![vec![], vec![], vec!["torch.float16".into(), "torch.float32".into()]];
    let mut nodes = base.trees[0].nodes.clone();
    nodes.truncate(1);
    let choices = vec!["a b".to_owned()];
    for node in &mut nodes {
        if let ah_types::Node::Leaf(leaf) = node {
            leaf.ranking.clear();
        }
    }
    let trees = vec![ah_types::Tree { nodes }];
    let model = Model { features, categories, precondition: None, choices, fallback: None, trees, ..base };
    Model::parse(&model.to_json()).unwrap()
}

fn write(model: &Model, out: &Path) -> Result<(), CodegenError> {
    let runtime_path = None;
    let mode = WriteMode::Write;
    let request = Request { model, targets: &[&Rust], out, mode, templates: None, runtime_path };
    generate(&request).map(drop)
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
    // What `cargo publish --dry-run` does but for asking the registry, and its documented example.
    cargo(&place, &["package", "--offline", "--allow-dirty", "--quiet"]);
    cargo(&place, &["test", "--offline", "--quiet", "--doc"]);
    let doc = ["rustdoc", "--offline", "--quiet", "--", "-D", "warnings"];
    cargo(&place, &doc);
}

#[test]
fn serde_speaks_in_names() {
    let folder = tempfile::tempdir().unwrap();
    write(&model(), folder.path()).unwrap();
    let user = folder.path().join("user");
    fs::create_dir_all(user.join("src")).unwrap();
    let manifest = "[package]\nname = \"user\"\nedition = \"2024\"\n[workspace]\n[dependencies]\nserde_json = \"1\"\n\
                    small = { path = \"../small\", features = [\"serde\"] }\n";
    fs::write(user.join("Cargo.toml"), manifest).unwrap();
    fs::write(user.join("src/main.rs"), USER).unwrap();
    let said = cargo(&user, &["run", "--offline", "--quiet"]);
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
    // A category that training never saw is any other.
    let other: Context = serde_json::from_str(r#"{"m":1,"type":0.5,"dtype":"torch.int8"}"#).unwrap();
    println!("{}", serde_json::to_string(&other).unwrap());
    let choice: Choice = serde_json::from_str("\"a b\"").unwrap();
    println!("{}", serde_json::to_string(&choice).unwrap());
    println!("{}", serde_json::from_str::<Choice>("\"c\"").unwrap_err());
}
"##;

/// On a full disk nothing is replaced. Needs a small file system of its own.
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
    // Unmounted even when an assertion fails.
    struct Mounted<'a>(&'a Path);
    impl Drop for Mounted<'_> {
        fn drop(&mut self) {
            let _ = Command::new("umount").arg(self.0).status();
        }
    }
    let _mounted = Mounted(&disk);
    let small = models::model(&mut Pcg64::seed_from_u64(3), "Narrow", 2, 10);
    write(&small, &disk).unwrap();
    let before = fs::read(disk.join("narrow/src/leaves.rs")).unwrap();
    let mut rng = Pcg64::seed_from_u64(4);
    let model = models::model(&mut rng, "Narrow", 4, 40);
    let large = models::with_leaves(&mut rng, model, 5000);
    let error = write(&large, &disk).unwrap_err();
    assert_eq!(ah_cli::FatalError::exit_code(&error), ah_cli::exit::IO);
    let text = error.to_string();
    assert!(text.contains("cannot write") && text.contains("space"), "{text}");
    assert_eq!(fs::read(disk.join("narrow/src/leaves.rs")).unwrap(), before);
    let left: Vec<_> = fs::read_dir(&disk).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["narrow"], "what was begun is removed");
}
