//! Boosters in `model.json`: one line a tree, and one line for every row.

use std::collections::HashMap;

use serde::Deserialize;

use super::boosters::{ScoreRow, ScoreTree};
use super::data::Model;
use super::tree_file::{joined, number, slot};
use crate::derived::Features;
use crate::tree::{Column, Node, Test, Tree};

/// The key `boosters`; empty without it.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BoostersFile {
    pub(super) unit: f64,
    pub(super) margin: Option<f64>,
    /// A feature; and for a set of categories these.
    columns: Vec<Vec<String>>,
    trees: Vec<Vec<NodeFile>>,
    rows: Vec<Box<[i8]>>,
}

/// A node: the number of a leaf's row, or a split's column, threshold and right child.
#[derive(Clone, Copy, Deserialize)]
#[serde(untagged, expecting = "expected a node: a row, or a column, a threshold and the right child")]
enum NodeFile {
    Leaf(usize),
    Split(usize, f64, u32),
}

impl BoostersFile {
    /// The trees with slots in the place of names.
    pub(super) fn resolve(&self, features: &Features) -> Result<Vec<ScoreTree>, String> {
        let column = |list: &Vec<String>| {
            let (name, set) =
                list.split_first().ok_or("expected a feature and categories, found an empty list")?;
            Ok(Column { slot: slot(features, name)?, categories: (!set.is_empty()).then(|| set.into()) })
        };
        let columns = self.columns.iter().map(column).collect::<Result<Vec<_>, String>>()?;
        let node = |(at, node): (usize, &NodeFile)| match *node {
            NodeFile::Leaf(row) => {
                let count = self.rows.len();
                let found = || format!("node {at}: expected a row below {count}, found {row}");
                self.rows.get(row).cloned().map(Node::Leaf).ok_or_else(found)
            }
            NodeFile::Split(column, threshold, right) => {
                let count = columns.len();
                let found = || format!("node {at}: expected a column below {count}, found {column}");
                let column = columns.get(column).cloned().ok_or_else(found)?;
                Ok(Node::Split { test: Test { column, threshold }, right })
            }
        };
        let tree = |(position, nodes): (usize, &Vec<NodeFile>)| {
            let nodes: Result<_, String> = nodes.iter().enumerate().map(node).collect();
            Ok(Tree { nodes: nodes.map_err(|problem| format!("booster {position}: {problem}"))? })
        };
        self.trees.iter().enumerate().map(tree).collect()
    }
}

/// The JSON text of a model's boosters.
pub(super) fn print(model: &Model) -> String {
    let columns = model.booster_columns();
    let column = |column: &&Column| {
        let feature = &model.features.all().features()[column.slot].name;
        let names: Vec<&String> =
            std::iter::once(feature).chain(column.categories.iter().flat_map(|set| set.iter())).collect();
        serde_json::json!(names).to_string()
    };
    let mut rows: Vec<&[i8]> = Vec::new();
    let mut numbers: HashMap<&[i8], usize> = HashMap::new();
    for (_, row) in model.boosters.iter().flat_map(Tree::leaves) {
        numbers.entry(row).or_insert_with(|| {
            rows.push(row);
            rows.len() - 1
        });
    }
    let node = |node: &Node<ScoreRow>| match node {
        Node::Leaf(row) => numbers[&**row].to_string(),
        Node::Split { test, right } => {
            let at = columns.partition_point(|other| **other < test.column);
            format!("[{at},{},{right}]", number(test.threshold))
        }
    };
    let lines = |lines: Vec<String>| {
        lines.iter().map(|line| format!("      [{line}]")).collect::<Vec<_>>().join(",\n")
    };
    let trees = lines(model.boosters.iter().map(|tree| joined(&tree.nodes, node)).collect());
    let rows = lines(rows.iter().map(|row| joined(row, i8::to_string)).collect());
    format!(
        "{{\n    \"unit\": {},\n    \"margin\": {},\n    \"columns\": [{}],\n    \"trees\": [\n{trees}\n    ],\n    \"rows\": \
         [\n{rows}\n    ]\n  }}",
        number(model.unit),
        model.margin.map_or("null".to_owned(), number),
        joined(&columns, column),
    )
}
