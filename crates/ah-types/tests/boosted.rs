//! Boosted trees of models: their decisions by hand, the file, and that nothing invalid is accepted.

use ah_types::{
    BoostedColumn, BoostedNode, BoostedTrees, ChoiceId, Context, DerivedFeature, Feature, Features, Leaf,
    Model, Node, OutsidePolicy, Place, RankedChoice, Schema, Test, Tree, UNMEASURED, Unsure, Value,
};

fn ranked(choice: u32, score: f64) -> RankedChoice {
    let evidence = RankedChoice {
        measured: 3,
        usual: true,
        allowed: true,
        slowdown: 1.0,
        worst: 1.5,
        ..RankedChoice::unmeasured(ChoiceId(choice), score)
    };
    RankedChoice { worst_over_fallback: 0.75, ..evidence }
}

fn leaf(ranking: Vec<RankedChoice>) -> Node {
    Node::Leaf(Leaf { samples: 3, ranking, ..Leaf::default() })
}

fn values(k: f64, n: f64, dtype: &str) -> Vec<Value> {
    vec![k.into(), n.into(), dtype.into()]
}

/// k <= 4 adds 2 units to a and 1 to c, another k 3 to b; half takes 1 from b. A unit is 1/4.
fn boosted() -> BoostedTrees {
    let column =
        |slot: usize, category: Option<&str>| BoostedColumn { slot, category: category.map(Into::into) };
    BoostedTrees {
        columns: vec![column(0, None), column(2, Some("half")), column(3, None)],
        trees: vec![
            vec![
                BoostedNode::Split { column: 0, threshold: 4.0, right: 2 },
                BoostedNode::Leaf(0),
                BoostedNode::Leaf(1),
            ],
            vec![
                BoostedNode::Split { column: 1, threshold: 0.0, right: 2 },
                BoostedNode::Leaf(2),
                BoostedNode::Leaf(3),
            ],
        ],
        scores: vec![2, 0, 1, /**/ 0, 3, 0, /**/ 0, 0, 0, /**/ 0, -1, 0],
        unit: 0.25,
        margin: None,
        caution_unit: None,
    }
}

/// A model whose single leaf ranks a, b and c by 0, 0.25 and 1.
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
        trees: vec![Tree { nodes: vec![leaf] }],
        boosted: Some(boosted()),
        ..Model::default()
    }
}

#[test]
fn a_file_with_boosted_trees_reads_back() {
    for margin in [None, Some(0.01), Some(-0.5)] {
        let mut m = model();
        m.boosted.as_mut().unwrap().margin = margin;
        let text = m.to_json();
        assert!(text.contains("\"version\": 5"), "older tools refuse it");
        let read = Model::parse(&text).unwrap();
        assert_eq!(read, m);
        assert_eq!(read.to_json(), text);
    }
    let mut m = model();
    with_cautions(m.boosted.as_mut().unwrap(), [1, -2, 3, 0]);
    assert_eq!(Model::parse(&m.to_json()).unwrap(), m);
}

#[test]
fn boosted_trees_add_to_the_scores_of_the_leaf() {
    let scores = |k: f64, dtype: &str| {
        let places = model().ranking(&values(k, 1.0, dtype)).unwrap();
        places.iter().map(|place| (place.choice.0, place.score)).collect::<Vec<_>>()
    };
    assert_eq!(scores(4.0, "float"), [(1, 0.25), (0, 0.5), (2, 1.25)], "on the threshold goes left");
    assert_eq!(scores(4.0_f64.next_up(), "float"), [(0, 0.0), (1, 1.0), (2, 1.0)], "ties by id");
    assert_eq!(scores(4.0, "half"), [(1, 0.0), (0, 0.5), (2, 1.25)], "the category is 1 and goes right");
}

