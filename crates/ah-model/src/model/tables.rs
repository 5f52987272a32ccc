//! A model as the flat tables that [`ah_decide`] executes. They decide exactly as [`Model::decide`].

use std::cell::Cell;
use std::collections::HashMap;

use ah_decide::{
    BLOCK, Boosters, LANES, LEAF, Masks, Part, Ranked, Row as ScoreRow, Rule, Split, THRESHOLDS, fill_leaves,
    fill_masks, fill_thresholds,
};
use smallvec::SmallVec;

use super::boosters::ScoreTree;
use super::data::Model;
use crate::choice::ChoiceId;
use crate::derived::{FeatureRow, UNKNOWN};
use crate::expr::{Expr, Type};
use crate::row::Row;
use crate::tree::{Column, Node, Test, Tree, contains};
use crate::unsure::Unsure;

/// The tables of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Tables {
    /// The values that tests compare, sorted.
    pub columns: Vec<Column>,
    /// By column.
    values: Vec<ColumnValue>,
    /// The expressions of the derived features that tests compare, and what these share.
    expressions: Vec<Expr>,
    /// The model's own tree. Its leaves are numbered in the order of the model's nodes.
    pub nodes: Vec<ah_decide::Node>,
    /// By leaf: the number of its ranking.
    pub numbers: Vec<usize>,
    /// By ranking: the end of its choices in `rankings`.
    pub ends: Vec<usize>,
    /// The distinct rankings, one after the other; with boosters or a formula in the order of the choices.
    pub rankings: Vec<Ranked>,
    /// The same in parts, as many for each.
    parts: Vec<Part>,
    /// By leaf, without boosters: the pick among the expected choices if all are eligible.
    picks: Vec<Option<ChoiceId>>,
    /// The scores of choices, and which are allowed.
    pub rule: Rule,
    /// The boosters.
    pub boosters: BoosterTables,
}

/// The tables of [`Boosters`].
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs)] // The fields of `Boosters`, where they are documented.
pub struct BoosterTables {
    pub columns: Vec<(u16, u16)>,
    pub thresholds: Vec<f64>,
    /// The same in blocks.
    blocks: Vec<[f64; THRESHOLDS]>,
    /// All splits, sorted; the masks are made from them.
    pub splits: Vec<Split>,
    masks: Vec<Masks>,
    pub first_rows: Vec<u16>,
    pub rows: Vec<ScoreRow>,
}

/// Parts of a sum on the stack, for 128 choices. More cost an allocation.
const PARTS: usize = 8;

/// Columns of boosters, and features, that a decision keeps on the stack. More cost an allocation.
const ON_STACK: usize = 128;

/// Up to this many categories are compared one by one: most differ in their lengths already. pad_mm then takes 2,248 instead of 2,326
/// instructions.
const FEW_CATEGORIES: usize = 8;

/// Scratch of a decision.
#[derive(Debug, Default)]
pub struct Sums {
    /// The sums of the boosters' rows.
    rows: SmallVec<[[i16; LANES]; PARTS]>,
    /// What the formula adds to scores; empty without one.
    costs: SmallVec<[[f64; LANES]; PARTS]>,
}

/// What one input reaches in the tables.
#[derive(Clone, Copy, Debug)]
pub struct Reached<'t> {
    tables: &'t Tables,
    /// The number of the leaf, in the order of the model's nodes.
    pub leaf: usize,
    /// In parts: the sums of the boosters' rows, zeros without boosters; and what the formula adds.
    sums: &'t Sums,
}

