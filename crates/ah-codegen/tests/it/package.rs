//! A generated crate in the hands of its user: packaged, linted, and as a module of a library.

use crate::{models, skipped};

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use ah_codegen::{C, GO, Generator, PYTHON, RUST, Request, WriteMode, generate};
use ah_model::{Error, Feature, Features, Leaf, Model, Node, Schema};
use rand::SeedableRng;
use rand_pcg::Pcg64;

/// What a program of Python prints in this folder, where it must end without an error; `None` without Python.
fn python(folder: &Path, program: &str) -> Option<String> {
    let Ok(output) = Command::new("python3").args(["-B", "-c", program]).current_dir(folder).output() else {
        skipped("there is no python3, so no module was imported");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap().trim().to_owned())
}

fn model(choices: &[&str]) -> Model {
    let base = models::model(&mut Pcg64::seed_from_u64(1), "Small", 0, 1);
    let features = [
        Feature { integer: true, ..Feature::numerical("m") },
        Feature::numerical("type"),
        Feature::categorical("dtype"),
    ];
    let features = Features::new(Schema::new(features).unwrap(), &[]).unwrap();
    let categories = vec![vec![], vec![], vec!["torch.float16".into(), "torch.float32".into()]];
    let mut nodes = base.tree.nodes.clone();
    nodes.truncate(1);
    let choices = choices.iter().map(ToString::to_string).collect();
    for node in &mut nodes {
        if let Node::Leaf(leaf) = node {
            *leaf = Leaf { samples: leaf.samples, ..Leaf::default() };
        }
    }
    let (tree, boosters, margin) = (ah_model::Tree { nodes }, Vec::new(), None);
    let (precondition, eligible, fallback) = (None, BTreeMap::new(), None);
    let model = Model {
        features,
        categories,
        missing: Default::default(),
        precondition,
        eligible,
        choices,
        fallback,
        tree,
        costs: None,
        boosters,
        margin,
        ..base
    };
    Model::parse(&model.to_json()).unwrap()
}

fn write(model: &Model, out: &Path) -> Result<(), Error> {
    generate_at(model, &RUST, out)
}

fn generate_at(model: &Model, target: &Generator, out: &Path) -> Result<(), Error> {
    generate(&Request::new(model, &[target], out)).map(drop)
}

/// Provenance is a record: without it, or with another one, the same code is generated below other comments.
#[test]
fn provenance_changes_nothing_but_comments() {
    let learned = fs::read_to_string("../../generated/mm_h200.model.json").unwrap();
    let mut model = Model::parse(&learned).unwrap();
    let code = |model: &Model| -> String {
        let targets = [&RUST, &C];
        let request = Request {
            mode: WriteMode::Check,
            force: true,
            ..Request::new(model, &targets, Path::new("none"))
        };
        let files =
            generate(&request).unwrap().generated.into_iter().flat_map(|generated| generated.output.files);
        let text: String = files.filter(|(name, _)| !name.ends_with(".md")).map(|(_, text)| text).collect();
        let is_comment = |line: &&str| ["//", "/*", " *"].iter().any(|mark| line.starts_with(mark));
        text.lines().filter(|line| !is_comment(line)).collect::<Vec<_>>().join("\n")
    };
    let before = code(&model);
    assert!(model.provenance.metrics.contains_key("held_out") && before.contains("mm_h200_choose"));
    model.provenance = ah_model::Provenance::default();
    assert_eq!(code(&model), before);
}

fn cargo(folder: &Path, arguments: &[&str]) -> String {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("package");
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", target)
        .env_remove("RUSTFLAGS")
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo {arguments:?}: {err}");
    assert!(!err.contains("warning: unused"), "{err}");
    String::from_utf8(output.stdout).unwrap()
}

