//! The form `switch`: one plain function in C, Rust and Python decides as the model does, where all values are such as training
//! saw.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use ah_codegen::{C, CodegenError, Form, Python, Request, Rust, Target, generate};
use ah_types::{
    ChoiceId, Feature, FeatureKind, Features, Leaf, MISSING, Model, Node, RankedChoice, Schema, Test, Tree,
    Value,
};
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;

const INPUTS: usize = 400;

fn learned(name: &str) -> Model {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../generated");
    Model::read(&folder.join(format!("{name}.model.json"))).unwrap()
}

/// Returns the file that one target writes.
fn emit(model: &Model, target: &dyn Target, out: &Path) -> Result<String, CodegenError> {
    let targets = [target];
    let report = generate(&Request { form: Form::Switch, ..Request::new(model, &targets, out) })?;
    Ok(fs::read_to_string(&report.generated[0].place).unwrap())
}

/// Returns inputs with all features defined.
fn inputs(model: &Model, rng: &mut Pcg64) -> Vec<Vec<Value>> {
    let features = model.features.base().features();
    let value = |slot: usize, rng: &mut Pcg64| match features[slot].kind {
        FeatureKind::Numerical if model.missing.contains(&slot) && rng.random_bool(0.3) => {
            Value::Number(f64::NAN)
        }
        FeatureKind::Numerical => {
            let power: u32 = rng.random_range(0..14);
            Value::Number(f64::from(rng.random_range(1..=(1_u32 << power)) << rng.random_range(0..2)))
        }
        FeatureKind::Categorical => {
            Value::from(model.categories[slot].choose(rng).map_or("", String::as_str))
        }
    };
    (0..INPUTS).map(|_| (0..features.len()).map(|slot| value(slot, rng)).collect()).collect()
}

/// Returns what the function should return: the fallback where the model declines.
fn expected(model: &Model, inputs: &[Vec<Value>]) -> Vec<String> {
    let name = |input: &Vec<Value>| {
        let choice = model.choose(input).map(|ranked| ranked.choice).ok().or(model.fallback);
        choice.map_or("none".to_owned(), |choice| model.choice_name(choice).to_owned())
    };
    inputs.iter().map(name).collect()
}

