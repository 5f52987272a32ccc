//! The path to each leaf in words.

use ah_types::{Clause, Model, Node, Test};

use crate::printing::text::shown;

/// Returns the path of each leaf in words, in the order of the nodes: `8 < m <= 16, dtype is float16`.
pub fn paths(model: &Model) -> Vec<String> {
    let tree = &model.tree;
    let mut paths = vec![None; tree.nodes.len()];
    let mut open: Vec<(usize, Vec<(&Test, bool)>)> = vec![(0, Vec::new())];
    while let Some((at, path)) = open.pop() {
        match &tree.nodes[at] {
            Node::Leaf(_) => paths[at] = Some(words(model, path)),
            Node::Split { test, left, right } => {
                for (child, is_left) in [(left, true), (right, false)] {
                    open.push((*child as usize, [&path[..], &[(test, is_left)]].concat()));
                }
            }
        }
    }
    paths.into_iter().flatten().collect()
}

fn words(model: &Model, path: Vec<(&Test, bool)>) -> String {
    let features = model.features.all().features();
    let clauses = Clause::all(path).into_iter();
    let words = clauses.map(|clause| {
        let missing = model.missing.contains(&clause.slot);
        clause.words(&features[clause.slot].name, missing, &model.categories[clause.slot], shown)
    });
    let words: Vec<String> = words.collect();
    if words.is_empty() { "it is so everywhere".to_owned() } else { words.join(", ") }
}