/// Where a choice may not run, the next one is asked; what the questions before have decided is not asked again.
#[test]
fn what_earlier_returns_have_decided_is_not_asked() {
    let choices = ["a", "b", "c", "d", "e"];
    let mut value: serde_json::Value = serde_json::from_str(&model(&choices).to_json()).unwrap();
    let conditions = ["m <= 8 and m % 4 == 0", "m <= 4 and m % 4 == 0", "m % 4 != 0", "m <= 99", "m <= 20"];
    for (choice, when) in choices.iter().zip(conditions) {
        value["eligible"][choice] = when.into();
    }
    value["tree"][0]["ranking"] =
        (0..5).map(|choice| serde_json::json!([choice, 0.1, 9, 0.2, 1.0, 1.0, null, "ea"])).collect();
    let model = Model::parse(&value.to_string()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    generate_at(&model, &PYTHON, folder.path()).unwrap();
    let code = fs::read_to_string(folder.path().join("small.py")).unwrap();
    let tests: Vec<&str> = code.lines().map(str::trim).filter(|line| line.starts_with("if ")).collect();
    assert_eq!(tests, ["if m <= 8 and m % 4.0 == 0.0:", "if m % 4.0 != 0.0:", "if m > 99:"], "{code}");
}

/// "10.430 of the best time, at worst 501.100" stood beside the fallback where every training input of the leaf could run `a`.
#[test]
fn a_path_of_no_training_input_says_so() {
    let mut value: serde_json::Value = serde_json::from_str(&model(&["a", "b"]).to_json()).unwrap();
    value["eligible"]["a"] = "m <= 8".into();
    value["tree"][0]["samples"] = 9.into();
    let comments = |measured: u64| {
        let mut value = value.clone();
        let ranked = |choice: u64, measured: u64, slowdown: f64, worst: f64| {
            serde_json::json!([choice, 0.1, measured, 0.5, slowdown, worst, null, "ea"])
        };
        value["tree"][0]["ranking"] =
            serde_json::json!([ranked(0, measured, 1.0, 1.5), ranked(1, 9, 10.43, 501.1)]);
        let folder = tempfile::tempdir().unwrap();
        generate_at(&Model::parse(&value.to_string()).unwrap(), &PYTHON, folder.path()).unwrap();
        let code = fs::read_to_string(folder.path().join("small.py")).unwrap();
        let comments =
            code.lines().filter_map(|line| line.trim().strip_prefix("return ")?.split_once("  # "));
        comments.map(|(_, comment)| comment.to_owned()).collect::<Vec<_>>()
    };
    let first = "9 inputs, 1.000 of the best time, at worst 1.500";
    assert_eq!(comments(9), ["no training input here", first]);
    assert_eq!(comments(5), ["4 inputs", first]);
}

#[test]
fn it_packages_and_documents_itself() {
    let folder = tempfile::tempdir().unwrap();
    let model = models::model(&mut Pcg64::seed_from_u64(2), "Small", 4, 40);
    write(&model, folder.path()).unwrap();
    let place = folder.path().join("small");
    // The checks of `cargo publish --dry-run` except asking the registry, and the documented example.
    cargo(&place, &["package", "--offline", "--allow-dirty", "--quiet"]);
    cargo(&place, &["test", "--offline", "--quiet", "--doc"]);
    let doc = ["rustdoc", "--offline", "--quiet", "--", "-D", "warnings"];
    cargo(&place, &doc);
    cargo(&place, &["clippy", "--offline", "--quiet", "--", "-D", "clippy::all"]);
}

/// rustfmt and clippy find nothing in what is shipped, in any of the forms.
#[test]
fn the_executor_goes_with_the_tables_that_need_it() {
    let small = model(&["a", "b"]);
    let mut random = (0..).map(|seed| models::model(&mut Pcg64::seed_from_u64(seed), "Small", 2, 9));
    let large = random.find(|model| !model.boosters.is_empty()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let executor = folder.path().join("small/src/decide.rs");
    write(&large, folder.path()).unwrap();
    assert!(executor.exists());
    let request = Request { mode: WriteMode::Check, ..Request::new(&small, &[&RUST], folder.path()) };
    let report = generate(&request).unwrap();
    assert!(report.changed_files().contains(&format!("removed: {}", executor.display())), "{report}");
    write(&small, folder.path()).unwrap();
    assert!(!executor.exists());
    fs::write(&executor, "// not generated").unwrap();
    write(&small, folder.path()).unwrap();
    assert!(executor.exists());
    assert!(generate(&request).unwrap().is_same());
}

#[test]
fn shipped_models_are_clean() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../generated");
    let out = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "json") {
            continue;
        }
        let model = Model::read(&path).unwrap();
        for ranked in [false, true] {
            let request = Request { ranked, force: true, ..Request::new(&model, &[&RUST], out.path()) };
            let place = generate(&request).unwrap().generated[0].output.place.clone();
            cargo(&place, &["fmt", "--check"]);
            cargo(&place, &["clippy", "--offline", "--quiet", "--", "-D", "warnings"]);
        }
    }
}