/// How a language writes truth values and missing ones.
struct Literals {
    truth: [&'static str; 2],
    missing_number: &'static str,
    missing_text: &'static str,
}

/// Returns the arguments of each call, as literals. `python` is the source of the target Python, which names the parameters.
fn calls(model: &Model, python: &str, inputs: &[Vec<Value>], literals: &Literals) -> Vec<String> {
    let signature = python.split_once("(").unwrap().1.split_once("):\n").unwrap().0;
    let parameters: Vec<&str> = signature.split(", ").map(|p| p.split_once(": ").unwrap().0).collect();
    let features = model.features.base().features();
    let slot = |name: &&str| features.iter().position(|f| f.name == *name).unwrap();
    let slots: Vec<usize> = parameters.iter().map(slot).collect();
    let literal = |slot: &usize, input: &[Value]| match &input[*slot] {
        Value::Number(x) if x.is_nan() => literals.missing_number.to_owned(),
        Value::Number(x) => format!("{x:?}"),
        other => {
            let is_truth = model.categories[*slot].iter().all(|text| text == "False" || text == "True");
            match other.to_string().as_str() {
                "False" if is_truth => literals.truth[0].to_owned(),
                "True" if is_truth => literals.truth[1].to_owned(),
                "" => literals.missing_text.to_owned(),
                text => format!("{text:?}"),
            }
        }
    };
    let call =
        |input: &Vec<Value>| slots.iter().map(|slot| literal(slot, input)).collect::<Vec<_>>().join(", ");
    inputs.iter().map(call).collect()
}

fn lines(command: &mut Command) -> Vec<String> {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// A model that tests sets of categories, and numbers and a category that training saw missing.
fn with_sets() -> Model {
    let schema = Schema::new([
        Feature::numerical("n"),
        Feature::numerical("mean"),
        Feature::categorical("kind"),
        Feature::categorical("flag"),
    ]);
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<String>>();
    let leaf = |choice: u32| {
        let choice = ChoiceId(choice);
        let ranked =
            RankedChoice { choice, measured: 1, expected: true, allowed: true, ..RankedChoice::default() };
        Node::Leaf(Leaf { samples: 1, ranking: vec![ranked], ranges: Vec::new() })
    };
    let set = |slot: usize, set: &[&str]| Test::Categorical { slot, categories: names(set) };
    let split = |test: Test, left: u32, right: u32| Node::Split { test, left, right };
    let nodes = vec![
        split(set(2, &["a", "b\"", "c", "d"]), 1, 2),
        split(set(2, &["", "e"]), 3, 4),
        split(Test::Numerical { slot: 1, threshold: MISSING }, 5, 6),
        leaf(0),
        split(Test::Numerical { slot: 1, threshold: 8.5 }, 7, 8),
        split(set(3, &["", "True"]), 9, 10),
        leaf(1),
        leaf(2),
        leaf(3),
        leaf(0),
        split(set(2, &["b\"", "d"]), 11, 12),
        leaf(3),
        leaf(2),
    ];
    let model = Model {
        features: Features::new(schema.unwrap(), &[]).unwrap(),
        categories: vec![
            vec![],
            vec![],
            names(&["", "a", "b\"", "c", "d", "e", "f", "g"]),
            names(&["", "False", "True"]),
        ],
        missing: [1].into(),
        choices: names(&["w", "x", "y", "z"]),
        fallback: Some(ChoiceId(0)),
        tree: Tree { nodes },
        ..Model::default()
    };
    Model::parse(&model.to_json()).unwrap()
}

#[test]
fn one_function_decides_as_the_model_does() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let names = ["softmax_h200", "pad_mm_h200", "mixed_mm_h200"];
    for (name, mut model) in
        names.map(|name| (name, learned(name))).into_iter().chain([("sets", with_sets())])
    {
        model.heuristic = "decide".to_owned();
        let mut rng = Pcg64::seed_from_u64(9);
        let inputs = inputs(&model, &mut rng);
        let expected = expected(&model, &inputs);
        let distinct: std::collections::BTreeSet<&String> = expected.iter().collect();
        assert!(distinct.len() > 1, "{name}");
        let python = emit(&model, &Python, at).unwrap();
        let body = python[python.find("def ").unwrap()..].to_owned();

        let mut program = python.clone();
        for missing_number in ["None", "float('nan')"] {
            let literals = Literals { truth: ["False", "True"], missing_number, missing_text: "None" };
            for call in calls(&model, &body, &inputs, &literals) {
                writeln!(program, "print(decide({call}))").unwrap();
            }
        }
        let twice = [expected.clone(), expected.clone()].concat();
        fs::write(at.join("program.py"), program).unwrap();
        if Command::new("python3").arg("--version").output().is_ok() {
            assert_eq!(lines(Command::new("python3").arg(at.join("program.py"))), twice, "{name}");
        } else {
            println!("SKIPPED: there is no python3, so the form switch was not run in Python");
        }

        let mut program =
            emit(&model, &C, at).unwrap() + "#include <math.h>\n#include <stdio.h>\nint main(void) {\n";
        let literals = Literals { truth: ["0", "1"], missing_number: "NAN", missing_text: "\"\"" };
        for call in calls(&model, &body, &inputs, &literals) {
            writeln!(program, "puts(decide({call}));").unwrap();
        }
        fs::write(at.join("program.c"), program + "return 0; }\n").unwrap();
        if Command::new("gcc").arg("--version").output().is_ok() {
            let mut gcc = Command::new("gcc");
            gcc.args([
                "-std=gnu99",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-O1",
                "program.c",
                "-o",
                "program",
                "-lm",
            ]);
            lines(gcc.current_dir(at));
            assert_eq!(lines(&mut Command::new(at.join("program"))), expected, "{name}");
        } else {
            println!("SKIPPED: there is no gcc, so the form switch was not compiled as C");
        }

        let mut program = emit(&model, &Rust, at).unwrap() + "fn main() {\n";
        let literals =
            Literals { truth: ["false", "true"], missing_number: "f64::NAN", missing_text: "\"\"" };
        for call in calls(&model, &body, &inputs, &literals) {
            writeln!(program, "println!(\"{{}}\", decide({call}));").unwrap();
        }
        fs::write(at.join("program.rs"), program + "}\n").unwrap();
        lines(
            Command::new("rustc")
                .args(["--edition=2024", "-Dwarnings", "program.rs", "-o", "rust"])
                .current_dir(at),
        );
        assert_eq!(lines(&mut Command::new(at.join("rust"))), expected, "{name}");
    }
}

#[test]
fn sets_are_named_by_their_shorter_side() {
    let folder = tempfile::tempdir().unwrap();
    let mut model = with_sets();
    model.heuristic = "decide".to_owned();
    let text = |target: &dyn Target| {
        let text = emit(&model, target, folder.path()).unwrap();
        text[text.find("decide(").unwrap()..].to_owned()
    };
    insta::assert_snapshot!([text(&Python), text(&Rust), text(&C)].join("\n"));
}

/// A leaf that declines and its sibling that takes the fallback return the same, so nobody reads a test between them.
#[test]
fn leaves_with_one_result_are_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut model = with_sets();
    model.heuristic = "decide".to_owned();
    let leaf = |choice: u32, allowed: bool| {
        let measured = RankedChoice { measured: 1, expected: true, ..RankedChoice::default() };
        let ranking = vec![RankedChoice { choice: ChoiceId(choice), allowed, ..measured }];
        Node::Leaf(Leaf { samples: 1, ranking, ranges: Vec::new() })
    };
    let below = |threshold: f64, left, right| Node::Split {
        test: Test::Numerical { slot: 0, threshold },
        left,
        right,
    };
    let nodes = vec![below(50.0, 1, 2), below(8.5, 3, 4), leaf(2, true), leaf(1, false), leaf(0, true)];
    model.tree = Tree { nodes };
    let python = emit(&model, &Python, folder.path()).unwrap();
    assert_eq!(python.matches("if ").count(), 1, "{python}");
    assert!(python.contains("2 leaves") && python.contains("\"w\"") && python.contains("\"y\""), "{python}");
}

