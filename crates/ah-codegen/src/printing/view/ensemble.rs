//! The view of an ensemble: arrays of numbers.

use ah_types::{LEAST_RISK, LeafMasks, MaskSplit, RISK_UNIT, ThresholdSearch};
use serde::Serialize;

use super::viewer::Viewer;
use crate::lower::{EnsembleArrays, Group};
use crate::printing::language::{Language, ValueKind};
use crate::printing::text::number;

/// An ensemble; lists of numbers are lines of code.
#[derive(Debug, Serialize)]
pub struct EnsembleView {
    columns: Vec<ColumnView>,
    /// A power of two above the number of columns.
    padded: usize,
    /// The positions of the columns that boosters test.
    required: Vec<usize>,
    /// The features of these columns.
    checks: Vec<CheckView>,
    count: usize,
    nodes: Vec<String>,
    groups: Vec<Group>,
    /// The number of trees, the model's own one included.
    trees: usize,
    /// The number of splits on the longest path of the model's own tree.
    own_depth: usize,
    /// By leaf: the position of its ranking.
    starts: Vec<String>,
    leaves: usize,
    entries: usize,
    rankings: Vec<String>,
    /// The bits of a number of `rankings`: 16 or 32.
    entry_width: u32,
    choice_bits: u32,
    choice_mask: u64,
    boosters: Option<BoostersView>,
}

/// The rows of the boosters.
#[derive(Debug, Serialize)]
pub struct BoostersView {
    /// The number of boosters.
    count: usize,
    /// By booster: the number of its first row.
    first_rows: Vec<usize>,
    /// The boosters as bit masks, if they have few leaves.
    masks: Option<MasksView>,
    rows: usize,
    /// The rows, several in a line of code, each as characters: `@` is 0, `A` is 1. None of them is `"` or `\`.
    lines: Vec<Vec<String>>,
    /// The length of a row.
    row: usize,
    /// The same, filled up to whole registers.
    padded: usize,
    /// The number of all characters.
    bytes: usize,
    /// With masks, the last row: it is all 0.
    zeros: String,
    /// The number of choices, rounded up to whole fours.
    width: usize,
    /// The characters that fill up a row.
    filler: String,
    /// The sum of `@` over all boosters.
    zero: usize,
    /// The distinct rows of first scores, by choice.
    scores: Vec<Vec<String>>,
    /// By leaf: the number of its row of scores.
    scores_of: Vec<String>,
    /// By leaf: the choices that are taken wherever they have the least score.
    clear: Vec<String>,
    /// The length of a leaf's part of `clear`.
    clear_words: usize,
    unit: String,
    margin: Option<String>,
    risk_unit: String,
    least_risk: String,
}

/// The boosters as bit masks.
#[derive(Debug, Serialize)]
struct MasksView {
    columns: Vec<MaskColumnView>,
    rows: usize,
    /// By group of four boosters: the number of each one's first row.
    groups: Vec<Vec<usize>>,
    count: usize,
    splits: Vec<String>,
}

/// A column, and the row of its code 0.
#[derive(Debug, Serialize)]
struct MaskColumnView {
    column: usize,
    first: usize,
}

#[derive(Debug, Serialize)]
struct ColumnView {
    slot: usize,
    /// The feature's identifier and kind.
    identifier: String,
    kind: ValueKind,
    logged: bool,
    /// True if training saw it missing.
    missing: bool,
    /// The literals of the categories for which the column is 1; empty for a number.
    categories: Vec<String>,
    /// The literals of the categories in the training data.
    seen: Vec<String>,
    /// The number of steps of a binary search among its thresholds, and 2 to the power of it.
    steps: u32,
    size: usize,
    /// The thresholds in the order of the binary search.
    search: Vec<String>,
    /// The thresholds in ascending order, and their number with the infinite ones behind them.
    thresholds: Vec<String>,
    length: usize,
    /// The buckets of the thresholds, as in [`ThresholdSearch`].
    buckets: usize,
    shift: u32,
    first: i64,
    window: usize,
}

/// A feature that must have a value.
#[derive(Debug, Serialize)]
struct CheckView {
    slot: usize,
    identifier: String,
    kind: ValueKind,
    logged: bool,
    /// True if training saw it missing.
    missing: bool,
    /// The condition for a category that is not in the training data.
    unknown: Option<String>,
}