#[test]
fn boosted_trees_allow_what_saves_the_margin() {
    // At k = 4, b has 0.25 and saves 0.25 against a, the fallback; c has 1.25.
    let decided = |margin: Option<f64>, fallback: Option<u32>, offered: &[u32]| {
        let mut m = Model { fallback: fallback.map(ChoiceId), ..model() };
        m.boosted.as_mut().unwrap().margin = margin;
        m.validate().unwrap();
        m.decide(&values(4.0, 1.0, "float"), |c| offered.contains(&c.0)).map(|r| r.choice.0)
    };
    assert_eq!(decided(None, Some(0), &[0, 1, 2]), Ok(1));
    assert_eq!(decided(Some(0.25), Some(0), &[0, 1, 2]), Ok(1), "as much as the margin is enough");
    let greater = Some(0.25_f64.next_up());
    assert_eq!(decided(greater, Some(0), &[0, 1, 2]), Err(Unsure::NoneAllowed), "b precedes the fallback");
    assert_eq!(decided(greater, Some(0), &[0, 2]), Ok(0), "the fallback is always allowed");
    assert_eq!(decided(greater, Some(0), &[1, 2]), Ok(1), "declining means nothing without the fallback");
    assert_eq!(decided(Some(-1.0), Some(0), &[2]), Ok(2), "a negative margin allows slower ones");
    assert_eq!(decided(Some(-0.5), Some(0), &[0, 2]), Ok(0), "c is slower by 0.75");
    assert_eq!(decided(None, None, &[2]), Ok(2));
    assert_eq!(
        decided(Some(-9.0), None, &[0, 1, 2]),
        Err(Unsure::NoneAllowed),
        "no fallback to compare with"
    );
}

/// Lengthens the rows of scores by these cautions.
fn with_cautions(boosted: &mut BoostedTrees, cautions: [i8; 4]) {
    let rows = boosted.scores.chunks_exact(3).zip(cautions);
    boosted.scores = rows.flat_map(|(row, caution)| row.iter().copied().chain([caution])).collect();
    boosted.caution_unit = Some(0.25);
}

#[test]
fn where_there_is_caution_a_choice_must_save_more() {
    // At k = 4, b saves 0.25 against a, the fallback. The rows are 0 and 2.
    let decided = |margin: f64, cautions: [i8; 4]| {
        let mut m = model();
        let boosted = m.boosted.as_mut().unwrap();
        with_cautions(boosted, cautions);
        boosted.margin = Some(margin);
        m.validate().unwrap();
        m.decide(&values(4.0, 1.0, "float"), |_| true).map(|r| r.choice.0)
    };
    assert_eq!(decided(0.125, [3, 0, 1, 0]), Ok(1), "twice 0.125");
    assert_eq!(decided(0.125, [3, 0, 2, 0]), Err(Unsure::NoneAllowed));
    assert_eq!(decided(0.125, [3, 27, 1, 27]), Ok(1), "only the leaves that are reached count");
    assert_eq!(decided(0.25, [0, 0, 0, 0]), Ok(1));
    assert_eq!(decided(0.5, [-1, 0, -1, 0]), Ok(1), "half of 0.5");
    assert_eq!(decided(2.0, [-29, 0, -29, 0]), Ok(1), "an eighth at least");
    assert_eq!(decided(2.0 + 1.0 / 1024.0, [-29, 0, -29, 0]), Err(Unsure::NoneAllowed));
}

#[test]
fn where_the_leaf_does_not_rank_the_fallback_a_margin_allows_nothing() {
    let mut m = model();
    m.trees[0].nodes[0] = leaf(vec![ranked(1, 0.25), ranked(2, 1.0)]);
    let decide = |m: &Model| m.decide(&values(4.0, 1.0, "float"), |_| true).map(|r| r.choice.0);
    assert_eq!(decide(&m), Ok(1));
    m.boosted.as_mut().unwrap().margin = Some(-9.0);
    assert_eq!(decide(&m), Err(Unsure::NoneAllowed));
}

