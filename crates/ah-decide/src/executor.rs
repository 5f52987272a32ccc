//! Decides by flat tables: goes down a tree to a leaf, adds the rows of boosters, and picks a choice.
//!
//! The split rule: `value <= threshold` goes left, a greater value right, and NaN (undefined) ends the decision. A column is a
//! number, or 1 for the categories of a set and 0 for others. Callers give the value of a column by its position.
//!
//! Boosters are small trees that correct the scores of the leaf. They are executed as bit masks (QuickScorer; Lucchese et al.,
//! "QuickScorer: a fast algorithm to rank documents with additive ensembles of regression trees", 2015): a booster has a bit
//! for each leaf, from left to right. A split that sends a value to the right removes the leaves on its left, and the lowest bit
//! that remains after all splits is the leaf that the value reaches. The splits of a column that send a value to the right
//! are merged beforehand, so a decision reads one row of masks for each column. No step waits for the one before it,
//! as a path does: 24 boosters of 21 columns take 1,916 instructions this way, and 4,445 down their nodes.

/// The column of a leaf.
pub const LEAF: u16 = u16::MAX;

/// A node of a tree: its column, the threshold, and the position of the left child, which the right one follows.
/// A leaf has the column [`LEAF`] and its number in the place of the child.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Node(pub u16, pub f64, pub u32);

/// Returns the number of the leaf that an input reaches. `value` is asked only for the columns on the path.
///
/// # Errors
/// The first column on the path whose value is NaN.
pub fn leaf(nodes: &[Node], mut value: impl FnMut(usize) -> f64) -> Result<usize, usize> {
    let mut at = 0;
    loop {
        let Node(column, threshold, left) = nodes[at];
        if column == LEAF {
            return Ok(left as usize);
        }
        let value = value(usize::from(column));
        if value.is_nan() {
            return Err(usize::from(column));
        }
        at = left as usize + usize::from(value > threshold);
    }
}

/// Boosters whose masks are merged together: as many as are learned. Their masks stay in the vector registers of a processor.
pub const BLOCK: usize = 24;

/// The most leaves of a booster: the bits of a mask.
pub const MOST_LEAVES: usize = 64;

/// Numbers of a part of a row: a register of any x86-64 or Arm processor holds them.
pub const LANES: usize = 16;

/// Rows that are added before they are widened: four numbers between -29 and 27 fit into 8 bits.
const TOGETHER: usize = 4;

/// The masks of a block of boosters, in three lines of the cache.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(64))]
pub struct Masks(pub [u64; BLOCK]);

impl Masks {
    /// Keeps every leaf.
    pub const ALL: Self = Self([u64::MAX; BLOCK]);
}

/// A split of a booster: the row of the least value that goes right, the booster, the first leaf on the split's left, and the
/// first one on its right.
///
/// A column has a row for each number of its thresholds that can be below a value. The rows of a column follow those of the
/// column before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Split(pub u16, pub u8, pub u8, pub u8);

/// Fills the masks of all blocks, row by row, from the boosters' columns ([`Boosters::columns`]) and their sorted splits.
pub const fn fill_masks(masks: &mut [Masks], columns: &[(u16, u16)], splits: &[Split]) {
    let rows = match columns.last() {
        Some((_, end)) => *end as usize + columns.len(),
        None => return,
    };
    let (mut column, mut row, mut next) = (0, 0, 0);
    while column < columns.len() {
        let (first, end) = (row, columns[column].1 as usize + column + 1);
        while row < end {
            let mut at = row;
            while at < masks.len() {
                masks[at] = if row == first { Masks::ALL } else { masks[at - 1] };
                at += rows;
            }
            while next < splits.len() && splits[next].0 as usize == row {
                let Split(_, booster, start, end) = splits[next];
                let block = booster as usize / BLOCK;
                masks[block * rows + row].0[booster as usize % BLOCK] &=
                    !(((1 << (end - start)) - 1) << start);
                next += 1;
            }
            row += 1;
        }
        column += 1;
    }
}

/// The boosters of a model.
#[derive(Clone, Copy, Debug)]
pub struct Boosters<'a> {
    /// The columns that boosters test, sorted: the position of each one's value, and the end of its thresholds.
    pub columns: &'a [(u16, u16)],
    /// The distinct thresholds, column after column, in ascending order.
    pub thresholds: &'a [f64],
    /// For each block of boosters its rows of masks ([`fill_masks`]).
    pub masks: &'a [Masks],
    /// By booster: the number of the row of its first leaf. Those of its other leaves follow, from left to right.
    pub first_rows: &'a [u16],
    /// The rows, each in as many parts as it needs: a number from -29 to 27 for each choice, and zeros.
    pub rows: &'a [[i8; LANES]],
}

