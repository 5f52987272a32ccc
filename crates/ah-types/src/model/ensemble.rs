//! A model as flat arrays: run times execute them, generators print them, and judging calls them. They decide exactly as
//! [`Model::decide`].

use std::collections::HashMap;

use super::boosters::{Scoring, add_row};
use super::data::Model;
use crate::choice::ChoiceId;
use crate::pick::{Ranked, pick};
use crate::row::Row;
use crate::tree::{Column, Leaf, Node, RankedChoice, Tree, goes_left};
use crate::unsure::Unsure;

/// The trees of a model as arrays.
#[derive(Clone, Debug, PartialEq)]
pub struct Ensemble {
    /// The values that tests compare, sorted.
    pub columns: Vec<Column<String>>,
    /// The columns that boosters test, by their positions: each must have a value, whether a path tests it or not.
    pub required: Vec<usize>,
    /// The nodes of all trees in preorder, the model's own tree first.
    pub nodes: Vec<FlatNode>,
    /// The positions of the boosters' roots. The root of the model's own tree is the first node.
    pub boosters: Vec<usize>,
    /// By leaf of the model's own tree, in the order of the nodes: the ends of its choices in `choices`.
    pub ends: Vec<usize>,
    /// The choices of all leaves of the model's own tree, one leaf after the other.
    pub choices: Vec<Ranked>,
    /// By position in `choices`: true if a program is expected to offer the choice ([`RankedChoice::expected`]).
    pub expected: Vec<bool>,
    /// The distinct rows of the boosters, one after the other.
    pub rows: Vec<i8>,
    /// The length of a row: the model's number of choices, and one for the risk.
    pub row_length: usize,
    /// What makes scores of these numbers.
    pub scoring: Scoring,
}

/// A node of an [`Ensemble`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FlatNode {
    /// A value of at most the threshold goes to the next node, any other to `right`.
    Split {
        /// The position in [`Ensemble::columns`].
        column: u32,
        /// The threshold, finite.
        threshold: f64,
        /// The position of the right child.
        right: u32,
    },
    /// The number of a leaf of the model's own tree, or of a row.
    Leaf(u32),
}

/// What one input reaches in an ensemble.
#[derive(Clone, Debug, PartialEq)]
pub struct Reached<'e> {
    ensemble: &'e Ensemble,
    /// The number of the leaf, in the order of the nodes.
    pub leaf: usize,
    /// The sum of the rows; empty without boosters.
    pub sums: Vec<i32>,
}

impl Ensemble {
    /// Lays out the trees of a model.
    pub fn new(model: &Model) -> Self {
        let required = model.booster_columns();
        let mut columns: Vec<Column<&str>> = model.tree.tests().map(|test| test.column().0).collect();
        columns.extend(&required);
        columns.sort_unstable();
        columns.dedup();
        let position = |column: &Column<&str>| columns.partition_point(|other| other < column);
        let mut ensemble = Self {
            columns: columns
                .iter()
                .map(|c| Column { slot: c.slot, category: c.category.map(str::to_owned) })
                .collect(),
            required: required.iter().map(position).collect(),
            nodes: Vec::new(),
            boosters: Vec::new(),
            ends: Vec::new(),
            choices: Vec::new(),
            expected: Vec::new(),
            rows: Vec::new(),
            row_length: model.choices.len() + 1,
            scoring: model.scoring(),
        };
        let (mut numbers, mut nodes) = (HashMap::new(), Vec::new());
        append(&model.tree, &position, &mut nodes, |leaf: &Leaf| {
            ensemble.choices.extend(leaf.ranking.iter().map(RankedChoice::ranked));
            ensemble.expected.extend(leaf.ranking.iter().map(|ranked| ranked.expected));
            ensemble.ends.push(ensemble.choices.len());
            ensemble.ends.len() - 1
        });
        for tree in &model.boosters {
            ensemble.boosters.push(nodes.len());
            append(tree, &position, &mut nodes, |row| {
                let next = numbers.len();
                *numbers.entry(row).or_insert_with(|| {
                    ensemble.rows.extend(row);
                    next
                })
            });
        }
        Self { nodes, ..ensemble }
    }

