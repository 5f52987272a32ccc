//! Models: the file reads back to the same model, and nothing invalid is accepted.

use std::collections::BTreeMap;

use ah_types::{
    ChoiceId, Context, DerivedFeature, Feature, Features, Leaf, LeafUnsure, Model, Node, OutsidePolicy,
    Place, Precondition, Provenance, RankedChoice, Schema, Test, Tree, Unsure, Value, expr, pick,
};
use proptest::prelude::*;

fn ranked(choice: u32, score: f64) -> RankedChoice {
    RankedChoice {
        choice: ChoiceId(choice),
        score,
        probability: 0.5,
        measured: 3,
        usual: true,
        slowdown: 1.01,
        worst: f64::INFINITY,
        worst_over_fallback: 0.75,
        allowed: true,
    }
}

fn leaf(ranking: Vec<RankedChoice>) -> Node {
    Node::Leaf(Leaf { samples: 3, ranking, ..Leaf::default() })
}

fn split(slot: usize, threshold: f64, left: u32, right: u32) -> Node {
    Node::Split { test: Test::Numerical { slot, threshold }, left, right }
}

fn split_by(slot: usize, category: &str, left: u32, right: u32) -> Node {
    Node::Split { test: Test::Categorical { slot, category: category.to_owned() }, left, right }
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
        features,
        precondition: Some(Precondition { expression: "k >= 1".into(), typed }),
        device: None,
        shared_memory: Some(0),
        device_capa: (0, 0),
        choices: vec!["a".into(), "b".into(), "c".into()],
        fallback: Some(ChoiceId(0)),
        eligible: BTreeMap::new(),
        outside: OutsidePolicy::Decide,
        trees: vec![Tree {
            nodes: vec![
                split(3, 2.0, 1, 2),
                split_by(2, "half", 3, 4),
                leaf(vec![ranked(1, 0.1), ranked(0, 0.2)]),
                leaf(vec![ranked(0, 0.0)]),
                Node::Leaf(Leaf {
                    samples: 3,
                    ranking: vec![
                        RankedChoice { allowed: false, ..ranked(1, 0.0) },
                        ranked(0, 0.1),
                        ranked(2, 0.2),
                    ],
                    ranges: vec![Some((1.0, 64.0)), Some((1.0, 8.0)), None],
                    ..Leaf::default()
                }),
            ],
        }],
        boosted: None,
        promise: None,
        provenance: Provenance { tool: "test".into(), seed: 1, ..Provenance::default() },
    }
}

fn values(k: f64, n: f64, dtype: &str) -> Vec<Value> {
    vec![k.into(), n.into(), dtype.into()]
}

fn decide(values: &[Value], offered: &[u32]) -> Result<String, Unsure> {
    let model = model();
    model.decide(values, |c| offered.contains(&c.0)).map(|r| model.choice_name(r.choice).to_owned())
}

#[test]
fn what_training_did_not_see_is_outside() {
    // Reaches the leaf of k/n <= 2 and dtype half.
    assert!(!model().is_outside(&values(8.0, 8.0, "half")));
    assert!(model().is_outside(&values(8.0, 9.0, "half")));
    assert!(model().is_outside(&values(65.0, 64.0, "half")));
    // Reaches no leaf, so has no ranges.
    assert!(!model().is_outside(&values(65.0, 64.0, "float")));
    assert!(!model().is_outside(&values(1.0, 64.0, "other")));
    let mut short = model();
    short.trees[0].nodes[2] = Node::Leaf(Leaf { samples: 1, ranges: vec![None], ..Leaf::default() });
    assert!(short.validate().unwrap_err().problem.contains("expected the ranges of 3 features, found 1"));
}

