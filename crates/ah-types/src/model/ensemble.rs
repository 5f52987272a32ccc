//! A model as flat arrays: run times execute them, generators print them, and judging calls them. They decide exactly as
//! [`Model::decide`].

use std::collections::{HashMap, VecDeque};

use super::boosters::Scoring;
use super::clear_choices::ClearChoices;
use super::data::Model;
use super::leaf_masks::{BLOCK, INLINE, LeafMasks, MOST_LEAVES, leaves_from_left};
use super::old_pick::{Ranked, pick, pick_sorted};
use super::row_sums::{ROWS_TOGETHER, Rows, Sums};
use super::threshold_search::ThresholdSearch;
use crate::choice::ChoiceId;
use crate::inline::Inline;
use crate::row::Row;
use crate::tree::{Column, Node, RankedChoice, Test, Tree, goes_left};
use crate::unsure::Unsure;

/// Trees that go down together: their steps overlap in the processor.
const TOGETHER: usize = 8;

/// The trees of a model as arrays.
///
/// Instead of comparing a value with each threshold on a path, a decision compares *codes*: the code of a value is the number of
/// thresholds of its column that are below it. A test `value > threshold` is then `code > rank`, where `rank` is the position of
/// the threshold among those of the column. Arrays in this layout decided an input of 18 choices, 26 columns and 24 boosters in
/// half the time of sorted thresholds and rows of bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Ensemble {
    /// The values that tests compare, sorted.
    pub columns: Vec<Column<Vec<String>>>,
    /// By column: its distinct thresholds.
    pub searches: Vec<ThresholdSearch>,
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
    /// By leaf: the ends of its choices in `defaults`.
    default_ends: Vec<usize>,
    /// The choices that a program which lists none is expected to offer: the expected ones, and the fallback.
    defaults: Vec<Ranked>,
    /// By leaf, without boosters: the pick among `defaults`.
    picks: Vec<Option<ChoiceId>>,
    /// The nodes in one number each, if their parts fit: from the lowest bit 8 bits for the column, 8 without a meaning, 16 for
    /// the rank and 32 for the left child.
    packed: Vec<u64>,
    /// The model's own tree, to go down by values.
    tree: Vec<ValueNode>,
    /// The boosters as bit masks, if they have few leaves. Else a decision goes down their nodes.
    pub masks: Option<LeafMasks>,
    /// With masks, by booster and leaf from left to right: the number of its row. Filled up to whole groups of boosters.
    leaf_rows: Vec<[u32; MOST_LEAVES]>,
    /// The distinct rows of the boosters.
    rows: Rows,
    /// Sums without a row.
    no_row: Sums,
    /// With boosters: what `defaults` are, by choice.
    clear: ClearChoices,
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

impl FlatNode {
    /// Returns the node as one number, if it fits.
    fn packed(self) -> Option<u64> {
        let (column, rank) = (u8::try_from(self.column).ok()?, u16::try_from(self.rank).ok()?);
        Some(u64::from(self.left) << 32 | u64::from(rank) << 16 | u64::from(column))
    }
}

/// Replaces roots of trees by the leaves that an input reaches; `child` returns the next node on its path. A few trees go down
/// together and stay where a leaf is, so the processor has nothing to guess.
#[inline]
fn descend(roots: &mut [u32], depth: usize, child: impl Fn(u32) -> u32) {
    let (groups, rest) = roots.as_chunks_mut::<TOGETHER>();
    for group in groups {
        let mut at = *group;
        for _ in 0..depth {
            at.iter_mut().for_each(|at| *at = child(*at));
        }
        *group = at;
    }
    for at in rest {
        for _ in 0..depth {
            *at = child(*at);
        }
    }
}

/// A node of the model's own tree.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ValueNode {
    threshold: f64,
    /// As in [`FlatNode`].
    column: u32,
    /// The position of the left child, which the right one follows. For a leaf, its number.
    left: u32,
}

/// What one input reaches in an ensemble.
#[derive(Clone, Copy, Debug)]
pub struct OldReached<'e> {
    ensemble: &'e Ensemble,
    /// The number of the leaf, in the order of the nodes.
    pub leaf: usize,
    /// The sums of the boosters' rows; empty without boosters.
    pub sums: &'e Sums,
}

