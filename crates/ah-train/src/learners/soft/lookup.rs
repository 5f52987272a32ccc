//! A tree's splits for lookups alone, eight bytes a node. A teacher is asked millions of times; with the nodes of a
//! [`GrownTree`] its trees would not fit into the cache.

use crate::tree::GrownTree;
use crate::tree::grown::GrownNode;

/// The splits of a tree.
pub(super) struct Lookup(Vec<Node>);

/// Codes up to `limit` go to the node `left`, others to the one behind it. A leaf has 0, as the root is nobody's child.
#[derive(Clone, Copy)]
struct Node {
    left: u32,
    column: u16,
    limit: u16,
}

impl Lookup {
    /// Returns the splits of a tree; `kept` are the columns that grew it, by position.
    pub(super) fn new(tree: &GrownTree, kept: &[usize]) -> Self {
        let node = |node: &GrownNode| match &node.split {
            Some(s) => Node { left: s.left, column: kept[s.column as usize] as u16, limit: s.limit },
            None => Node { left: 0, column: 0, limit: 0 },
        };
        Self(tree.nodes.iter().map(node).collect())
    }

    /// Returns the number of nodes.
    pub(super) fn nodes(&self) -> usize {
        self.0.len()
    }

    /// Returns the nodes that a row with these codes passes, from the root to its leaf.
    pub(super) fn path(&self, codes: &[u16]) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(0), move |&at| {
            let Node { left, column, limit } = self.0[at];
            (left > 0).then(|| left as usize + usize::from(codes[usize::from(column)] > limit))
        })
    }

    /// Returns the leaf that a row with these codes reaches.
    pub(super) fn leaf(&self, codes: &[u16]) -> usize {
        self.path(codes).last().unwrap_or(0)
    }
}