#[test]
fn outside_the_ranges_the_margin_is_against_the_fallbacks_score_there() {
    let mut m = Model { outside: OutsidePolicy::Safe, ..model() };
    m.boosted.as_mut().unwrap().margin = Some(0.0);
    let Node::Leaf(leaf) = &mut m.trees[0].nodes[0] else { panic!("a leaf") };
    leaf.ranges = vec![Some((1.0, 3.0)), None, None];
    let place = |id: u32, score: f64| Place { choice: ChoiceId(id), score, allowed: true };
    // The fallback a has -2 + 0.5 outside, so b with 0.25 saves nothing.
    leaf.outside = vec![place(0, -2.0), place(1, 0.25)];
    m.validate().unwrap();
    let decide =
        |k: f64, offered: u32| m.decide(&values(k, 1.0, "float"), |c| c.0 >= offered).map(|r| r.choice.0);
    assert_eq!(decide(3.0, 0), Ok(1));
    assert_eq!(decide(4.0, 0), Ok(0));
    let places = m.ranking(&values(4.0, 1.0, "float")).unwrap();
    assert_eq!(places.iter().map(|place| place.allowed).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn every_boosted_column_must_be_defined_and_known() {
    let decide =
        |k: f64, n: f64, dtype: &str| model().decide(&values(k, n, dtype), |_| true).map(|r| r.choice.0);
    assert_eq!(decide(4.0, 1.0, "int4"), Err(Unsure::UnknownCategory(2)));
    assert_eq!(decide(4.0, 0.0, "half"), Err(Unsure::Undefined(3)), "even if no split tests it");
    assert_eq!(decide(4.0, 0.0, "int4"), Err(Unsure::UnknownCategory(2)), "the first column");
    // The ordinary tree comes first.
    let mut m = model();
    let leaf = || m.trees[0].nodes[0].clone();
    let split = Node::Split { test: Test::Numerical { slot: 3, threshold: 2.0 }, left: 1, right: 2 };
    m.trees = vec![Tree { nodes: vec![split, leaf(), leaf()] }];
    assert_eq!(m.decide(&values(4.0, 0.0, "int4"), |_| true), Err(Unsure::Undefined(3)));
    let context = Context::new().with("k", 9).with("n", 1);
    assert_eq!(m.decide(&m.values(&context), |_| true), Err(Unsure::UnknownCategory(2)));
}

#[test]
fn boosted_trees_never_allow_what_was_not_measured() {
    let mut m = model();
    let unmeasured = RankedChoice::unmeasured(ChoiceId(2), UNMEASURED + 0.1);
    m.trees[0].nodes[0] = leaf(vec![ranked(0, 0.0), ranked(1, 0.25), unmeasured]);
    let boosted = m.boosted.as_mut().unwrap();
    // The most that c can gain: 29 units in two trees.
    (boosted.unit, boosted.margin) = (1.0 / 32.0, Some(-9.0));
    boosted.scores = [27, 27, -29].repeat(4);
    m.validate().unwrap();
    let values = values(4.0, 1.0, "half");
    let places = m.ranking(&values).unwrap();
    assert_eq!(
        places.iter().map(|p| (p.choice.0, p.allowed)).collect::<Vec<_>>(),
        [(0, true), (1, true), (2, false)]
    );
    m.fallback = None;
    m.boosted.as_mut().unwrap().margin = None;
    assert_eq!(m.decide(&values, |c| c.0 == 2), Err(Unsure::NoneAllowed));
}

#[test]
fn no_invalid_boosted_tree_is_let_in() {
    type Break = fn(&mut Model, &mut BoostedTrees);
    let chain = |turn: bool| {
        // 65 splits below each other, to the right or to the left.
        let split = |right: u32| BoostedNode::Split { column: 0, threshold: 1.0, right };
        let mut nodes: Vec<BoostedNode> = Vec::new();
        for i in 0..65 {
            match turn {
                true => nodes.extend([split(2 * i + 2), BoostedNode::Leaf(0)]),
                false => nodes.push(split(130 - i)),
            }
        }
        let leaves = if turn { 1 } else { 66 };
        nodes.extend((0..leaves).map(|_| BoostedNode::Leaf(0)));
        nodes
    };
    let cases: [(&str, Break); 24] = [
        ("two trees", |m, _| m.trees = vec![m.trees[0].clone(), m.trees[0].clone()]),
        ("three quarters", |_, b| b.unit = 0.75),
        ("a negative unit", |_, b| b.unit = -0.25),
        ("no unit", |_, b| b.unit = 0.0),
        ("an infinite unit", |_, b| b.unit = f64::INFINITY),
        ("a low score", |_, b| b.scores[4] = -30),
        ("a high score", |_, b| b.scores[4] = 28),
        ("great sums", |_, b| b.unit = 1.0),
        ("an infinite margin", |_, b| b.margin = Some(f64::INFINITY)),
        ("a caution of three quarters", |_, b| b.caution_unit = Some(0.75)),
        ("a margin between two steps", |_, b| {
            with_cautions(b, [0; 4]);
            b.margin = Some(0.1);
        }),
        ("rows without caution", |_, b| {
            b.caution_unit = Some(0.5);
            b.scores.truncate(11);
        }),
        ("no tree", |_, b| b.trees.clear()),
        ("256 trees", |_, b| {
            b.trees = vec![vec![BoostedNode::Leaf(0)]; 256];
            b.unit = 1.0 / 1024.0;
        }),
        ("unsorted columns", |_, b| b.columns.swap(0, 1)),
        ("a column twice", |_, b| b.columns[1] = b.columns[0].clone()),
        ("a slot too many", |_, b| b.columns[2].slot = 4),
        ("a category for a number", |_, b| b.columns[2].category = Some("half".into())),
        ("an unknown category", |_, b| b.columns[1].category = Some("int4".into())),
        ("part of a row", |_, b| b.scores.truncate(11)),
        ("a row too many", |_, b| b.trees[1][2] = BoostedNode::Leaf(4)),
        ("a column too many", |_, b| {
            b.trees[0][0] = BoostedNode::Split { column: 3, threshold: 4.0, right: 2 }
        }),
        ("an infinite threshold", |_, b| {
            b.trees[0][0] = BoostedNode::Split { column: 0, threshold: f64::NEG_INFINITY, right: 2 };
        }),
        ("a loop", |_, b| b.trees[0][0] = BoostedNode::Split { column: 0, threshold: 4.0, right: 0 }),
    ];
    let mut messages = String::new();
    let mut add = |name: &str, m: Model| {
        let message = m.validate().expect_err(name);
        messages += &format!("{name}: {message}\n");
    };
    for (name, break_it) in cases {
        let (mut m, mut b) = (model(), boosted());
        break_it(&mut m, &mut b);
        add(name, Model { boosted: Some(b), ..m });
    }
    let end = BoostedNode::Leaf(0);
    for (name, nodes) in [
        ("no node", vec![]),
        ("a node too many", vec![end, end]),
        ("a node too few", vec![boosted().trees[0][0], end]),
        ("65 splits to the right", chain(true)),
        ("65 splits to the left", chain(false)),
    ] {
        let mut b = boosted();
        b.trees[1] = nodes;
        add(name, Model { boosted: Some(b), ..model() });
    }
    insta::assert_snapshot!(messages);
}

#[test]
fn a_malformed_boosted_tree_is_answered_with_the_place() {
    let text = model().to_json();
    let cases = [
        ("a row with a score too few", text.replace("[0,-1,0]", "[0,-1]")),
        ("a score that is no i8", text.replace("[0,-1,0]", "[0,-1000,0]")),
        ("an unknown feature", text.replace("[\"dtype\",\"half\"]", "[\"type\",\"half\"]")),
        ("three texts as a column", text.replace("[\"dtype\",\"half\"]", "[\"dtype\",\"half\",\"x\"]")),
        ("a text as a node", text.replace("[[0,4,2],", "[\"leaf\",")),
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
