//! Boosted trees as arrays of numbers. All targets print the same numbers.

use std::collections::HashMap;

use ah_types::{BoostedNode, BoostedTrees, Model};

use super::columns::{Column, Tests, bits, boosted_columns};

/// Boosted trees as arrays of numbers.
pub struct BoostedTable {
    /// The columns that must be defined, by their positions.
    pub columns: Vec<usize>,
    /// The nodes of all trees in preorder, so that the left child is the next node. A split is the position of its test and,
    /// above it, the distance to the right child. A leaf is a split of [`never`](Tests::never) that goes right to itself,
    /// followed by the number of its row of scores: so code can go down all trees for equally many steps.
    pub nodes: Vec<u64>,
    /// The position of each tree's root.
    pub roots: Vec<usize>,
    /// The greatest number of splits on a path.
    pub depth: usize,
    /// The distinct rows of scores.
    pub rows: Vec<Vec<i8>>,
    /// What a score of 1 is worth.
    pub unit: f64,
    /// What a choice must save against the fallback to be allowed.
    pub margin: Option<f64>,
    /// What a caution of 1, the last score of a row, is worth; `None`: rows have none.
    pub caution_unit: Option<f64>,
}

impl BoostedTable {
    pub(super) fn new<'m>(model: &'m Model, boosted: &'m BoostedTrees, tests: &Tests<'m>) -> Self {
        let own: Vec<Column<'m>> = boosted_columns(boosted).collect();
        let mut table = Self {
            columns: own.iter().map(|column| tests.column(*column)).collect(),
            nodes: Vec::new(),
            roots: Vec::new(),
            depth: 0,
            rows: Vec::new(),
            unit: boosted.unit,
            margin: boosted.margin,
            caution_unit: boosted.caution_unit,
        };
        let length = boosted.row_length(model.choices.len());
        let test_bits = bits(tests.count());
        let mut found: HashMap<&[i8], usize> = HashMap::new();
        for tree in &boosted.trees {
            table.roots.push(table.nodes.len());
            // By node: its depth, and the split whose right child it is.
            let (mut depths, mut right_of) = (vec![0; tree.len()], vec![None; tree.len()]);
            for (at, node) in tree.iter().enumerate() {
                let here = table.nodes.len();
                table.depth = table.depth.max(depths[at]);
                if let Some(split) = right_of[at] {
                    table.nodes[split] |= ((here - split) as u64) << test_bits;
                }
                match *node {
                    BoostedNode::Leaf(row) => {
                        let row = &boosted.scores[row as usize * length..][..length];
                        let number = *found.entry(row).or_insert_with(|| {
                            table.rows.push(row.to_vec());
                            table.rows.len() - 1
                        });
                        table.nodes.extend([tests.never() as u64, number as u64]);
                    }
                    BoostedNode::Split { column, threshold, right } => {
                        let right = right as usize;
                        (depths[at + 1], depths[right]) = (depths[at] + 1, depths[at] + 1);
                        right_of[right] = Some(here);
                        table.nodes.push(tests.position(own[usize::from(column)], threshold) as u64);
                    }
                }
            }
        }
        table
    }
}
