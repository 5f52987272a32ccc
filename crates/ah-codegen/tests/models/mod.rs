//! Random models: all kinds of splits and expressions, shallow and deep trees, hostile names. The tests and
//! the fuzz target use them.

#![allow(dead_code)] // Each user needs some of it.

use ah_types::expr::{self, BinaryOp, Comparison, Expr, Function, Type, UnaryOp};
use ah_types::{
    ChoiceId, DerivedFeature, Feature, FeatureKind, Features, Leaf, LeafUnsure, Model, Node, OutsidePolicy,
    Place, Precondition, Provenance, RankedChoice, Schema, Test, Tree, Value,
};
use rand::Rng;
use rand::seq::IndexedRandom;
use rand_pcg::Pcg64;

/// Names that have broken generators before.
pub const ODD: &[&str] = &[
    "m",
    "k",
    "n",
    "self",
    "type",
    "class",
    "def",
    "fn",
    "double",
    "m*k",
    "m k",
    "m-k",
    "m_k",
    "k/(m*n)",
    "",
    " ",
    "\"",
    "'",
    "\\",
    "\n",
    "*/",
    "/*",
    "\"\"\"",
    "'''",
    "{{ 7 * 7 }}",
    "{% raw %}",
    "// x",
    "# x",
    "??/",
    "`",
    "$(id)",
    "мир",
    "ｍ",
    "\u{202e}abc",
    "\u{0}",
    "None",
    "True",
    "False",
    "Other",
    "other",
    "row",
    "context",
    "1LEQmLEQ16",
    "Self",
    "a\tb",
    "\r\n",
    "%s%n",
    "\u{1F600}",
    "__init__",
    "Choice",
    "leaf",
    "defined",
    "memo",
    "value",
    "math",
];

pub fn name(rng: &mut Pcg64) -> String {
    match rng.random_range(0..10) {
        0 => "x".repeat(rng.random_range(1..10_000)),
        1 | 2 => format!("{}{}", ODD.choose(rng).unwrap(), ODD.choose(rng).unwrap()),
        3 => (0..rng.random_range(0..12)).map(|_| rng.random::<char>()).collect(),
        _ => (*ODD.choose(rng).unwrap()).to_owned(),
    }
}

fn distinct(rng: &mut Pcg64, count: usize) -> Vec<String> {
    let mut names = std::collections::BTreeSet::new();
    let mut i = 0;
    while names.len() < count {
        let mut name = name(rng);
        if i > 3 * count || count > 40 {
            name.truncate(name.floor_char_boundary_at(20));
            name.push_str(&i.to_string());
        }
        names.insert(name);
        i += 1;
    }
    names.into_iter().collect()
}

trait Cut {
    fn floor_char_boundary_at(&self, at: usize) -> usize;
}

impl Cut for String {
    fn floor_char_boundary_at(&self, at: usize) -> usize {
        (0..=at.min(self.len())).rev().find(|&i| self.is_char_boundary(i)).unwrap_or(0)
    }
}

/// Returns a number that is likely to be a threshold.
pub fn number(rng: &mut Pcg64) -> f64 {
    match rng.random_range(0..8) {
        0 => *[0.0, -0.0, 0.1, 1e300, -1e300, 5e-324, 9_007_199_254_740_993.0, 1e16, 4_503_599_627_370_497.5]
            .choose(rng)
            .unwrap(),
        1 => rng.random_range(-10.0..10.0),
        2 => f64::from(rng.random_range(-64_i32..64)) + 0.5,
        3 => 2.0_f64.powi(rng.random_range(-60..60)),
        _ => f64::from(rng.random_range(-300_i32..5000)),
    }
}

