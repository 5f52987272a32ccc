//! Models small enough to know their answers by heart.
#![allow(dead_code)]

pub mod logger;
pub mod virtual_kernels;

use ah_model::{
    ChoiceId, Device, FeatureKind, Features, Leaf, Model, Node, Precondition, RankedChoice, Scalar, Test,
    Tree, expr,
};
use ah_types::Optimization;

/// A model that chooses `pad` for k above 100 and `orig` up to 100. The leaf of float64 declines: `pad` is
/// the best choice there, and not allowed. Types other than these two are unknown. Its domain is `m >= 8`. Features: m, k, dtype, and one
/// derived.
pub fn pad_mm(name: &str, device: Option<&Device>) -> Model {
    let ranked = |choice: &str, allowed: bool| {
        let position = ["orig", "pad", "stream"].iter().position(|name| *name == choice).unwrap();
        format!(r#"[{position}, 0.1, 9, 0.9, 1, 1.1, 1, "{}"]"#, if allowed { "ea" } else { "e" })
    };
    let leaf = |ranking: &[String]| format!(r#"{{"samples": 9, "ranking": [{}]}}"#, ranking.join(", "));
    let text = format!(
        r#"{{
        "format": "autoheuristic-model", "version": 11,
        "heuristic": "{name}", "optimization": "pad_mm",
        "features": [{{"name": "m", "kind": "numerical"}}, {{"name": "k", "kind": "numerical"}},
                     {{"name": "dtype", "kind": "categorical"}}],
        "derived": [{{"name": "m*k", "expression": "m * k"}}],
        "categories": {{"dtype": ["float32", "float64"]}},
        "precondition": "m >= 8",
        "device": {device}, "shared_memory": null, "device_capa": [0, 0],
        "choices": ["orig", "pad", "stream"], "fallback": "orig", "promise": null,
        "purpose": {{"objective": "geomean", "targets": [], "overlaps": false, "max_slowdown": 1.05}},
        "tree": [
            {{"feature": "dtype", "categories": ["float64"], "right": 4}},
            {{"feature": "k", "threshold": 100.0, "right": 3}},
            {small}, {large}, {low}
        ],
        "provenance": {{"tool": "test", "logs": [], "seed": 0, "parameters": {{}}, "metrics": {{}}}}
    }}"#,
        device = device.map_or("null".to_owned(), |d| serde_json::to_string(d).unwrap()),
        low = leaf(&[ranked("pad", false), ranked("orig", true)]),
        small = leaf(&[ranked("orig", true), ranked("pad", true)]),
        large = leaf(&[ranked("pad", true), ranked("stream", true), ranked("orig", true)]),
    );
    Model::parse(&text).unwrap()
}

/// A model of the size learned from the published logs: all features of `mixed_mm`, 54 choices,
/// a full tree of depth 8 whose splits test derived features, and leaves that rank 20 choices.
pub fn mixed_mm() -> Model {
    let optimization = Optimization::built_in("mixed_mm").unwrap();
    let features = Features::new(optimization.schema().unwrap(), &optimization.derived).unwrap();
    let slot = |name: &str| features.all().slot(name).unwrap();
    let tested = [
        ("arith_intensity", 40.0),
        ("m*n", 300_000.0),
        ("ctz(k)", 9.0),
        ("tiles_16x64", 100.0),
        ("n", 4000.0),
        ("tiles_128x64", 60.0),
        ("k*n", 1e7),
        ("m", 20.0),
    ];
    let test = |depth: usize, id: u32| {
        if depth == 3 {
            let (slot, categories) = (slot("17LEQmLEQ32"), vec!["True".to_owned()]);
            return Test::is_in(slot, categories);
        }
        let (name, threshold) = tested[depth];
        Test::number(slot(name), threshold * (0.5 + f64::from(id % 16) / 16.0))
    };
    let mut nodes = Vec::new();
    grow(&mut nodes, 0, &test);
    let booleans = || vec!["False".to_owned(), "True".to_owned()];
    let categories = features.all().features().iter().map(|feature| match feature.kind {
        FeatureKind::Numerical => Vec::new(),
        FeatureKind::Categorical if feature.name.ends_with("_dtype") => {
            ["torch.bfloat16", "torch.float16", "torch.int8"].map(str::to_owned).to_vec()
        }
        FeatureKind::Categorical => booleans(),
    });
    let expression = optimization.preconditions[0].expression.clone();
    let parsed = expr::parse(&expression).unwrap();
    let typed = parsed.resolve_bool(features.base()).unwrap();
    let model = Model {
        heuristic: "Deep".to_owned(),
        optimization: "mixed_mm".to_owned(),
        categories: categories.collect(),
        precondition: Some(Precondition { expression, typed }),
        choices: (0..54).map(|i| format!("type_triton_config_{i:02}")).collect(),
        fallback: Some(ChoiceId(0)),
        tree: Tree { nodes },
        features,
        ..Model::default()
    };
    // Read back, as from a file.
    Model::parse(&model.to_json()).unwrap()
}