#[test]
fn decides_as_documented() {
    assert_eq!(decide(&values(3.0, 1.0, "half"), &[0, 1]), Ok("b".into()));
    assert_eq!(decide(&values(3.0, 1.0, "half"), &[0]), Ok("a".into()), "the next of the ranking");
    assert_eq!(decide(&values(3.0, 1.0, "half"), &[2]), Err(Unsure::NoneAllowed));
    assert_eq!(decide(&values(2.0, 1.0, "float"), &[0, 1]), Ok("a".into()), "on the threshold goes left");
    assert_eq!(decide(&values(2.0_f64.next_up(), 1.0, "float"), &[0, 1]), Ok("b".into()));
    assert_eq!(
        decide(&values(1.0, 1.0, "half"), &[0, 1, 2]),
        Err(Unsure::NoneAllowed),
        "the fallback after a choice not allowed"
    );
    assert_eq!(decide(&values(1.0, 1.0, "half"), &[0, 2]), Ok("a".into()), "the fallback first");
    assert_eq!(decide(&values(1.0, 1.0, "half"), &[1, 2]), Ok("c".into()), "the next allowed");
    assert_eq!(decide(&values(1.0, 1.0, "int4"), &[0]), Err(Unsure::UnknownCategory(2)));
    assert_eq!(decide(&values(1.0, 0.0, "half"), &[0]), Err(Unsure::Undefined(3)));
    assert_eq!(decide(&values(0.0, 1.0, "half"), &[0]), Err(Unsure::Precondition));
    assert_eq!(decide(&values(f64::NAN, 1.0, "half"), &[0]), Err(Unsure::Precondition));
}

