//! All targets of one model: their decisions are compared with the model's own, bit by bit.

mod models;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use ah_codegen::{C, Detail, Python, Pytorch, Request, Rust, Target, WriteMode, generate, simplify};
use ah_types::{FeatureKind, Model, Node, OutsidePolicy, RankedChoice, Unsure, Value};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

struct Case {
    model: Model,
    /// The part of the model that the code contains.
    simple: Model,
    input: String,
    expected: Vec<String>,
}

/// PyTorch always lists the choices that it offers.
fn case(rng: &mut Pcg64, model: Model, contexts: &[Vec<Value>], says_what_it_offers: bool) -> Case {
    let (mut input, mut expected) = (String::new(), Vec::new());
    // A ranking is returned even if a leaf declines.
    let simple = simplify(&model, Detail::default());
    let mut telling = simple.clone();
    if telling.outside == OutsidePolicy::Decline {
        telling.outside = OutsidePolicy::Safe;
    }
    for node in telling.trees.iter_mut().flat_map(|tree| &mut tree.nodes) {
        if let Node::Leaf(leaf) = node {
            leaf.unsure = None;
        }
    }
    for values in contexts {
        for (value, feature) in values.iter().zip(model.features.base().features()) {
            match value {
                // The f64 of i64::MAX is 2^63, and saturation makes it i64::MAX again.
                Value::Number(x) if feature.integer => write!(input, "{}\t", *x as i64).unwrap(),
                Value::Number(x) => write!(input, "{:016x}\t", x.to_bits()).unwrap(),
                Value::Category(c) => {
                    c.bytes().for_each(|b| write!(input, "{b:02x}").unwrap());
                    input.push('\t');
                }
            }
        }
        let offered: Vec<bool> = model.choices.iter().map(|_| rng.random_bool(0.5)).collect();
        offered.iter().for_each(|o| input.push(if *o { '1' } else { '0' }));
        input.push('\n');
        let show =
            |d: Result<&RankedChoice, Unsure>| d.map_or("-".to_owned(), |r| r.choice.index().to_string());
        let mut ranking = String::new();
        if let Ok(ranked) = telling.ranking(values) {
            let first = telling.leaf(values).expect("a leaf ranks");
            for place in ranked {
                let share = first.ranked(place.choice).expect("ranked by every leaf").probability;
                write!(ranking, "{}:{:016x},", place.choice.index(), share.to_bits()).unwrap();
            }
        }
        let all = if says_what_it_offers { simple.decide(values, |_| true) } else { simple.choose(values) };
        let all = show(all);
        let among = show(simple.decide(values, |id| offered[id.index()]));
        expected.push(format!("{all} {among} {ranking}"));
    }
    Case { model, simple, input, expected }
}

/// Returns models of all depths. `AH_CASES=N` makes N times as many, with other seeds.
fn cases(seed: u64, count: usize, says_what_it_offers: bool) -> Vec<Case> {
    let times = std::env::var("AH_CASES").map_or(1, |n| n.parse().expect("AH_CASES is a number"));
    let (seed, count) = (seed + 1000 * (times as u64 - 1), count * times);
    let mut rng = Pcg64::seed_from_u64(seed);
    (0..count)
        .map(|i| {
            let (depth, nodes) = match i % 4 {
                0 => (rng.random_range(0..4), 40),
                1 | 2 => (rng.random_range(4..13), 120),
                _ => (rng.random_range(13..41), 700),
            };
            let model = models::model(&mut rng, &format!("Random{i}"), depth, nodes);
            let contexts = models::contexts(&mut rng, &model, 200);
            case(&mut rng, model, &contexts, says_what_it_offers)
        })
        .collect()
}

fn run(command: &mut Command, input: &str, what: &str) -> Vec<String> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let text = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "{what} failed");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

fn compare(case: &Case, got: &[String], what: &str) {
    assert_eq!(case.expected.len(), got.len(), "{what}");
    for ((expected, got), input) in case.expected.iter().zip(got).zip(case.input.lines()) {
        assert_eq!(expected.trim_end(), got.trim_end(), "{what}: {input}\n{}", case.simple.to_json());
    }
}

fn emit(model: &Model, target: &dyn Target, out: &Path, templates: Option<&Path>) -> PathBuf {
    let runtime = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ah-runtime");
    let request = Request {
        model,
        targets: &[target],
        out,
        detail: Detail::default(),
        mode: WriteMode::Write,
        templates,
        runtime_path: Some(&runtime),
    };
    generate(&request).unwrap().generated[0].place.clone()
}