/// Adds the nodes below a split of this depth, parents first, and returns its position.
fn grow(nodes: &mut Vec<Node>, depth: usize, test: &dyn Fn(usize, u32) -> Test) -> u32 {
    let id = u32::try_from(nodes.len()).unwrap();
    if depth == 8 {
        let ranked = |rank: u32| RankedChoice {
            choice: ChoiceId((id + rank * 7) % 54),
            score: f64::from(rank / 2),
            probability: 0.05,
            measured: 9,
            expected: true,
            slowdown: 1.0,
            worst: 1.1,
            worst_over_fallback: 0.5,
            // In some leaves none is.
            allowed: id % 17 != 3 && !(id + (id + rank * 7) % 54).is_multiple_of(5),
        };
        let ranking = (0..20).map(ranked).collect();
        nodes.push(Node::Leaf(Leaf { samples: 9, ranking }));
        return id;
    }
    nodes.push(Node::Split { test: test(depth, id), right: 0 });
    grow(nodes, depth + 1, test);
    let second = grow(nodes, depth + 1, test);
    if let Node::Split { right, .. } = &mut nodes[id as usize] {
        *right = second;
    }
    id
}

/// A context inside the domain of [`mixed_mm`], by slot.
pub fn mixed_mm_values(m: f64, k: f64, n: f64) -> [Scalar<'static>; 11] {
    [
        m.into(),
        k.into(),
        n.into(),
        k.into(),
        1.into(),
        1.into(),
        k.into(),
        "torch.float16".into(),
        "torch.int8".into(),
        true.into(),
        false.into(),
    ]
}

/// Adds nine boosters that test every number, and whether the last feature is true. A choice must save 1/64 over the fallback.
pub fn boost(model: &mut Model) {
    let features = model.features.all().features();
    let numbers = (0..features.len()).filter(|slot| features[*slot].kind == FeatureKind::Numerical);
    let mut columns: Vec<(usize, Option<&str>)> = numbers.map(|slot| (slot, None)).collect();
    columns.extend(
        [(7, Some("torch.float16")), (features.len() - 1, Some("True"))]
            .into_iter()
            .filter(|(slot, _)| features[*slot].kind == FeatureKind::Categorical),
    );
    let choices = model.choices.len();
    let tree = |tree: usize| {
        let split = |at: usize, right: u32| {
            let test = match columns[(tree * 7 + at * 3) % columns.len()] {
                (slot, Some(category)) => Test::is_in(slot, [category.to_owned()]),
                (slot, None) => Test::number(slot, 2.0_f64.powi((tree + at) as i32 * 2)),
            };
            Node::Split { test, right }
        };
        let number = |at: usize| (at * at % 57) as i8 - 29;
        let leaf = |leaf: usize| {
            let first = (tree * 3 + leaf) * choices;
            Node::Leaf((first..first + choices).map(number).collect())
        };
        Tree { nodes: vec![split(0, 4), split(1, 3), leaf(0), leaf(1), leaf(2)] }
    };
    model.boosters = (0..9).map(tree).collect();
    (model.unit, model.margin) = (1.0 / 128.0, Some(0.015_625));
    model.validate().unwrap();
}
