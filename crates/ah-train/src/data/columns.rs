//! Feature columns as learners see them: small integers in the order of the values.
//!
//! A numerical feature is one column; its codes are the ranks of its values. Each category is a column
//! of its own, with code 1 where the value is that category. So every split is `code <= c`, which is
//! the split rule of [`ah_types::tree`] for both kinds.
//!
//! A column that is constant, or that ranks the inputs exactly as an earlier one does, is left out: it
//! gives no other split. (In mixed_mm `k`, `mat1_stride_0` and `mat2_stride_1` are copies.)

use ah_types::{FeatureKind, Features, Row, Scalar, Test};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::table::Table;

/// Columns of features; a row is an input of the table.
#[derive(Clone, Debug)]
pub struct Columns {
    columns: Vec<Column>,
    rows: usize,
}

/// One column.
#[derive(Clone, Debug)]
pub struct Column {
    /// The feature's slot.
    pub slot: usize,
    /// The category that code 1 stands for; `None` for a numerical feature.
    category: Option<String>,
    /// By row.
    codes: Vec<u16>,
    /// Least and greatest value of each code; for a category 0 and 1.
    bounds: Vec<(f64, f64)>,
}

/// The features of all inputs.
pub struct FeatureColumns {
    /// The columns.
    pub columns: Columns,
    /// Inputs with an undefined derived feature: (input, slot of the first such feature). Do not use
    /// their codes.
    pub undefined: Vec<(u32, usize)>,
    /// The categories in the log, by slot, sorted; empty for numbers.
    pub categories: Vec<Vec<String>>,
}

/// Values of one feature over all inputs.
enum FeatureValues {
    /// NaN where undefined.
    Numbers(Vec<f64>),
    /// Positions in the list of names; `UNDEFINED` where undefined.
    Categories(Vec<u32>, Vec<String>),
}

const UNDEFINED: u32 = u32::MAX;

impl FeatureValues {
    /// The values of the next feature: logged, or computed from the ones in `done`.
    fn new(table: &Table, features: &Features, done: &[Self]) -> Self {
        let slot = done.len();
        let derived = slot.checked_sub(features.base().len()).map(|i| &features.derived()[i].1);
        let rows =
            table.inputs.iter().enumerate().map(|(input, i)| ColumnRow { base: &i.values, done, input });
        match features.all().features()[slot].kind {
            FeatureKind::Numerical => {
                let value = |row: ColumnRow<'_>| match derived {
                    None => row.scalar(slot).and_then(Scalar::number),
                    Some(derived) => derived.eval(&row).and_then(Scalar::number),
                };
                Self::Numbers(rows.map(|row| value(row).unwrap_or(f64::NAN)).collect())
            }
            FeatureKind::Categorical => {
                let mut ids: FxHashMap<String, u32> = FxHashMap::default();
                let mut names = Vec::new();
                let mut intern = |name: &str| {
                    ids.get(name).copied().unwrap_or_else(|| {
                        let id = names.len() as u32;
                        ids.insert(name.to_owned(), id);
                        names.push(name.to_owned());
                        id
                    })
                };
                let mut id = |row: ColumnRow<'_>| {
                    let scalar = match derived {
                        None => row.scalar(slot),
                        Some(derived) => derived.eval(&row),
                    };
                    scalar.and_then(Scalar::category).map_or(UNDEFINED, &mut intern)
                };
                let codes = rows.map(&mut id).collect();
                Self::Categories(codes, names)
            }
        }
    }

    fn is_undefined(&self, input: usize) -> bool {
        match self {
            Self::Numbers(x) => x[input].is_nan(),
            Self::Categories(ids, _) => ids[input] == UNDEFINED,
        }
    }
}

/// A row of logged values and of the derived values in `done`, so that a derived feature of a derived
/// feature is not computed again.
struct ColumnRow<'a> {
    base: &'a [ah_types::Value],
    done: &'a [FeatureValues],
    input: usize,
}

impl Row for ColumnRow<'_> {
    fn scalar(&self, slot: usize) -> Option<Scalar<'_>> {
        if slot < self.base.len() {
            return self.base.scalar(slot);
        }
        match self.done.get(slot)? {
            FeatureValues::Numbers(x) => Some(x[self.input]).filter(|x| !x.is_nan()).map(Scalar::Number),
            FeatureValues::Categories(ids, names) => {
                names.get(ids[self.input] as usize).map(|n| Scalar::Category(n))
            }
        }
    }
}

