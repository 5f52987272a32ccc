//! Short sets of categories. A category that the splits above a node send elsewhere may be on either side of the node's own
//! split, so the set names only categories that reach the node, and those of the side with fewer.

use ah_types::{Node, Test, Tree, contains};
use rustc_hash::FxHashMap;

/// Shortens the sets that a tree tests. `known` has the categories by slot. No known category changes its leaf.
pub fn narrow<L>(tree: &mut Tree<L>, known: &[Vec<String>]) {
    // A node, and by slot the categories that reach it; without an entry all do.
    let mut open = vec![(0, FxHashMap::<usize, Vec<&String>>::default())];
    while let Some((at, reaching)) = open.pop() {
        let Some(Node::Split { test, left, right }) = tree.nodes.get_mut(at) else { continue };
        let mut sides = [reaching.clone(), reaching];
        if let Test::Categorical { slot, categories } = test {
            let [on_left, on_right] = &mut sides;
            let here = on_left.remove(slot).unwrap_or_else(|| known[*slot].iter().collect());
            let (inside, outside): (Vec<&String>, Vec<&String>) =
                here.into_iter().partition(|category| contains(categories, category));
            if !inside.is_empty() && !outside.is_empty() {
                *categories = match inside.len() <= outside.len() {
                    true => inside.iter().copied().cloned().collect(),
                    false => {
                        known[*slot].iter().filter(|c| outside.binary_search(c).is_err()).cloned().collect()
                    }
                };
            }
            on_left.insert(*slot, outside);
            on_right.insert(*slot, inside);
        }
        let [on_left, on_right] = sides;
        open.extend([(*left as usize, on_left), (*right as usize, on_right)]);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;

    /// A full tree of depth 3 over random sets of eight categories.
    fn tree() -> impl Strategy<Value = (Vec<String>, Tree<usize>)> {
        let known: Vec<String> = ('a'..='h').map(String::from).collect();
        let sets = prop::collection::vec(prop::sample::subsequence(known.clone(), 1..=8), 7);
        sets.prop_map(move |sets| {
            let split = |(at, categories): (usize, Vec<String>)| {
                let test = Test::Categorical { slot: 0, categories: categories.into() };
                Node::Split { test, left: 2 * at as u32 + 1, right: 2 * at as u32 + 2 }
            };
            let splits = sets.into_iter().enumerate().map(split);
            let nodes = splits.chain((7..15).map(Node::Leaf)).collect();
            (known.clone(), Tree { nodes })
        })
    }

    fn leaf(tree: &Tree<usize>, category: &str) -> usize {
        let is_in = |set: &Arc<[String]>| f64::from(u8::from(contains(set, category)));
        tree.leaf_index(|column| Ok(column.categories.map_or(f64::NAN, is_in))).unwrap()
    }

    proptest! {
        #[test]
        fn no_category_changes_its_leaf_and_no_set_has_a_shorter_form((known, tree) in tree()) {
            let mut short = tree.clone();
            narrow(&mut short, std::slice::from_ref(&known));
            for category in &known {
                prop_assert_eq!(leaf(&tree, category), leaf(&short, category));
            }
            let shorter_side = |test: &Test| {
                let (column, _) = test.column();
                let inside = column.categories.unwrap().len();
                inside.min(known.len() - inside)
            };
            for (before, after) in tree.tests().zip(short.tests()) {
                prop_assert!(shorter_side(after) <= shorter_side(before), "{:?} {:?}", before, after);
            }
        }
    }
}