fn expression(rng: &mut Pcg64, schema: &Schema, ty: Type, depth: usize) -> Expr {
    let of = |kind: FeatureKind| -> Vec<&str> { schema.names(kind).collect() };
    let sub = |rng: &mut Pcg64, ty| Box::new(expression(rng, schema, ty, depth.saturating_sub(1)));
    match ty {
        Type::Number => match rng.random_range(0..if depth == 0 { 2 } else { 10 }) {
            0 => Expr::Number(number(rng)),
            1 | 2 => match of(FeatureKind::Numerical).choose(rng) {
                Some(name) => Expr::Feature((*name).to_owned()),
                None => Expr::Number(number(rng)),
            },
            3 if rng.random() => Expr::Unary(UnaryOp::Neg, sub(rng, ty)),
            // By a power of two: integers compute these.
            3 => {
                let power = Box::new(Expr::Number(2.0_f64.powi(rng.random_range(0..56))));
                match rng.random_range(0..3) {
                    0 => Expr::Binary(BinaryOp::Rem, sub(rng, ty), power),
                    1 => Expr::Call(Function::Ceil, vec![Expr::Binary(BinaryOp::Div, sub(rng, ty), power)]),
                    _ => Expr::Call(Function::Floor, vec![Expr::Binary(BinaryOp::Div, sub(rng, ty), power)]),
                }
            }
            4 => Expr::If(sub(rng, Type::Bool), sub(rng, ty), sub(rng, ty)),
            5 | 6 => {
                let function = *Function::ALL.choose(rng).unwrap();
                let count = if function.is_variadic() { rng.random_range(2..4) } else { 1 };
                Expr::Call(function, (0..count).map(|_| *sub(rng, ty)).collect())
            }
            _ => {
                let op = *[BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div, BinaryOp::Rem]
                    .choose(rng)
                    .unwrap();
                Expr::Binary(op, sub(rng, ty), sub(rng, ty))
            }
        },
        Type::Bool => match rng.random_range(0..if depth == 0 { 2 } else { 8 }) {
            0 => Expr::Bool(rng.random()),
            1 | 2 => match of(FeatureKind::Categorical).choose(rng) {
                Some(feature) => {
                    let op = BinaryOp::Compare(if rng.random() { Comparison::Eq } else { Comparison::Ne });
                    let feature = Box::new(Expr::Feature((*feature).to_owned()));
                    let text = if rng.random_bool(0.5) { "True".to_owned() } else { name(rng) };
                    Expr::Binary(op, feature, Box::new(Expr::Text(text)))
                }
                None => Expr::Bool(rng.random()),
            },
            3 if rng.random() => {
                let op = BinaryOp::Compare(if rng.random() { Comparison::Eq } else { Comparison::Ne });
                let ty = if rng.random_bool(0.8) { Type::Category } else { Type::Bool };
                Expr::Binary(op, sub(rng, Type::Category), sub(rng, ty))
            }
            3 => Expr::Unary(UnaryOp::Not, sub(rng, ty)),
            4 => Expr::If(sub(rng, ty), sub(rng, ty), sub(rng, ty)),
            5 => {
                let op = if rng.random() { BinaryOp::And } else { BinaryOp::Or };
                Expr::Binary(op, sub(rng, ty), sub(rng, ty))
            }
            _ => {
                let op = BinaryOp::Compare(*Comparison::ALL.choose(rng).unwrap());
                Expr::Binary(op, sub(rng, Type::Number), sub(rng, Type::Number))
            }
        },
        Type::Category => {
            let text = Expr::Text(name(rng));
            match of(FeatureKind::Categorical).choose(rng) {
                Some(feature) if depth > 0 && rng.random() => Expr::Feature((*feature).to_owned()),
                Some(feature) if depth > 0 => Expr::If(
                    sub(rng, Type::Bool),
                    Box::new(Expr::Feature((*feature).to_owned())),
                    Box::new(text),
                ),
                _ => text,
            }
        }
    }
}