#[test]
fn boosted_trees_are_refused_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let mut model = learned("softmax_h200");
    let row: Box<[i8]> = vec![0; model.choices.len()].into();
    model.boosters = vec![Tree { nodes: vec![Node::Leaf(row)] }];
    model.unit = 1.0 / 4096.0;
    let refused = emit(&model, &C, folder.path()).unwrap_err().to_string();
    assert!(
        refused.contains("found 1 boosted trees beside it; learn it with ah-train --learner cost_tree"),
        "{refused}"
    );
    let refused =
        emit(&learned("softmax_h200"), &ah_codegen::Pytorch, folder.path()).unwrap_err().to_string();
    assert!(refused.contains("found pytorch"), "{refused}");
}

#[test]
fn the_comment_states_the_price_of_the_size() {
    let folder = tempfile::tempdir().unwrap();
    let mut model = learned("softmax_h200");
    let rung = |leaves: u32, boosted_trees: u32, slowdown: f64| serde_json::json!({ "leaves": leaves, "boosted_trees": boosted_trees, "slowdown": slowdown });
    let sizes = serde_json::json!({ "chosen": 0, "rungs": [rung(9, 0, 1.0101), rung(122, 24, 1.005)] });
    model.provenance.metrics.insert("sizes".to_owned(), sizes);
    let source = emit(&model, &C, folder.path()).unwrap();
    let price = "The price of its size, in cross-validation: it loses 1.01 %, 122 leaves and 24 boosted trees lose 0.50 %.";
    assert!(source.contains(price), "{source}");
    model.provenance.metrics.remove("sizes");
    assert!(!emit(&model, &C, folder.path()).unwrap().contains("The price"));
}