impl<L: Language> Viewer<'_, L> {
    pub(super) fn ensemble(&self, arrays: &EnsembleArrays) -> EnsembleView {
        let threshold = |x: &f64| self.language.threshold(*x);
        let column = |(column, search): (&ah_types::Column<Vec<String>>, &ThresholdSearch)| ColumnView {
            slot: column.slot,
            identifier: self.identifier(column.slot),
            kind: ValueKind::of(self.lowered, column.slot),
            logged: self.lowered.derived_type(column.slot).is_none(),
            missing: self.lowered.is_missing(column.slot),
            categories: column.categories.iter().flatten().map(|category| self.literal(category)).collect(),
            seen: self.seen(column.slot),
            steps: steps(search.thresholds().len()),
            size: 1 << steps(search.thresholds().len()),
            search: lines(binary_search(search.thresholds()).iter().map(threshold)),
            thresholds: lines(search.thresholds().iter().map(threshold)),
            length: search.padded.len(),
            buckets: search.starts.len(),
            shift: search.shift,
            first: search.first,
            window: search.window,
        };
        let check = |slot: usize| CheckView {
            slot,
            identifier: self.identifier(slot),
            kind: ValueKind::of(self.lowered, slot),
            logged: self.lowered.derived_type(slot).is_none(),
            missing: self.lowered.is_missing(slot),
            unknown: self.unknown(slot),
        };
        let mut checked: Vec<usize> =
            arrays.flat.required.iter().map(|&column| arrays.flat.columns[column].slot).collect();
        checked.dedup();
        let greatest = arrays.rankings.iter().copied().max().unwrap_or(0);
        EnsembleView {
            columns: arrays.flat.columns.iter().zip(&arrays.flat.searches).map(column).collect(),
            // At least 2, since linters refuse to mask with 0.
            padded: (arrays.flat.columns.len() + 1).next_power_of_two().max(2),
            required: arrays.flat.required.clone(),
            checks: checked.into_iter().map(check).collect(),
            count: arrays.nodes.len(),
            nodes: lines(arrays.nodes.iter().map(u64::to_string)),
            groups: arrays.groups.clone(),
            trees: arrays.flat.roots.len(),
            own_depth: arrays.flat.depths[0],
            starts: lines(arrays.starts.iter().map(usize::to_string)),
            leaves: arrays.starts.len(),
            entries: arrays.rankings.len(),
            rankings: lines(arrays.rankings.iter().map(u64::to_string)),
            entry_width: if greatest >> 16 == 0 { 16 } else { 32 },
            choice_bits: arrays.choice_bits,
            choice_mask: (1 << arrays.choice_bits) - 1,
            boosters: self.boosters(arrays),
        }
    }

    fn boosters(&self, arrays: &EnsembleArrays) -> Option<BoostersView> {
        let model = self.lowered.model;
        // Numbers between -29 and 27.
        let character = |x: &i8| char::from(b'@'.wrapping_add_signed(*x));
        let rows = arrays.rows.chunks(arrays.flat.row_length);
        let rows: Vec<String> = rows.map(|row| row.iter().map(character).collect()).collect();
        let padded = arrays.flat.row_length.next_multiple_of(REGISTER);
        let in_line = (LINE / arrays.flat.row_length).max(1);
        let masks = arrays.flat.masks.as_ref().map(|masks| masks_view(masks, &arrays.first_rows, rows.len()));
        let scores = |row: &Vec<f64>| lines(row.iter().map(|score| self.language.threshold(*score)));
        (!model.boosters.is_empty()).then(|| BoostersView {
            count: model.boosters.len(),
            first_rows: arrays.first_rows.clone(),
            rows: rows.len(),
            lines: rows.chunks(in_line).map(<[String]>::to_vec).collect(),
            row: arrays.flat.row_length,
            padded,
            bytes: (rows.len() + usize::from(masks.is_some())) * padded,
            zeros: "@".repeat(padded),
            masks,
            width: model.choices.len().next_multiple_of(4),
            filler: "@".repeat(padded - arrays.flat.row_length),
            zero: model.boosters.len() * usize::from(b'@'),
            scores: arrays.score_rows.iter().map(scores).collect(),
            scores_of: lines(arrays.scores_of.iter().map(usize::to_string)),
            clear: lines(arrays.clear.iter().map(|bits| format!("{bits:#x}"))),
            clear_words: model.choices.len().div_ceil(64),
            unit: number(model.unit),
            margin: model.margin.map(number),
            risk_unit: number(RISK_UNIT),
            least_risk: number(LEAST_RISK),
        })
    }
}

/// Returns the view of the boosters' masks. The row behind all others is all 0.
fn masks_view(masks: &LeafMasks, first_rows: &[usize], rows: usize) -> MasksView {
    let column = |&(column, first): &(usize, usize)| MaskColumnView { column, first };
    let group = |group: &[usize]| (0..4).map(|i| group.get(i).copied().unwrap_or(rows)).collect();
    let split = |s: &MaskSplit| {
        (s.row as u64) << 32 | (s.booster as u64) << 16 | (s.end as u64) << 8 | s.start as u64
    };
    MasksView {
        columns: masks.columns.iter().map(column).collect(),
        rows: masks.rows,
        groups: first_rows.chunks(4).map(group).collect(),
        count: masks.splits.len(),
        splits: lines(masks.splits.iter().map(|s| split(s).to_string())),
    }
}

/// Returns the number of steps of a binary search among so many thresholds.
fn steps(thresholds: usize) -> u32 {
    usize::BITS - thresholds.leading_zeros()
}

/// Returns the thresholds in the order in which a binary search compares them (Eytzinger's): first the middle one, and behind the one
/// at `i` those at `2 i` and `2 i + 1`. The first one is not used, and infinite ones fill up.
fn binary_search(thresholds: &[f64]) -> Vec<f64> {
    let mut search = vec![0.0; 1 << steps(thresholds.len())];
    fill(&mut search, 1, &mut thresholds.iter().copied().chain(std::iter::repeat(f64::INFINITY)));
    search
}

/// Puts sorted numbers in the order of a binary search below the position `at`.
fn fill(search: &mut [f64], at: usize, sorted: &mut impl Iterator<Item = f64>) {
    if at < search.len() {
        fill(search, 2 * at, sorted);
        search[at] = sorted.next().unwrap_or(f64::INFINITY);
        fill(search, 2 * at + 1, sorted);
    }
}

/// Bytes in a register of any x86-64 or Arm processor.
const REGISTER: usize = 16;

/// The most characters of a line of numbers.
const LINE: usize = 116;

/// Returns lines of numbers, each followed by a comma.
fn lines(numbers: impl Iterator<Item = String>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for number in numbers {
        match lines.last_mut() {
            Some(line) if line.len() + number.len() + 2 <= LINE => {
                line.push(' ');
                line.push_str(&number);
                line.push(',');
            }
            _ => lines.push(number + ","),
        }
    }
    lines
}
