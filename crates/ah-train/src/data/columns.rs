//! Feature columns as learners see them: small integers in the order of the values.
//!
//! A numerical feature is one column; its codes are the ranks of its values. Each category is a column
//! of its own, with code 1 where the value is that category. Four or more categories also have columns in which each category's
//! code is its position in an [order](super::category_orders). So every split is `code <= c`, which is
//! the split rule of `ah_model` for both kinds. A missing number is minus infinity.
//!
//! A column that is constant, or that ranks the inputs exactly as an earlier one does, is left out: it
//! gives no other split. (In mixed_mm `k`, `mat1_stride_0` and `mat2_stride_1` are copies.)

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use ah_joint::growth::{Codes, Limits, Sample, Tree, grow};
use ah_model::{MISSING, Node, Test};
use indexmap::IndexSet;
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use super::category_orders;
use super::costs::Costs;
use super::threshold::between;
use super::values::{FeatureValues, Values};

/// Columns of features; a row is an input of the table.
#[derive(Clone, Debug)]
pub struct Columns {
    pub all: Vec<Column>,
}

#[derive(Clone, Debug)]
pub struct Column {
    /// The feature's slot.
    pub slot: usize,
    /// The codes of the categories; `None` for a numerical feature.
    categories: Option<CategoryCodes>,
    /// By row.
    pub codes: Vec<u16>,
    /// Least and greatest value of each code; for categories the code itself.
    bounds: Vec<(f64, f64)>,
    /// The number of neighbouring codes of another column that are one code here; 1 except in `with_few_codes`.
    merged: u16,
}

/// The code of each category of a feature.
#[derive(Clone, Debug)]
struct CategoryCodes {
    /// The categories, sorted.
    names: Arc<[String]>,
    /// By category.
    codes: Vec<u16>,
    /// By code: the categories of greater codes, once a test asks for them. Trees share them: of 3,000 categories, copies in each
    /// test were half of the learning time.
    greater: Vec<OnceLock<Arc<[String]>>>,
}

impl CategoryCodes {
    /// The test that sends the categories of greater codes to the right.
    fn test(&self, slot: usize, limit: u16) -> Test {
        let greater = || self.names.iter().zip(&self.codes).filter(|(_, code)| **code > limit);
        let names = || greater().map(|(name, _)| name.clone()).collect();
        Test::is_in(slot, self.greater[usize::from(limit)].get_or_init(names).clone())
    }
}

/// Some inputs of the columns.
#[derive(Clone, Copy, Debug)]
pub struct FitRows<'a> {
    /// The features of all inputs.
    pub columns: &'a Columns,
    /// The inputs to learn from, ascending.
    pub inputs: &'a [u32],
}

impl FitRows<'_> {
    /// Grows a tree from these inputs, whose numbers are those of the sample. Codes that a node does not have go with the nearer ones.
    pub fn grow(&self, sample: &Sample, limits: &Limits) -> Tree {
        let codes = self.columns.codes();
        let all = (0..codes.len() as u32).collect();
        let mut tree = grow(&codes, all, self.inputs, sample, limits);
        for node in tree.nodes.iter_mut().filter(|node| node.left > 0) {
            node.limit = self.columns.all[node.column as usize].limit(node.limit, node.next);
        }
        tree
    }
}

/// Features as ranked from some inputs.
pub struct RankedFeatures {
    /// The columns. The codes of other inputs, and of inputs with an undefined category, mean nothing.
    pub columns: Columns,
    /// The slots of the numbers that are missing on one of these inputs.
    pub missing: BTreeSet<usize>,
    /// The categories of these inputs, by slot, sorted; empty for numbers.
    pub categories: Vec<Vec<String>>,
}

impl RankedFeatures {
    /// Ranks the values of `inputs`, with at most `max_bins` codes a column: a column of more values
    /// becomes quantiles. `costs` order the categories. No other input affects bins, thresholds, categories and their orders.
    ///
    /// # Panics
    /// When `max_bins` is below 2 or above 65,536.
    pub fn new(values: &FeatureValues, inputs: &[u32], max_bins: usize, costs: &Costs) -> Self {
        let ranked = |(slot, values): (usize, &Values)| match values {
            Values::Numbers(values) => (Vec::new(), vec![numerical(slot, values, inputs, max_bins)]),
            Values::Categories(ids, names) => categorical(slot, ids, names, inputs, costs, max_bins),
        };
        let ranked: Vec<_> = values.by_slot.par_iter().enumerate().map(ranked).collect();
        let (categories, columns): (Vec<_>, Vec<_>) = ranked.into_iter().unzip();
        let mut columns: Vec<Column> = columns.into_iter().flatten().collect();
        let mut known = FxHashSet::default();
        let bytes = |c: &Column| -> Vec<u8> {
            inputs.iter().flat_map(|&i| c.codes[i as usize].to_le_bytes()).collect()
        };
        columns.retain(|c| c.bounds.len() > 1 && known.insert(blake3::hash(&bytes(c))));
        let is_number = |values: &Values| matches!(values, Values::Numbers(_));
        let is_missing = |(_, values): &(usize, &Values)| is_number(values) && !values.is_defined(inputs);
        let missing = values.by_slot.iter().enumerate().filter(is_missing).map(|(slot, _)| slot).collect();
        Self { columns: Columns { all: columns }, missing, categories }
    }
}

