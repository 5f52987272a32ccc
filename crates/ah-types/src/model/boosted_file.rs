//! Boosted trees in `model.json`: one line a tree, and one line for every row of scores.

use serde::Deserialize;

use super::boosted::{
    BOOSTED_SCORES, BoostedColumn, BoostedNode, BoostedTrees, MARGIN_STEP, MAX_BOOSTED_TREES,
};
use super::data::{MAX_DEPTH, Model};
use super::tree_file::Names;
use super::tree_text::{joined, number, text};
use crate::feature::FeatureKind;
use crate::shown::quoted;
use crate::vote::UNMEASURED;

/// The key `boosted`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BoostedFile {
    unit: f64,
    margin: Option<f64>,
    caution_unit: Option<f64>,
    columns: Vec<ColumnFile>,
    trees: Vec<Vec<NodeFile>>,
    scores: Vec<Vec<i8>>,
}

/// A column: a feature, or a feature and one of its categories.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a column: a feature, or a feature and a category")]
enum ColumnFile {
    Number(String),
    Category(String, String),
}

/// A node: the row of a leaf's scores, or a split's column, threshold and right child.
#[derive(Clone, Copy, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a node: a row of scores, or a column, a threshold and the right child"
)]
enum NodeFile {
    Leaf(u32),
    Split(u16, f64, u32),
}

impl BoostedFile {
    /// Returns the trees with slots in the place of names. The scores are checked here, as their rows end with the file.
    pub(super) fn resolve(self, names: &Names<'_>, choices: usize) -> Result<BoostedTrees, String> {
        let column = |column: ColumnFile| {
            let (name, category) = match column {
                ColumnFile::Number(name) => (name, None),
                ColumnFile::Category(name, category) => (name, Some(category)),
            };
            Ok(BoostedColumn { slot: names.slot(&name)?, category })
        };
        let node = |node: NodeFile| match node {
            NodeFile::Leaf(row) => BoostedNode::Leaf(row),
            NodeFile::Split(column, threshold, right) => BoostedNode::Split { column, threshold, right },
        };
        let length = choices + usize::from(self.caution_unit.is_some());
        if let Some((row, scores)) = self.scores.iter().enumerate().find(|(_, scores)| scores.len() != length)
        {
            return Err(format!("row {row} of the scores: expected {length}, found {}", scores.len()));
        }
        Ok(BoostedTrees {
            columns: self.columns.into_iter().map(column).collect::<Result<_, String>>()?,
            trees: self.trees.into_iter().map(|tree| tree.into_iter().map(node).collect()).collect(),
            scores: self.scores.concat(),
            unit: self.unit,
            margin: self.margin,
            caution_unit: self.caution_unit,
        })
    }
}

/// Returns the JSON text of boosted trees.
pub(super) fn print(model: &Model, boosted: &BoostedTrees) -> String {
    let column = |column: &BoostedColumn| {
        let feature = text(&model.features.all().features()[column.slot].name);
        column.category.as_ref().map_or(feature.clone(), |category| format!("[{feature},{}]", text(category)))
    };
    let node = |node: &BoostedNode| match *node {
        BoostedNode::Leaf(row) => row.to_string(),
        BoostedNode::Split { column, threshold, right } => {
            format!("[{column},{},{right}]", number(threshold))
        }
    };
    let optional = |x: Option<f64>| x.map_or("null".to_owned(), number);
    let lines = |lines: Vec<String>| {
        lines.iter().map(|line| format!("      [{line}]")).collect::<Vec<_>>().join(",\n")
    };
    let trees = lines(boosted.trees.iter().map(|tree| joined(tree, node)).collect());
    let rows = boosted.scores.chunks_exact(boosted.row_length(model.choices.len()).max(1));
    let scores = lines(rows.map(|row| joined(row, i8::to_string)).collect());
    format!(
        "{{\n    \"unit\": {},\n    \"margin\": {},\n    \"caution_unit\": {},\n    \"columns\": [{}],\n    \"trees\": [\n{trees}\n    ],\n    \"scores\": \
         [\n{scores}\n    ]\n  }}",
        number(boosted.unit),
        optional(boosted.margin),
        optional(boosted.caution_unit),
        joined(&boosted.columns, column),
    )
}

