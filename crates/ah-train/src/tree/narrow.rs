//! Short sets of categories. A category that the splits above a node send elsewhere may be on either side of the node's own
//! split, so the set names only categories that reach the node, and those of the side with fewer.

use ah_model::{Column, Node, Tree, contains};
use rustc_hash::FxHashMap;

/// Shortens the sets that a tree tests. `known` has the categories by slot. No known category changes its leaf.
pub fn narrow<L>(tree: &mut Tree<L>, known: &[Vec<String>]) {
    // A node, and by slot the categories that reach it; without an entry all do.
    let mut open = vec![(0, FxHashMap::<usize, Vec<&String>>::default())];
    while let Some((at, reaching)) = open.pop() {
        let Some(Node::Split { test, right }) = tree.nodes.get_mut(at) else { continue };
        let mut sides = [reaching.clone(), reaching];
        if let Column { slot, categories: Some(categories) } = &mut test.column {
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
        open.extend([(at + 1, on_left), (*right as usize, on_right)]);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use ah_model::Test;

    /// A full tree of depth 3 over random sets of eight categories.
    fn tree() -> impl Strategy<Value = (Vec<String>, Tree<usize>)> {
        let known: Vec<String> = ('a'..='h').map(String::from).collect();
        let sets = prop::collection::vec(prop::sample::subsequence(known.clone(), 1..=8), 7);
        sets.prop_map(move |sets| {
            let split =
                |(set, right): (&Vec<String>, u32)| Node::Split { test: Test::is_in(0, &set[..]), right };
            // In each half a split, and two splits with two leaves each.
            let rights = [8, 5, 4, 7, 12, 11, 14];
            let mut nodes: Vec<Node<usize>> = sets.iter().zip(rights).map(split).collect();
            for (number, at) in [3, 4, 6, 7, 10, 11, 13, 14].into_iter().enumerate() {
                nodes.insert(at, Node::Leaf(number));
            }
            (known.clone(), Tree { nodes })
        })
    }

    fn leaf(tree: &Tree<usize>, category: &str) -> usize {
        let is_in = |set: &Arc<[String]>| f64::from(u8::from(contains(set, category)));
        *tree.path(|column| Ok(column.categories.as_ref().map_or(f64::NAN, is_in))).unwrap().0
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
                let inside = test.column.categories.as_ref().unwrap().len();
                inside.min(known.len() - inside)
            };
            for (before, after) in tree.tests().zip(short.tests()) {
                prop_assert!(shorter_side(after) <= shorter_side(before), "{:?} {:?}", before, after);
            }
        }
    }
}
