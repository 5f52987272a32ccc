//! Models: the file reads back to the same model, and nothing invalid is accepted.

use std::collections::{BTreeMap, BTreeSet};

use ah_model::{
    ChoiceId, Clause, Context, DerivedFeature, Feature, Features, Leaf, Model, Node, Precondition,
    Provenance, Purpose, RankedChoice, Schema, Test, Tree, Unsure, Value, expr,
};

use crate::reference;

fn ranked(choice: u32, score: f64) -> RankedChoice {
    RankedChoice {
        choice: ChoiceId(choice),
        score,
        probability: 0.5,
        measured: 3,
        expected: true,
        slowdown: 1.01,
        worst: f64::INFINITY,
        worst_over_fallback: 0.75,
        allowed: true,
    }
}

fn leaf(ranking: Vec<RankedChoice>) -> Node {
    Node::Leaf(Leaf { samples: 3, ranking })
}

fn split(slot: usize, threshold: f64, right: u32) -> Node {
    Node::Split { test: Test::number(slot, threshold), right }
}

fn split_by(slot: usize, category: &str, right: u32) -> Node {
    Node::Split { test: Test::is_in(slot, [category.to_owned()]), right }
}

/// k/n <= 2 ? (dtype == "half" ? b : a) : b a
fn model() -> Model {
    let schema =
        Schema::new([Feature::numerical("k"), Feature::numerical("n"), Feature::categorical("dtype")])
            .unwrap();
    let derived = [DerivedFeature { name: "k/n".into(), expression: "k / n".into() }];
    let features = Features::new(schema, &derived).unwrap();
    let parsed = expr::parse("k >= 1").unwrap();
    let typed = parsed.resolve_bool(features.base()).unwrap();
    Model {
        heuristic: "Toy".into(),
        optimization: "toy".into(),
        categories: vec![vec![], vec![], vec!["float".into(), "half".into()], vec![]],
        costs: None,
        missing: BTreeSet::new(),
        features,
        precondition: Some(Precondition { expression: "k >= 1".into(), typed }),
        device: None,
        shared_memory: Some(0),
        device_capa: (0, 0),
        choices: vec!["a".into(), "b".into(), "c".into()],
        fallback: Some(ChoiceId(0)),
        eligible: BTreeMap::new(),
        tree: Tree {
            nodes: vec![
                split(3, 2.0, 4),
                split_by(2, "half", 3),
                leaf(vec![ranked(0, 0.0)]),
                Node::Leaf(Leaf {
                    samples: 3,
                    ranking: vec![
                        RankedChoice { allowed: false, ..ranked(1, 0.0) },
                        ranked(0, 0.1),
                        ranked(2, 0.2),
                    ],
                }),
                leaf(vec![ranked(1, 0.1), ranked(0, 0.2)]),
            ],
        },
        boosters: Vec::new(),
        unit: 0.0,
        margin: None,
        promise: None,
        purpose: Purpose::default(),
        provenance: Provenance { tool: "test".into(), seed: 1, ..Provenance::default() },
    }
}

fn values(k: f64, n: f64, dtype: &str) -> Vec<Value> {
    vec![k.into(), n.into(), dtype.into()]
}

fn decide(values: &[Value], offered: &[u32]) -> Result<String, Unsure> {
    let model = model();
    model.decide(values, |c| offered.contains(&c.0)).map(|choice| model.choice_name(choice).to_owned())
}

#[test]
fn decides_as_documented() {
    assert_eq!(decide(&values(3.0, 1.0, "half"), &[0, 1]), Ok("b".into()));
    assert_eq!(decide(&values(3.0, 1.0, "half"), &[0]), Ok("a".into()), "the next of the ranking");
    assert_eq!(decide(&values(3.0, 1.0, "half"), &[2]), Ok("a".into()), "the fallback counts as offered");
    assert_eq!(decide(&values(2.0, 1.0, "float"), &[0, 1]), Ok("a".into()), "on the threshold goes left");
    assert_eq!(decide(&values(2.0_f64.next_up(), 1.0, "float"), &[0, 1]), Ok("b".into()));
    assert_eq!(
        decide(&values(1.0, 1.0, "half"), &[0, 1, 2]),
        Err(Unsure::NoneAllowed),
        "the fallback after a choice not allowed"
    );
    assert_eq!(decide(&values(1.0, 1.0, "half"), &[0, 2]), Ok("a".into()), "the fallback first");
    assert_eq!(decide(&values(1.0, 1.0, "half"), &[1, 2]), Err(Unsure::NoneAllowed), "b is not allowed");
    assert_eq!(decide(&values(1.0, 1.0, "int4"), &[0]), Err(Unsure::UnknownCategory(2)));
    assert_eq!(decide(&values(1.0, 0.0, "half"), &[0]), Err(Unsure::Undefined(3)));
    assert_eq!(decide(&values(0.0, 1.0, "half"), &[0]), Err(Unsure::Precondition));
    assert_eq!(decide(&values(f64::NAN, 1.0, "half"), &[0]), Err(Unsure::Precondition));
}