/// Returns a random model; `heuristic` becomes the name of what is generated.
pub fn model(rng: &mut Pcg64, heuristic: &str, depth: usize, most_nodes: usize) -> Model {
    let count = rng.random_range(1..8);
    let base: Vec<Feature> = distinct(rng, count)
        .into_iter()
        .map(|n| match rng.random_range(0..3) {
            0 => Feature { integer: true, unit: Some(name(rng)), ..Feature::numerical(n) },
            1 => Feature { description: Some(name(rng)), ..Feature::numerical(n) },
            _ => Feature::categorical(n),
        })
        .collect();
    let mut schema = Schema::new(base.clone()).unwrap();
    let mut derived = Vec::new();
    for i in 0..rng.random_range(0..6) {
        let ty = *[Type::Number, Type::Number, Type::Bool, Type::Category].choose(rng).unwrap();
        let expr = expression(rng, &schema, ty, 3);
        let d = DerivedFeature {
            name: format!("{}{i}~", &name(rng).chars().take(30).collect::<String>()),
            expression: expr.to_string(),
        };
        let mut all = derived.clone();
        all.push(d);
        if let Ok(features) = Features::new(Schema::new(base.clone()).unwrap(), &all) {
            schema = features.all().clone();
            derived = all;
        }
    }
    let precondition = rng.random_bool(0.3).then(|| {
        let only = Schema::new(base.clone()).unwrap();
        let expr = expression(rng, &only, Type::Bool, 2);
        let expr = if rng.random_bool(0.5) {
            Expr::Binary(BinaryOp::Or, Box::new(Expr::Bool(true)), Box::new(expr))
        } else {
            expr
        };
        let expression = expr.to_string();
        Precondition { typed: expr::parse(&expression).unwrap().resolve_bool(&only).unwrap(), expression }
    });
    let features = Features::new(Schema::new(base).unwrap(), &derived).unwrap();
    let categories: Vec<Vec<String>> = features
        .all()
        .features()
        .iter()
        .enumerate()
        .map(|(slot, f)| {
            match (f.kind, slot.checked_sub(features.base().len()).map(|i| features.derived()[i].1.ty())) {
                (FeatureKind::Numerical, _) => Vec::new(),
                (_, Some(Type::Bool)) => {
                    let all: &[&[&str]] = &[
                        &["False", "True"],
                        &["True"],
                        &["False"],
                        &["False", "True", "banana"],
                        &["banana"],
                    ];
                    all.choose(rng).unwrap().iter().map(|&s| s.to_owned()).collect()
                }
                _ => {
                    let count = rng.random_range(1..5);
                    distinct(rng, count)
                }
            }
        })
        .collect();
    let count = match rng.random_range(0..4) {
        0 => 1,
        1 => rng.random_range(1..301),
        _ => rng.random_range(2..9),
    };
    let choices = distinct(rng, count);
    let fallback = rng.random_bool(0.7).then(|| ChoiceId(rng.random_range(0..choices.len() as u32)));
    let with_conditions = if rng.random_bool(0.3) { rng.random_range(1..4) } else { 0 };
    let eligible = (0..with_conditions.min(choices.len()))
        .map(|_| {
            let typed = expression(rng, features.base(), Type::Bool, 2);
            let expression = typed.to_string();
            let typed = expr::parse(&expression).unwrap().resolve_bool(features.base()).unwrap();
            (ChoiceId(rng.random_range(0..choices.len() as u32)), Precondition { expression, typed })
        })
        .collect();
    // One tree, or up to three that vote.
    let trees = if rng.random_bool(0.3) { rng.random_range(2..4) } else { 1 };
    let tree = |rng: &mut Pcg64| {
        let mut nodes = Vec::new();
        grow(rng, &features, &categories, choices.len(), depth, most_nodes / trees, &mut nodes);
        Tree { nodes }
    };
    let trees: Vec<Tree> = (0..trees).map(|_| tree(rng)).collect();
    let model = Model {
        heuristic: heuristic.to_owned(),
        optimization: name(rng),
        features,
        categories,
        precondition,
        device: None,
        shared_memory: None,
        device_capa: (9, 0),
        choices,
        fallback,
        eligible,
        outside: *[OutsidePolicy::Decide, OutsidePolicy::Safe, OutsidePolicy::Decline].choose(rng).unwrap(),
        trees,
        promise: None,
        provenance: Provenance::default(),
    };
    // A model counts only after it was written and read back.
    Model::parse(&model.to_json()).expect("a valid model")
}

