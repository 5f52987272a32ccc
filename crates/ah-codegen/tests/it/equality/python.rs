//! Python and PyTorch: one driver for each reads contexts and prints decisions.

use std::path::Path;
use std::process::Command;

use ah_codegen::{Detail, Python, Pytorch, Target, simplify};
use ah_types::{ChoiceId, Feature, Features, Leaf, Model, Node, RankedChoice, Schema, Test, Tree};

use super::cases::{cases, compare, emit, learned, run, skipped, total};

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

/// Returns a model of one tree whose rightmost path has this many splits.
fn chain(depth: u32) -> Model {
    let schema = Schema::new([Feature::numerical("m"), Feature::categorical("dtype")]).unwrap();
    let leaf = |i: u32| {
        let ranked = RankedChoice {
            choice: ChoiceId(i % 2),
            score: 0.0,
            probability: 0.0,
            measured: 3,
            expected: true,
            slowdown: f64::INFINITY,
            worst: f64::INFINITY,
            worst_over_fallback: f64::INFINITY,
            allowed: true,
        };
        Node::Leaf(Leaf { samples: 3, ranking: vec![ranked], ..Leaf::default() })
    };
    let split = |i: u32| match i {
        0 | 1 => {
            let test = Test::Categorical { slot: 1, categories: vec![["a", "b"][i as usize].to_owned()] };
            Node::Split { test, left: 2 * i + 2, right: 2 * i + 1 }
        }
        _ => {
            let test = Test::Numerical { slot: 0, threshold: f64::from(3 * i) };
            Node::Split { test, left: 2 * i + 1, right: 2 * i + 2 }
        }
    };
    let mut nodes: Vec<Node> = (0..depth).flat_map(|i| [split(i), leaf(i)]).collect();
    nodes.push(leaf(depth));
    Model {
        heuristic: format!("Chain{depth}"),
        features: Features::new(schema, &[]).unwrap(),
        categories: vec![vec![], ["a", "b", "c"].map(str::to_owned).to_vec()],
        choices: vec!["x".to_owned(), "y".to_owned()],
        tree: Tree { nodes },
        ..Model::default()
    }
}

/// Small and large trees, and the tools.
#[test]
fn a_path_has_one_wording() {
    const DRIVER: &str = "import json, sys; sys.path.insert(0, sys.argv[1]); module = __import__(sys.argv[2])\n\
        for m, dtype in json.load(sys.stdin): print(module.explain(m, dtype).split('because ')[1].split('\\n')[0])";
    if Command::new("python3").arg("--version").output().is_err() {
        return skipped("there is no python3, so explanations are not compared");
    }
    let folder = tempfile::tempdir().unwrap();
    for depth in [8, 20] {
        let model = chain(depth);
        let file = emit(&model, &Python, folder.path(), None);
        let contexts: Vec<(f64, &str)> =
            (0..65).flat_map(|m| ["a", "b", "c"].map(|dtype| (f64::from(m), dtype))).collect();
        let mut driver = Command::new("python3");
        driver.args(["-Bc", DRIVER]).arg(file.parent().unwrap()).arg(file.file_stem().unwrap());
        let printed = run(&mut driver, &serde_json::to_string(&contexts).unwrap(), "python3");
        let simple = simplify(&model, Detail::default());
        for ((m, dtype), printed) in contexts.into_iter().zip(printed) {
            let tests = simple.explain(&[m.into(), dtype.into()], None).path.expect("a path").tests;
            let conditions: Vec<&str> = tests.iter().map(|test| test.split_once(": ").unwrap().1).collect();
            assert_eq!(printed, conditions.join(", "), "m = {m}, dtype = {dtype}");
        }
    }
}

#[test]
fn a_feature_may_have_the_name_of_what_a_decision_adds() {
    if Command::new("python3").arg("--version").output().is_err() {
        skipped("there is no python3, so no module with a feature `rows` was run");
        return;
    }
    let generated = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../generated");
    let mut model = Model::read(&generated.join("softmax_h200.model.json")).unwrap();
    let row: Box<[i8]> = vec![0; model.choices.len() + 1].into();
    let test = Test::Numerical { slot: 0, threshold: 4.0 };
    let nodes = vec![Node::Split { test, left: 1, right: 2 }, Node::Leaf(row.clone()), Node::Leaf(row)];
    model.boosters = vec![Tree { nodes }];
    model.unit = 1.0 / 4096.0;
    assert_eq!(model.features.base().features()[0].name, "rows");
    let folder = tempfile::tempdir().unwrap();
    let file = emit(&model, &Python, folder.path(), None);
    let ask = "import softmax_h200 as m; assert m.choose(rows=8, columns=64, dtype='torch.float16')";
    let mut python = Command::new("python3");
    let output = python.args(["-B", "-c", ask]).current_dir(file.parent().unwrap()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