#[test]
fn missing_features_are_unsure_only_where_needed() {
    let m = model();
    let context = Context::new().with("k", 9).with("n", 1);
    assert!(m.decide(&m.values(&context), |_| true).is_ok());
    let context = Context::new().with("k", 1).with("n", 1);
    assert_eq!(m.decide(&m.values(&context), |_| true), Err(Unsure::UnknownCategory(2)));
}

#[test]
fn the_file_reads_back_to_the_same_model_and_bytes() {
    let m = model();
    let text = m.to_json();
    let read = Model::parse(&text).unwrap();
    assert_eq!(read, m);
    assert_eq!(read.to_json(), text);
    insta::assert_snapshot!(text);
}

#[test]
fn a_name_that_ends_in_gz_is_packed() {
    let folder = tempfile::tempdir().unwrap();
    let [plain, packed] = ["model.json", "model.json.gz"].map(|name| folder.path().join(name));
    let m = model();
    m.write(&plain).unwrap();
    m.write(&packed).unwrap();
    assert_eq!(std::fs::read_to_string(&plain).unwrap(), m.to_json());
    assert_eq!(std::fs::read(&packed).unwrap()[..2], [0x1f, 0x8b]);
    assert_eq!(Model::read(&plain).unwrap(), Model::read(&packed).unwrap());
}

#[test]
fn nothing_invalid_is_let_in() {
    type Break = fn(&mut Model);
    let cases: [(&str, Break); 16] = [
        ("no choices", |m| m.choices.clear()),
        ("unsorted choices", |m| m.choices.reverse()),
        ("no node", |m| m.tree.nodes.clear()),
        ("a cycle", |m| m.tree.nodes[1] = split(0, 1.0, 1)),
        ("a child beyond the end", |m| m.tree.nodes[0] = split(0, 1.0, 9)),
        ("two parents", |m| m.tree.nodes[1] = split(0, 1.0, 4)),
        ("one child twice", |m| m.tree.nodes[1] = split(0, 1.0, 2)),
        ("an orphan", |m| m.tree.nodes.push(leaf(vec![]))),
        ("an infinite threshold", |m| m.tree.nodes[0] = split(0, f64::INFINITY, 4)),
        ("a threshold on a category", |m| m.tree.nodes[0] = split(2, 1.0, 4)),
        ("an unknown category", |m| m.categories[2] = vec!["float".into()]),
        ("a choice twice", |m| m.tree.nodes[2] = leaf(vec![ranked(0, 0.0), ranked(0, 0.0)])),
        ("an unsorted ranking", |m| m.tree.nodes[2] = leaf(vec![ranked(0, 0.1), ranked(1, 0.0)])),
        ("a choice that was never measured", |m| {
            m.tree.nodes[2] = leaf(vec![RankedChoice { measured: 0, ..ranked(0, 0.0) }]);
        }),
        ("a margin without boosters", |m| m.margin = Some(0.5)),
        ("NaN", |m| m.tree.nodes[2] = leaf(vec![ranked(0, f64::NAN)])),
    ];
    let mut messages = String::new();
    for (name, break_it) in cases {
        let mut m = model();
        break_it(&mut m);
        let message = m.validate().expect_err(name);
        messages += &format!("{name}: {message}\n");
    }
    insta::assert_snapshot!(messages);
}