impl Columns {
    /// The columns, by position, for which `keep` holds.
    pub fn part(&self, keep: impl Fn(usize, &Column) -> bool) -> Self {
        let kept = self.all.iter().enumerate().filter(|(at, column)| keep(*at, column));
        Self { all: kept.map(|(_, column)| column.clone()).collect() }
    }

    /// The columns with at most `most_values` codes for numbers and `most_positions` in an order of categories: neighbours
    /// share one. The least code stays alone, because it may stand for missing values.
    #[must_use]
    pub fn with_few_codes(mut self, most_values: usize, most_positions: usize) -> Self {
        for column in &mut self.all {
            let most = if column.categories.is_some() { most_positions } else { most_values };
            let merged = (column.bounds.len() - 1).div_ceil(most - 1).max(1) as u16;
            column.merged = merged;
            let behind = column.bounds[1..].chunks(usize::from(merged)).map(|c| (c[0].0, c[c.len() - 1].1));
            column.bounds = [column.bounds[0]].into_iter().chain(behind).collect();
            let few = |codes: &mut [u16]| codes.iter_mut().for_each(|code| *code = code.div_ceil(merged));
            few(&mut column.codes);
            if let Some(CategoryCodes { codes, greater, .. }) = &mut column.categories {
                few(codes);
                *greater = vec![OnceLock::new(); column.bounds.len()];
            }
        }
        self
    }

    /// The codes of all columns, as trees grow by them.
    pub fn codes(&self) -> Vec<Codes<'_>> {
        let columns = self.all.iter();
        columns.map(|c| Codes { codes: &c.codes, levels: c.levels(), worth: 1.0 }).collect()
    }

    /// The leaf of a tree over these columns that an input reaches.
    pub fn leaf(&self, tree: &Tree, input: u32) -> usize {
        tree.leaf(|column| self.all[column].codes[input as usize])
    }

    /// A tree over these columns as one over values, with these leaves. A left child is the next node.
    pub fn in_model<L>(&self, tree: &Tree, mut leaf: impl FnMut(usize) -> L) -> ah_model::Tree<L> {
        let mut nodes = Vec::new();
        // A node, and the split whose right child it is.
        let mut open = vec![(0, None)];
        while let Some((at, right_of)) = open.pop() {
            let here = nodes.len() as u32;
            if let Some(Node::Split { right, .. }) = right_of.and_then(|split: usize| nodes.get_mut(split)) {
                *right = here;
            }
            let node = tree.nodes[at];
            nodes.push(match tree.children(at) {
                None => Node::Leaf(leaf(at)),
                Some([left, right]) => {
                    open.extend([(right, Some(nodes.len())), (left, None)]);
                    let test = self.all[node.column as usize].test(node.limit);
                    Node::Split { test, right: 0 }
                }
            });
        }
        ah_model::Tree { nodes }
    }
}

impl Column {
    /// The number of codes.
    pub fn levels(&self) -> usize {
        self.bounds.len()
    }

    /// The greatest code that a split between `left` and `right` sends left. They are neighbours inside a node, and the codes
    /// that the node does not have go with the nearer one: categories by their number, numbers by a short threshold.
    pub fn limit(&self, left: u16, right: u16) -> u16 {
        match self.bounds[left as usize].1 {
            _ if self.categories.is_some() => left + (right - left - 1) / 2,
            // Missing values stay alone.
            f64::NEG_INFINITY => left,
            greatest => {
                let threshold = between(greatest, self.bounds[right as usize].0);
                self.bounds.partition_point(|b| b.1 <= threshold) as u16 - 1
            }
        }
    }

    /// The split behind the code `limit`. A threshold is the shortest number between the values of two codes.
    pub fn test(&self, limit: u16) -> Test {
        match (&self.categories, self.bounds[limit as usize].1) {
            (Some(categories), _) => categories.test(self.slot, limit),
            (None, f64::NEG_INFINITY) => Test::number(self.slot, MISSING),
            (None, greatest) => Test::number(self.slot, between(greatest, self.bounds[limit as usize + 1].0)),
        }
    }

    /// The greatest code, in the column that has all of its codes, of those that are `code` here.
    pub fn before_merging(&self, code: u16) -> u16 {
        code.saturating_mul(self.merged)
    }
}

/// The ranks of the values of `inputs`; other values get the code of the next greater one.
fn numerical(slot: usize, values: &[f64], inputs: &[u32], max_bins: usize) -> Column {
    assert!((2..=1 << 16).contains(&max_bins), "from 2 to 65,536 bins");
    let mut sorted: Vec<f64> = inputs.iter().map(|&i| value(values[i as usize])).collect();
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
    let codes = values.iter().map(|&x| code(&bounds, x)).collect();
    Column { slot, categories: None, codes, bounds, merged: 1 }
}