impl Ensemble {
    /// Lays out the trees of a model.
    pub fn new(model: &Model) -> Self {
        let required = model.booster_columns();
        let tests =
            || model.tree.tests().chain(model.boosters.iter().flat_map(Tree::tests)).map(Test::column);
        let mut columns: Vec<Column<&[String]>> = tests().map(|(column, _)| column).collect();
        columns.sort_unstable();
        columns.dedup();
        let position = |column: &Column<&[String]>| columns.partition_point(|other| other < column);
        let mut thresholds = vec![Vec::new(); columns.len()];
        tests().for_each(|(column, threshold)| thresholds[position(&column)].push(threshold));
        for thresholds in &mut thresholds {
            thresholds.sort_unstable_by(f64::total_cmp);
            // -0 and 0 are one threshold.
            thresholds.dedup();
        }
        let row_length = model.choices.len() + 1;
        let (rows, numbers) =
            Rows::new(model.boosters.iter().flat_map(Tree::leaves).map(|(_, row)| row), row_length);
        let required: Vec<usize> = required.iter().map(position).collect();
        let mut ensemble = Self {
            columns: columns
                .iter()
                .map(|c| Column { slot: c.slot, categories: c.categories.map(<[String]>::to_vec) })
                .collect(),
            searches: thresholds.iter().map(|sorted| ThresholdSearch::new(sorted)).collect(),
            nodes: Vec::new(),
            roots: Vec::new(),
            depths: [model.tree.depth()].into_iter().chain(model.boosters.iter().map(Tree::depth)).collect(),
            ends: Vec::new(),
            choices: Vec::new(),
            expected: Vec::new(),
            default_ends: Vec::new(),
            defaults: Vec::new(),
            picks: Vec::new(),
            packed: Vec::new(),
            tree: Vec::new(),
            masks: LeafMasks::new(&model.boosters, position, &required, &thresholds),
            leaf_rows: Vec::new(),
            rows,
            no_row: Sums::new(0),
            clear: ClearChoices::new(model.choices.len()),
            row_length,
            scoring: model.scoring(),
            required,
        };
        for (_, leaf) in model.tree.leaves() {
            ensemble.choices.extend(leaf.ranking.iter().map(old));
            ensemble.expected.extend(leaf.ranking.iter().map(|ranked| ranked.expected));
            ensemble.ends.push(ensemble.choices.len());
            let first = ensemble.defaults.len();
            let is_default =
                |ranked: &&RankedChoice| ranked.expected || Some(ranked.choice) == model.fallback;
            ensemble.defaults.extend(leaf.ranking.iter().filter(is_default).map(old));
            ensemble.default_ends.push(ensemble.defaults.len());
            let defaults = &ensemble.defaults[first..];
            ensemble.picks.push(pick(defaults.iter().copied(), model.fallback, |_| true));
            if !model.boosters.is_empty() {
                ensemble.clear.append(defaults, &ensemble.scoring);
            }
        }
        if ensemble.masks.is_some() {
            let all_zero = [ensemble.rows.zero(); MOST_LEAVES];
            ensemble.leaf_rows = vec![all_zero; model.boosters.len().next_multiple_of(BLOCK)];
            for (numbers_of, tree) in ensemble.leaf_rows.iter_mut().zip(&model.boosters) {
                let found = leaves_from_left(tree).map(|row| numbers[&**row]);
                numbers_of.iter_mut().zip(found).for_each(|(to, number)| *to = number);
            }
        }
        let leaves: HashMap<usize, usize> =
            model.tree.leaves().enumerate().map(|(number, (at, _))| (at, number)).collect();
        ensemble.append(&model.tree, &position, &thresholds, |at, _| leaves[&at]);
        ensemble.tree = ensemble.value_nodes(&thresholds);
        for tree in &model.boosters {
            ensemble.append(tree, &position, &thresholds, |_, row| numbers[&**row] as usize);
        }
        ensemble.packed =
            ensemble.nodes.iter().map(|node| node.packed()).collect::<Option<_>>().unwrap_or_default();
        ensemble
    }