/// Checks all references and numbers of boosted trees.
pub(super) fn validate(model: &Model, boosted: &BoostedTrees) -> Result<(), String> {
    let trees = model.trees.len();
    if trees != 1 {
        return Err(format!("expected one tree beside the boosted ones, found {trees}"));
    }
    for (unit, name) in [(Some(boosted.unit), "unit"), (boosted.caution_unit, "unit of the caution")] {
        if let Some(unit) = unit.filter(|&unit| !is_power_of_two(unit)) {
            return Err(format!("expected a power of two as the {name}, found {unit}"));
        }
    }
    let uneven = boosted.margin.filter(|margin| (margin / MARGIN_STEP).fract() != 0.0);
    if let (Some(margin), true) = (uneven, boosted.caution_unit.is_some()) {
        return Err(format!("expected a multiple of 2^-20 as the margin beside cautions, found {margin}"));
    }
    if let Some(score) = boosted.scores.iter().find(|score| !BOOSTED_SCORES.contains(score)) {
        let (least, most) = (BOOSTED_SCORES.start(), BOOSTED_SCORES.end());
        return Err(format!("expected scores from {least} to {most}, found {score}"));
    }
    let choices = model.choices.len();
    let length = boosted.row_length(choices);
    let of_choices = boosted.scores.chunks(length.max(1)).flat_map(|row| row.iter().take(choices));
    let most = of_choices.map(|score| f64::from(score.unsigned_abs())).fold(0.0, f64::max);
    let most = most * boosted.unit * boosted.trees.len() as f64;
    if most > UNMEASURED / 4.0 {
        return Err(format!("expected scores whose sums are at most {}, found {most}", UNMEASURED / 4.0));
    }
    if let Some(margin) = boosted.margin.filter(|margin| !margin.is_finite()) {
        return Err(format!("expected a finite margin, found {margin}"));
    }
    if !(1..=MAX_BOOSTED_TREES).contains(&boosted.trees.len()) {
        return Err(format!("expected 1 to {MAX_BOOSTED_TREES} trees, found {}", boosted.trees.len()));
    }
    if !boosted.columns.is_sorted_by(|a, b| a < b) {
        return Err("expected sorted, distinct columns".to_owned());
    }
    for column in &boosted.columns {
        let feature = model.features.all().features().get(column.slot);
        let feature = feature.ok_or_else(|| format!("no feature has slot {}", column.slot))?;
        let is_category = feature.kind == FeatureKind::Categorical;
        let is_known = column.category.as_ref().is_none_or(|category| model.knows(column.slot, category));
        if is_category != column.category.is_some() || !is_known {
            return Err(format!("expected a number, or a category of the feature {}", quoted(&feature.name)));
        }
    }
    if !boosted.scores.len().is_multiple_of(length) {
        return Err(format!("expected rows of {length} scores, found {} scores", boosted.scores.len()));
    }
    let rows = boosted.scores.len() / length;
    boosted.trees.iter().enumerate().try_for_each(|(position, tree)| {
        validate_tree(tree, boosted.columns.len(), rows)
            .map_err(|problem| format!("tree {position}: {problem}"))
    })
}

fn is_power_of_two(x: f64) -> bool {
    x > 0.0 && x.is_finite() && x.to_bits().trailing_zeros() >= 52
}

fn validate_tree(tree: &[BoostedNode], columns: usize, rows: usize) -> Result<(), String> {
    // The right children that are still to come with their depths, innermost last: in preorder, a leaf is followed by the
    // last of them.
    let mut open: Vec<(usize, usize)> = vec![(tree.len(), 0)];
    let mut depth = 0;
    for (at, node) in tree.iter().enumerate() {
        let problem = |problem: String| Err(format!("node {at}: {problem}"));
        match *node {
            BoostedNode::Leaf(row) if row as usize >= rows => {
                return problem(format!("expected a row below {rows}, found {row}"));
            }
            BoostedNode::Leaf(_) => {
                let Some((_, next_depth)) = open.pop().filter(|(next, _)| *next == at + 1) else {
                    return problem("expected the nodes in preorder".to_owned());
                };
                depth = next_depth;
            }
            BoostedNode::Split { column, .. } if usize::from(column) >= columns => {
                return problem(format!("expected a column below {columns}, found {column}"));
            }
            BoostedNode::Split { threshold, .. } if !threshold.is_finite() => {
                return problem(format!("expected a finite threshold, found {threshold}"));
            }
            BoostedNode::Split { right, .. } => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return problem(format!("expected a depth of at most {MAX_DEPTH}"));
                }
                open.push((right as usize, depth));
            }
        }
    }
    if open.is_empty() { Ok(()) } else { Err("expected the nodes in preorder".to_owned()) }
}