/// A number in the order of the split rule, where -0 equals 0; NaN is missing and comes first.
fn value(x: f64) -> f64 {
    if x.is_nan() { f64::NEG_INFINITY } else { x + 0.0 }
}

/// The code of a value; one above all bounds has the last code.
fn code(bounds: &[(f64, f64)], x: f64) -> u16 {
    bounds.partition_point(|b| b.1 < value(x)).min(bounds.len().saturating_sub(1)) as u16
}

/// Most categories of a feature with a column of their own: the most frequent ones. With more, learning would take longer with each
/// category; the [orders](category_orders) separate the others.
const MOST_SINGLE: usize = 16;

/// Most names that the tests of an order list: each test lists the categories on its right. With 512 positions, 20,000 categories took
/// 5 GB, now 2, and 40,000 more than 8; but where each category has two inputs, the loss is 4.5 instead of 3.7 %.
const MOST_LISTED: usize = 1 << 20;

/// The sorted categories of `inputs`, a column for each of the most frequent ones, and those of their orders. Two categories
/// need one column: the other would be its mirror.
fn categorical(
    slot: usize,
    ids: &[u32],
    names: &IndexSet<Arc<str>>,
    inputs: &[u32],
    costs: &Costs,
    max_bins: usize,
) -> (Vec<String>, Vec<Column>) {
    let mut counts = vec![0; names.len()];
    // An undefined category has no name.
    for &input in inputs {
        if let Some(count) = counts.get_mut(ids[input as usize] as usize) {
            *count += 1;
        }
    }
    let mut order: Vec<u32> = (0..names.len() as u32).filter(|&id| counts[id as usize] > 0).collect();
    order.sort_unstable_by(|&a, &b| names[a as usize].cmp(&names[b as usize]));
    let mut tested = if order.len() == 2 { order[1..].to_vec() } else { order.clone() };
    tested.sort_by_key(|&id| std::cmp::Reverse(counts[id as usize]));
    tested.truncate(MOST_SINGLE);
    let sorted: Vec<String> = order.iter().map(|&id| names[id as usize].to_string()).collect();
    let shared: Arc<[String]> = sorted.as_slice().into();
    let mut position_of = vec![None; names.len()];
    order.iter().enumerate().for_each(|(position, &id)| position_of[id as usize] = Some(position));
    let position = |id: u32| position_of.get(id as usize).copied().flatten();
    let column = |codes: Vec<u16>| {
        let greatest = codes.iter().copied().max().unwrap_or(0);
        let bounds: Vec<_> = (0..=greatest).map(|x| (f64::from(x), f64::from(x))).collect();
        Column {
            slot,
            codes: ids.iter().map(|&id| position(id).map_or(0, |at| codes[at])).collect(),
            categories: Some(CategoryCodes {
                names: shared.clone(),
                codes,
                greater: vec![OnceLock::new(); bounds.len()],
            }),
            bounds,
            merged: 1,
        }
    };
    let single = |tested: &u32| order.iter().map(|id| u16::from(order.len() > 1 && id == tested)).collect();
    let category_of = |input: u32| position(ids[input as usize]).unwrap_or(0);
    let most = max_bins.min(MOST_LISTED / order.len().max(1)).max(2);
    let orders = category_orders::orders(order.len(), inputs, category_of, costs, most);
    let columns = tested.iter().map(single).chain(orders).map(column).collect();
    (sorted, columns)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    impl Columns {
        /// Columns of numbers: `values[column][row]`.
        pub fn from_numbers(values: &[Vec<f64>], max_bins: usize) -> Self {
            let rows = values.first().map_or(0, Vec::len);
            let inputs: Vec<u32> = (0..rows as u32).collect();
            let column = |(slot, values): (usize, &Vec<f64>)| numerical(slot, values, &inputs, max_bins);
            Self { all: values.iter().enumerate().map(column).collect() }
        }
    }

    proptest! {
        #[test]
        fn neighbours_share_a_code(values in prop::collection::vec(0_u32..300, 2..200), most in 2_usize..20) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            prop_assume!(values.iter().any(|value| *value != values[0]));
            let all = Columns::from_numbers(&[values], 512);
            let few = all.clone().with_few_codes(most, 2);
            let all = &all.all[0];
            let few = &few.all[0];
            prop_assert!((2..=most.min(all.levels())).contains(&few.levels()));
            for (before, code) in all.codes.iter().zip(&few.codes) {
                prop_assert!(usize::from(*code) < few.levels());
                prop_assert_eq!(*code == 0, *before == 0);
                // The same side of every split.
                for limit in 0..few.levels() as u16 {
                    prop_assert_eq!(*code <= limit, *before <= few.before_merging(limit));
                }
            }
            let code = few.codes[0];
            let (least, greatest) = few.bounds[usize::from(code)];
            prop_assert!((least..=greatest).contains(&all.bounds[usize::from(all.codes[0])].0));
        }
    }
}
