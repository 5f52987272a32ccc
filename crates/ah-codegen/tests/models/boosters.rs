//! Random boosted trees.

use ah_types::{
    BOOSTED_SCORES, BoostedColumn, BoostedNode, BoostedTrees, FeatureKind, Features, MARGIN_STEP,
};
use rand::Rng;
use rand::seq::{IndexedRandom, IteratorRandom};
use rand_pcg::Pcg64;

use super::expressions::number;

/// Returns random boosted trees over these features; `categories` are the known ones, by slot.
pub fn boosted(
    rng: &mut Pcg64,
    features: &Features,
    categories: &[Vec<String>],
    choices: usize,
) -> BoostedTrees {
    let mut columns = Vec::new();
    for (slot, feature) in features.all().features().iter().enumerate() {
        let is_number = feature.kind == FeatureKind::Numerical;
        let tested = is_number.then_some(None).into_iter().chain(categories[slot].iter().cloned().map(Some));
        columns.extend(tested.map(|category| BoostedColumn { slot, category }));
    }
    columns.retain(|_| rng.random_bool(0.5));
    let mut rows = 0;
    let trees: Vec<Vec<BoostedNode>> = (0..rng.random_range(1..13))
        .map(|_| {
            let (depth, mut nodes) = (rng.random_range(0..7), Vec::new());
            grow(rng, if columns.is_empty() { 0 } else { depth }, columns.len(), &mut rows, &mut nodes);
            nodes
        })
        .collect();
    // Few scores, so that sums tie, or all.
    let all = rng.random_bool(0.5);
    let score = |rng: &mut Pcg64| rng.random_range(if all { BOOSTED_SCORES } else { -2..=2 });
    let caution_unit = *[None, Some(0.25), Some(1.0 / 32.0)].choose(rng).unwrap();
    let length = choices + usize::from(caution_unit.is_some());
    let margins = [Some(0.0), Some(-0.0), Some(0.01), Some(0.1), Some(-0.05)];
    let on_step = |margin: f64| (margin / MARGIN_STEP).ceil() * MARGIN_STEP;
    BoostedTrees {
        columns,
        trees,
        scores: (0..rows as usize * length).map(|_| score(rng)).collect(),
        unit: *[1.0 / 256.0, 1.0 / 1024.0, 1.0 / 4096.0].choose(rng).unwrap(),
        margin: margins.iter().chain([&None]).choose(rng).unwrap().map(on_step),
        caution_unit,
    }
}

/// Grows a random tree in preorder. Some leaves share a row of scores.
fn grow(rng: &mut Pcg64, depth: usize, columns: usize, rows: &mut u32, nodes: &mut Vec<BoostedNode>) {
    if depth == 0 || rng.random_bool(0.15) {
        let shares = *rows > 0 && rng.random_bool(0.2);
        nodes.push(BoostedNode::Leaf(if shares { rng.random_range(0..*rows) } else { *rows }));
        *rows += u32::from(!shares);
        return;
    }
    let at = nodes.len();
    let column = rng.random_range(0..columns) as u16;
    // 0 tells categories apart.
    let threshold = if rng.random_bool(0.3) { 0.0 } else { number(rng) };
    nodes.push(BoostedNode::Leaf(0));
    grow(rng, depth - 1, columns, rows, nodes);
    nodes[at] = BoostedNode::Split { column, threshold, right: nodes.len() as u32 };
    grow(rng, depth - 1, columns, rows, nodes);
}
