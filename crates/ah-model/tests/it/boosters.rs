//! Boosters of models: their decisions by hand, the flat form, the file, and that nothing invalid is accepted.

use ah_model::{
    ChoiceId, Context, DerivedFeature, Feature, Features, Leaf, Model, Node, RankedChoice, Schema, ScoreTree,
    Sums, Tables, Test, Tree, Unsure, Value,
};
use proptest::prelude::*;

use crate::reference;

fn ranked(choice: u32, score: f64) -> RankedChoice {
    RankedChoice {
        choice: ChoiceId(choice),
        score,
        probability: 0.0,
        measured: 3,
        expected: true,
        slowdown: 1.0,
        worst: 1.5,
        worst_over_fallback: 0.75,
        allowed: true,
    }
}

fn leaf(ranking: Vec<RankedChoice>) -> Node {
    Node::Leaf(Leaf { samples: 3, ranking })
}

fn values(k: f64, n: f64, dtype: &str) -> Vec<Value> {
    vec![k.into(), n.into(), dtype.into()]
}

/// A booster with one split.
fn booster(test: Test, left: [i8; 3], right: [i8; 3]) -> ScoreTree {
    let row = |row: [i8; 3]| Node::Leaf(row.into());
    Tree { nodes: vec![Node::Split { test, right: 2 }, row(left), row(right)] }
}

/// k <= 4 adds 2 units to a and 1 to c, another k 3 to b; half takes 1 from b.
fn boosters() -> Vec<ScoreTree> {
    vec![
        booster(Test::number(0, 4.0), [2, 0, 1], [0, 3, 0]),
        booster(Test::is_in(2, ["half".to_owned()]), [0, 0, 0], [0, -1, 0]),
    ]
}

/// A model whose single leaf ranks a, b and c by 0, 0.25 and 1. A unit is 1/4.
fn model() -> Model {
    let schema =
        Schema::new([Feature::numerical("k"), Feature::numerical("n"), Feature::categorical("dtype")])
            .unwrap();
    let derived = [DerivedFeature { name: "k/n".into(), expression: "k / n".into() }];
    let leaf = leaf(vec![ranked(0, 0.0), ranked(1, 0.25), ranked(2, 1.0)]);
    Model {
        heuristic: "Toy".into(),
        optimization: "toy".into(),
        categories: vec![vec![], vec![], vec!["float".into(), "half".into()], vec![]],
        features: Features::new(schema, &derived).unwrap(),
        choices: vec!["a".into(), "b".into(), "c".into()],
        fallback: Some(ChoiceId(0)),
        tree: Tree { nodes: vec![leaf] },
        boosters: boosters(),
        unit: 0.25,
        ..Model::default()
    }
}

#[test]
fn a_file_with_boosters_reads_back() {
    for margin in [None, Some(0.0625), Some(-0.5)] {
        let m = Model { margin, ..model() };
        let text = m.to_json();
        let read = Model::parse(&text).unwrap();
        assert_eq!(read, m);
        assert_eq!(read.to_json(), text);
    }
}

#[test]
fn boosters_add_to_the_scores_of_the_leaf() {
    let scores = |k: f64, dtype: &str| {
        let ranking = reference::ranking(&model(), &values(k, 1.0, dtype)).unwrap();
        ranking.iter().map(|ranked| (ranked.choice, ranked.score)).collect::<Vec<_>>()
    };
    assert_eq!(scores(4.0, "float"), [(1, 0.25), (0, 0.5), (2, 1.25)], "on the threshold goes left");
    assert_eq!(scores(4.0_f64.next_up(), "float"), [(0, 0.0), (1, 1.0), (2, 1.0)], "ties as in the leaf");
    assert_eq!(scores(4.0, "half"), [(1, 0.0), (0, 0.5), (2, 1.25)], "the category goes right");
}