/// Returns the same model with one tree of this many leaves.
pub fn with_leaves(rng: &mut Pcg64, mut model: Model, count: usize) -> Model {
    let logged = model.categories[..model.features.base().len()].to_vec();
    let mut nodes = vec![Node::Leaf(leaf(rng, model.choices.len(), &logged))];
    // Breadth first: the oldest leaf splits next.
    for at in 0..count - 1 {
        let slot = rng.random_range(0..model.features.all().len());
        let test = match model.categories[slot].choose(rng) {
            Some(category) => Test::Categorical { slot, category: category.clone() },
            None if model.features.all().features()[slot].kind == FeatureKind::Categorical => {
                Test::Numerical { slot: 0, threshold: number(rng) }
            }
            None => Test::Numerical { slot, threshold: number(rng) },
        };
        let left = nodes.len() as u32;
        nodes[at] = Node::Split { test, left, right: left + 1 };
        for _ in 0..2 {
            nodes.push(Node::Leaf(leaf(rng, model.choices.len(), &logged)));
        }
    }
    model.trees = vec![Tree { nodes }];
    Model::parse(&model.to_json()).expect("a valid model")
}

fn grow(
    rng: &mut Pcg64,
    features: &Features,
    categories: &[Vec<String>],
    choices: usize,
    depth: usize,
    most: usize,
    nodes: &mut Vec<Node>,
) {
    let slot = rng.random_range(0..features.all().len());
    let categorical = features.all().features()[slot].kind == FeatureKind::Categorical;
    if depth == 0 || nodes.len() >= most || (nodes.len() > 1 && rng.random_bool(0.1)) {
        let logged = &categories[..features.base().len()];
        nodes.push(Node::Leaf(leaf(rng, choices, logged)));
        return;
    }
    let at = nodes.len();
    let test = if categorical {
        Test::Categorical { slot, category: categories[slot].choose(rng).unwrap().clone() }
    } else {
        Test::Numerical { slot, threshold: number(rng) }
    };
    nodes.push(Node::Split { test, left: 0, right: 0 });
    // One side continues, the other mostly ends soon, so that deep trees stay small.
    let short = if rng.random_bool(0.6) && depth > 8 { rng.random_range(0..3) } else { depth - 1 };
    let (l, r) = if rng.random() { (depth - 1, short) } else { (short, depth - 1) };
    let first = nodes.len() as u32;
    grow(rng, features, categories, choices, l, most, nodes);
    let second = nodes.len() as u32;
    grow(rng, features, categories, choices, r, most, nodes);
    if let Node::Split { left, right, .. } = &mut nodes[at] {
        (*left, *right) = (first, second);
    }
}