/// `count` and `api` once were macros or constants of the header too; clippy took a threshold for π.
#[test]
fn choices_named_like_parts_of_the_file_compile_without_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let logged = Schema::new([Feature { integer: true, ..Feature::numerical("m") }, Feature::numerical("x")]);
    let derived = ah_model::DerivedFeature { name: "m/x".into(), expression: "m / x".into() };
    let mut model = split(Features::new(logged.unwrap(), &[derived]).unwrap(), 2, 314_159.0 / 1e5);
    model.choices = ["Self", "api", "count", "h", "self", "unused"].map(str::to_owned).into();
    for ranked in [false, true] {
        let request = Request { ranked, ..Request::new(&model, &[&RUST, &C], folder.path()) };
        generate(&request).unwrap();
        let lints = ["clippy", "--offline", "--quiet", "--", "-D", "warnings"];
        cargo(&folder.path().join("small"), &lints);
        fs::write(
            folder.path().join("main.c"),
            "#include \"small.h\"\nint main(void) { return SMALL_COUNT - 6; }\n",
        )
        .unwrap();
        let Ok(output) = Command::new("cc")
            .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "main.c", "-lm"])
            .current_dir(folder.path())
            .output()
        else {
            return skipped("there is no cc, so no header was compiled");
        };
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// `DBL_MAX` as a field, and `max` as a choice of `Flt`, were macros: "expected identifier before numeric constant".
#[test]
fn no_name_is_a_macro_of_c() {
    let folder = tempfile::tempdir().unwrap();
    let headers = [
        "assert", "errno", "float", "limits", "math", "stdbool", "stddef", "stdint", "stdio", "stdlib",
        "string",
    ];
    let includes: String = headers.iter().map(|header| format!("#include <{header}.h>\n")).collect();
    let source = folder.path().join("main.c");
    let cc = |options: &[&str]| {
        let options = [&["-D_GNU_SOURCE", "-x"], options].concat();
        Command::new("cc").args(options).arg(&source).current_dir(folder.path()).output()
    };
    for language in ["c", "c++"] {
        fs::write(&source, &includes).unwrap();
        let Ok(macros) = cc(&[language, "-dM", "-E"]) else {
            return skipped("there is no cc, so no header was compiled");
        };
        let macros = String::from_utf8(macros.stdout).unwrap();
        let names = macros.lines().filter_map(|line| line.split([' ', '(']).nth(1));
        let names: Vec<&str> = names.filter(|name| !name.starts_with('_')).collect();
        assert!(["DBL_MAX", "NULL", "SIZE_MAX", "assert"].iter().all(|name| names.contains(name)));
        let derived =
            |name: &&str| ah_model::DerivedFeature { name: name.to_string(), expression: "m * m".to_owned() };
        let logged = Schema::new([Feature::numerical("m")]).unwrap();
        let logged_names = Schema::new(names.iter().map(|name| Feature::numerical(*name))).unwrap();
        let as_fields = split(Features::new(logged_names, &[]).unwrap(), 0, 1.0);
        let mut all = vec![as_fields];
        for name in &names {
            all.push(split(Features::new(logged.clone(), &[derived(name)]).unwrap(), 1, 1.0));
        }
        for (number, model) in all.iter_mut().enumerate() {
            model.heuristic = format!("Model{number}");
        }
        for prefix in ["Dbl", "Flt", "Int8", "M", "Size"] {
            let choices = names.iter().filter_map(|name| name.strip_prefix(&prefix.to_ascii_uppercase()));
            let mut model = split(Features::new(logged.clone(), &[]).unwrap(), 0, 1.0);
            model.heuristic = prefix.to_owned();
            model.choices =
                choices.filter_map(|rest| rest.strip_prefix('_')).map(str::to_ascii_lowercase).collect();
            model.choices.sort();
            assert!(model.choices.len() > 1, "{prefix}: {names:?}");
            all.push(model);
        }
        let mut main = includes.clone();
        for model in &all {
            generate_at(model, &C, folder.path()).unwrap();
            main += &format!("#include \"{}.h\"\n", model.heuristic.to_ascii_lowercase());
        }
        fs::write(&source, main + "int main(void) { return 0; }\n").unwrap();
        let output = cc(&[language, "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]).unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{language}: {}", errors.chars().take(3000).collect::<String>());
    }
}

#[test]
fn a_library_has_it_as_a_module() {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path();
    fs::create_dir(library.join("src")).unwrap();
    fs::write(library.join("Cargo.toml"), "[package]\nname = \"mine\"\nversion = \"0.1.0\"\nedition = \"2024\"\ndescription = \"x\"\nlicense = \"MIT\"\n[workspace]\n").unwrap();
    fs::write(library.join("src/lib.rs"), "//! Mine.\npub mod picker;\n").unwrap();
    let into = library.join("src/picker.rs");
    let mut random = (0..).map(|seed| models::model(&mut Pcg64::seed_from_u64(seed), "Small", 4, 40));
    let boosted = random.find(|model| !model.boosters.is_empty()).unwrap();
    let tree = random.find(|model| model.boosters.is_empty()).unwrap();
    for model in [tree, boosted] {
        let request =
            Request { into: Some(&into), license: Some("MIT"), ..Request::new(&model, &[&RUST], library) };
        generate(&request).unwrap();
        assert!(fs::read_to_string(&into).unwrap().contains("// SPDX-License-Identifier: MIT\n"));
        cargo(library, &["package", "--offline", "--allow-dirty", "--quiet"]);
        cargo(library, &["clippy", "--offline", "--quiet", "--", "-D", "clippy::all"]);
    }
}

#[test]
fn a_module_compiles_in_older_editions() {
    let folder = tempfile::tempdir().unwrap();
    let (into, library) = (folder.path().join("picker.rs"), folder.path().join("library.rs"));
    // Without a warning for what the library does not use.
    fs::write(&library, "mod picker;\npub use picker::choose;\n").unwrap();
    let mut random = (0..).map(|seed| models::model(&mut Pcg64::seed_from_u64(seed), "Small", 4, 40));
    let boosted = random.find(|model| !model.boosters.is_empty()).unwrap();
    let tree = random.find(|model| model.boosters.is_empty()).unwrap();
    for (model, ranked) in [(&boosted, false), (&boosted, true), (&tree, false), (&tree, true)] {
        let request = Request { ranked, into: Some(&into), ..Request::new(model, &[&RUST], folder.path()) };
        generate(&request).unwrap();
        for edition in ["2018", "2021", "2024"] {
            let mut rustc = Command::new("rustc");
            rustc.args(["--crate-type", "lib", "--emit", "metadata", "--edition", edition]);
            let output =
                rustc.args(["-D", "warnings"]).arg(&library).current_dir(folder.path()).output().unwrap();
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{edition}, ranked {ranked}: {errors}");
        }
    }
}

/// A log's first line names the device; its name must not become markup.
#[test]
fn a_device_is_not_markup() {
    let folder = tempfile::tempdir().unwrap();
    let cuda = ah_model::Cuda { name: "<img src=x onerror=alert(1)>".to_owned(), ..Default::default() };
    let model = Model { device: Some(ah_model::Device::Cuda(cuda)), ..model(&["a"]) };
    write(&model, folder.path()).unwrap();
    for file in ["src/lib.rs", "README.md"] {
        let text = fs::read_to_string(folder.path().join("small").join(file)).unwrap();
        let is_markup =
            |line: &&str| line.contains("<img") && !line.contains("\\<img") && !line.contains("\"<img");
        assert_eq!(text.lines().find(is_markup), None, "{file}");
    }
}

#[test]
fn features_that_callers_cannot_tell_apart_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let features = [Feature::numerical("a_b"), Feature::numerical("a b")];
    let features = Features::new(Schema::new(features).unwrap(), &[]).unwrap();
    let test = |slot| ah_model::Test::number(slot, 1.0);
    let leaf = || Node::Leaf(Leaf { samples: 1, ..Leaf::default() });
    let nodes = vec![
        Node::Split { test: test(0), right: 2 },
        leaf(),
        Node::Split { test: test(1), right: 4 },
        leaf(),
        leaf(),
    ];
    let model =
        Model { features, categories: vec![vec![], vec![]], tree: ah_model::Tree { nodes }, ..model(&["a"]) };
    let error = write(&model, folder.path()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the features \"a_b\" and \"a b\" would both be `a_b` in code, so callers could not tell them apart; rename one of them in the log"
    );
}