#[test]
fn a_margin_allows_what_saves_it() {
    // At k = 4, b has 0.25 and saves 0.25 against a, the fallback; c has 1.25.
    const STEP: f64 = 1.0 / (1 << 20) as f64;
    let decided = |margin: Option<f64>, fallback: Option<u32>, offered: &[u32]| {
        let m = Model { fallback: fallback.map(ChoiceId), margin, ..model() };
        m.validate().unwrap();
        m.decide(&values(4.0, 1.0, "float"), |c| offered.contains(&c.0)).map(|choice| choice.0)
    };
    assert_eq!(decided(None, Some(0), &[0, 1, 2]), Ok(1));
    assert_eq!(decided(Some(0.25), Some(0), &[0, 1, 2]), Ok(1), "as much as the margin is enough");
    let greater = Some(0.25 + STEP);
    assert_eq!(decided(greater, Some(0), &[0, 1, 2]), Err(Unsure::NoneAllowed), "b precedes the fallback");
    assert_eq!(decided(greater, Some(0), &[0, 2]), Ok(0), "the fallback is always allowed");
    assert_eq!(
        decided(greater, Some(0), &[1, 2]),
        Err(Unsure::NoneAllowed),
        "the fallback counts as offered"
    );
    assert_eq!(decided(greater, Some(0), &[2]), Ok(0), "the fallback is better");
    assert_eq!(
        decided(Some(-1.0), Some(0), &[2]),
        Ok(0),
        "the fallback is better than what the margin allows"
    );
    assert_eq!(decided(Some(-1.0), Some(2), &[1]), Ok(1));
    assert_eq!(decided(Some(-0.5), Some(0), &[0, 2]), Ok(0), "c is slower by 0.75");
    assert_eq!(decided(None, None, &[2]), Ok(2));
    assert_eq!(
        decided(Some(-9.0), None, &[0, 1, 2]),
        Err(Unsure::NoneAllowed),
        "no fallback to compare with"
    );
}

#[test]
fn where_the_leaf_never_saw_the_fallback_a_margin_allows_everything() {
    let mut m = model();
    m.tree.nodes[0] = leaf(vec![ranked(1, 0.25), ranked(2, 1.0)]);
    let decide = |m: &Model| m.decide(&values(4.0, 1.0, "float"), |_| true).map(|choice| choice.0);
    assert_eq!(decide(&m), Ok(1));
    m.margin = Some(9.0);
    assert_eq!(decide(&m), Ok(1));
}

#[test]
fn every_column_of_the_boosters_must_be_defined_and_known() {
    let mut m = model();
    // k/n is tested only where k is at most 4.
    let outer = Node::Split { test: Test::number(0, 4.0), right: 4 };
    let inner = Node::Split { test: Test::number(3, 1.0), right: 3 };
    let row = || Node::Leaf([0; 3].into());
    m.boosters.push(Tree { nodes: vec![outer, inner, row(), row(), row()] });
    m.validate().unwrap();
    let decide =
        |k: f64, n: f64, dtype: &str| m.decide(&values(k, n, dtype), |_| true).map(|choice| choice.0);
    assert_eq!(decide(4.0, 1.0, "int4"), Err(Unsure::UnknownCategory(2)));
    assert_eq!(decide(9.0, 0.0, "half"), Err(Unsure::Undefined(3)), "even if no path tests it");
    assert_eq!(decide(4.0, 0.0, "int4"), Err(Unsure::UnknownCategory(2)), "the first column");
    // The model's own tree comes first.
    let leaf = || m.tree.nodes[0].clone();
    let split = Node::Split { test: Test::number(3, 2.0), right: 2 };
    let m = Model { tree: Tree { nodes: vec![split, leaf(), leaf()] }, ..m.clone() };
    assert_eq!(m.decide(&values(4.0, 0.0, "int4"), |_| true), Err(Unsure::Undefined(3)));
    let context = Context::new().with("k", 9).with("n", 1);
    assert_eq!(m.decide(&m.values(&context), |_| true), Err(Unsure::UnknownCategory(2)));
}

fn split(right: u32) -> Node<Box<[i8]>> {
    Node::Split { test: Test::number(0, 1.0), right }
}

fn at_most(slot: usize, threshold: f64) -> ScoreTree {
    booster(Test::number(slot, threshold), [0; 3], [0; 3])
}