#[test]
fn a_malformed_file_is_answered_with_the_place() {
    let text = model().to_json();
    let long = "\u{1b}[31mlong".repeat(1 << 18);
    let cases = [
        ("not JSON", "{\"format\": tree".to_owned()),
        ("another file", "{\"format\": \"other\", \"version\": 11}".to_owned()),
        ("a newer version", text.replace("\"version\": 11", "\"version\": 12")),
        ("an older version", text.replace("\"version\": 11", "\"version\": 9")),
        ("an unknown key", text.replace("\"fallback\"", "\"fall_back\"")),
        ("an unknown choice", text.replace("[1,0.1,", "[9,0.1,")),
        ("an unknown mark", text.replace("\"ea\"", "\"ex\"")),
        ("a row without a score", text.replace("[1,0.1,3,0.5,1.01,null,0.75,\"ea\"]", "[1]")),
        ("an unknown feature", text.replace("\"feature\":\"dtype\"", "\"feature\":\"type\"")),
        ("a negative child", text.replace("\"right\":4", "\"right\":-4")),
        ("a text as threshold", text.replace("\"threshold\":2,", "\"threshold\":\"2\",")),
        ("neither split nor leaf", text.replace("\"threshold\":2,", "")),
        ("both split and leaf", text.replace("\"right\":4", "\"samples\":1,\"right\":4")),
        ("a bad precondition", text.replace("k >= 1", "k >= ")),
        ("an unknown target", text.replace("\"targets\": []", "\"targets\": [\"cobol\"]")),
        ("a limit that everything breaks", text.replace("\"max_slowdown\": 1.05", "\"max_slowdown\": 0.5")),
        ("a category for a number", text.replace("\"float\",", "7,")),
        ("a long text as version", text.replace("\"version\": 11", &format!("\"version\": {long:?}"))),
        ("a long mark", text.replace("\"ea\"", &format!("{long:?}"))),
        ("a long expression", text.replace("k / n", &format!("k / {}", "x".repeat(1 << 20)))),
    ];
    let mut messages = String::new();
    for (name, text) in cases {
        // Rust's escapes are not valid in JSON.
        let error = Model::parse(&text.replace("\\u{1b}", "\\u001b")).expect_err(name);
        let message = error.to_string();
        assert!(message.len() < 1000 && !message.contains('\u{1b}'), "{name}: {message}");
        messages += &format!("{name}: {message}\n");
    }
    insta::assert_snapshot!(messages);
}

/// `if x == y then 1 else 0` on two categorical features.
#[test]
fn two_categorical_features_compare() {
    let schema = Schema::new([Feature::categorical("x"), Feature::categorical("y")]).unwrap();
    let derived = [DerivedFeature { name: "same".into(), expression: "x == y or x == \"mentioned\"".into() }];
    let model = Model {
        features: Features::new(schema, &derived).unwrap(),
        categories: vec![vec!["seen".into()], vec![], vec!["False".into(), "True".into()]],
        precondition: None,
        tree: Tree {
            nodes: vec![split_by(2, "True", 2), leaf(vec![ranked(0, 0.0)]), leaf(vec![ranked(1, 0.0)])],
        },
        ..model()
    };
    let model = Model::parse(&model.to_json()).unwrap();
    let decide = |x: &str, y: &str| {
        let decided = model.decide(&[x.into(), y.into()], |_| true);
        decided.map(|choice| model.choice_name(choice).to_owned())
    };
    assert_eq!(decide("seen", "seen"), Ok("b".into()));
    assert_eq!(decide("mentioned", "mentioned"), Ok("b".into()));
    assert_eq!(decide("True", "True"), Ok("b".into()));
    assert_eq!(decide("seen", "new"), Ok("a".into()));
    assert_eq!(decide("new", "mentioned"), Ok("a".into()));
    assert_eq!(decide("new", "new"), Ok("b".into()));
    assert_eq!(decide("new", "newer"), Ok("a".into()));
}

#[test]
fn an_ineligible_choice_counts_as_not_offered() {
    let mut model = model();
    let parsed = expr::parse("n <= 1").unwrap();
    let typed = parsed.resolve_bool(model.features.base()).unwrap();
    model.eligible.insert(ChoiceId(1), Precondition { expression: "n <= 1".into(), typed });
    let picked = |model: &Model, values: &[Value]| {
        model.decide(values, |_| true).map(|choice| model.choice_name(choice).to_owned())
    };
    assert_eq!(picked(&model, &values(3.0, 1.0, "half")), Ok("b".into()));
    assert_eq!(picked(&model, &values(6.0, 2.0, "half")), Ok("a".into()), "b cannot run for n = 2");
    assert_eq!(model.to_json(), Model::parse(&model.to_json()).unwrap().to_json());
}

/// The toy model with four dtypes; these go right.
fn with_set(set: &[&str]) -> Model {
    let mut m = model();
    m.categories[2] = ["bool", "float", "half", "int8"].map(str::to_owned).to_vec();
    let categories: Vec<String> = set.iter().map(|&name| name.to_owned()).collect();
    m.tree.nodes[1] = Node::Split { test: Test::is_in(2, categories), right: 3 };
    m
}