fn total(cases: &[Case]) -> String {
    let decided = |c: &Case| c.expected.iter().filter(|e| !e.starts_with('-')).count();
    format!(
        "{} models, {} contexts, {} of them decided, 0 mismatches",
        cases.len(),
        cases.iter().map(|c| c.expected.len()).sum::<usize>(),
        cases.iter().map(decided).sum::<usize>()
    )
}

/// Returns learned models: those of `generated/`, and some from the published logs if they are there; or
/// those of the folder in `AH_MODELS` (`scripts/check_equality.sh` learns many).
fn learned(says_what_it_offers: bool) -> Vec<Case> {
    static PATHS: LazyLock<Vec<PathBuf>> = LazyLock::new(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        if let Some(folder) = std::env::var_os("AH_MODELS") {
            return models_in(Path::new(&folder));
        }
        let mut paths = models_in(&root.join("generated"));
        // The logs are beside the checkout, or beside the repository of this worktree.
        let places = [root.join("../shared/data"), root.join("../../shared/data")];
        paths.extend(learn(places.iter().find(|p| p.exists()).unwrap_or(&places[0])));
        paths
    });
    assert!(!PATHS.is_empty());
    let mut rng = Pcg64::seed_from_u64(7);
    let read = |(i, path): (usize, &PathBuf)| {
        let mut model =
            Model::read(path).unwrap_or_else(|e| panic!("{e}; learn it again (scripts/generate.sh)"));
        model.heuristic = format!("Learned{i}");
        let contexts = plausible(&mut rng, &model);
        case(&mut rng, model, &contexts, says_what_it_offers)
    };
    PATHS.iter().enumerate().map(read).collect()
}

fn models_in(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "json"));
    paths.sort();
    paths
}

