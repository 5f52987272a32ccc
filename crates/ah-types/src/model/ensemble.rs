//! A model as flat arrays: run times execute them, generators print them, and judging calls them. They decide exactly as
//! [`Model::decide`].

use std::collections::{HashMap, VecDeque};

use super::boosters::{Scoring, add_row};
use super::data::Model;
use crate::choice::ChoiceId;
use crate::inline::Inline;
use crate::pick::{Ranked, pick};
use crate::row::Row;
use crate::tree::{Column, Node, RankedChoice, Test, Tree, goes_left};
use crate::unsure::Unsure;

/// Numbers of a row, or columns, that a decision keeps on the stack. More cost an allocation.
const INLINE: usize = 256;

/// Trees that go down together: their steps overlap in the processor.
const TOGETHER: usize = 8;

/// The trees of a model as arrays.
///
/// Instead of comparing a value with each threshold on a path, a decision compares *codes*: the code of a value is the number of
/// thresholds of its column that are below it. A test `value > threshold` is then `code > rank`, where `rank` is the position of
/// the threshold among those of the column.
#[derive(Clone, Debug, PartialEq)]
pub struct Ensemble {
    /// The values that tests compare, sorted.
    pub columns: Vec<Column<String>>,
    /// By column: its distinct thresholds, sorted.
    pub thresholds: Vec<Vec<f64>>,
    /// The columns that boosters test, by their positions: each must have a value, whether a path tests it or not.
    pub required: Vec<usize>,
    /// The nodes of all trees. The two children of a split are neighbours.
    pub nodes: Vec<FlatNode>,
    /// The positions of the roots: that of the model's own tree, then those of the boosters.
    pub roots: Vec<u32>,
    /// By tree: the number of splits on its longest path.
    pub depths: Vec<usize>,
    /// By leaf of the model's own tree, in the order of its nodes: the ends of its choices in `choices`.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlatNode {
    /// The position in [`Ensemble::columns`]; behind them for a leaf. The code there is 0, so a leaf goes left.
    pub column: u32,
    /// The position of the threshold in [`Ensemble::thresholds`] of the column. For a leaf, the number of a leaf of the model's own
    /// tree, or of a row.
    pub rank: u32,
    /// The position of the left child, which the right one follows. A leaf has its own position.
    pub left: u32,
}

/// What one input reaches in an ensemble.
#[derive(Clone, Debug)]
pub struct Reached<'e> {
    ensemble: &'e Ensemble,
    /// The number of the leaf, in the order of the nodes.
    pub leaf: usize,
    sums: Inline<i32, INLINE>,
}

impl Ensemble {
    /// Lays out the trees of a model.
    pub fn new(model: &Model) -> Self {
        let required = model.booster_columns();
        let tests =
            || model.tree.tests().chain(model.boosters.iter().flat_map(Tree::tests)).map(Test::column);
        let mut columns: Vec<Column<&str>> = tests().map(|(column, _)| column).collect();
        columns.sort_unstable();
        columns.dedup();
        let position = |column: &Column<&str>| columns.partition_point(|other| other < column);
        let mut thresholds = vec![Vec::new(); columns.len()];
        tests().for_each(|(column, threshold)| thresholds[position(&column)].push(threshold));
        for thresholds in &mut thresholds {
            thresholds.sort_unstable_by(f64::total_cmp);
            // -0 and 0 are one threshold.
            thresholds.dedup();
        }
        let mut ensemble = Self {
            columns: columns
                .iter()
                .map(|c| Column { slot: c.slot, category: c.category.map(str::to_owned) })
                .collect(),
            required: required.iter().map(position).collect(),
            thresholds,
            nodes: Vec::new(),
            roots: Vec::new(),
            depths: [model.tree.depth()].into_iter().chain(model.boosters.iter().map(Tree::depth)).collect(),
            ends: Vec::new(),
            choices: Vec::new(),
            expected: Vec::new(),
            rows: Vec::new(),
            row_length: model.choices.len() + 1,
            scoring: model.scoring(),
        };
        for (_, leaf) in model.tree.leaves() {
            ensemble.choices.extend(leaf.ranking.iter().map(RankedChoice::ranked));
            ensemble.expected.extend(leaf.ranking.iter().map(|ranked| ranked.expected));
            ensemble.ends.push(ensemble.choices.len());
        }
        let mut numbers = HashMap::new();
        for (_, row) in model.boosters.iter().flat_map(Tree::leaves) {
            let next = numbers.len();
            numbers.entry(row).or_insert_with(|| {
                ensemble.rows.extend(row);
                next
            });
        }
        let leaves: HashMap<usize, usize> =
            model.tree.leaves().enumerate().map(|(number, (at, _))| (at, number)).collect();
        ensemble.append(&model.tree, &position, |at, _| leaves[&at]);
        model.boosters.iter().for_each(|tree| ensemble.append(tree, &position, |_, row| numbers[row]));
        ensemble
    }

