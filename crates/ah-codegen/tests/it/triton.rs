//! The target Triton: its function leaves an autotuner only the pick.

use std::path::Path;
use std::process::Command;

use ah_codegen::{Request, TRITON, generate};
use ah_model::Model;

use crate::skipped;

/// Configurations and arguments as `triton.autotune` passes them (`Autotuner.prune_configs` of Triton 3.6).
const DRIVER: &str = r#"
import softmax_h200_prune as module


class Config:
    def __init__(self, kwargs):
        self.kwargs, self.num_warps, self.num_stages, self.num_ctas = kwargs, 4, 3, 1




configs = [Config(dict(config)) for config in module.CONFIGS.values()]
for rows in (1, 64, 4096, 100_000):
    for columns in (16, 1000, 8192):
        arguments = {"rows": rows, "columns": columns}
        given = [arguments.get(name, "torch.float16") for name in module.FEATURES]
        left = module.early_config_prune(configs, arguments, dtype="torch.float16", BLOCK=1)
        assert [config.kwargs for config in left] == [module.CONFIGS[module.choose_among(module.CHOICES, *given)]]
        without = [config for config in configs if config is not left[0]]
        second = module.early_config_prune(without, arguments, dtype="torch.float16")
        names = [name for name, config in module.CONFIGS.items() if config != left[0].kwargs]
        expected = module.CONFIGS.get(module.choose_among(names, *given))
        if expected is None or expected == left[0].kwargs:
            assert second == without, (rows, columns)
        else:
            assert [c.kwargs for c in second] == [expected], (rows, columns)
# Without an argument, or with other configurations, Triton measures as it does without a heuristic.
assert module.early_config_prune(configs, {"rows": 1}) == configs
others = [Config({"BLOCK": 128})]
assert module.early_config_prune(others, {"rows": 1, "columns": 16, "dtype": "torch.float16"}) == others
"#;

#[test]
fn an_autotuner_keeps_only_the_pick() {
    if Command::new("python3").arg("--version").output().is_err() {
        return skipped("there is no python3, so the target triton was not run");
    }
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../generated/softmax_h200.model.json");
    let folder = tempfile::tempdir().unwrap();
    let model = Model::read(&model).unwrap();
    generate(&Request { force: true, ..Request::new(&model, &[&TRITON], folder.path()) }).unwrap();
    std::fs::write(folder.path().join("driver.py"), DRIVER).unwrap();
    let output =
        Command::new("python3").arg("-B").arg("driver.py").current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
