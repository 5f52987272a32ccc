//! A tree while it is learned: splits over column codes, leaves without content.

use ah_joint::growth;
use ah_types::Test;

use crate::data::{Columns, FitRows};

/// A binary tree in one `Vec`: the root comes first, children come behind their parent.
#[derive(Clone, Debug, PartialEq)]
pub struct GrownTree {
    /// The nodes.
    pub nodes: Vec<GrownNode>,
}

/// A node. A node without a split is a leaf.
#[derive(Clone, Debug, PartialEq)]
pub struct GrownNode {
    /// The parent; the root is its own.
    pub parent: u32,
    /// The number of splits above it.
    pub depth: u32,
    pub split: Option<Split>,
}

/// `code <= limit` goes left.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// The column's position.
    pub column: u32,
    /// The greatest code that goes left.
    pub limit: u16,
    /// The same split over values.
    pub test: Test,
    /// The left child.
    pub left: u32,
    /// The right child.
    pub right: u32,
}

impl GrownTree {
    /// Returns a tree of one leaf.
    pub fn leaf() -> Self {
        Self { nodes: vec![GrownNode { parent: 0, depth: 0, split: None }] }
    }

    /// Returns the tree with these splits over columns, in preorder.
    pub fn of_splits(splits: &growth::Tree, columns: &Columns) -> Self {
        let mut tree = Self::leaf();
        let mut todo = vec![(0, 0)];
        while let Some((from, to)) = todo.pop() {
            let node = splits.nodes[from];
            if node.left > 0 {
                let (limit, test) = columns.all()[node.column as usize].test(node.limit, node.next);
                let (left, right) = tree.split(to, node.column, limit, test);
                todo.extend([(node.left as usize + 1, right), (node.left as usize, left)]);
            }
        }
        tree
    }

    /// Splits the leaf `node` and returns (left, right).
    pub fn split(&mut self, node: u32, column: u32, limit: u16, test: Test) -> (u32, u32) {
        let left = self.nodes.len() as u32;
        let depth = self.nodes[node as usize].depth + 1;
        self.nodes[node as usize].split = Some(Split { column, limit, test, left, right: left + 1 });
        let child = GrownNode { parent: node, depth, split: None };
        self.nodes.extend([child.clone(), child]);
        (left, left + 1)
    }

    /// Adds each node's values to its parent's, from the leaves up. `values` holds `width` values a node.
    pub fn add_up<T>(&self, values: &mut [T], width: usize, add: impl Fn(&mut T, &T)) {
        // Children come behind their parents, so one pass from the back is enough.
        for node in (1..self.nodes.len()).rev() {
            let parent = self.nodes[node].parent as usize;
            let (head, tail) = values.split_at_mut(node * width);
            for (up, down) in head[parent * width..].iter_mut().zip(&tail[..width]) {
                add(up, down);
            }
        }
    }

    /// Returns the inputs that reach each node, in the order of the rows. A node that fewer than `least` reach has those
    /// of the nearest node above with at least `least`.
    pub fn members(&self, rows: &FitRows<'_>, least: usize) -> Vec<Vec<u32>> {
        let mut members = vec![Vec::new(); self.nodes.len()];
        let mut inherited = vec![false; self.nodes.len()];
        members[0] = rows.inputs.to_vec();
        // Children come behind their parents.
        for (id, node) in self.nodes.iter().enumerate() {
            let Some(split) = &node.split else { continue };
            let codes = rows.columns.all()[split.column as usize].codes();
            let goes_left = |input: &u32| codes[*input as usize] <= split.limit;
            for (child, is_left) in [(split.left as usize, true), (split.right as usize, false)] {
                let is_here = |input: &&u32| goes_left(input) == is_left;
                let own = |members: &Vec<u32>| members.iter().filter(is_here).copied().collect::<Vec<u32>>();
                let own = if inherited[id] { Vec::new() } else { own(&members[id]) };
                inherited[child] = own.len() < least;
                members[child] = if inherited[child] { members[id].clone() } else { own };
            }
        }
        members
    }

    /// Returns the leaf that an input reaches.
    pub fn leaf_of(&self, columns: &Columns, input: u32) -> u32 {
        let mut node = 0;
        while let Some(split) = &self.nodes[node as usize].split {
            let code = columns.all()[split.column as usize].codes()[input as usize];
            node = if code <= split.limit { split.left } else { split.right };
        }
        node
    }

    /// Returns the number of leaves.
    pub fn leaves(&self) -> usize {
        self.nodes.iter().filter(|n| n.split.is_none()).count()
    }

    /// Returns the number of splits on the longest path.
    pub fn depth(&self) -> usize {
        self.nodes.iter().map(|n| n.depth as usize).max().unwrap_or(0)
    }

    /// Returns the tree with only the splits where `keep` is true of id and node, from the root down, in preorder, and the old id
    /// of each of its nodes.
    pub fn part(&self, keep: impl Fn(u32, &GrownNode) -> bool) -> (Self, Vec<u32>) {
        let (mut tree, mut old_ids) = (Self::leaf(), vec![0]);
        let mut todo = vec![(0_u32, 0_u32)];
        while let Some((old, new)) = todo.pop() {
            let node = &self.nodes[old as usize];
            if let Some(split) = node.split.as_ref().filter(|_| keep(old, node)) {
                let (left, right) = tree.split(new, split.column, split.limit, split.test.clone());
                old_ids.extend([split.left, split.right]);
                todo.extend([(split.right, right), (split.left, left)]);
            }
        }
        (tree, old_ids)
    }
}