#[test]
fn nothing_invalid_is_let_in() {
    type Break = fn(&mut Model);
    let cases: [(&str, Break); 20] = [
        ("three quarters", |m| m.unit = 0.75),
        ("a negative unit", |m| m.unit = -0.25),
        ("no unit", |m| m.unit = 0.0),
        ("a great unit", |m| m.unit = 2.0),
        ("a low number", |m| m.boosters[0].nodes[1] = Node::Leaf([0, -30, 0].into())),
        ("a high number", |m| m.boosters[0].nodes[1] = Node::Leaf([0, 28, 0].into())),
        ("an infinite margin", |m| m.margin = Some(f64::INFINITY)),
        ("a great margin", |m| m.margin = Some(1e7)),
        ("a number too many", |m| m.boosters[0].nodes[1] = Node::Leaf([0; 4].into())),
        ("no node", |m| m.boosters[1].nodes.clear()),
        ("1025 boosters", |m| m.boosters = vec![m.boosters[0].clone(); 1025]),
        ("a slot too many", |m| m.boosters[0] = at_most(4, 1.0)),
        ("a threshold on a category", |m| m.boosters[0] = at_most(2, 1.0)),
        ("an infinite threshold", |m| m.boosters[0] = at_most(0, f64::NEG_INFINITY)),
        ("an unknown category", |m| m.categories[2] = vec!["float".into()]),
        ("a loop", |m| m.boosters[0].nodes[0] = split(0)),
        ("one child twice", |m| m.boosters[0].nodes[0] = split(1)),
        ("a node too many", |m| m.boosters[0].nodes.push(Node::Leaf([0; 3].into()))),
        ("65 leaves", |m| {
            let chain = (0..64).flat_map(|i| [split(2 * i + 2), Node::Leaf([0; 3].into())]);
            m.boosters[0].nodes = chain.chain([Node::Leaf([0; 3].into())]).collect();
        }),
        ("65 splits below each other", |m| {
            let chain = (0..65).flat_map(|i| [split(2 * i + 2), Node::Leaf([0; 3].into())]);
            m.boosters[0].nodes = chain.chain([Node::Leaf([0; 3].into())]).collect();
        }),
    ];
    let mut messages = String::new();
    for (name, break_it) in cases {
        let mut m = model();
        break_it(&mut m);
        messages += &format!("{name}: {}\n", m.validate().expect_err(name));
    }
    insta::assert_snapshot!(messages);
}

#[test]
fn a_malformed_booster_is_answered_with_the_place() {
    let text = model().to_json();
    let cases = [
        ("a row with a number too few", text.replace("[0,-1,0]", "[0,-1]")),
        ("a number that is no i8", text.replace("[0,-1,0]", "[0,-1000,0]")),
        ("an unknown feature", text.replace("[\"dtype\",\"half\"]", "[\"type\",\"half\"]")),
        ("three texts as a column", text.replace("[\"dtype\",\"half\"]", "[\"dtype\",\"half\",\"x\"]")),
        ("a column too many", text.replace("[[0,4,2],", "[[2,4,2],")),
        ("a threshold for a category", text.replace("[[1,0,2],", "[[1,1,2],")),
        ("a text as a node", text.replace("[[0,4,2],", "[\"leaf\",")),
        ("a row too many", text.replace("[[0,4,2],0,", "[[0,4,2],4,")),
        ("a negative row", text.replace("[[0,4,2],0,", "[[0,4,2],-1,")),
        ("no unit", text.replace("\"unit\": 0.25,", "")),
        ("an unknown key", text.replace("\"unit\": 0.25,", "\"unit\": 0.25, \"units\": 1,")),
    ];
    let mut messages = String::new();
    for (name, broken) in cases {
        assert_ne!(broken, text, "{name}");
        let message = Model::parse(&broken).expect_err(name).to_string();
        messages += &format!("{name}: {message}\n");
    }
    insta::assert_snapshot!(messages);
}

/// A test on one of the four features.
fn test() -> impl Strategy<Value = Test> {
    let numerical = ((0..3_usize).prop_map(|i| [0, 1, 3][i]), 0..6_u8);
    let numerical = numerical.prop_map(|(slot, x)| Test::number(slot, f64::from(x)));
    let categorical =
        any::<bool>().prop_map(|half| Test::is_in(2, [if half { "half" } else { "float" }.to_owned()]));
    prop_oneof![3 => numerical, 1 => categorical]
}

