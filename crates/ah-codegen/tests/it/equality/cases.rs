//! Random and learned models, with contexts and the decisions on them; and the helpers that run and compare a
//! target.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use ah_codegen::{Detail, Request, Target, generate, simplify};
use ah_types::{ChoiceId, FeatureKind, Model, Ranked, RankedChoice, Unsure, Value};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

use crate::models;

/// A model, contexts, and its decisions on them.
pub struct Case {
    pub model: Model,
    /// The part of the model that the code contains.
    pub simple: Model,
    pub input: String,
    pub expected: Vec<String>,
}

/// Decides on these contexts. PyTorch always lists the choices that it offers.
pub fn case(rng: &mut Pcg64, model: Model, contexts: &[Vec<Value>], says_what_it_offers: bool) -> Case {
    let (mut input, mut expected) = (String::new(), Vec::new());
    let simple = simplify(&model, Detail::default());
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
        if let Ok(ranked) = simple.ranking(values) {
            let leaf = simple.leaf(values).expect("a leaf ranks");
            for Ranked { choice, .. } in ranked {
                let share = leaf.ranked(ChoiceId(choice)).expect("ranked by the leaf").probability;
                write!(ranking, "{}:{:016x},", choice, share.to_bits()).unwrap();
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
pub fn cases(seed: u64, count: usize, says_what_it_offers: bool) -> Vec<Case> {
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

pub fn run(command: &mut Command, input: &str, what: &str) -> Vec<String> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let text = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "{what} failed");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

pub fn compare(case: &Case, got: &[String], what: &str) {
    assert_eq!(case.expected.len(), got.len(), "{what}");
    for ((expected, got), input) in case.expected.iter().zip(got).zip(case.input.lines()) {
        assert_eq!(expected.trim_end(), got.trim_end(), "{what}: {input}\n{}", case.simple.to_json());
    }
}

pub fn emit(model: &Model, target: &dyn Target, out: &Path, templates: Option<&Path>) -> PathBuf {
    let runtime = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ah-runtime");
    let targets = [target];
    let request = Request { templates, runtime_path: Some(&runtime), ..Request::new(model, &targets, out) };
    generate(&request).unwrap().generated[0].place.clone()
}

pub fn total(cases: &[Case]) -> String {
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
pub fn learned(says_what_it_offers: bool) -> Vec<Case> {
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

/// Returns one tree, boosters and a classification from published logs. No test of a library may link
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
    let runs: [(&str, &[&str]); 4] = [
        ("mixedmm_h100", &["--learner", "cost_tree"]),
        ("mixedmm_a100", &["--learner", "boosted"]),
        ("pad_mm_a100", &["--learner", "linfa"]),
        ("mm_a100", &["--learner", "cost_tree", "--ranking", "10"]),
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

/// The test harness hides the output of a passing test, but not direct writes to standard error.
pub fn skipped(reason: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {reason}");
}
