//! The target Triton: its function leaves an autotuner only the pick.

use std::path::Path;
use std::process::Command;

use ah_codegen::{Request, Triton, generate};
use ah_types::{
    ChoiceId, DerivedFeature, Feature, Features, Leaf, Model, Node, RankedChoice, Schema, Test, Tree, Value,
};

/// Configurations and arguments as `triton.autotune` passes them (`Autotuner.prune_configs` of Triton 3.6).
const DRIVER: &str = r#"
import softmax_h200_prune as module


class Config:
    def __init__(self, kwargs):
        self.kwargs, self.num_warps, self.num_stages, self.num_ctas = kwargs, 4, 3, 1




configs = [Config(dict(config)) for config in module.CONFIGS]
for rows in (1, 64, 4096, 100_000):
    for columns in (16, 1000, 8192):
        arguments = {"rows": rows, "columns": columns}
        left = module.early_config_prune(configs, arguments, dtype="torch.float16", BLOCK=1)
        assert [config.kwargs for config in left] == [module.choose_among(module.CHOICES, rows, columns, "torch.float16")]
        without = [config for config in configs if config is not left[0]]
        second = module.early_config_prune(without, arguments, dtype="torch.float16")
        names = [name for name, config in zip(module.CHOICES, module.CONFIGS) if config != left[0].kwargs]
        expected = module.choose_among(names, rows, columns, "torch.float16")
        assert second == without if expected is None else [c.kwargs for c in second] == [expected], (rows, columns)
# Without an argument, or with other configurations, Triton measures as it does without a heuristic.
assert module.early_config_prune(configs, {"rows": 1}) == configs
others = [Config({"BLOCK": 128})]
assert module.early_config_prune(others, {"rows": 1, "columns": 16, "dtype": "torch.float16"}) == others
"#;

#[test]
fn an_autotuner_keeps_only_the_pick() {
    if Command::new("python3").arg("--version").output().is_err() {
        println!("SKIPPED: there is no python3, so the target triton was not run");
        return;
    }
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../generated/softmax_h200.model.json");
    let folder = tempfile::tempdir().unwrap();
    generate(&Request::new(&Model::read(&model).unwrap(), &[&Triton], folder.path())).unwrap();
    std::fs::write(folder.path().join("driver.py"), DRIVER).unwrap();
    let output =
        Command::new("python3").arg("-B").arg("driver.py").current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Python's own names in the module once hid a helper: `early_config_prune` calls what expressions must not.
#[test]
fn the_module_decides_as_the_target_python() {
    let base =
        Schema::new(["n", "m", "end"].map(|name| Feature { integer: true, ..Feature::numerical(name) }));
    let derived = [("wide", "n > m"), ("area", "if wide == \"True\" then n else m + 0 * end")];
    let derived = derived.map(|(name, text)| DerivedFeature { name: name.into(), expression: text.into() });
    let features = Features::new(base.unwrap(), &derived).unwrap();
    let leaf = |choice| {
        let ranked = RankedChoice {
            choice: ChoiceId(choice),
            measured: 1,
            expected: true,
            allowed: true,
            ..Default::default()
        };
        Node::Leaf(Leaf { samples: 1, ranking: vec![ranked], ranges: Vec::new() })
    };
    let split = Node::Split { test: Test::Numerical { slot: 4, threshold: 64.0 }, left: 1, right: 2 };
    let model = Model {
        heuristic: "Wide".into(),
        categories: vec![Vec::new(), Vec::new(), Vec::new(), vec!["False".into(), "True".into()], Vec::new()],
        features,
        choices: vec!["a".into(), "b".into()],
        tree: Tree { nodes: vec![split, leaf(0), leaf(1)] },
        ..Model::default()
    };
    let folder = tempfile::tempdir().unwrap();
    generate(&Request::new(&model, &[&Triton], folder.path())).unwrap();
    let calls: Vec<String> = (0..400)
        .map(|i| {
            let (n, m, end) = (i % 20 * 10, i / 20 * 10, i % 3);
            let values = [n, m, end].map(Value::from);
            let expected = model.choice_name(model.choose(&values).unwrap().choice);
            format!("assert module.choose({n}, {m}, {end}) == {expected:?}, ({n}, {m}, {end})")
        })
        .collect();
    std::fs::write(
        folder.path().join("driver.py"),
        format!("import wide_prune as module\n{}\n", calls.join("\n")),
    )
    .unwrap();
    let output =
        Command::new("python3").arg("-B").arg("driver.py").current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