/// Builds a program that uses the crate `small` in this folder, and returns what it prints.
fn run_user(folder: &Path, main: &str) -> String {
    let user = folder.join("user");
    fs::create_dir_all(user.join("src")).unwrap();
    let manifest = "[package]\nname = \"user\"\nedition = \"2024\"\n[workspace]\n[dependencies]\nsmall = { path = \"../small\" }\n";
    fs::write(user.join("Cargo.toml"), manifest).unwrap();
    fs::write(user.join("src/main.rs"), main).unwrap();
    cargo(&user, &["run", "--offline", "--quiet"])
}

const STRUCTURED: [&str; 3] =
    ["BLOCK_M=128_warps=4_mma=\"x\"_on=True", "BLOCK_M=64_warps=0.5_on=False_*/\"\n#=\\\"*/\n'", "std"];

#[test]
fn structured_choices_have_fields_in_rust() {
    let folder = tempfile::tempdir().unwrap();
    write(&model(&STRUCTURED), folder.path()).unwrap();
    let main = "fn main() { for choice in small::Choice::ALL { println!(\"{:?}\", choice.config()); } }";
    let said = run_user(folder.path(), main);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(
        lines,
        [
            r#"Some(Config { block_m: 128, warps: 4.0, mma: Some("\"x\""), on: true, times_over: None })"#,
            r#"Some(Config { block_m: 64, warps: 0.5, mma: None, on: false, times_over: Some("\\\"*/\n'") })"#,
            "None"
        ]
    );
}