    /// Returns the nodes so far, those of the model's own tree, with their thresholds.
    fn value_nodes(&self, thresholds: &[Vec<f64>]) -> Vec<ValueNode> {
        let value_node = |node: &FlatNode| {
            let split = thresholds.get(node.column as usize);
            ValueNode {
                threshold: split.map_or(f64::INFINITY, |thresholds| thresholds[node.rank as usize]),
                column: node.column,
                left: if split.is_some() { node.left } else { node.rank },
            }
        };
        self.nodes.iter().map(value_node).collect()
    }

    /// Returns by choice whether nothing but the margin can keep it from being taken where it has the least score in this leaf.
    /// For models with boosters.
    pub fn clear_choices(&self, leaf: usize) -> &[bool] {
        self.clear.of(leaf)
    }

    /// Returns the row of this number.
    pub fn row(&self, number: usize) -> Vec<i8> {
        self.rows.row(number)
    }

    /// Appends the nodes of a tree, level by level; `number` returns the number of a leaf by its position and itself.
    fn append<L>(
        &mut self,
        tree: &Tree<L>,
        position: &impl Fn(&Column<&[String]>) -> usize,
        thresholds: &[Vec<f64>],
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
                    let rank = thresholds[column].partition_point(|other| *other < threshold);
                    FlatNode { column: column as u32, rank: rank as u32, left: left as u32 }
                }
            };
        }
    }

    /// Returns true if the model has boosters.
    pub fn has_boosters(&self) -> bool {
        self.roots.len() > 1
    }

    /// Returns sums to which no row is added.
    pub fn no_sums(&self) -> Sums {
        Sums::new(if self.has_boosters() { self.row_length } else { 0 })
    }

    /// Adds the boosters' rows for an input, by the values of all columns; `undefined` returns the value of a column that is NaN. It
    /// allocates nothing for up to 255 choices and 255 columns.
    ///
    /// # Errors
    /// The first error of `undefined` among all columns that boosters test.
    #[inline]
    pub fn add_rows(
        &self,
        sums: &mut Sums,
        values: &[f64],
        mut undefined: impl FnMut(usize) -> Result<f64, Unsure>,
    ) -> Result<(), Unsure> {
        // Of one length, so that a column is checked once.
        let searches = &self.searches[..values.len()];
        if let Some(masks) = &self.masks {
            let rows = self.leaf_rows.as_chunks::<BLOCK>().0;
            let code = |column: usize| searches[column].code_or(values[column], || undefined(column));
            return masks.for_each_block(code, |block, leaves| {
                let mut numbers = [0; BLOCK];
                for ((number, rows), leaf) in numbers.iter_mut().zip(&rows[block]).zip(leaves) {
                    *number = rows[leaf];
                }
                self.rows.add(sums, &numbers);
            });
        }
        let mut codes: Inline<u32, INLINE> = Inline::new(0, self.columns.len() + 1);
        for &column in &self.required {
            codes[column] = searches[column].code_or(values[column], || undefined(column))?;
        }
        let boosters = &self.roots[1..];
        let padded = boosters.len().next_multiple_of(ROWS_TOGETHER);
        let mut ends: Inline<u32, INLINE> = Inline::new(self.rows.zero(), padded);
        ends[..boosters.len()].copy_from_slice(boosters);
        self.descend_boosters(&mut ends[..boosters.len()], &codes);
        ends[..boosters.len()].iter_mut().for_each(|end| *end = self.nodes[*end as usize].rank);
        self.rows.add(sums, &ends);
        Ok(())
    }

    /// Replaces the roots of the boosters by the leaves that these codes reach.
    fn descend_boosters(&self, ends: &mut [u32], codes: &[u32]) {
        let depth = self.depths[1..].iter().copied().max().unwrap_or(0);
        if self.packed.is_empty() {
            let child = |at: u32| {
                let node = self.nodes[at as usize];
                node.left + u32::from(codes[node.column as usize] > node.rank)
            };
            descend(ends, depth, child);
        } else {
            // As large as the numbers that a column may have, so that no index is checked.
            let mut shifted = [0; 1 << u8::BITS];
            shifted.iter_mut().zip(codes).for_each(|(shifted, code)| *shifted = code << 16);
            let child = |at: u32| {
                let node = self.packed[at as usize];
                (node >> 32) as u32 + u32::from(shifted[usize::from(node as u8)] > node as u32)
            };
            descend(ends, depth, child);
        }
    }

    /// Returns what an input reaches by its leaf and the sums of its rows.
    pub fn reached<'e>(&'e self, leaf: usize, sums: &'e Sums) -> OldReached<'e> {
        OldReached { ensemble: self, leaf, sums }
    }

    /// Returns what an input reaches in a model without boosters by its leaf.
    pub fn reached_leaf(&self, leaf: usize) -> OldReached<'_> {
        OldReached { ensemble: self, leaf, sums: &self.no_row }
    }

    /// Returns the leaf that these values reach in the model that this ensemble was made of, and the sums of its rows.
    ///
    /// # Errors
    /// The reason for declining.
    pub fn reach_row<R: Row + ?Sized>(&self, model: &Model, values: &R) -> Result<(usize, Sums), Unsure> {
        let logged = model.row(values);
        if model.precondition.as_ref().is_some_and(|p| p.typed.truth(&logged) != Some(true)) {
            return Err(Unsure::Precondition);
        }
        let row = model.features.row(&logged);
        let value = |column: usize| model.column_value(&self.columns[column], &row);
        let (leaf, mut sums) = (self.leaf(value)?, self.no_sums());
        let mut values = vec![0.0; self.columns.len()];
        self.required.iter().try_for_each(|column| value(*column).map(|x| values[*column] = x))?;
        self.add_rows(&mut sums, &values, |column| Err(Unsure::Undefined(self.columns[column].slot)))?;
        Ok((leaf, sums))
    }

    /// Returns the choice of a leaf for a program that does not list its choices, where every choice can run and the model has
    /// no boosters.
    #[inline]
    pub fn pick_of_leaf(&self, leaf: usize) -> Option<ChoiceId> {
        self.picks[leaf]
    }

    /// Returns the threshold of a split of the model's own tree.
    pub fn threshold(&self, node: usize) -> f64 {
        self.tree[node].threshold
    }

    /// Returns the number of the leaf in the model's own tree. It asks only for the columns on the path.
    ///
    /// # Errors
    /// The first error of `value`.
    fn leaf(&self, mut value: impl FnMut(usize) -> Result<f64, Unsure>) -> Result<usize, Unsure> {
        let mut node = self.tree[0];
        while (node.column as usize) < self.columns.len() {
            let is_left = goes_left(value(node.column as usize)?, node.threshold);
            node = self.tree[node.left as usize + usize::from(!is_left)];
        }
        Ok(node.left as usize)
    }
}