impl Tables {
    /// Lays out the tables of a model, which must be [valid](Model::validate).
    pub fn new(model: &Model) -> Self {
        let columns = Model::columns(model.tests());
        let mut numbers = Vec::new();
        let mut ends = Vec::new();
        let mut rankings = Vec::new();
        let mut picks = Vec::new();
        let mut known = HashMap::new();
        let is_by_choice = model.is_by_choice();
        for (_, leaf) in model.tree.leaves() {
            let mut ranking: Vec<Ranked> = leaf.ranking.iter().map(|r| r.ranked(model.fallback)).collect();
            if is_by_choice {
                ranking.sort_by_key(|ranked| ranked.choice);
            }
            let key = ranking.iter().map(|r| (r.choice, r.score.to_bits(), r.allowed, r.expected));
            numbers.push(*known.entry(key.collect::<Vec<_>>()).or_insert_with(|| {
                rankings.extend(ranking);
                ends.push(rankings.len());
                ends.len() - 1
            }));
            picks.push(leaf.choose(model.fallback, |_| true).map(|ranked| ranked.choice));
        }
        let mut parts = vec![Part::NONE; ends.len() * model.choices.len().div_ceil(LANES)];
        fill_leaves(&mut parts, &rankings, &ends, is_by_choice);
        Self {
            values: columns.iter().map(|column| ColumnValue::new(model, column)).collect(),
            expressions: model.features.shared(&model.reads()),
            nodes: lay_out(&model.tree, &columns),
            boosters: BoosterTables::new(model, &columns),
            columns: columns.into_iter().cloned().collect(),
            numbers,
            ends,
            rankings,
            parts,
            picks,
            rule: model.rule(),
        }
    }

    /// The leaf and the rows that these values of the logged features reach in the model of the tables. It allocates nothing for
    /// up to 128 choices, columns of boosters and features.
    ///
    /// # Errors
    /// The reason for declining.
    pub fn reach<'t, R: Row + ?Sized>(
        &'t self,
        model: &Model,
        values: &R,
        sums: &'t mut Sums,
    ) -> Result<Reached<'t>, Unsure> {
        let logged = model.row(values);
        if model.precondition.as_ref().is_some_and(|p| !p.holds(&logged)) {
            return Err(Unsure::Precondition);
        }
        // Resized in place: a list that is made at once is moved, which takes longer than filling it.
        let mut numbers: SmallVec<[Cell<f64>; ON_STACK]> = SmallVec::new();
        numbers.resize(self.expressions.len(), Cell::new(UNKNOWN));
        let row = FeatureRow {
            features: &model.features,
            values: &logged,
            shared: &self.expressions,
            numbers: &numbers,
        };
        let value = |column: usize| self.values[column].of(model, &row);
        let unsure = |column: usize| {
            let column = &self.columns[column];
            model.column_value(column, &row).err().unwrap_or(Unsure::Undefined(column.slot))
        };
        let leaf = ah_decide::leaf(&self.nodes, value).map_err(unsure)?;
        let Sums { rows, costs } = &mut *sums;
        rows.clear();
        rows.resize(self.width(), [0; LANES]);
        costs.clear();
        if model.costs.is_some() {
            costs.resize(self.width(), [1.0; LANES]);
            let add = |choice: ChoiceId, score| costs.as_flattened_mut()[choice.index()] = score;
            model.cost_scores(&logged, add).map_err(Unsure::Undefined)?;
        }
        if !self.boosters.first_rows.is_empty() {
            let mut codes: SmallVec<[u16; ON_STACK]> = SmallVec::new();
            codes.resize(self.boosters.columns.len(), 0);
            self.boosters.borrow().add_rows(rows, &mut codes, value).map_err(unsure)?;
        }
        Ok(Reached { tables: self, leaf, sums })
    }

    /// The number of parts of a ranking.
    fn width(&self) -> usize {
        self.parts.len() / self.ends.len()
    }
}

/// How the value of a column is computed; NaN where it is undefined.
#[derive(Clone, Debug, PartialEq)]
enum ColumnValue {
    /// The number in this slot; `undefined` where it is NaN.
    Number { slot: usize, undefined: f64 },
    /// A truth value: the derived feature, and the values of `False` and `True`.
    Truth(usize, [f64; 2]),
    /// The feature in this slot, and for each of its known categories whether the column's set has it.
    Category(usize, Vec<bool>),
}