/// The next training may read other features, or none; the callers stay as they are.
#[test]
fn the_call_is_an_interface() {
    let folder = tempfile::tempdir().unwrap();
    let logged = [
        Feature::numerical("m"),
        Feature { integer: true, ..Feature::numerical("k") },
        Feature::categorical("dtype"),
        Feature::numerical("entropy"),
    ];
    let features = Features::new(Schema::new(logged).unwrap(), &[]).unwrap();
    let by_m = split(features.clone(), 0, 5.0);
    let by_k = split(features.clone(), 1, 5.0);
    let by_entropy = split(features, 3, 5.0);
    let constant = Model { tree: ah_model::Tree { nodes: vec![by_m.tree.nodes[1].clone()] }, ..by_m.clone() };
    let calls = |model: &Model, ms: f64| -> Vec<String> {
        let mut model = model.clone();
        model.categories[2] = vec!["float".into(), "half".into()];
        model.purpose.feature_ms = [("m".to_owned(), 1e-6), ("entropy".to_owned(), ms)].into();
        let targets = [&RUST, &C, &PYTHON];
        let report =
            generate(&Request { ranked: true, ..Request::new(&model, &targets, folder.path()) }).unwrap();
        let names: Vec<Vec<&str>> = report
            .generated
            .iter()
            .map(|generated| generated.output.signature.iter().map(|(_, name)| name.as_str()).collect())
            .collect();
        assert!(names.iter().all(|other| *other == names[0]), "{names:?}");
        let call = "from small import choose, ranked, choose_among; v = dict(m=6.0, k=2, dtype='half', entropy=9.0)\n\
                    print(choose(**{n: v[n] for n in __import__('small').FEATURES}) is not None)";
        if let Some(said) = python(folder.path(), call) {
            assert_eq!(said, "True");
        }
        names[0].iter().map(ToString::to_string).collect()
    };
    let [few, all] = [&["m", "k", "dtype"][..], &["m", "k", "dtype", "entropy"]];
    for model in [&by_m, &by_k, &constant] {
        assert_eq!(calls(model, 1e-6), all);
        // What takes time is computed only for code that reads it.
        assert_eq!(calls(model, 0.02), few);
    }
    assert_eq!(calls(&by_entropy, 0.02), all);
    // A program in Rust that gives all of them compiles with each.
    for model in [&by_m, &by_k, &constant] {
        calls(model, 0.0);
        let main = "use small::{Choice, Context, choose}; fn main() { let taken: Option<Choice> = \
                    choose(&Context { m: 6.0, k: 2, dtype: \"half\", entropy: 9.0 }); println!(\"{}\", taken.is_some()); }";
        assert_eq!(run_user(folder.path(), main).trim(), "true");
    }
}

