//! A tree's splits for walks alone, eight bytes a node. With the nodes of a [`GrownTree`], boosters would not fit into the
//! cache.

use super::grown::{GrownNode, GrownTree, walk};
use crate::data::Columns;

/// The splits of a tree.
#[derive(Clone, Debug)]
pub struct CompactTree(Vec<Node>);

/// Codes up to `limit` go to the node `left`, others to the one behind it. A leaf has 0, as the root is nobody's child.
#[derive(Clone, Copy, Debug)]
struct Node {
    left: u32,
    column: u16,
    limit: u16,
}

impl CompactTree {
    /// Returns the splits of a tree that grew from the columns at the positions `kept`, which may have merged codes.
    pub fn new(tree: &GrownTree, kept: &[usize], columns: &Columns) -> Self {
        let node = |node: &GrownNode| match &node.split {
            Some(s) => {
                let column = kept[s.column as usize];
                let limit = columns.all()[column].before_merging(s.limit);
                Node { left: s.left, column: column as u16, limit }
            }
            None => Node { left: 0, column: 0, limit: 0 },
        };
        Self(tree.nodes.iter().map(node).collect())
    }

    pub fn nodes(&self) -> usize {
        self.0.len()
    }

    /// Returns the column, the greatest code that goes left and the left child of a split; the right child is behind it.
    pub fn split(&self, node: usize) -> Option<(u16, u16, usize)> {
        let Node { left, column, limit } = self.0[node];
        (left > 0).then_some((column, limit, left as usize))
    }

    /// Returns the leaf that each row of codes reaches, for this number of columns.
    pub fn leaves(&self, codes: &[u16], columns: usize) -> Vec<usize> {
        codes.chunks_exact(columns).map(|codes| self.leaf(codes)).collect()
    }

    /// Returns the leaf that a row with these codes reaches.
    pub fn leaf(&self, codes: &[u16]) -> usize {
        let split = |node: usize| {
            let (column, limit, left) = self.split(node)?;
            Some((codes[usize::from(column)], limit, [left, left + 1]))
        };
        walk(0, split)
    }
}