impl Boosters<'_> {
    /// Adds the rows that an input reaches to `sums`, which has the parts of a row. `codes` is scratch of one number for each
    /// column. All columns are asked, whether the input's paths test them or not.
    ///
    /// # Errors
    /// The first column whose value is NaN; `sums` is then as before.
    pub fn add_rows(
        &self,
        sums: &mut [[i16; LANES]],
        codes: &mut [u16],
        mut value: impl FnMut(usize) -> f64,
    ) -> Result<(), usize> {
        let mut start = 0;
        for (number, (code, &(column, end))) in codes.iter_mut().zip(self.columns).enumerate() {
            let value = value(usize::from(column));
            if value.is_nan() {
                return Err(usize::from(column));
            }
            *code = (start + number + below(&self.thresholds[start..usize::from(end)], value)) as u16;
            start = usize::from(end);
        }
        let (rows, parts) = (self.thresholds.len() + self.columns.len(), sums.len());
        for (block, first_rows) in self.first_rows.chunks(BLOCK).enumerate() {
            let left = remaining(&self.masks[block * rows..], codes);
            // The first parts of the rows.
            let mut starts = [0; BLOCK];
            for ((start, left), first) in starts.iter_mut().zip(left).zip(first_rows) {
                *start = (usize::from(*first) + left.trailing_zeros() as usize) * parts;
            }
            for (part, sum) in sums.iter_mut().enumerate() {
                // A copy stays in registers.
                let mut all = *sum;
                let few = starts[..first_rows.len()].chunks_exact(TOGETHER);
                let rest = few.remainder();
                for starts in few.chain([rest]) {
                    let mut few = [0; LANES];
                    for start in starts {
                        few.iter_mut().zip(&self.rows[start + part]).for_each(|(sum, number)| *sum += number);
                    }
                    all.iter_mut().zip(few).for_each(|(sum, few)| *sum += i16::from(few));
                }
                *sum = all;
            }
        }
        Ok(())
    }
}

/// Thresholds that are counted at a time.
const FEW: usize = 8;

/// Returns the number of sorted thresholds that are below a value. It counts the last one of each few, then those of one few. A binary
/// search would compare fewer, but the processor guesses half of its steps wrong.
#[inline]
fn below(thresholds: &[f64], value: f64) -> usize {
    let whole = FEW * thresholds.chunks_exact(FEW).filter(|few| value > few[FEW - 1]).count();
    whole + thresholds[whole..].iter().take(FEW).filter(|threshold| value > **threshold).count()
}

/// Returns the leaves of a block that some rows of masks have in common. Inlined, they are computed one by one instead of
/// two at a time.
#[inline(never)]
fn remaining(masks: &[Masks], rows: &[u16]) -> [u64; BLOCK] {
    let mut remaining = [u64::MAX; BLOCK];
    for row in rows {
        remaining.iter_mut().zip(&masks[usize::from(*row)].0).for_each(|(leaves, mask)| *leaves &= mask);
    }
    remaining
}

/// A choice in the ranking of a leaf.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranked {
    /// The number of the choice.
    pub choice: u32,
    /// The least is best; of equal ones the first.
    pub score: f64,
    /// False if the promise does not allow the choice. The fallback is always allowed.
    pub allowed: bool,
    /// False if a program that does not list its choices is not expected to offer it. The fallback always is.
    pub expected: bool,
}

/// The scores of choices, and which are allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// What the program does without a heuristic.
    pub fallback: Option<u32>,
    /// What a number of 1 in a row is worth: a power of two, so that products with it are exact.
    pub unit: f64,
    /// What a choice must save against the fallback. `None`: the leaf alone decides.
    pub margin: Option<f64>,
}

impl Rule {
    /// Returns the ranking of a leaf for an input, in the order of the leaf. `sums` has a number for each choice; none without
    /// boosters.
    ///
    /// `score(c) = leaf.score + unit * sums[c]`, and `c` is allowed if it is the fallback, or if the leaf allows it and
    /// `score(c) <= score(fallback) - margin`. Without the fallback in the leaf, a margin allows nothing.
    pub fn ranked(self, leaf: &[Ranked], sums: &[i16]) -> impl Iterator<Item = Ranked> + Clone {
        let score = move |ranked: &Ranked| {
            sums.get(ranked.choice as usize)
                .map_or(ranked.score, |sum| ranked.score + self.unit * f64::from(*sum))
        };
        let is_fallback = move |ranked: &Ranked| Some(ranked.choice) == self.fallback;
        let most = self.margin.map_or(f64::INFINITY, |margin| {
            leaf.iter().find(|ranked| is_fallback(ranked)).map_or(f64::NEG_INFINITY, score) - margin
        });
        leaf.iter().map(move |ranked| {
            let score = score(ranked);
            let allowed = ranked.allowed && (score <= most || is_fallback(ranked));
            Ranked { score, allowed, ..*ranked }
        })
    }
}

/// Returns the choice to take: the best one that is allowed and offered. The fallback always counts as offered.
///
/// `None` declines: nothing is allowed, or only the fallback and an offered choice that is not allowed is better. The ranking can
/// have any order. `offered` is asked only for a choice that may change the answer.
pub fn pick<I: IntoIterator<Item = Ranked, IntoIter: Clone>>(
    ranking: I,
    fallback: Option<u32>,
    mut offered: impl FnMut(u32) -> bool,
) -> Option<u32> {
    let ranking = ranking.into_iter();
    let is_fallback = |choice: u32| Some(choice) == fallback;
    // The first of the best nearly always is the answer, and no branch depends on the scores before it.
    let least = ranking.clone().fold(f64::INFINITY, |least, r| if r.score < least { r.score } else { least });
    let first = ranking.clone().find(|ranked| ranked.score <= least)?;
    if first.allowed && (is_fallback(first.choice) || offered(first.choice)) {
        return Some(first.choice);
    }
    let (mut best, mut forbidden): (Option<Ranked>, Option<f64>) = (None, None);
    for ranked in ranking {
        if best.is_some_and(|best| best.score <= ranked.score) {
            continue;
        }
        if ranked.allowed {
            if is_fallback(ranked.choice) || offered(ranked.choice) {
                best = Some(ranked);
            }
        } else if forbidden.is_none_or(|score| ranked.score < score) && offered(ranked.choice) {
            forbidden = Some(ranked.score);
        }
    }
    best.filter(|best| !(is_fallback(best.choice) && forbidden.is_some_and(|score| score <= best.score)))
        .map(|best| best.choice)
}