impl ColumnValue {
    fn new(model: &Model, column: &Column) -> Self {
        let slot = column.slot;
        let Some(set) = &column.categories else {
            let undefined = if model.missing.contains(&slot) { f64::NEG_INFINITY } else { f64::NAN };
            return Self::Number { slot, undefined };
        };
        let value = |category: &str| f64::from(contains(set, category));
        let derived = slot.checked_sub(model.features.base().len());
        match derived.filter(|at| model.features.derived()[*at].1.ty() == Type::Bool) {
            Some(at) => Self::Truth(
                at,
                ["False", "True"].map(|c| if model.knows(slot, c) { value(c) } else { f64::NAN }),
            ),
            None => {
                // Both are sorted.
                let mut rest = set.iter().peekable();
                let is_next = |category| rest.next_if_eq(&category).is_some();
                Self::Category(slot, model.categories[slot].iter().map(is_next).collect())
            }
        }
    }

    #[inline]
    fn of(&self, model: &Model, row: &FeatureRow<'_, impl Row + ?Sized>) -> f64 {
        match self {
            Self::Number { slot, undefined } => {
                let x = row.number(*slot);
                if x.is_nan() { *undefined } else { x }
            }
            Self::Truth(at, values) => {
                let truth = row.expression(*at).and_then(|expression| expression.truth(row));
                truth.map_or(f64::NAN, |truth| values[usize::from(truth)])
            }
            Self::Category(slot, known) => {
                let position = |name| match &*model.categories[*slot] {
                    few if few.len() <= FEW_CATEGORIES => few.iter().position(|known| known == name),
                    many => many.binary_search_by(|known| known.as_str().cmp(name)).ok(),
                };
                row.category(*slot).and_then(position).map_or(f64::NAN, |at| f64::from(known[at]))
            }
        }
    }
}

impl BoosterTables {
    /// Lays out the boosters of a model, by all its columns.
    fn new(model: &Model, columns: &[&Column]) -> Self {
        if model.boosters.is_empty() {
            return Self::default();
        }
        let mut by_column = vec![Vec::new(); columns.len()];
        let at = |test: &Test| columns.partition_point(|other| **other < test.column);
        for test in model.boosters.iter().flat_map(Tree::tests) {
            let of_column: &mut Vec<f64> = &mut by_column[at(test)];
            let place = of_column.partition_point(|other| *other < test.threshold);
            // -0 and 0 are one threshold.
            if of_column.get(place) != Some(&test.threshold) {
                of_column.insert(place, test.threshold);
            }
        }
        let mut all = Self::default();
        let parts = model.choices.len().div_ceil(LANES);
        // By column: the row of masks of the values that none of its thresholds is below.
        let mut first = vec![0; columns.len()];
        for (at, thresholds) in by_column.iter().enumerate().filter(|(_, of_column)| !of_column.is_empty()) {
            first[at] = all.thresholds.len() + all.columns.len();
            all.thresholds.extend_from_slice(thresholds);
            all.columns.push((at as u16, all.thresholds.len() as u16));
            all.blocks
                .resize(all.blocks.len() + thresholds.len() / THRESHOLDS + 1, [f64::INFINITY; THRESHOLDS]);
        }
        for (booster, tree) in model.boosters.iter().enumerate() {
            all.first_rows.push((all.rows.len() / parts) as u16);
            for row in from_left(tree, |test, start, end| {
                let column = at(test);
                let below = by_column[column].partition_point(|other| *other < test.threshold);
                let row = (first[column] + below + 1) as u16;
                all.splits.push(Split(row, booster as u16, start as u8, end as u8));
            }) {
                let number = |at: usize| *row.get(at).unwrap_or(&0);
                let part = |part: usize| ScoreRow(std::array::from_fn(|lane| number(part * LANES + lane)));
                all.rows.extend((0..parts).map(part));
            }
        }
        all.splits.sort_unstable();
        let rows = all.thresholds.len() + all.columns.len();
        all.masks = vec![Masks::ALL; model.boosters.len().div_ceil(BLOCK) * rows];
        fill_masks(&mut all.masks, &all.columns, &all.splits);
        fill_thresholds(&mut all.blocks, &all.columns, &all.thresholds);
        all
    }

    /// The tables as they are executed.
    #[inline]
    pub fn borrow(&self) -> Boosters<'_> {
        let Self { columns, blocks: thresholds, masks, first_rows, rows, .. } = self;
        Boosters { columns, thresholds, masks, first_rows, rows }
    }
}