/// A full tree of depth 2.
fn tree<L: Clone + std::fmt::Debug>(leaf: impl Strategy<Value = L>) -> impl Strategy<Value = Tree<L>> {
    let leaves = prop::collection::vec(leaf, 4);
    (prop::collection::vec(test(), 3), leaves).prop_map(|(tests, leaves)| {
        let split = |i: usize, right| Node::Split { test: tests[i].clone(), right };
        let leaf = |i: usize| Node::Leaf(leaves[i].clone());
        Tree { nodes: vec![split(0, 4), split(1, 3), leaf(0), leaf(1), split(2, 6), leaf(2), leaf(3)] }
    })
}

/// A leaf that ranks some of the choices.
fn any_leaf() -> impl Strategy<Value = Leaf> {
    let choices = prop::collection::vec((any::<bool>(), 0..5_u8, any::<bool>(), any::<bool>()), 3);
    choices.prop_map(|choices| {
        let ranked = (0..).zip(choices).filter(|(_, c)| c.0).map(|(id, (_, score, allowed, expected))| {
            RankedChoice { allowed, expected, ..ranked(id, f64::from(score) / 8.0) }
        });
        let mut ranking: Vec<RankedChoice> = ranked.collect();
        ranking.sort_by(|a, b| a.score.total_cmp(&b.score));
        Leaf { samples: 3, ranking }
    })
}

proptest! {
    #[test]
    fn the_flat_form_decides_as_the_model(
        tree_of_leaves in tree(any_leaf()),
        boosters in prop::collection::vec(tree(prop::array::uniform3(-3..=3_i8).prop_map(Box::<[i8]>::from)), 0..4),
        margin in prop::option::of(-4..=4_i8),
        fallback in prop::option::of(0..3_u32),
        offered in prop::collection::vec(prop::bool::weighted(0.8), 3),
        inputs in prop::collection::vec((0..7_u8, 0..7_u8, prop_oneof!["half", "float", "int4"]), 8),
    ) {
        let margin = margin.filter(|_| !boosters.is_empty()).map(|margin| f64::from(margin) / 16.0);
        let fallback = fallback.map(ChoiceId);
        let m = Model { tree: tree_of_leaves, boosters, margin, fallback, unit: 1.0 / 16.0, ..model() };
        prop_assert_eq!(m.validate(), Ok(()));
        prop_assert_eq!(&Model::parse(&m.to_json()).unwrap().to_json(), &m.to_json());
        let tables = Tables::new(&m);
        let mut sums = Sums::default();
        for (k, n, dtype) in inputs {
            let values = values(f64::from(k), f64::from(n), &dtype);
            let is_offered = |c: ChoiceId| offered[c.index()];
            let reached = tables.reach(&m, &values[..], &mut sums);
            let picked = reached.and_then(|r| r.pick(is_offered));
            prop_assert_eq!(picked, reference::decide(&m, &values, is_offered));
            let plain = reached.and_then(|r| r.pick_expected(|_| true));
            prop_assert_eq!(plain, reference::choose(&m, &values));
            let expected = reference::leaf(&m, &values);
            let is_expected = |c| expected.is_ok_and(|leaf| reference::is_expected(leaf, c)) && is_offered(c);
            let both = reference::decide(&m, &values, is_expected);
            prop_assert_eq!(reached.and_then(|r| r.pick_expected(is_offered)), both);
            prop_assert_eq!(reached.map(|r| r.ranking()), reference::ranking(&m, &values));
            prop_assert_eq!(m.decide(&values, is_offered), reference::decide(&m, &values, is_offered));
            prop_assert_eq!(m.choose(&values), reference::choose(&m, &values));
        }
    }
}

#[test]
fn masks_that_would_fill_the_memory_are_refused() {
    // Trees that lean to the right: each leaf row differs, and no threshold occurs twice.
    let tree = |booster: usize, leaves: usize| {
        let mut nodes = Vec::new();
        for leaf in 1..leaves as u32 {
            let test = Test::number(0, f64::from(leaf) + booster as f64 / 1024.0);
            nodes.push(Node::Split { test, right: 2 * leaf });
            nodes.push(Node::Leaf([0, 0, 0].into()));
        }
        nodes.push(Node::Leaf([0, 1, 0].into()));
        Tree { nodes }
    };
    let with = |count: usize| Model { boosters: (0..count).map(|at| tree(at, 64)).collect(), ..model() };
    assert!(with(500).validate().is_ok());
    let problem = with(560).validate().unwrap_err().to_string();
    assert!(problem.contains("expected masks of at most 134217728 bytes, found 162574848"), "{problem}");
}