/// Returns a plain tree, a vote and a regression tree from published logs. No test of a library may link
/// `ah-train`, so this runs its binary.
fn learn(logs: &Path) -> Vec<PathBuf> {
    if !logs.exists() {
        skipped(&format!("{} is not there, so no models of published logs were tried", logs.display()));
        return Vec::new();
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("learned");
    std::fs::create_dir_all(&folder).unwrap();
    let program = std::env::current_exe().unwrap().ancestors().nth(2).unwrap().join("ah-train");
    if !program.exists() {
        let build = ["build", "--quiet", "-p", "ah-train", "--bin", "ah-train"];
        assert!(Command::new(env!("CARGO")).args(build).status().unwrap().success());
    }
    let fixed = ["--max-depth", "8", "--min-samples-leaf", "5", "--max-risk", "none", "--no-codegen"];
    let runs: [(&str, &[&str]); 5] = [
        ("mixedmm_h100", &["--learner", "soft"]),
        ("mixedmm_h100", &["--learner", "soft", "--trees", "3"]),
        ("mixedmm_a100", &["--learner", "regression"]),
        ("pad_mm_a100", &["--learner", "linfa"]),
        ("mm_a100", &["--learner", "soft", "--ranking", "10"]),
    ];
    let learn = |(i, (log, arguments)): (usize, &(&str, &[&str]))| {
        let path = folder.join(format!("{i}.json"));
        let mut command = Command::new(&program);
        command.arg(logs.join(format!("{log}.txt.gz"))).args(["--heuristic-name", log]).args(fixed);
        command.args(*arguments).arg("--model").arg(&path).stdout(Stdio::null()).stderr(Stdio::null());
        assert!(command.status().unwrap().success(), "{command:?}");
        path
    };
    runs.iter().enumerate().map(learn).collect()
}

/// Returns random contexts with numbers around the thresholds of their features.
fn plausible(rng: &mut Pcg64, model: &Model) -> Vec<Vec<Value>> {
    let mut contexts = models::contexts(rng, model, 200);
    let base = model.features.base().features();
    for _ in 0..3000 {
        contexts.push(
            base.iter()
                .enumerate()
                .map(|(slot, f)| {
                    if f.kind == FeatureKind::Categorical {
                        let known = &model.categories[slot];
                        return Value::from(known[rng.random_range(0..known.len())].as_str());
                    }
                    let size = 2.0_f64.powf(rng.random_range(0.0..17.0)).round();
                    Value::Number(size + f64::from(rng.random_range(-1_i32..2)))
                })
                .collect(),
        );
    }
    contexts
}

/// The code's part of a model decides like the whole model, if that reaches a leaf.
#[test]
fn simplified_models_decide_alike() {
    let mut rng = Pcg64::seed_from_u64(11);
    let (mut leaves, mut decided) = ([0, 0], 0);
    let count = |model: &Model| model.trees.iter().map(|tree| tree.leaves().count()).sum::<usize>();
    for i in 0..300 {
        let model = models::model(&mut rng, "Random", i % 14, 200);
        let detail = Detail { all_leaves: rng.random_bool(0.2), ranking: rng.random_range(0..12) };
        let simple = simplify(&model, detail);
        simple.validate().unwrap();
        leaves = [leaves[0] + count(&model), leaves[1] + count(&simple)];
        for values in models::contexts(&mut rng, &model, 100) {
            if model.leaf(&values).is_ok() {
                let choice = |decision: Result<&RankedChoice, Unsure>| decision.map(|ranked| ranked.choice);
                let expected = choice(model.choose(&values));
                assert_eq!(choice(simple.choose(&values)), expected, "{detail:?}\n{}", model.to_json());
                decided += 1;
            }
        }
    }
    assert!(leaves[1] < leaves[0] && decided > 10_000, "{leaves:?}, {decided}");
    println!("{} leaves of {}, {decided} decisions", leaves[1], leaves[0]);
}

#[test]
fn rust_decides_as_the_model_does() {
    let mut cases = cases(1, 12, false);
    cases.extend(learned(false));
    rust(&cases, &[]);
    println!("rust: {}", total(&cases));
}

/// Builds the crates and compares; `profile` are arguments for Cargo.
fn rust(cases: &[Case], profile: &[&str]) -> Duration {
    let folder = tempfile::tempdir().unwrap();
    let templates = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/templates");
    let mut manifest = "[workspace]\nresolver = \"3\"\nmembers = [\n".to_owned();
    let mut names = Vec::new();
    for case in cases {
        let place = emit(&case.model, &Rust, folder.path(), Some(&templates));
        let name = place.file_name().unwrap().to_str().unwrap().to_owned();
        // Only here the crates share one workspace, so that one build compiles them all.
        let path = place.join("Cargo.toml");
        let text = std::fs::read_to_string(&path).unwrap().replace("[workspace]\n", "");
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
    // Kept, so that ah-runtime is built once.
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

#[test]
fn pytorch_decides_as_the_model_does() {
    python(2, &Pytorch, "tests/pytorch_driver.py");
}

#[test]
fn python_decides_as_the_model_does() {
    python(6, &Python, "tests/python_driver.py");
}

/// Runs the driver, which reads contexts, on each file.
fn python(seed: u64, target: &dyn Target, driver: &str) {
    if Command::new("python3").arg("--version").output().is_err() {
        skipped(&format!("there is no python3, so no file of the target {} was run", target.name()));
        return;
    }
    let says_what_it_offers = target.name() == "pytorch";
    let mut cases = cases(seed, 40, says_what_it_offers);
    cases.extend(learned(says_what_it_offers));
    let folder = tempfile::tempdir().unwrap();
    for case in &cases {
        let file = emit(&case.model, target, folder.path(), None);
        let model = folder.path().join("model.json");
        case.simple.write(&model).unwrap();
        let mut command = Command::new("python3");
        command.arg("-B").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(driver)).arg(&file).arg(&model);
        compare(case, &run(&mut command, &case.input, "python3"), &file.display().to_string());
    }
    println!("{}: {}", target.name(), total(&cases));
}

/// The test harness hides the output of a passing test, but not direct writes to standard error.
fn skipped(reason: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {reason}");
}

#[test]
fn c_decides_as_the_model_does() {
    let mut cases = cases(3, 8, false);
    let random = cases.len();
    cases.extend(learned(false));
    let folder = tempfile::tempdir().unwrap();
    let templates = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/templates_c");
    let warnings = ["-Wall", "-Wextra", "-Werror", "-pedantic"];
    let compilers = [
        ("gcc", "c", vec!["-std=c99", "-O2"]),
        ("clang", "c", vec!["-std=c99", "-O2", "-march=native", "-ffp-contract=fast"]),
        ("gcc", "c", vec!["-std=gnu11", "-O2", "-march=native", "-ffp-contract=fast"]),
        // gcc reports this for -march=native on a Sapphire Rapids server.
        ("gcc", "c", vec!["-std=gnu11", "-O1", "-U__FLT_EVAL_METHOD__", "-D__FLT_EVAL_METHOD__=16"]),
        ("g++", "c++", vec!["-std=c++17", "-O1"]),
        ("clang++", "c++", vec!["-std=c++17", "-O1"]),
    ];
    for (compiler, language, options) in compilers {
        if Command::new(compiler).arg("--version").output().is_err() {
            skipped(&format!("there is no {compiler}, so the C headers were not compiled with it"));
            continue;
        }
        // The learned ones as C and as C++, with one compiler each.
        let learned = ["-std=c99", "-std=c++17"].contains(&options[0]) && compiler.starts_with('g');
        for case in if learned { &cases[..] } else { &cases[..random] } {
            let header = emit(&case.model, &C, folder.path(), None);
            let drivers = folder.path().join("drivers");
            let driver = emit(&case.model, &C, &drivers, Some(&templates));
            let program = folder.path().join("program");
            let status = Command::new(compiler)
                .args(&options)
                .args(warnings)
                .args(["-x", language, "-I"])
                .arg(header.parent().unwrap())
                .arg(&driver)
                .args(["-x", "none", "-lm", "-o"])
                .arg(&program)
                .status()
                .unwrap();
            assert!(status.success(), "{compiler} {options:?} {}", header.display());
            compare(case, &run(&mut Command::new(&program), &case.input, compiler), compiler);
        }
        println!(
            "{compiler} {}: {}",
            options.join(" "),
            total(&cases[..if learned { cases.len() } else { random }])
        );
    }
}

/// A large tree becomes a table, because compilers take minutes for thousands of branches.
#[test]
fn five_thousand_leaves_compile_in_seconds() {
    let mut rng = Pcg64::seed_from_u64(5);
    let model = models::model(&mut rng, "Large", 4, 40);
    let model = models::with_leaves(&mut rng, model, 5000);
    let contexts = models::contexts(&mut rng, &model, 1000);
    let case = case(&mut rng, model, &contexts, false);
    let rust = rust(std::slice::from_ref(&case), &["--release"]);

    let folder = tempfile::tempdir().unwrap();
    let templates = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/templates_c");
    emit(&case.model, &C, folder.path(), None);
    let driver = emit(&case.model, &C, &folder.path().join("drivers"), Some(&templates));
    let program = folder.path().join("program");
    let begin = Instant::now();
    let mut gcc = Command::new("gcc");
    gcc.args(["-std=c99", "-O2", "-x", "c"]).arg(&driver).args(["-x", "none", "-lm", "-o"]).arg(&program);
    assert!(gcc.status().unwrap().success());
    let c = begin.elapsed();
    compare(&case, &run(&mut Command::new(&program), &case.input, "gcc"), "gcc");
    println!("5000 leaves: cargo build --release {rust:.1?}, gcc -O2 {c:.1?}; {}", total(&[case]));
    // As branches, both took many minutes; a busy machine may take some.
    assert!(rust.as_secs() < 300 && c.as_secs() < 300, "{rust:?}, {c:?}");
}

/// The C headers on a GPU. Without `nvcc`, the folder named in the message has everything that another
/// machine needs: run `sh check.sh` there.
#[test]
fn cuda_decides_as_the_model_does() {
    let mut cases = cases(4, 12, false);
    cases.extend(learned(false));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cuda");
    let _ = std::fs::remove_dir_all(&folder);
    let templates = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/templates_cuda");
    for case in &cases {
        emit(&case.model, &C, &folder, None);
        let driver = emit(&case.model, &C, &folder.join("drivers"), Some(&templates));
        std::fs::write(driver.with_extension("input"), &case.input).unwrap();
        std::fs::write(driver.with_extension("expected"), case.expected.join("\n") + "\n").unwrap();
    }
    std::fs::write(folder.join("check.sh"), CUDA_CHECK).unwrap();
    if Command::new("nvcc").arg("--version").output().is_err() {
        skipped(&format!("there is no nvcc, so the headers were not run on a GPU; see {}", folder.display()));
        return;
    }
    assert!(Command::new("sh").arg("check.sh").current_dir(&folder).status().unwrap().success());
    println!("cuda: {}", total(&cases));
}

const CUDA_CHECK: &str = r#"# Builds every header as CUDA, decides on the GPU, and compares with what the models say.
cd "$(dirname "$0")/drivers" || exit 1
check() {
    nvcc -arch=native -std=c++17 -O2 -x cu "$1.h" -o "$1.program" &&
        "./$1.program" < "$1.input" | sed 's/ *$//' > "$1.got" &&
        sed 's/ *$//' "$1.expected" | cmp - "$1.got" && echo "$1: $(wc -l < "$1.got") contexts, 0 mismatches"
}
for header in *.h; do check "${header%.h}" & done > results 2> errors
wait
sort results
cat errors >&2
test "$(wc -l < results)" = "$(ls *.h | wc -l)"
"#;