impl Reached<'_> {
    /// The choices of the leaf, best first.
    pub fn ranking(&self) -> Vec<Ranked> {
        self.best_first(&mut self.scores()).collect()
    }

    /// The choice to take among the offered ones. The fallback always counts as offered.
    ///
    /// # Errors
    /// [`Unsure::NoneAllowed`] declines.
    pub fn pick(&self, offered: impl FnMut(ChoiceId) -> bool) -> Result<ChoiceId, Unsure> {
        self.pick_among(self.best_first(&mut self.scores()), offered)
    }

    /// The choice for a program that does not list its choices: it is expected to offer the fallback and the
    /// [expected](crate::RankedChoice::expected) choices, as far as they are `eligible`.
    ///
    /// # Errors
    /// [`Unsure::NoneAllowed`] declines.
    pub fn pick_expected(&self, mut eligible: impl FnMut(ChoiceId) -> bool) -> Result<ChoiceId, Unsure> {
        if self.tables.boosters.first_rows.is_empty()
            && self.sums.costs.is_empty()
            && let Some(pick) = self.tables.picks[self.leaf]
            && eligible(pick)
        {
            return Ok(pick);
        }
        self.pick_among(self.best_first(&mut self.scores()).filter(|ranked| ranked.expected), eligible)
    }

    /// Scratch for the scores.
    fn scores(&self) -> SmallVec<[[f64; LANES]; PARTS]> {
        SmallVec::from_elem([0.0; LANES], self.sums.rows.len())
    }

    fn best_first<'a>(&'a self, scores: &'a mut [[f64; LANES]]) -> impl Iterator<Item = Ranked> + 'a {
        let tables = self.tables;
        let width = self.sums.rows.len();
        let leaf = &tables.parts[tables.numbers[self.leaf] * width..][..width];
        tables.rule.best_first(leaf, &self.sums.rows, &self.sums.costs, scores)
    }

    fn pick_among(
        &self,
        ranking: impl Iterator<Item = Ranked>,
        mut offered: impl FnMut(ChoiceId) -> bool,
    ) -> Result<ChoiceId, Unsure> {
        let picked = ah_decide::pick(ranking, self.tables.rule.fallback, |choice| offered(ChoiceId(choice)));
        picked.map(ChoiceId).ok_or(Unsure::NoneAllowed)
    }
}

/// Lays the nodes of a tree out, so that the two children of a split are neighbours.
fn lay_out<L>(tree: &Tree<L>, columns: &[&Column]) -> Vec<ah_decide::Node> {
    let numbers: HashMap<usize, u32> = tree.leaves().map(|(at, _)| at).zip(0..).collect();
    let mut nodes = vec![ah_decide::Node(LEAF, 0.0, 0)];
    // A node of the tree, and its position here.
    let mut open = vec![(0, 0)];
    while let Some((at, here)) = open.pop() {
        nodes[here] = match &tree.nodes[at] {
            Node::Leaf(_) => ah_decide::Node(LEAF, 0.0, numbers[&at]),
            Node::Split { test, right } => {
                let below = nodes.len();
                nodes.extend([ah_decide::Node(LEAF, 0.0, 0); 2]);
                open.extend([(*right as usize, below + 1), (at + 1, below)]);
                let column = columns.partition_point(|other| **other < test.column);
                ah_decide::Node(column as u16, test.threshold, below as u32)
            }
        };
    }
    nodes
}

/// The rows of a booster's leaves from left to right, and calls `split` with each test, the first leaf on its left, and
/// the first one on its right.
fn from_left(tree: &ScoreTree, mut split: impl FnMut(&Test, usize, usize)) -> Vec<&[i8]> {
    let mut rows: Vec<&[i8]> = Vec::new();
    // A node, and the first leaf below it once its left side is done.
    let mut open = vec![(0, None)];
    while let Some((at, start)) = open.pop() {
        match (&tree.nodes[at], start) {
            (Node::Leaf(row), _) => rows.push(row),
            (Node::Split { .. }, None) => open.extend([(at, Some(rows.len())), (at + 1, None)]),
            (Node::Split { test, right }, Some(start)) => {
                split(test, start, rows.len());
                open.push((*right as usize, None));
            }
        }
    }
    rows
}