#[test]
fn structured_choices_are_dicts_in_python() {
    let folder = tempfile::tempdir().unwrap();
    generate_at(&model(&STRUCTURED), &PYTHON, folder.path()).unwrap();
    let shows = "import small; print(*small.CONFIGS.values(), sep='\\n')";
    let Some(said) = python(folder.path(), shows) else { return };
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(
        lines,
        [
            r#"{'BLOCK_M': 128, 'warps': 4, 'mma': '"x"', 'on': True}"#,
            r#"{'BLOCK_M': 64, 'warps': 0.5, 'on': False, '*/"\n#': '\\"*/\n\''}"#,
            "std"
        ]
    );
}

/// A model that takes `two` above the threshold of a feature, else `one`.
fn split(features: Features, slot: usize, threshold: f64) -> Model {
    let leaf = |choice| {
        let (score, probability, measured, slowdown, worst, worst_over_fallback) =
            (0.0, 1.0, 1, 1.0, 1.0, 1.0);
        let (expected, allowed) = (true, true);
        let ranked = ah_model::RankedChoice {
            choice,
            score,
            probability,
            measured,
            expected,
            slowdown,
            worst,
            worst_over_fallback,
            allowed,
        };
        Node::Leaf(Leaf { samples: 1, ranking: vec![ranked] })
    };
    let test = ah_model::Test::number(slot, threshold);
    let nodes =
        vec![Node::Split { test, right: 2 }, leaf(ah_model::ChoiceId(0)), leaf(ah_model::ChoiceId(1))];
    let categories = vec![vec![]; features.all().len()];
    Model { features, categories, tree: ah_model::Tree { nodes }, ..model(&["one", "two"]) }
}

#[test]
fn the_path_knows_both_sides_of_a_comparison() {
    let folder = tempfile::tempdir().unwrap();
    let logged = Schema::new(["m", "k"].map(Feature::numerical)).unwrap();
    for condition in ["768 <= m", "k >= 768 and k < m", "k == 800 and k <= m"] {
        let mut model = split(Features::new(logged.clone(), &[]).unwrap(), 0, 700.0);
        model.precondition = Some(ah_model::Precondition::new(condition, &logged).unwrap());
        generate_at(&model, &PYTHON, folder.path()).unwrap();
        let code = fs::read_to_string(folder.path().join("small.py")).unwrap();
        assert!(code.contains("return \"two\"") && !code.contains("700"), "{condition}: {code}");
    }
}

/// A product once was computed again where another feature is the trailing zeros of it.
#[test]
fn what_a_feature_has_computed_is_not_computed_again() {
    let derived = [("p", "m * k"), ("zeros", "ctz(m * k)"), ("quotient", "m * k / 7")];
    let derived =
        derived.map(|(name, text)| ah_model::DerivedFeature { name: name.into(), expression: text.into() });
    let logged = Schema::new(["m", "k"].map(Feature::numerical)).unwrap();
    let mut model = split(Features::new(logged, &derived).unwrap(), 2, 100.0);
    let split = |slot, right| Node::Split { test: ah_model::Test::number(slot, 5.0), right };
    let [one, two] = [1, 2].map(|at| model.tree.nodes[at].clone());
    model.tree.nodes = vec![split(2, 4), split(3, 3), one.clone(), two.clone(), split(4, 6), one, two];
    let folder = tempfile::tempdir().unwrap();
    generate_at(&model, &PYTHON, folder.path()).unwrap();
    let code = fs::read_to_string(folder.path().join("small.py")).unwrap();
    assert_eq!(code.matches(" * k").count(), 1, "{code}");
}

/// A part once took a feature's name behind the condition that reads it as `part_1`.
#[test]
fn a_part_that_code_reads_keeps_its_name() {
    let derived = [("ratio", "m / n"), ("band", "m / n > 4 and ratio < 8"), ("twice", "ratio * 2 + m / n")];
    let derived =
        derived.map(|(name, text)| ah_model::DerivedFeature { name: name.into(), expression: text.into() });
    let logged = Schema::new(["m", "n"].map(Feature::numerical)).unwrap();
    let features = Features::new(logged, &derived).unwrap();
    let mut model = split(features, 4, 15.0);
    let banded = ah_model::Test::is_in(3, vec!["True".into()]);
    let [one, two] = [1, 2].map(|at| model.tree.nodes[at].clone());
    let twice = model.tree.nodes[0].clone();
    let right_of = |node: Node, right| match node {
        Node::Split { test, .. } => Node::Split { test, right },
        leaf => leaf,
    };
    model.categories[3] = vec!["False".into(), "True".into()];
    model.tree.nodes =
        vec![Node::Split { test: banded, right: 2 }, one.clone(), right_of(twice, 4), one, two];
    let folder = tempfile::tempdir().unwrap();
    for target in [&RUST, &C, &PYTHON] {
        generate_at(&model, target, folder.path()).unwrap();
    }
    let read = |file: &str| fs::read_to_string(folder.path().join(file)).unwrap();
    for code in [read("small/src/lib.rs"), read("small.h"), read("small.py")] {
        // It is computed once, and every line after that reads this name.
        assert!(!code.contains("part_") && code.contains("ratio"), "{code}");
    }
}

