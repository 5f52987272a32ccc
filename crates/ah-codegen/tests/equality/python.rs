//! Python and PyTorch: one driver for each reads contexts and prints decisions.

use std::path::Path;
use std::process::Command;

use ah_codegen::{Python, Pytorch, Target};

use crate::cases::{cases, compare, emit, learned, run, skipped, total};

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