impl Columns {
    /// Computes and ranks every feature of every input, with at most `max_bins` codes a column: a
    /// column of more values becomes quantiles.
    ///
    /// # Panics
    /// When `max_bins` is below 2 or above 65,536.
    #[must_use]
    pub fn build(table: &Table, features: &Features, max_bins: usize) -> FeatureColumns {
        let mut undefined = FxHashMap::default();
        let mut by_slot = Vec::with_capacity(features.all().len());
        for slot in 0..features.all().len() {
            let values = FeatureValues::new(table, features, &by_slot);
            for input in (0..table.inputs.len()).filter(|&i| values.is_undefined(i)) {
                undefined.entry(input as u32).or_insert(slot);
            }
            by_slot.push(values);
        }
        let ranked = |(slot, values): (usize, &FeatureValues)| match values {
            FeatureValues::Numbers(values) => (Vec::new(), vec![numerical(slot, values, max_bins)]),
            FeatureValues::Categories(ids, names) => categorical(slot, ids, names),
        };
        let ranked: Vec<_> = by_slot.par_iter().enumerate().map(ranked).collect();
        let (categories, columns): (Vec<_>, Vec<_>) = ranked.into_iter().unzip();
        let mut columns: Vec<Column> = columns.into_iter().flatten().collect();
        let mut seen = FxHashSet::default();
        columns.retain(|c| c.bounds.len() > 1 && seen.insert(blake3::hash(&bytes(&c.codes))));
        let mut undefined: Vec<_> = undefined.into_iter().collect();
        undefined.sort_unstable();
        FeatureColumns { columns: Self { columns, rows: table.inputs.len() }, undefined, categories }
    }

    /// Columns of numbers for benchmarks and tests: `values[column][row]`.
    #[must_use]
    pub fn from_numbers(values: &[Vec<f64>], max_bins: usize) -> Self {
        let rows = values.first().map_or(0, Vec::len);
        let columns = values.par_iter().enumerate().map(|(slot, v)| numerical(slot, v, max_bins)).collect();
        Self { columns, rows }
    }

    /// All columns.
    #[must_use]
    pub fn all(&self) -> &[Column] {
        &self.columns
    }

    /// The number of inputs.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }
}

impl Column {
    /// The code of each input.
    #[must_use]
    pub fn codes(&self) -> &[u16] {
        &self.codes
    }

    /// The number of codes.
    #[must_use]
    pub fn levels(&self) -> usize {
        self.bounds.len()
    }

    /// The split between the codes `left` and `right`, neighbours inside a node: the greatest code
    /// that goes left, and the test. A threshold is the midpoint of the two values.
    #[must_use]
    pub fn test(&self, left: u16, right: u16) -> (u16, Test) {
        if let Some(category) = &self.category {
            return (0, Test::Categorical { slot: self.slot, category: category.clone() });
        }
        let mut threshold = midpoint(self.bounds[left as usize].1, self.bounds[right as usize].0);
        let mut code = self.bounds.partition_point(|b| b.0 <= threshold) - 1;
        if self.bounds[code].1 > threshold {
            // The midpoint is inside a bin, which must stay whole.
            code -= 1;
            threshold = midpoint(self.bounds[code].1, self.bounds[code + 1].0);
        }
        (code as u16, Test::Numerical { slot: self.slot, threshold })
    }
}

/// The midpoint as a finite number t with `left <= t < right`.
fn midpoint(left: f64, right: f64) -> f64 {
    let middle = f64::midpoint(left.max(f64::MIN), right.min(f64::MAX));
    if middle < right { middle } else { left }
}

fn numerical(slot: usize, values: &[f64], max_bins: usize) -> Column {
    assert!((2..=1 << 16).contains(&max_bins), "from 2 to 65,536 bins");
    // The split rule does not tell -0 from 0.
    let value = |x: f64| if x.is_nan() { f64::INFINITY } else { x + 0.0 };
    let mut sorted: Vec<f64> = values.iter().map(|&x| value(x)).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let mut bounds: Vec<(f64, f64)> = Vec::new();
    let distinct = 1 + sorted.windows(2).filter(|w| w[0] < w[1]).count();
    if distinct <= max_bins {
        sorted.dedup();
        bounds.extend(sorted.iter().map(|&x| (x, x)));
    } else {
        // Equal shares of the rows; a value that fills several shares is one bin.
        let mut start = 0;
        for bin in 1..=max_bins {
            let end = (sorted.len() * bin / max_bins).max(start);
            let Some(&last) = sorted[..end].last() else { continue };
            let end = end + sorted[end..].partition_point(|&x| x <= last);
            if end > start {
                bounds.push((sorted[start], last));
            }
            start = end;
        }
    }
    let code = |&x: &f64| (bounds.partition_point(|b| b.1 < value(x))).min(bounds.len() - 1) as u16;
    let codes = values.iter().map(code).collect();
    Column { slot, category: None, codes, bounds }
}

/// The sorted categories, and a column for each. Two categories need one column: the other would be
/// its mirror.
fn categorical(slot: usize, ids: &[u32], names: &[String]) -> (Vec<String>, Vec<Column>) {
    let mut order: Vec<u32> = (0..names.len() as u32).collect();
    order.sort_unstable_by(|&a, &b| names[a as usize].cmp(&names[b as usize]));
    let tested = if order.len() == 2 { &order[1..] } else { &order[..] };
    let column = |&id: &u32| Column {
        slot,
        category: Some(names[id as usize].clone()),
        codes: ids.iter().map(|&i| u16::from(i == id)).collect(),
        bounds: if names.len() > 1 { vec![(0.0, 0.0), (1.0, 1.0)] } else { vec![(0.0, 0.0)] },
    };
    let columns = tested.iter().map(column).collect();
    (order.iter().map(|&id| names[id as usize].clone()).collect(), columns)
}

fn bytes(codes: &[u16]) -> Vec<u8> {
    codes.iter().flat_map(|c| c.to_le_bytes()).collect()
}