/// Parts of a wide quotient are computed before the condition that keeps its divisor from 0.
#[test]
fn python_divides_by_nothing_outside_of_a_condition() {
    let [a, b] = ["a_feature_with_a_long_name", "b_feature_with_a_long_name"];
    let sum = format!("({a} * {b} + {a} + 17) / d + ({b} * {b} + {a} * {a} + 23) / d");
    let wide = format!("({sum}) * ({a} + {b} + 3) + ({a} * {a} * {b} * 7 + {b})");
    let derived =
        ah_model::DerivedFeature { name: "r".into(), expression: format!("if d > 0 then {wide} else -{a}") };
    let logged = Schema::new([a, b, "d"].map(Feature::numerical)).unwrap();
    let model = split(Features::new(logged, &[derived]).unwrap(), 3, 0.0);
    let folder = tempfile::tempdir().unwrap();
    generate_at(&model, &PYTHON, folder.path()).unwrap();
    let asks = "from small import choose; print(choose(5.0, 6.0, 2.0), choose(5.0, 6.0, 0.0))";
    let Some(said) = python(folder.path(), asks) else { return };
    assert_eq!(said, "two one");
}

/// The loop over the choices repeats no test of the input, and no operation that several terms of a choice have in common.
#[test]
fn a_formula_computes_each_part_once() {
    let logged = Schema::new(["m", "n"].map(Feature::numerical)).unwrap();
    let factor = "(if n % 16 == 0 then 1 else unaligned)";
    let tiles = format!("{factor} * ceil(m / tile)");
    let terms = vec![factor.to_owned(), format!("{tiles} * n"), tiles];
    let rows = vec![vec![8.0, 2.0, 1.0, 0.25, 0.5], vec![32.0, 4.0, 2.0, 0.125, 0.5]];
    let class = ah_model::CostClass { condition: None, rows };
    let parameters = ["tile", "unaligned"].map(str::to_owned).to_vec();
    let mut model = split(Features::new(logged.clone(), &[]).unwrap(), 0, 100.0);
    model.costs = Some(ah_model::Costs::new(&logged, parameters, terms, vec![class]).unwrap());
    for node in &mut model.tree.nodes {
        if let Node::Leaf(leaf) = node {
            leaf.ranking[0].score = 1.0;
        }
    }
    let folder = tempfile::tempdir().unwrap();
    for (target, file) in
        [(&RUST, "small/src/lib.rs"), (&C, "small.h"), (&GO, "small/small.go"), (&PYTHON, "small.py")]
    {
        generate_at(&model, target, folder.path()).unwrap();
        let code = fs::read_to_string(folder.path().join(file)).unwrap();
        assert_eq!((code.matches("16.0").count(), code.matches("/ tile").count()), (1, 1), "{code}");
        assert!(code.find("16.0") < code.find("row[0]"), "{code}");
    }
}

/// Features of these names were overwritten before the conditions read them, and each choice was ineligible.
#[test]
fn python_reads_features_named_like_the_variables_of_a_formula() {
    let logged = Schema::new(["factors", "scores"].map(Feature::numerical)).unwrap();
    let mut model = split(Features::new(logged.clone(), &[]).unwrap(), 0, 5.0);
    for node in &mut model.tree.nodes {
        if let Node::Leaf(leaf) = node {
            let ranked = |choice| ah_model::RankedChoice { choice, score: 1.0, ..leaf.ranking[0].clone() };
            leaf.ranking = [0, 1].map(|choice| ranked(ah_model::ChoiceId(choice))).into();
        }
    }
    let rows = vec![vec![1.0], vec![2.0]];
    let class = ah_model::CostClass { condition: None, rows };
    model.costs = Some(ah_model::Costs::new(&logged, Vec::new(), vec!["1".to_owned()], vec![class]).unwrap());
    let condition = ah_model::Precondition::new("scores > 1", &logged).unwrap();
    model.eligible = [(ah_model::ChoiceId(0), condition)].into();
    let folder = tempfile::tempdir().unwrap();
    generate_at(&model, &PYTHON, folder.path()).unwrap();
    let asks = "from small import choose; print(choose(6.0, 2.0), choose(6.0, 0.0))";
    let Some(said) = python(folder.path(), asks) else { return };
    assert_eq!(said, "one two");
}