/// Returns a leaf; `categories` are those of the logged features.
fn leaf(rng: &mut Pcg64, choices: usize, categories: &[Vec<String>]) -> Leaf {
    let mut ids: Vec<u32> = (0..choices as u32).collect();
    for i in (1..ids.len()).rev() {
        ids.swap(i, rng.random_range(0..=i));
    }
    let most = choices.min(*[12, 40].choose(rng).unwrap());
    ids.truncate(rng.random_range(0..=most));
    let unsure = match rng.random_range(0..10) {
        0 => Some(LeafUnsure::LowConfidence),
        1 => Some(LeafUnsure::Unsafe),
        _ => None,
    };
    let bars = rng.random_bool(0.4);
    let samples = rng.random_range(0..1000);
    let mut ranking: Vec<RankedChoice> = ids
        .into_iter()
        .map(|id| {
            let measured = if rng.random_bool(0.1) { 0 } else { rng.random_range(0..=samples) };
            RankedChoice {
                choice: ChoiceId(id),
                // Few scores, so that sums tie.
                score: f64::from(rng.random_range(-2_i32..3)) * 0.1,
                probability: rng.random(),
                measured,
                usual: measured > 0 && rng.random_bool(0.8),
                slowdown: if rng.random_bool(0.1) { f64::INFINITY } else { 1.0 + rng.random::<f64>() },
                worst: if rng.random_bool(0.1) { f64::INFINITY } else { 1.0 + rng.random::<f64>() },
                worst_over_fallback: rng.random(),
                allowed: measured > 0 && (!bars || rng.random_bool(0.6)),
            }
        })
        .collect();
    ranking.sort_by_key(|ranked| ranked.measured == 0);
    let range = |categories: &Vec<String>| {
        let (a, b) = (number(rng), number(rng));
        categories.is_empty().then_some((a.min(b), a.max(b)))
    };
    let ranges = categories.iter().map(range).collect();
    let mut outside: Vec<Place> = ranking.iter().map(RankedChoice::place).collect();
    outside.reverse();
    outside.retain(|_| rng.random_bool(0.8));
    for place in &mut outside {
        place.score = f64::from(rng.random_range(-2_i32..3)) * 0.1;
        place.allowed &= rng.random_bool(0.7);
    }
    outside.sort_by_key(|place| ranking.iter().any(|r| r.choice == place.choice && r.measured == 0));
    if rng.random_bool(0.3) {
        outside.clear();
    }
    Leaf { samples, unsure, ranking, ranges, outside }
}

/// Returns contexts to compare: every threshold and its neighbours, numbers beyond 2^53, infinities, NaN,
/// known, mentioned and unknown categories, and random values.
pub fn contexts(rng: &mut Pcg64, model: &Model, random: usize) -> Vec<Vec<Value>> {
    let base = model.features.base().features();
    let thresholds: Vec<f64> = model
        .trees
        .iter()
        .flat_map(|t| &t.nodes)
        .filter_map(|n| match n {
            Node::Split { test: Test::Numerical { threshold, .. }, .. } => Some(*threshold),
            _ => None,
        })
        .collect();
    let texts: Vec<&str> = model
        .categories
        .iter()
        .flatten()
        .map(String::as_str)
        .chain(["", "unknown", "True", "False"])
        .collect();
    let one = |rng: &mut Pcg64, f: &Feature, slot: usize| -> Value {
        if f.kind == FeatureKind::Categorical {
            let known = &model.categories[slot];
            let pick = if rng.random_bool(0.85) {
                known.choose(rng).map(String::as_str)
            } else {
                texts.choose(rng).copied()
            };
            return Value::from(pick.unwrap_or(""));
        }
        let near = thresholds.choose(rng).copied().filter(|_| rng.random_bool(0.6));
        let x = match near {
            Some(t) => *[t, t.next_up(), t.next_down()].choose(rng).unwrap(),
            None if rng.random_bool(0.1) => {
                *[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0].choose(rng).unwrap()
            }
            None => number(rng),
        };
        if !f.integer {
            return Value::Number(x);
        }
        let odd = [i64::MAX, i64::MIN, (1 << 53) + 1, (1 << 53) - 1, -(1 << 53) - 1, 0];
        let whole = if rng.random_bool(0.1) {
            *odd.choose(rng).unwrap()
        } else {
            (x as i64).saturating_add(rng.random_range(-1..2))
        };
        Value::from(whole)
    };
    (0..random + 3 * thresholds.len())
        .map(|_| base.iter().enumerate().map(|(slot, f)| one(rng, f, slot)).collect())
        .collect()
}
