//! Which crate may import which (`docs/architecture.md`, "Who may import whom"), checked on `cargo
//! metadata` and the sources.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, PackageId};

const OURS: [&str; 13] = [
    "ah-decide", "ah-model", "ah-types", "ah-cli", "ah-joint", "ah-measure", "ah-kernels", "ah-collect",
    "ah-import", "ah-train", "ah-codegen", "ah-runtime", "ah-tools",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn metadata() -> Metadata {
    // The build has fetched the crates of this platform; those of other platforms would need the network.
    let options = ["--offline", "--filter-platform", "host-tuple"].map(str::to_owned);
    let mut command = MetadataCommand::new();
    command.manifest_path(root().join("Cargo.toml")).other_options(options).exec().expect("cargo metadata")
}

/// The direct dependencies that are linked (not those of tests and builds), by crate.
fn direct(metadata: &Metadata) -> BTreeMap<String, BTreeSet<String>> {
    let normal = |p: &cargo_metadata::Package| {
        p.dependencies.iter().filter(|d| d.kind == DependencyKind::Normal).map(|d| d.name.clone()).collect()
    };
    metadata.workspace_packages().into_iter().map(|p| (p.name.to_string(), normal(p))).collect()
}

/// Every crate that is linked into `name`.
fn linked(metadata: &Metadata, name: &str) -> BTreeSet<String> {
    let resolve = metadata.resolve.as_ref().expect("a resolved graph");
    let by_id: BTreeMap<&PackageId, _> = resolve.nodes.iter().map(|n| (&n.id, n)).collect();
    let package = |id: &PackageId| metadata.packages.iter().find(|p| p.id == *id).expect("a package");
    let start = metadata.packages.iter().find(|p| p.name.as_str() == name).expect("a workspace package");
    let (mut seen, mut todo) = (BTreeSet::new(), vec![&start.id]);
    while let Some(id) = todo.pop() {
        for dep in &by_id[id].deps {
            let normal = dep.dep_kinds.iter().any(|k| k.kind == DependencyKind::Normal);
            if normal && seen.insert(package(&dep.pkg).name.to_string()) {
                todo.push(&dep.pkg);
            }
        }
    }
    seen
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// The files under `crates/NAME/src` whose code (not comments) names `word`, as paths below `src`.
fn files_naming(name: &str, word: &str) -> Vec<String> {
    let src = root().join("crates").join(name).join("src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    assert!(!files.is_empty(), "no sources under {}", src.display());
    let names = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let shipped = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        // A line behind the feature that builds a binary is not part of the library.
        let code = |l: &&str| !l.trim_start().starts_with("//") && !l.contains("feature = \"cli\"");
        shipped.lines().filter(code).any(|l| l.contains(word))
    };
    let below = |p: PathBuf| p.strip_prefix(&src).unwrap_or(&p).display().to_string();
    files.into_iter().filter(names).map(below).collect()
}

#[test]
fn crates_import_only_what_the_design_allows() {
    let metadata = metadata();
    let direct = direct(&metadata);
    assert_eq!(direct.keys().map(String::as_str).collect::<BTreeSet<_>>(), OURS.into_iter().collect());
    let allowed: BTreeMap<&str, &[&str]> = [
        ("ah-decide", &[][..]),
        ("ah-model", &["ah-decide"][..]),
        ("ah-types", &["ah-model"][..]),
        ("ah-cli", &["ah-model"][..]),
        ("ah-joint", &["ah-model", "ah-types"][..]),
        ("ah-measure", &["ah-model", "ah-types"][..]),
        ("ah-kernels", &["ah-model", "ah-types", "ah-measure"][..]),
        ("ah-collect", &["ah-model", "ah-types", "ah-cli", "ah-joint", "ah-measure", "ah-kernels"][..]),
        ("ah-import", &["ah-model", "ah-types", "ah-cli"][..]),
        (
            "ah-train",
            &["ah-model", "ah-types", "ah-cli", "ah-joint", "ah-measure", "ah-codegen", "ah-import"][..],
        ),
        ("ah-codegen", &["ah-model", "ah-cli", "ah-decide"][..]),
        ("ah-runtime", &["ah-model", "ah-types", "ah-measure"][..]),
        ("ah-tools", &["ah-cli", "ah-codegen", "ah-collect", "ah-train"][..]),
    ]
    .into();
    for (name, dependencies) in &direct {
        let ours: Vec<&str> = dependencies.iter().map(String::as_str).filter(|d| OURS.contains(d)).collect();
        let extra: Vec<_> = ours.iter().filter(|d| !allowed[name.as_str()].contains(d)).collect();
        assert!(extra.is_empty(), "{name} must not import {extra:?}");
    }
}

#[test]
fn the_libraries_that_programs_link_stay_light() {
    let metadata = metadata();
    for name in ["ah-model", "ah-types", "ah-measure", "ah-runtime"] {
        let linked = linked(&metadata, name);
        for heavy in ["clap", "clap_builder", "cudarc", "linfa", "linfa-trees", "ndarray", "tera", "rayon"] {
            assert!(!linked.contains(heavy), "{name} links {heavy}");
        }
    }
}

/// The crates that a package brings without features, itself included.
fn crates_of(package: &str) -> BTreeSet<String> {
    let flags = format!("tree --offline --no-default-features -p {package} -e normal,build --prefix none");
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let output =
        std::process::Command::new(cargo).args(flags.split(' ')).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().filter_map(|line| line.split(" (").next()).map(str::to_owned).collect()
}

/// A maintainer who links the runtime reads this list first.
#[test]
fn asking_a_heuristic_needs_at_most_20_crates() {
    let crates = crates_of("ah-runtime");
    assert!(crates.len() <= 20, "{} crates: {crates:?}", crates.len());
    let ours: Vec<&str> =
        crates.iter().filter_map(|c| c.split(' ').next()).filter(|c| OURS.contains(c)).collect();
    assert_eq!(ours, ["ah-decide", "ah-model", "ah-runtime"]);
}

/// A user who measures a function of their own waits until these are compiled.
#[test]
fn an_own_function_needs_at_most_61_crates() {
    let crates = crates_of("ah-collect");
    assert!(crates.len() <= 61, "{} crates: {crates:?}", crates.len());
}

#[test]
fn only_the_device_modules_touch_cuda() {
    for name in OURS {
        for word in ["cudarc", "nvml_wrapper"] {
            let outside: Vec<_> = files_naming(name, word)
                .into_iter()
                .filter(|f| name != "ah-kernels" || !f.starts_with("cuda/"))
                .collect();
            assert!(outside.is_empty(), "{name} names {word} in {outside:?}");
        }
    }
}

#[test]
fn command_lines_stay_in_binaries() {
    for name in OURS {
        for word in ["clap::", "anyhow::", "miette::"] {
            let outside: Vec<_> = files_naming(name, word)
                .into_iter()
                .filter(|f| {
                    !["main.rs", "cli.rs", "tool.rs", "arguments.rs", "options.rs", "shell.rs"]
                        .contains(&f.as_str())
                        && !f.starts_with("bin/")
                        && !f.starts_with("cli/")
                })
                .collect();
            assert!(outside.is_empty(), "{name} names {word} in {outside:?}");
        }
    }
}

/// The errors of a library name fields of its parameters; a command line makes them flags (`ah_cli::finish`). A command that the reader
/// can run is advice, with its flags.
#[test]
fn errors_of_the_libraries_that_programs_link_name_no_flags() {
    for name in ["ah-decide", "ah-model", "ah-types", "ah-measure", "ah-codegen", "ah-runtime"] {
        let mut files = Vec::new();
        sources(&root().join("crates").join(name).join("src"), &mut files);
        for path in files.iter().filter(|path| !path.ends_with("cli.rs") && !path.ends_with("tool.rs")) {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            let names_flag = |line: &&str| {
                let words = line.split([' ', '"', '(', '`']).filter(|word| word.starts_with("--"));
                let is_flag = |word: &str| word[2..].starts_with(|c: char| c.is_ascii_lowercase());
                let is_code = !line.trim_start().starts_with("//") && line.contains('"');
                is_code
                    && words.into_iter().any(is_flag)
                    && !["ah-train ", "cargo "].iter().any(|tool| line.contains(tool))
            };
            let found: Vec<&str> = text.lines().filter(names_flag).collect();
            assert!(found.is_empty(), "{}: {found:#?}", path.display());
        }
    }
}

#[test]
fn no_source_prints_past_ah_cli() {
    // `println!` and `eprintln!` panic on a closed or full stream.
    for name in OURS {
        let mut files = Vec::new();
        sources(&root().join("crates").join(name).join("src"), &mut files);
        for path in files {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let shipped = text.split("#[cfg(test)]").next().unwrap_or_default();
            let code = |l: &&str| !l.trim_start().starts_with("//");
            let prints = shipped.lines().filter(code).any(|l| l.contains("println!("));
            assert!(!prints, "{} prints by itself; use ah_cli::stderr or stdout", path.display());
        }
    }
}

/// A logarithm of the standard library is the platform's, and a model's last digits would be too. Reports for people may round as they
/// like, and kernels are what is measured.
#[test]
fn what_decides_uses_the_functions_that_are_the_same_on_every_platform() {
    let platform = [".ln()", ".log2()", ".log10()", ".ln_1p()", ".exp()", ".exp2()", ".exp_m1()", ".powf("];
    for name in OURS.into_iter().filter(|name| *name != "ah-kernels") {
        for function in platform {
            let files = files_naming(name, function);
            let outside: Vec<_> = files.into_iter().filter(|file| !file.starts_with("report")).collect();
            assert!(outside.is_empty(), "{name} calls {function} in {outside:?}; use ah_model::math");
        }
    }
}

#[test]
fn only_the_binary_of_train_calls_codegen_and_import() {
    for word in ["ah_codegen", "ah_import"] {
        let outside: Vec<_> = files_naming("ah-train", word)
            .into_iter()
            .filter(|f| !["main.rs", "tool.rs", "cli.rs"].contains(&f.as_str()))
            .collect();
        assert!(outside.is_empty(), "ah-train names {word} in {outside:?}");
    }
}

#[test]
fn no_tool_imports_a_generated_crate() {
    for package in metadata().workspace_packages() {
        for dependency in &package.dependencies {
            let generated =
                dependency.path.as_ref().is_some_and(|p| p.components().any(|c| c.as_str() == "generated"));
            assert!(!generated, "{} imports {}", package.name, dependency.name);
        }
    }
}
