//! C, C++ and CUDA: one header, by several compilers.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use ah_codegen::C;
use rand::SeedableRng;
use rand_pcg::Pcg64;

use super::cases::{case, cases, compare, emit, learned, run, skipped, total};
use super::rust::rust;
use crate::models;

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
        // Learned models compile once as C and once as C++.
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
    // As branches, both took many minutes. The limit leaves room for a busy machine.
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