#[test]
fn an_unsure_leaf_declines() {
    let mut m = model();
    let Node::Leaf(leaf) = &mut m.trees[0].nodes[2] else { unreachable!() };
    leaf.unsure = Some(LeafUnsure::Unsafe);
    assert_eq!(m.decide(&values(3.0, 1.0, "half"), |_| true), Err(Unsure::UnsafeLeaf));
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
fn a_file_of_version_3_is_read() {
    let m = model();
    let text = m.to_json().replace("\"version\": 4", "\"version\": 3");
    assert_eq!(Model::parse(&text).unwrap(), m);
}

#[test]
fn a_choice_that_leaves_never_measured_is_kept_once() {
    let mut m = model();
    let unmeasured = |id: u32, score: f64| RankedChoice::unmeasured(ChoiceId(id), score);
    m.trees[0].nodes[2] = leaf(vec![ranked(1, 0.1), unmeasured(0, 10.5), unmeasured(2, 20.5)]);
    m.trees[0].nodes[3] = leaf(vec![ranked(0, 0.1), unmeasured(1, 10.5), unmeasured(2, 20.5)]);
    // The order of the scores, and another: the leaf lists all.
    m.trees[0].nodes[4] = leaf(vec![ranked(0, 0.1), unmeasured(2, 20.5), unmeasured(1, 10.5)]);
    let text = m.to_json();
    assert_eq!(text.matches("20.5").count(), 2, "{text}");
    assert_eq!(text.matches("\"inherits\":false").count(), 1, "{text}");
    assert_eq!(Model::parse(&text).unwrap(), m);
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
    let cases: [(&str, Break); 13] = [
        ("no choices", |m| m.choices.clear()),
        ("unsorted choices", |m| m.choices.reverse()),
        ("no tree", |m| m.trees.clear()),
        ("no node", |m| m.trees[0].nodes.clear()),
        ("a cycle", |m| m.trees[0].nodes[1] = split(0, 1.0, 1, 4)),
        ("a child beyond the end", |m| m.trees[0].nodes[0] = split(0, 1.0, 1, 9)),
        ("two parents", |m| m.trees[0].nodes[1] = split(0, 1.0, 2, 4)),
        ("an orphan", |m| m.trees[0].nodes.push(leaf(vec![]))),
        ("an infinite threshold", |m| m.trees[0].nodes[0] = split(0, f64::INFINITY, 1, 2)),
        ("a threshold on a category", |m| m.trees[0].nodes[0] = split(2, 1.0, 1, 2)),
        ("an unknown category", |m| m.categories[2] = vec!["float".into()]),
        ("a choice twice", |m| m.trees[0].nodes[3] = leaf(vec![ranked(0, 0.0), ranked(0, 0.0)])),
        ("NaN", |m| m.trees[0].nodes[3] = leaf(vec![ranked(0, f64::NAN)])),
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
        ("another file", "{\"format\": \"other\", \"version\": 4}".to_owned()),
        ("a newer version", text.replace("\"version\": 4", "\"version\": 6")),
        ("an older version", text.replace("\"version\": 4", "\"version\": 2")),
        ("an unknown key", text.replace("\"fallback\"", "\"fall_back\"")),
        ("an unknown choice", text.replace("[1,0.1,", "[9,0.1,")),
        ("an unknown mark", text.replace("\"ua\"", "\"ux\"")),
        ("a row without a score", text.replace("[1,0.1,3,0.5,1.01,null,0.75,\"ua\"]", "[1]")),
        ("an unknown feature", text.replace("\"feature\":\"dtype\"", "\"feature\":\"type\"")),
        ("a negative child", text.replace("\"left\":1", "\"left\":-1")),
        ("a text as threshold", text.replace("\"threshold\":2,", "\"threshold\":\"2\",")),
        ("neither split nor leaf", text.replace("\"threshold\":2,", "")),
        ("both split and leaf", text.replace("\"left\":1", "\"samples\":1,\"left\":1")),
        ("a bad precondition", text.replace("k >= 1", "k >= ")),
        ("a category for a number", text.replace("\"float\",", "7,")),
        ("a long text as version", text.replace("\"version\": 4", &format!("\"version\": {long:?}"))),
        ("a long mark", text.replace("\"ua\"", &format!("{long:?}"))),
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

/// Returns the votes of several trees: adds the scores and sorts the sums.
fn votes(leaves: &[Leaf], choices: u32) -> Vec<Place> {
    let vote = |choice: ChoiceId| {
        let places: Option<Vec<Place>> =
            leaves.iter().map(|l| l.ranked(choice).map(RankedChoice::place)).collect();
        let places = places?;
        let score = places[1..].iter().fold(places[0].score, |sum, place| sum + place.score);
        Some(Place { choice, score, allowed: places.iter().all(|place| place.allowed) })
    };
    let mut votes: Vec<Place> = (0..choices).map(ChoiceId).filter_map(vote).collect();
    votes.sort_by(|a, b| a.score.total_cmp(&b.score).then(a.choice.cmp(&b.choice)));
    votes
}

proptest! {
    #[test]
    fn several_trees_vote_as_documented(
        // By tree and choice: ranked if above 0, the score in tenths, allowed if above 0.
        trees in prop::collection::vec(prop::collection::vec((0..9_u8, 0..4_u8, 0..3_u8), 3), 2..12),
        offered in prop::collection::vec(prop::bool::weighted(0.8), 3),
        fallback in prop::option::of(0..3_u32),
    ) {
        let leaf = |choices: &Vec<(u8, u8, u8)>| {
            let ranked = |(id, (_, score, allowed)): (u32, &(u8, u8, u8))| {
                RankedChoice { allowed: *allowed > 0, ..ranked(id, f64::from(*score) / 10.0) }
            };
            let mut ranking: Vec<RankedChoice> = (0..).zip(choices).filter(|(_, c)| c.0 > 0).map(ranked).collect();
            ranking.sort_by(|a, b| a.score.total_cmp(&b.score));
            Leaf { samples: 3, ranking, ..Leaf::default() }
        };
        let leaves: Vec<Leaf> = trees.iter().map(leaf).collect();
        let trees = leaves.iter().map(|leaf| Tree { nodes: vec![Node::Leaf(leaf.clone())] }).collect();
        let model = Model { trees, fallback: fallback.map(ChoiceId), ..model() };
        prop_assert_eq!(model.validate(), Ok(()));
        let values = values(3.0, 1.0, "half");
        let picked = model.decide(&values, |c| offered[c.index()]).map(|r| r.choice);
        let votes = votes(&leaves, 3);
        let expected = pick(votes.iter().copied(), model.fallback, |c| offered[c.index()]);
        prop_assert_eq!(picked, expected.ok_or(Unsure::NoneAllowed));
        prop_assert_eq!(model.ranking(&values), Ok(votes));
    }
}

/// `if x == y then 1 else 0` on two categorical features.
#[test]
fn categories_that_the_model_does_not_name_may_be_equal_or_not() {
    let schema = Schema::new([Feature::categorical("x"), Feature::categorical("y")]).unwrap();
    let derived = [DerivedFeature { name: "same".into(), expression: "x == y or x == \"mentioned\"".into() }];
    let model = Model {
        features: Features::new(schema, &derived).unwrap(),
        categories: vec![vec!["seen".into()], vec![], vec!["False".into(), "True".into()]],
        precondition: None,
        trees: vec![Tree {
            nodes: vec![split_by(2, "True", 1, 2), leaf(vec![ranked(0, 0.0)]), leaf(vec![ranked(1, 0.0)])],
        }],
        ..model()
    };
    let model = Model::parse(&model.to_json()).unwrap();
    let decide = |x: &str, y: &str| {
        let decided = model.decide(&[x.into(), y.into()], |_| true);
        decided.map(|r| model.choice_name(r.choice).to_owned())
    };
    assert_eq!(decide("seen", "seen"), Ok("b".into()));
    assert_eq!(decide("mentioned", "mentioned"), Ok("b".into()));
    assert_eq!(decide("True", "True"), Ok("b".into()));
    assert_eq!(decide("seen", "new"), Ok("a".into()));
    assert_eq!(decide("new", "mentioned"), Ok("a".into()));
    assert_eq!(decide("new", "new"), Err(Unsure::Undefined(2)));
    assert_eq!(decide("new", "newer"), Err(Unsure::Undefined(2)));
}

#[test]
fn what_was_not_measured_in_a_leaf_is_last_and_never_allowed() {
    let refuse = |change: &dyn Fn(&mut Leaf)| {
        let mut broken = model();
        let Node::Leaf(leaf) = &mut broken.trees[0].nodes[4] else { panic!("a leaf") };
        change(leaf);
        broken.validate().expect_err("an invalid model").problem
    };
    assert!(refuse(&|leaf| leaf.ranking[2].measured = 0).contains("never measured in this leaf"));
    let unmeasured = |r: &mut RankedChoice| (r.measured, r.usual, r.allowed) = (0, false, false);
    let reason = refuse(&|leaf| unmeasured(&mut leaf.ranking[0]));
    assert!(reason.contains("is ranked before \"a\""), "{reason}");
    let reason = refuse(&|leaf| {
        unmeasured(&mut leaf.ranking[2]);
        leaf.ranking[2].usual = true;
    });
    assert!(reason.contains("is usual and was never measured"), "{reason}");
    let place = |choice| Place { choice: ChoiceId(choice), score: 0.0, allowed: true };
    let reason = refuse(&|leaf| {
        unmeasured(&mut leaf.ranking[2]);
        leaf.outside = vec![place(2), place(0)];
    });
    assert!(reason.contains("never measured in this leaf"), "{reason}");
    assert!(refuse(&|leaf| leaf.outside = vec![place(0), place(0)]).contains("ranked twice outside"));
}

#[test]
fn an_ineligible_choice_counts_as_not_offered_and_an_outsider_is_treated_as_asked() {
    let mut model = model();
    let parsed = expr::parse("n <= 1").unwrap();
    let typed = parsed.resolve_bool(model.features.base()).unwrap();
    model.eligible.insert(ChoiceId(1), Precondition { expression: "n <= 1".into(), typed });
    let picked = |model: &Model, values: &[Value]| {
        model.decide(values, |_| true).map(|r| model.choice_name(r.choice).to_owned())
    };
    assert_eq!(picked(&model, &values(3.0, 1.0, "half")), Ok("b".into()));
    assert_eq!(picked(&model, &values(6.0, 2.0, "half")), Ok("a".into()), "b cannot run for n = 2");
    assert_eq!(model.to_json(), Model::parse(&model.to_json()).unwrap().to_json());

    // The leaf of k/n <= 2 and half has k to 64 and n to 8 in its ranges; b is not allowed inside.
    let Node::Leaf(leaf) = &mut model.trees[0].nodes[4] else { panic!("a leaf") };
    leaf.outside = vec![Place { choice: ChoiceId(2), score: 0.0, allowed: true }];
    let (inside, outside) = (values(8.0, 8.0, "half"), values(16.0, 9.0, "half"));
    for (policy, expected) in [
        (OutsidePolicy::Decide, Ok("a")),
        (OutsidePolicy::Safe, Ok("c")),
        (OutsidePolicy::Decline, Err(Unsure::Outside)),
    ] {
        model.outside = policy;
        assert_eq!(picked(&model, &inside), Ok("a".into()), "b is not eligible, so nothing is passed over");
        assert_eq!(picked(&model, &outside), expected.map(str::to_owned), "{policy:?}");
        assert_eq!(model.to_json(), Model::parse(&model.to_json()).unwrap().to_json());
    }
}
