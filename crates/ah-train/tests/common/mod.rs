//! Small logs, as PyTorch writes them.
#![allow(dead_code)]

use std::fmt::Write as _;
use std::path::PathBuf;

pub const HEAD: &str = r#"{"name": "pad_mm", "shared_memory": 166912, "device_capa": [8, 0], "numerical_features": ["m", "k", "n"], "categorical_features": ["mat1_dtype"]}
m,k,n,mat1_dtype,choice,feedback
"#;

/// Returns a log of `inputs` inputs with three runs of `orig` and of `pad` each; padding is faster for odd
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

/// Returns a published log, where its folder exists.
pub fn published(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(name);
    let path = if path.exists() {
        path
    } else {
        // A worktree lies one folder deeper.
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/data").join(name)
    };
    if !path.exists() {
        let _ = std::io::Write::write_fmt(
            &mut std::io::stderr(),
            format_args!(
                "skipped: {name} is not under ../shared/data, so learning from this log of PyTorch is not tested\n"
            ),
        );
        return None;
    }
    Some(path)
}