impl OldReached<'_> {
    /// Returns the choices of the leaf with their scores, in the order of the leaf.
    pub fn ranked(&self) -> impl Iterator<Item = Ranked> + '_ {
        let choices = &self.ensemble.choices[self.range()];
        self.ensemble.scoring.ranked(choices.iter().copied(), self.sums)
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
        self.pick_among(&self.ensemble.choices[self.range()], offered)
    }

    /// Returns the choice for a program that does not list its choices: it is expected to offer the fallback and the
    /// [expected](RankedChoice::expected) choices, as far as they are `eligible`.
    ///
    /// # Errors
    /// [`Unsure::NoneAllowed`] declines.
    pub fn pick_expected(&self, mut eligible: impl FnMut(ChoiceId) -> bool) -> Result<ChoiceId, Unsure> {
        let Ensemble { defaults, default_ends, clear, scoring, .. } = self.ensemble;
        if !self.sums.is_empty()
            && let Some(choice) = clear.best(self.leaf, self.sums, scoring)
            && eligible(choice)
        {
            return Ok(choice);
        }
        let start = self.leaf.checked_sub(1).map_or(0, |before| default_ends[before]);
        self.pick_among(&defaults[start..default_ends[self.leaf]], eligible)
    }

    fn pick_among(&self, leaf: &[Ranked], offered: impl FnMut(ChoiceId) -> bool) -> Result<ChoiceId, Unsure> {
        let (scoring, leaf) = (self.ensemble.scoring, leaf.iter().copied());
        // The leaf of a single tree is in the order of its scores.
        let picked = if self.sums.is_empty() {
            pick_sorted(leaf, scoring.fallback, offered)
        } else {
            pick(scoring.ranked(leaf, self.sums), scoring.fallback, offered)
        };
        picked.ok_or(Unsure::NoneAllowed)
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

fn old(ranked: &RankedChoice) -> Ranked {
    Ranked { choice: ranked.choice, score: ranked.score, allowed: ranked.allowed }
}
