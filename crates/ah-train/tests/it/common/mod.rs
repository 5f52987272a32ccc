//! Small logs, as PyTorch writes them.
#![allow(dead_code)]

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use assert_cmd::Command;

pub const HEAD: &str = r#"{"name": "pad_mm", "shared_memory": 166912, "device_capa": [8, 0], "numerical_features": ["m", "k", "n"], "categorical_features": ["mat1_dtype"]}
m,k,n,mat1_dtype,choice,feedback
"#;

/// A log of `inputs` inputs with three runs of `orig` and of `pad` each; padding is faster for odd
/// k.
pub fn log(inputs: usize) -> String {
    let mut text = HEAD.to_owned();
    for i in 0..inputs {
        let (m, k, n) = (512 + 7 * (i % 13), 512 + i, 512 + 3 * (i % 5));
        let dtype = ["torch.float16", "torch.float32"][i % 2];
        let (orig, pad) = if k % 2 == 1 { (2.0, 1.0) } else { (1.0, 1.25) };
        for noise in [0.0, 0.01, 0.02] {
            let _ = writeln!(text, "{m},{k},{n},{dtype},orig,{}", orig + noise);
            let _ = writeln!(text, "{m},{k},{n},{dtype},pad,{}", pad + noise);
        }
    }
    text
}

/// A folder to run `ah-train` in.
pub struct Run {
    pub folder: tempfile::TempDir,
}

impl Run {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> &Self {
        std::fs::write(self.folder.path().join(name), bytes).unwrap();
        self
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs `ah-train ARGS --heuristic-name T --no-codegen` in the folder: (exit code, stdout, stderr).
    pub fn train(&self, args: &[&str]) -> (i32, String, String) {
        self.run(&[args, &["--heuristic-name", "T", "--no-codegen"]].concat())
    }

    pub fn run(&self, args: &[&str]) -> (i32, String, String) {
        let output = Command::cargo_bin("ah-train")
            .unwrap()
            .args(args)
            .current_dir(self.folder.path())
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    /// Runs `ah-train ARGS`, which succeeds: (stdout, stderr).
    pub fn succeeds(&self, args: &[&str]) -> (String, String) {
        let (code, stdout, stderr) = self.run(args);
        assert_eq!(code, 0, "{stderr}");
        (stdout, stderr)
    }

    /// Learns as [`train`](Self::train) does, and succeeds: (stdout, stderr).
    pub fn learns(&self, args: &[&str]) -> (String, String) {
        self.succeeds(&[args, &["--heuristic-name", "T", "--no-codegen"]].concat())
    }

    /// Training fails with this code and one line that contains all these parts, and leaves no model.
    pub fn refuses(&self, args: &[&str], code: u8, parts: &[&str]) {
        let (found, stdout, stderr) = self.train(args);
        assert_eq!(found, i32::from(code), "{stderr}");
        assert_eq!(stdout, "");
        let errors: Vec<&str> = stderr.lines().filter(|l| l.starts_with("error: ")).collect();
        assert_eq!(errors.len(), 1, "{stderr}");
        for part in parts {
            assert!(errors[0].contains(part), "{part:?} is not in {:?}", errors[0]);
        }
        assert!(!stderr.contains("panicked"), "{stderr}");
        assert!(!Path::new(&self.path("model.json")).exists());
    }
}

/// A published log, if its folder exists.
pub fn published(name: &str) -> Option<PathBuf> {
    // A worktree lies one folder deeper.
    let places = ["../../../shared/data", "../../../../shared/data"];
    let found = places.map(|place| Path::new(env!("CARGO_MANIFEST_DIR")).join(place).join(name));
    let found = found.into_iter().find(|path| path.exists());
    if found.is_none() {
        skipped(&format!(
            "{name} is not under ../shared/data, so learning from this log of PyTorch is not tested"
        ));
    }
    found
}

/// The text of a log of these inputs of another, in its order.
pub fn part(log: &ah_types::log::Log, from: usize, to: usize) -> String {
    let names: Vec<&str> = log.schema.features().iter().map(|f| f.name.as_str()).collect();
    let metadata = serde_json::to_string(&log.metadata).unwrap();
    let mut text = format!("{metadata}\n{},choice,feedback\n", names.join(","));
    let count = log.inputs.len();
    // A walk that visits each input once, so that no prefix is a corner of the inputs.
    let step = (7919..).find(|step| gcd(*step, count) == 1).unwrap();
    let mut place = vec![usize::MAX; count];
    (0..count).for_each(|at| place[at * step % count] = at);
    for sample in &log.samples {
        if (from..to).contains(&place[sample.input as usize]) {
            let input = &log.inputs[sample.input as usize].text;
            text += &format!("{input},{},{}\n", log.choice_name(sample.choice), sample.feedback);
        }
    }
    text
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The number of splits on the longest path of a tree.
pub fn depth<L>(tree: &ah_model::Tree<L>) -> usize {
    let mut depths = vec![0; tree.nodes.len()];
    for (at, node) in tree.nodes.iter().enumerate() {
        if let ah_model::Node::Split { right, .. } = node {
            (depths[at + 1], depths[*right as usize]) = (depths[at] + 1, depths[at] + 1);
        }
    }
    depths.into_iter().max().unwrap_or(0)
}

/// Reports a part of a test that this machine cannot run. The test harness hides the output of a passing test,
/// but not direct writes to standard error.
pub fn skipped(reason: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {reason}");
}

/// The name of the learner that a training chose.
pub fn learner(trained: &ah_train::TrainedModel) -> &str {
    let chosen = &trained.model.provenance.parameters["chosen"];
    let named = chosen["learner"].as_str().and_then(|learner| learner.split(' ').next());
    if chosen["boost"].is_null() { named.unwrap() } else { "boosted" }
}