/// On a full disk nothing is replaced. The test needs a small file system of its own.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_costs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let mount = ["-t", "tmpfs", "-o", "size=96k", "ah-codegen-test"];
    if !Command::new("mount").args(mount).arg(&disk).output().is_ok_and(|o| o.status.success()) {
        let reason = "cannot mount a small tmpfs here (needs root), so a full disk was not tried";
        return skipped(reason);
    }
    // Unmounts even when an assertion fails.
    struct Mounted<'a>(&'a Path);
    impl Drop for Mounted<'_> {
        fn drop(&mut self) {
            let _ = Command::new("umount").arg(self.0).status();
        }
    }
    let _mounted = Mounted(&disk);
    let small = Model { heuristic: "Narrow".to_owned(), ..model(&["a"]) };
    write(&small, &disk).unwrap();
    let before = fs::read(disk.join("narrow/src/lib.rs")).unwrap();
    let mut rng = Pcg64::seed_from_u64(4);
    let size = |model: &Model| {
        let request = Request { mode: WriteMode::Check, ..Request::new(model, &[&RUST], folder.path()) };
        let files = generate(&request).unwrap().generated.remove(0).output.files;
        files.values().map(String::len).sum::<usize>()
    };
    let large = std::iter::repeat_with(|| {
        let model = models::model(&mut rng, "Narrow", 4, 40);
        models::with_leaves(&mut rng, model, 5000)
    });
    let large = large.take(40).find(|model| size(model) > 200_000).unwrap();
    let error = write(&large, &disk).unwrap_err();
    assert_eq!(ah_cli::exit_code(&error), ah_cli::exit::IO);
    let text = error.to_string();
    assert!(text.contains("cannot write") && text.contains("space"), "{text}");
    assert_eq!(fs::read(disk.join("narrow/src/lib.rs")).unwrap(), before);
    let left: Vec<_> = fs::read_dir(&disk).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["narrow"], "what was begun is removed");
}

#[test]
fn a_decision_point_sees_the_version_the_fallback_and_the_kinds_of_features() {
    let out = tempfile::tempdir().unwrap();
    let model = Model { fallback: Some(ah_model::ChoiceId(1)), ..model(&["a", "b"]) };
    let runtime = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ah-runtime");
    let request = Request { runtime: Some(&runtime), ..Request::new(&model, &[&RUST], out.path()) };
    generate(&request).unwrap();
    let text = fs::read_to_string(out.path().join("small/src/lib.rs")).unwrap();
    assert!(
        text.contains(&format!("Some(\"{}\")", model.version())) && text.contains("Some(\"b\")"),
        "{text}"
    );
    let kinds = "[FeatureKind::Numerical, FeatureKind::Numerical, FeatureKind::Categorical]";
    assert!(text.contains(kinds), "{text}");
}

/// Boosted Python once raised where an integer was NaN, infinite or a text.
#[test]
fn python_never_raises() {
    let folder = tempfile::tempdir().unwrap();
    let calls = "
import inspect, fast
count = len(inspect.signature(fast.choose).parameters)
for value in (float('nan'), float('inf'), -float('inf'), 0, -1, 10**400, None, True, 'x', 1j, [1]):
    assert (choice := fast.choose(*[value] * count)) is None or choice in fast.CHOICES, value
";
    let random = (0..40).map(|seed| models::model(&mut Pcg64::seed_from_u64(seed), "Fast", 3, 20));
    let mut boosted = 0;
    for model in random {
        boosted += usize::from(!model.boosters.is_empty());
        generate_at(&model, &PYTHON, folder.path()).unwrap();
        if python(folder.path(), calls).is_none() {
            return;
        }
    }
    assert!(boosted > 5);
}
