//! The view of trees as a table of numbers.

use ah_types::LEAST_CAUTION;
use serde::Serialize;

use super::trees::RangeView;
use super::viewer::Viewer;
use crate::lower::{BoostedTable, Table};
use crate::printing::language::{Language, ValueKind};
use crate::printing::text::{number, shown};

/// A table; lists of numbers are lines of code.
#[derive(Debug, Serialize)]
pub struct TableView {
    columns: Vec<ColumnView>,
    /// The bits of a column's position: 8 or 16.
    column_width: u32,
    /// The number of tests, or the next power of two where boosted trees need no check of positions.
    tests: usize,
    /// A power of two above the number of columns.
    padded: usize,
    /// By test: the column and the threshold.
    test_columns: Vec<String>,
    thresholds: Vec<String>,
    test_bits: u32,
    test_mask: u64,
    /// The bits above which a split holds the distance to its right child.
    distance_bits: u32,
    count: usize,
    nodes: Vec<String>,
    /// The bits of a node: 32 or 64.
    node_width: u32,
    roots: Vec<usize>,
    entries: usize,
    rankings: Vec<String>,
    /// The bits of a number of `rankings`: 16 or 32.
    entry_width: u32,
    choice_bits: u32,
    choice_mask: u64,
    scores: Vec<String>,
    outside: Vec<OutsideView>,
}

/// Trees that add to the scores.
#[derive(Debug, Serialize)]
pub struct BoostedView {
    /// The positions of the columns that must be defined.
    columns: Vec<usize>,
    count: usize,
    nodes: Vec<String>,
    /// The bits of a node: 32 or 64.
    node_width: u32,
    roots: Vec<usize>,
    depth: usize,
    /// The number of rows of scores.
    rows: usize,
    /// The rows, several in a line of code, each as characters: `@` is 0, `A` is 1. None of them is `"` or `\`.
    lines: Vec<Vec<String>>,
    /// The length of a row.
    row: usize,
    /// The sum of `@` over all trees.
    zero: usize,
    unit: String,
    margin: Option<String>,
    caution_unit: Option<String>,
    least_caution: String,
}

#[derive(Debug, Serialize)]
struct ColumnView {
    slot: usize,
    /// The feature's identifier and kind.
    identifier: String,
    kind: ValueKind,
    logged: bool,
    /// The feature's name for people, as a string literal.
    shown: String,
    /// The literal of the category for which the column is 1.
    category: Option<String>,
    /// The category for people, as a string literal.
    category_shown: Option<String>,
    /// The literals of the categories in the training data.
    seen: Vec<String>,
}

/// A leaf with another ranking for inputs outside its ranges.
#[derive(Debug, Serialize)]
struct OutsideView {
    inside: usize,
    outside: usize,
    ranges: Vec<RangeView>,
    /// The number of ranges of this leaf and those before it.
    end: usize,
}

impl<L: Language> Viewer<'_, L> {
    pub(super) fn table(&self, table: &Table<'_>) -> TableView {
        let features = self.lowered.model.features.all().features();
        let shown_string = |name: &str| self.language.string(&shown(name));
        let columns = table.columns.iter().map(|column| ColumnView {
            slot: column.slot,
            identifier: self.identifier(column.slot),
            kind: ValueKind::of(self.lowered, column.slot),
            shown: shown_string(&features[column.slot].name),
            category_shown: column.category.map(shown_string),
            logged: self.lowered.derived_type(column.slot).is_none(),
            category: column.category.map(|category| self.literal(category)),
            seen: self.seen(column.slot),
        });
        let mut end = 0;
        let outside = table.outside.iter().map(|leaf| {
            let ranges = self.ranges(&self.lowered.leaves[leaf.leaf]);
            end += ranges.len();
            OutsideView { inside: leaf.inside, outside: leaf.outside, ranges, end }
        });
        let distance_bits = table.test_bits + 1;
        let most = if table.boosted.is_some() { 1 << table.test_bits } else { table.tests.len() };
        let tests = || table.tests.iter().copied().chain(std::iter::repeat((0, 0.0))).take(most);
        TableView {
            columns: columns.collect(),
            column_width: width(&[8, 16], table.columns.len() as u64),
            tests: tests().count(),
            // At least 2, since linters refuse to mask with 0.
            padded: (table.columns.len() + 1).next_power_of_two().max(2),
            test_columns: lines(tests().map(|(column, _)| column.to_string())),
            thresholds: lines(tests().map(|(_, threshold)| number(threshold))),
            test_bits: table.test_bits,
            test_mask: (1 << table.test_bits) - 1,
            distance_bits,
            count: table.nodes.len(),
            nodes: lines(table.nodes.iter().map(u64::to_string)),
            node_width: width(&[32, 64], table.nodes.iter().copied().max().unwrap_or(0)),
            roots: table.roots.clone(),
            entries: table.rankings.len(),
            rankings: lines(table.rankings.iter().map(u64::to_string)),
            entry_width: width(&[16, 32], table.rankings.iter().copied().max().unwrap_or(0)),
            choice_bits: table.choice_bits,
            choice_mask: (1 << table.choice_bits) - 1,
            scores: lines(table.scores.iter().map(|score| number(*score))),
            outside: outside.collect(),
        }
    }
}

impl BoostedView {
    /// Returns the view of boosted trees.
    pub(super) fn new(table: &BoostedTable) -> Self {
        let row =
            |row: &Vec<i8>| row.iter().map(|score| char::from(b'@'.wrapping_add_signed(*score))).collect();
        let rows: Vec<String> = table.rows.iter().map(row).collect();
        let in_line = (LINE / rows.first().map_or(1, String::len).max(1)).max(1);
        Self {
            columns: table.columns.clone(),
            count: table.nodes.len(),
            nodes: lines(table.nodes.iter().map(u64::to_string)),
            node_width: width(&[32, 64], table.nodes.iter().copied().max().unwrap_or(0)),
            roots: table.roots.clone(),
            depth: table.depth,
            rows: rows.len(),
            lines: rows.chunks(in_line).map(<[String]>::to_vec).collect(),
            row: table.rows.first().map_or(0, Vec::len),
            zero: table.roots.len() * usize::from(b'@'),
            unit: number(table.unit),
            margin: table.margin.map(number),
            caution_unit: table.caution_unit.map(number),
            least_caution: number(LEAST_CAUTION),
        }
    }
}

/// Returns the least of these widths in bits that holds the number.
fn width(widths: &[u32; 2], most: u64) -> u32 {
    if most >> widths[0] == 0 { widths[0] } else { widths[1] }
}

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
