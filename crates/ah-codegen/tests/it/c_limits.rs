//! The C header's limits: many choices, and compiler flags that break its arithmetic.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ah_codegen::{C, Request, generate};
use ah_model::{ChoiceId, Feature, Features, Leaf, Model, Node, RankedChoice, Schema, Test, Tree};

/// Takes the last choice where m <= 0, and the second where m > 0.
fn model(choices: usize) -> Model {
    let ranked = |choice: usize| RankedChoice {
        choice: ChoiceId(choice as u32),
        score: 0.0,
        probability: 0.0,
        measured: 1,
        expected: true,
        slowdown: f64::INFINITY,
        worst: f64::INFINITY,
        worst_over_fallback: f64::INFINITY,
        allowed: true,
    };
    let leaf = |choice| Node::Leaf(Leaf { samples: 1, ranking: vec![ranked(choice)] });
    let split = Node::Split { test: Test::number(0, 0.0), right: 2 };
    Model {
        heuristic: "Many".to_owned(),
        optimization: "many".to_owned(),
        features: Features::new(Schema::new([Feature::numerical("m")]).unwrap(), &[]).unwrap(),
        categories: vec![Vec::new()],
        choices: (0..choices).map(|i| format!("c{i:06}")).collect(),
        fallback: Some(ChoiceId(0)),
        tree: Tree { nodes: vec![split, leaf(choices - 1), leaf(1)] },
        ..Model::default()
    }
}

/// The header of this model, in `folder`.
fn header(model: &Model, folder: &Path) -> PathBuf {
    generate(&Request::new(model, &[&C], folder)).unwrap().generated[0].output.place.clone()
}

/// Compiles a program that prints the choices for m = -1 and m = 1.
fn compile(compiler: &str, options: &[&str], header: &Path) -> Output {
    let source = header.with_file_name("main.c");
    let main = "#include <stdio.h>\n#include \"many.h\"\nint main(void) {\n    struct many_context low = { -1.0 }, high = { 1.0 };\n    \
                printf(\"%d %d\\n\", many_choose(&low), many_choose(&high));\n    return 0;\n}\n";
    std::fs::write(&source, main).unwrap();
    let mut command = Command::new(compiler);
    command.args(["-Wall", "-Wextra", "-Werror"]).args(options).arg(&source).arg("-o");
    command.arg(header.with_file_name("program")).output().unwrap()
}

fn is_there(compiler: &str) -> bool {
    let found = Command::new(compiler).arg("--version").output().is_ok();
    if !found {
        crate::skipped(&format!("there is no {compiler}, so the C header's limits were not tried with it"));
    }
    found
}

#[test]
fn forty_thousand_choices_keep_their_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let header = header(&model(40_000), folder.path());
    for compiler in ["gcc", "clang"].into_iter().filter(|c| is_there(c)) {
        let compiled = compile(compiler, &["-std=c99"], &header);
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        let output = Command::new(folder.path().join("program")).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "39999 1\n");
    }
}

#[test]
fn common_flags_decide_alike_and_inexact_arithmetic_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let header = header(&model(3), folder.path());
    let exact: [&[&str]; 6] = [
        &["-std=c99", "-O0"],
        &["-std=c11", "-O3", "-march=native"],
        &["-std=gnu17", "-Os"],
        &["-x", "c++", "-std=c++17", "-O0"],
        &["-x", "c++", "-std=c++17", "-O3", "-march=native"],
        &["-std=c11", "-O2", "-ffp-contract=fast"],
    ];
    let inexact: [&[&str]; 4] = [
        &["-ffast-math"],
        &["-ffinite-math-only"],
        &["-freciprocal-math"],
        &["-fassociative-math", "-fno-signed-zeros", "-fno-trapping-math"],
    ];
    for compiler in ["gcc", "clang"].into_iter().filter(|c| is_there(c)) {
        for options in exact {
            let compiled = compile(compiler, options, &header);
            let message = String::from_utf8_lossy(&compiled.stderr);
            assert!(compiled.status.success(), "{compiler} {options:?}: {message}");
            let output = Command::new(folder.path().join("program")).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), "2 1\n", "{compiler} {options:?}");
        }
        // Clang defines a macro for the first two alone.
        for options in if compiler == "gcc" { &inexact[..] } else { &inexact[..2] } {
            let compiled = compile(compiler, options, &header);
            let message = String::from_utf8_lossy(&compiled.stderr);
            assert!(!compiled.status.success() && message.contains("IEEE 754"), "{options:?}: {message}");
        }
    }
}
