//! Models small enough to know their answers by heart.
#![allow(dead_code)]

use ah_types::{
    ChoiceId, Device, FeatureKind, Features, Leaf, LeafUnsure, Model, Node, Optimization, Precondition,
    RankedChoice, Scalar, Test, Tree, expr,
};

/// Returns a model that chooses `pad` for k above 100 and `orig` up to 100. The leaf of float64 declines,
/// and types other than these two are unknown. Its domain is `m >= 8`. Features: m, k, dtype, and one
/// derived.
pub fn pad_mm(name: &str, device: Option<&Device>) -> Model {
    let ranked = |choice: &str, allowed: bool| {
        let position = ["orig", "pad", "stream"].iter().position(|name| *name == choice).unwrap();
        format!(r#"[{position}, 0.1, 9, 0.9, 1, 1.1, 1, "{}"]"#, if allowed { "ua" } else { "u" })
    };
    let leaf = |unsure: &str, ranking: &[String]| {
        format!(r#"{{"samples": 9, "unsure": {unsure}, "ranking": [{}]}}"#, ranking.join(", "))
    };
    let text = format!(
        r#"{{
        "format": "autoheuristic-model", "version": 3,
        "heuristic": "{name}", "optimization": "pad_mm",
        "features": [{{"name": "m", "kind": "numerical"}}, {{"name": "k", "kind": "numerical"}},
                     {{"name": "dtype", "kind": "categorical"}}],
        "derived": [{{"name": "m*k", "expression": "m * k"}}],
        "categories": {{"dtype": ["float32", "float64"]}},
        "precondition": "m >= 8",
        "device": {device}, "shared_memory": null, "device_capa": [0, 0],
        "choices": ["orig", "pad", "stream"], "fallback": "orig", "promise": null,
        "trees": [{{"nodes": [
            {{"feature": "dtype", "category": "float64", "left": 1, "right": 2}},
            {{"feature": "k", "threshold": 100.0, "left": 3, "right": 4}},
            {low}, {small}, {large}
        ]}}],
        "provenance": {{"tool": "test", "logs": [], "seed": 0, "parameters": {{}}, "metrics": {{}}}}
    }}"#,
        device = device.map_or("null".to_owned(), |d| serde_json::to_string(d).unwrap()),
        low = leaf(r#""low-confidence""#, &[ranked("pad", true), ranked("orig", true)]),
        small = leaf("null", &[ranked("orig", true), ranked("pad", true)]),
        large = leaf("null", &[ranked("pad", true), ranked("stream", true), ranked("orig", true)]),
    );
    Model::parse(&text).unwrap()
}

/// Returns a model of the size learned from the published logs: all features of `mixed_mm`, 54 choices,
/// full trees of depth 8 whose splits test derived features, and leaves that rank 20 choices. Several trees
/// vote.
pub fn mixed_mm(trees: u32) -> Model {
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
            let (slot, category) = (slot("17LEQmLEQ32"), "True".to_owned());
            return Test::Categorical { slot, category };
        }
        let (name, threshold) = tested[depth];
        Test::Numerical { slot: slot(name), threshold: threshold * (0.5 + f64::from(id % 16) / 16.0) }
    };
    let trees = (0..trees).map(|tree| {
        let mut nodes = Vec::new();
        grow(&mut nodes, 0, tree, &test);
        Tree { nodes }
    });
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
        trees: trees.collect(),
        features,
        ..Model::default()
    };
    // Read back, as from a file.
    Model::parse(&model.to_json()).unwrap()
}

/// Adds the nodes below a split of this depth, parents first, and returns its position.
fn grow(nodes: &mut Vec<Node>, depth: usize, tree: u32, test: &dyn Fn(usize, u32) -> Test) -> u32 {
    let id = u32::try_from(nodes.len()).unwrap();
    if depth == 8 {
        let unsure = (id % 17 == 3).then_some(LeafUnsure::Unsafe);
        let ranked = |rank: u32| RankedChoice {
            choice: ChoiceId((id + (tree + rank) * 7) % 54),
            score: f64::from(rank / 2),
            probability: 0.05,
            measured: 9,
            expected: true,
            slowdown: 1.0,
            worst: 1.1,
            worst_over_fallback: 0.5,
            allowed: !(id + (id + (tree + rank) * 7) % 54).is_multiple_of(5),
        };
        let ranking = (0..20).map(ranked).collect();
        nodes.push(Node::Leaf(Leaf { samples: 9, unsure, ranking, ..Leaf::default() }));
        return id;
    }
    nodes.push(Node::Split { test: test(depth, id), left: 0, right: 0 });
    let (l, r) = (grow(nodes, depth + 1, tree, test), grow(nodes, depth + 1, tree, test));
    if let Node::Split { left, right, .. } = &mut nodes[id as usize] {
        (*left, *right) = (l, r);
    }
    id
}

/// Returns a context inside the domain of [`mixed_mm`], by slot.
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
