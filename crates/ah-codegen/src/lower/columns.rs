//! The columns of a table: all values that trees compare with thresholds.

use ah_types::{BoostedNode, BoostedTrees, Model, Node, Test};

/// A value that tests compare.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Column<'m> {
    /// The feature's slot.
    pub slot: usize,
    /// For a categorical feature, the category for which the column is 1; it is 0 for any other known one.
    pub category: Option<&'m str>,
}

/// Returns the number of bits that hold every number below `count`: at least 1, since linters refuse to mask with 0.
pub(super) fn bits(count: usize) -> u32 {
    (usize::BITS - count.saturating_sub(1).leading_zeros()).max(1)
}

/// The distinct columns and tests of all trees, sorted.
pub(super) struct Tests<'m> {
    pub(super) columns: Vec<Column<'m>>,
    pub(super) tests: Vec<(usize, f64)>,
}

impl<'m> Tests<'m> {
    pub(super) fn new(model: &'m Model) -> Self {
        let splits = model.trees.iter().flat_map(|tree| &tree.nodes).filter_map(test);
        let all: Vec<_> = splits.chain(model.boosted.iter().flat_map(boosted_tests)).collect();
        let mut columns: Vec<Column<'m>> = all.iter().map(|(column, _)| *column).collect();
        columns.extend(model.boosted.iter().flat_map(boosted_columns));
        columns.sort_unstable();
        columns.dedup();
        let mut tests = Self { columns, tests: Vec::new() };
        let mut found: Vec<_> =
            all.into_iter().map(|(column, threshold)| (tests.column(column), threshold)).collect();
        found.sort_unstable_by(order);
        found.dedup_by(|a, b| order(a, b).is_eq());
        if model.boosted.is_some() {
            found.push((tests.columns.len(), 0.0));
        }
        tests.tests = found;
        tests
    }

    /// Returns the position of the test that only leaves of boosted trees have. Its column is behind all others and holds 1,
    /// so it always goes right.
    pub(super) fn never(&self) -> usize {
        self.tests.len() - 1
    }

    pub(super) fn count(&self) -> usize {
        self.tests.len()
    }

    /// Returns the position of a column.
    pub(super) fn column(&self, column: Column<'_>) -> usize {
        self.columns.partition_point(|c| *c < column)
    }

    /// Returns the position of a test.
    pub(super) fn position(&self, column: Column<'_>, threshold: f64) -> usize {
        let test = (self.column(column), threshold);
        self.tests.partition_point(|other| order(other, &test).is_lt())
    }
}

fn order(a: &(usize, f64), b: &(usize, f64)) -> std::cmp::Ordering {
    a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
}

/// Returns the column and the threshold of a split. A category goes right, and so does 1.
pub(super) fn test(node: &Node) -> Option<(Column<'_>, f64)> {
    match node {
        Node::Leaf(_) => None,
        Node::Split { test: Test::Numerical { slot, threshold }, .. } => {
            Some((Column { slot: *slot, category: None }, *threshold))
        }
        Node::Split { test: Test::Categorical { slot, category }, .. } => {
            Some((Column { slot: *slot, category: Some(category) }, 0.0))
        }
    }
}

/// Returns the column and the threshold of each split of boosted trees.
fn boosted_tests(boosted: &BoostedTrees) -> impl Iterator<Item = (Column<'_>, f64)> {
    let splits = boosted.trees.iter().flatten().filter_map(|node| match *node {
        BoostedNode::Split { column, threshold, .. } => Some((usize::from(column), threshold)),
        BoostedNode::Leaf(_) => None,
    });
    let columns: Vec<Column<'_>> = boosted_columns(boosted).collect();
    splits.map(move |(column, threshold)| (columns[column], threshold))
}

/// Returns the columns of boosted trees.
pub(super) fn boosted_columns(boosted: &BoostedTrees) -> impl Iterator<Item = Column<'_>> {
    boosted.columns.iter().map(|column| Column { slot: column.slot, category: column.category.as_deref() })
}