    /// Appends the nodes of a tree, level by level; `number` returns the number of a leaf by its position and itself.
    fn append<L>(
        &mut self,
        tree: &Tree<L>,
        position: &impl Fn(&Column<&str>) -> usize,
        number: impl Fn(usize, &L) -> usize,
    ) {
        self.roots.push(self.nodes.len() as u32);
        let none = FlatNode { column: 0, rank: 0, left: 0 };
        self.nodes.push(none);
        // A node of the tree, and its position here.
        let mut open = VecDeque::from([(0, self.nodes.len() - 1)]);
        while let Some((at, here)) = open.pop_front() {
            let left = self.nodes.len();
            self.nodes[here] = match &tree.nodes[at] {
                Node::Leaf(leaf) => FlatNode {
                    column: self.columns.len() as u32,
                    rank: number(at, leaf) as u32,
                    left: here as u32,
                },
                Node::Split { test, left: below, right } => {
                    open.extend([(*below as usize, left), (*right as usize, left + 1)]);
                    self.nodes.extend([none; 2]);
                    let (column, threshold) = test.column();
                    let column = position(&column);
                    let rank = self.code(column, threshold);
                    FlatNode { column: column as u32, rank, left: left as u32 }
                }
            };
        }
    }

    /// Returns the number of thresholds of this column that are below a value.
    #[inline]
    fn code(&self, column: usize, value: f64) -> u32 {
        self.thresholds[column].partition_point(|threshold| !goes_left(value, *threshold)) as u32
    }

    /// Returns what an input reaches, by the value of each column. It allocates nothing for up to 255 choices and 255 columns.
    ///
    /// # Errors
    /// The first error of `value`: first of the columns on the path through the model's own tree, then of all columns that
    /// boosters test.
    pub fn reach(&self, mut value: impl FnMut(usize) -> Result<f64, Unsure>) -> Result<Reached<'_>, Unsure> {
        let leaf = self.leaf(&mut value)?;
        let [_, boosters @ ..] = &self.roots[..] else { return Err(Unsure::NoneAllowed) };
        if boosters.is_empty() {
            return Ok(Reached { ensemble: self, leaf, sums: Inline::new(0, 0) });
        }
        let mut codes: Inline<u32, INLINE> = Inline::new(0, self.columns.len() + 1);
        for &column in &self.required {
            codes[column] = self.code(column, value(column)?);
        }
        let mut sums = Inline::new(0, self.row_length);
        let depth = self.depths[1..].iter().copied().max().unwrap_or(0);
        let (groups, rest) = boosters.as_chunks::<TOGETHER>();
        groups.iter().for_each(|roots| self.add_rows(*roots, depth, &codes, &mut sums));
        rest.iter().for_each(|root| self.add_rows([*root], depth, &codes, &mut sums));
        Ok(Reached { ensemble: self, leaf, sums })
    }

    /// Adds the rows that these codes reach below some roots. The trees go down together and stay where a leaf is, so the
    /// processor has nothing to guess.
    fn add_rows<const N: usize>(&self, mut at: [u32; N], depth: usize, codes: &[u32], sums: &mut [i32]) {
        for _ in 0..depth {
            for at in &mut at {
                let node = self.nodes[*at as usize];
                *at = node.left + u32::from(codes[node.column as usize] > node.rank);
            }
        }
        for at in at {
            let row = self.nodes[at as usize].rank as usize * self.row_length;
            add_row(sums, &self.rows[row..row + self.row_length]);
        }
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
        self.reach(|column| model.column_value(&self.columns[column], &row))
    }

    /// Returns the number of the leaf in the model's own tree. It asks only for the columns on the path.
    fn leaf(&self, mut value: impl FnMut(usize) -> Result<f64, Unsure>) -> Result<usize, Unsure> {
        let mut node = self.nodes[0];
        while let Some(thresholds) = self.thresholds.get(node.column as usize) {
            let is_left = goes_left(value(node.column as usize)?, thresholds[node.rank as usize]);
            node = self.nodes[node.left as usize + usize::from(!is_left)];
        }
        Ok(node.rank as usize)
    }
}

impl Reached<'_> {
    /// Returns the sums of the boosters' rows; empty without boosters.
    pub fn sums(&self) -> &[i32] {
        &self.sums
    }

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

    /// Returns the choice for a program that does not list its choices: it is expected to offer the fallback and the
    /// [expected](RankedChoice::expected) choices, as far as they are `eligible`.
    ///
    /// # Errors
    /// [`Unsure::NoneAllowed`] declines.
    pub fn pick_expected(&self, eligible: impl FnMut(ChoiceId) -> bool) -> Result<ChoiceId, Unsure> {
        let Scoring { fallback, .. } = self.ensemble.scoring;
        let expected = self.ranked().zip(&self.ensemble.expected[self.range()]);
        let expected = expected.filter(|(ranked, expected)| **expected || Some(ranked.choice) == fallback);
        pick(expected.map(|(ranked, _)| ranked), fallback, eligible).ok_or(Unsure::NoneAllowed)
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