    /// Returns what an input reaches, by the value of each column.
    ///
    /// # Errors
    /// The first error of `value`: first of the columns on the path through the model's own tree, then of all columns that
    /// boosters test.
    pub fn reach(&self, mut value: impl FnMut(usize) -> Result<f64, Unsure>) -> Result<Reached<'_>, Unsure> {
        let leaf = self.leaf(0, &mut value)?;
        let mut reached = Reached { ensemble: self, leaf, sums: Vec::new() };
        if !self.boosters.is_empty() {
            let mut values = vec![f64::NAN; self.columns.len()];
            self.required.iter().try_for_each(|&column| value(column).map(|x| values[column] = x))?;
            reached.sums.resize(self.row_length, 0);
            for &root in &self.boosters {
                let row = self.leaf(root, |column| Ok(values[column]))?;
                add_row(&mut reached.sums, &self.rows[row * self.row_length..][..self.row_length]);
            }
        }
        Ok(reached)
    }

    /// Returns what these values reach in the model that this ensemble was made of.
    ///
    /// # Errors
    /// The reason for declining.
    pub fn reach_row<R: Row + ?Sized>(&self, model: &Model, values: &R) -> Result<Reached<'_>, Unsure> {
        let logged = model.row(values);
        if model.precondition.as_ref().is_some_and(|p| p.typed.eval(&logged) != Some(true)) {
            return Err(Unsure::Precondition);
        }
        let row = model.features.row(&logged);
        self.reach(|column| self.columns[column].value(&row, |slot, category| model.knows(slot, category)))
    }

    /// Returns the number of the leaf below a root.
    fn leaf(
        &self,
        root: usize,
        mut value: impl FnMut(usize) -> Result<f64, Unsure>,
    ) -> Result<usize, Unsure> {
        let mut at = root;
        loop {
            match self.nodes[at] {
                FlatNode::Leaf(number) => return Ok(number as usize),
                FlatNode::Split { column, threshold, right } => {
                    at = if goes_left(value(column as usize)?, threshold) { at + 1 } else { right as usize };
                }
            }
        }
    }
}

/// Appends the nodes of a tree in preorder; `number` returns the number of a leaf.
fn append<'t, L>(
    tree: &'t Tree<L>,
    position: &impl Fn(&Column<&str>) -> usize,
    nodes: &mut Vec<FlatNode>,
    mut number: impl FnMut(&'t L) -> usize,
) {
    // Leaves are numbered in the order of the tree's own nodes.
    let numbers: Vec<Option<usize>> = tree
        .nodes
        .iter()
        .map(|node| match node {
            Node::Leaf(leaf) => Some(number(leaf)),
            Node::Split { .. } => None,
        })
        .collect();
    // A node, and the split whose right child it is.
    let mut open = vec![(0, None)];
    while let Some((at, right_of)) = open.pop() {
        let here = nodes.len();
        if let Some(FlatNode::Split { right, .. }) = right_of.and_then(|split: usize| nodes.get_mut(split)) {
            *right = here as u32;
        }
        match &tree.nodes[at] {
            Node::Leaf(_) => nodes.push(FlatNode::Leaf(numbers[at].unwrap_or_default() as u32)),
            Node::Split { test, left, right } => {
                let (column, threshold) = test.column();
                nodes.push(FlatNode::Split { column: position(&column) as u32, threshold, right: 0 });
                open.push((*right as usize, Some(here)));
                open.push((*left as usize, None));
            }
        }
    }
}

impl Reached<'_> {
    /// Returns the choices of the leaf with their scores, in the order of the leaf.
    pub fn ranked(&self) -> impl Iterator<Item = Ranked> + '_ {
        let choices = &self.ensemble.choices[self.range()];
        self.ensemble.scoring.ranked(choices.iter().copied(), &self.sums)
    }

    /// Returns the choices of the leaf, best first.
    pub fn ranking(&self) -> Vec<Ranked> {
        let mut ranking: Vec<Ranked> = self.ranked().collect();
        ranking.sort_by(|a, b| a.score.total_cmp(&b.score));
        ranking
    }

    /// Returns the choice to take among the offered ones.
    ///
    /// # Errors
    /// [`Unsure::NoneAllowed`] declines.
    pub fn pick(&self, offered: impl FnMut(ChoiceId) -> bool) -> Result<ChoiceId, Unsure> {
        pick(self.ranked(), self.ensemble.scoring.fallback, offered).ok_or(Unsure::NoneAllowed)
    }

    /// Returns true if a program is expected to offer the choice here.
    pub fn is_expected(&self, choice: ChoiceId) -> bool {
        let range = self.range();
        let at = self.ensemble.choices[range.clone()].iter().position(|ranked| ranked.choice == choice);
        Some(choice) == self.ensemble.scoring.fallback
            || at.is_some_and(|at| self.ensemble.expected[range.start + at])
    }

    fn range(&self) -> std::ops::Range<usize> {
        let start = self.leaf.checked_sub(1).map_or(0, |before| self.ensemble.ends[before]);
        start..self.ensemble.ends[self.leaf]
    }
}