#[test]
fn a_set_of_categories_goes_right() {
    let m = with_set(&["bool", "half"]);
    let text = m.to_json();
    assert!(text.contains(r#""categories":["bool","half"]"#), "{text}");
    let read = Model::parse(&text).unwrap();
    assert_eq!(read, m);
    let leaf = |dtype: &str| reference::leaf(&read, &values(1.0, 1.0, dtype));
    let choice = |dtype: &str| leaf(dtype).map(|leaf| leaf.ranking.len());
    for dtype in ["bool", "half"] {
        assert_eq!(choice(dtype), Ok(3), "{dtype} goes right");
    }
    for dtype in ["float", "int8"] {
        assert_eq!(choice(dtype), Ok(1), "{dtype} goes left");
    }
    assert_eq!(choice("int4"), Err(Unsure::UnknownCategory(2)));
}

#[test]
fn mistakes_in_sets_are_named() {
    let text = with_set(&["bool", "half"]).to_json();
    let set = r#"["bool","half"]"#;
    let mut messages = String::new();
    for (name, broken) in [
        ("empty", "[]"),
        ("unsorted", r#"["half","bool"]"#),
        ("twice", r#"["bool","bool"]"#),
        ("unknown", r#"["bool","float16"]"#),
        ("number", "3"),
        ("numbers", r#"["bool",3]"#),
        ("nested", r#"[["bool"]]"#),
    ] {
        let message = Model::parse(&text.replacen(set, broken, 1)).expect_err(name).to_string();
        messages += &format!("{name}: {message}\n");
    }
    let of_number = text.replacen(r#"{"feature":"dtype""#, r#"{"feature":"k""#, 1);
    messages += &format!("of a number: {}\n", Model::parse(&of_number).unwrap_err());
    insta::assert_snapshot!(messages);
}

#[test]
fn words_name_the_shorter_side_of_a_set() {
    let known = ["", "a", "b", "c", "d"].map(str::to_owned);
    let words = |path: &[(&[&str], bool)]| {
        let tests: Vec<(Test, bool)> = path
            .iter()
            .map(|(set, left)| {
                let categories: Vec<String> = set.iter().map(|&name| name.to_owned()).collect();
                (Test::is_in(0, categories), *left)
            })
            .collect();
        let clauses = Clause::all(tests.iter().map(|(test, left)| (test, *left)));
        assert_eq!(clauses.len(), 1);
        clauses[0].words("kind", false, &known, str::to_owned)
    };
    assert_eq!(words(&[(&["a"], false)]), "kind is a");
    assert_eq!(words(&[(&["a"], true)]), "kind is not a");
    assert_eq!(words(&[(&[""], true)]), "kind is not missing");
    assert_eq!(words(&[(&["a", "b"], false)]), "kind is in {a, b}");
    assert_eq!(words(&[(&["a", "b"], true)]), "kind is not in {a, b}");
    assert_eq!(words(&[(&["", "a", "b", "d"], false)]), "kind is not c");
    assert_eq!(words(&[(&["a", "b", "c"], false), (&["b", "d"], true)]), "kind is in {a, c}");
    assert_eq!(words(&[(&["a"], true), (&["b"], true), (&["", "c"], true)]), "kind is d");
}

#[test]
fn a_device_differs_by_what_both_name() {
    use ah_model::{Cpu, Cuda, Device, admits, capability_identity};
    let gpu = |name: &str| {
        Device::Cuda(Cuda { name: name.to_owned(), capability: (9, 0), shared_memory: 1, ..Cuda::default() })
    };
    let (h100, h200, cpu) = (gpu("H100"), gpu("H200"), Device::Cpu(Cpu::default()));
    let differs = |learned: &Device, here: &Device| {
        admits(&learned.identity(), &here.identity()).err().map(|mismatch| mismatch.what)
    };
    assert_eq!([differs(&h100, &h100), differs(&h100, &h200)], [None, Some("device")]);
    assert_eq!([differs(&h100, &cpu), differs(&cpu, &h100)], [Some("device"); 2]);
    // PyTorch's logs name no device, and cannot tell an H100 from an H200.
    let of = |capability, shared_memory, here: &Device| {
        admits(&capability_identity(capability, shared_memory), &here.identity()).err().map(|e| e.what)
    };
    assert_eq!([of((9, 0), Some(1), &h200), of((9, 0), None, &h200), of((0, 0), None, &cpu)], [None; 3]);
    assert_eq!(of((8, 0), Some(1), &h200), Some("compute capability"));
    assert_eq!(of((9, 0), Some(2), &h200), Some("size of shared memory"));
    assert_eq!(of((9, 0), None, &cpu), Some("compute capability"));
}
