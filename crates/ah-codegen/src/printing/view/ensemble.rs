//! The view of an ensemble: arrays of numbers.

use ah_types::{LEAST_RISK, RISK_UNIT, ThresholdSearch};
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
    groups: Vec<GroupView>,
    /// The number of trees, the model's own one included.
    trees: usize,
    /// By leaf: the position of its ranking.
    starts: Vec<String>,
    leaves: usize,
    entries: usize,
    rankings: Vec<String>,
    /// The bits of a number of `rankings`: 16 or 32.
    entry_width: u32,
    choice_bits: u32,
    choice_mask: u64,
    /// The score of each choice in `rankings`.
    scores: Vec<String>,
    boosters: Option<BoostersView>,
}

/// The rows of the boosters.
#[derive(Debug, Serialize)]
pub struct BoostersView {
    /// The number of boosters.
    count: usize,
    /// By booster: the number of its first row.
    first_rows: Vec<usize>,
    rows: usize,
    /// The number of their characters, the filler's included.
    bytes: usize,
    /// The rows, several in a line of code, each as characters: `@` is 0, `A` is 1. None of them is `"` or `\`.
    lines: Vec<Vec<String>>,
    /// The length of a row.
    row: usize,
    /// The same, filled up to whole registers.
    padded: usize,
    /// The characters that fill up the last row.
    filler: String,
    /// The sum of `@` over all boosters.
    zero: usize,
    unit: String,
    margin: Option<String>,
    risk_unit: String,
    least_risk: String,
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
    /// The number of steps of the search among its thresholds, and 2 to the power of it.
    steps: u32,
    size: usize,
    /// The thresholds in the order of the search.
    thresholds: Vec<String>,
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

#[derive(Debug, Serialize)]
struct GroupView {
    /// The number of trees before these.
    start: usize,
    end: usize,
    roots: Vec<u32>,
    /// By booster among these: the number of its first row.
    first_rows: Vec<usize>,
    depth: usize,
}

impl<L: Language> Viewer<'_, L> {
    pub(super) fn ensemble(&self, arrays: &EnsembleArrays) -> EnsembleView {
        let column = |(column, search): (&ah_types::Column<Vec<String>>, &ThresholdSearch)| ColumnView {
            slot: column.slot,
            identifier: self.identifier(column.slot),
            kind: ValueKind::of(self.lowered, column.slot),
            logged: self.lowered.derived_type(column.slot).is_none(),
            missing: self.lowered.is_missing(column.slot),
            categories: column.categories.iter().flatten().map(|category| self.literal(category)).collect(),
            seen: self.seen(column.slot),
            steps: search.steps,
            size: search.thresholds.len(),
            thresholds: lines(search.thresholds.iter().map(|x| self.language.threshold(*x))),
        };
        let mut end = 0;
        let group = |Group { roots, depth }: &Group| {
            let start = end;
            end += roots.len();
            // The model's own tree, which comes first, has no rows.
            let boosters = arrays.first_rows.get(start.saturating_sub(1)..end - 1).unwrap_or_default();
            GroupView { start, end, roots: roots.clone(), first_rows: boosters.to_vec(), depth: *depth }
        };
        let groups = arrays.groups.iter().map(group).collect();
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
            groups,
            trees: end,
            starts: lines(arrays.starts.iter().map(usize::to_string)),
            leaves: arrays.starts.len(),
            entries: arrays.rankings.len(),
            rankings: lines(arrays.rankings.iter().map(u64::to_string)),
            entry_width: if greatest >> 16 == 0 { 16 } else { 32 },
            choice_bits: arrays.choice_bits,
            choice_mask: (1 << arrays.choice_bits) - 1,
            scores: lines(arrays.scores.iter().map(|score| number(*score))),
            boosters: self.boosters(arrays),
        }
    }

    fn boosters(&self, arrays: &EnsembleArrays) -> Option<BoostersView> {
        let model = self.lowered.model;
        // Numbers between -29 and 27.
        let character = |x: &i16| char::from(b'@'.wrapping_add_signed(*x as i8));
        let rows = arrays.rows.chunks(arrays.flat.row_length);
        let rows: Vec<String> = rows.map(|row| row.iter().map(character).collect()).collect();
        let padded = arrays.flat.row_length.next_multiple_of(REGISTER);
        let in_line = (LINE / arrays.flat.row_length).max(1);
        (!model.boosters.is_empty()).then(|| BoostersView {
            count: model.boosters.len(),
            first_rows: arrays.first_rows.clone(),
            rows: rows.len(),
            bytes: arrays.rows.len() + padded - arrays.flat.row_length,
            lines: rows.chunks(in_line).map(<[String]>::to_vec).collect(),
            row: arrays.flat.row_length,
            padded,
            filler: "@".repeat(padded - arrays.flat.row_length),
            zero: model.boosters.len() * usize::from(b'@'),
            unit: number(model.unit),
            margin: model.margin.map(number),
            risk_unit: number(RISK_UNIT),
            least_risk: number(LEAST_RISK),
        })
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
