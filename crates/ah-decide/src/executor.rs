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

/// The number of the leaf that an input reaches. `value` is asked only for the columns on the path.
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

/// Thresholds of a block. A value passes whole blocks by their last thresholds; four comparisons find its place in a block.
pub const THRESHOLDS: usize = 16;

/// Rows that are added before they are widened: four numbers between -29 and 27 fit into 8 bits.
const ROWS_PER_SUM: usize = 4;

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
pub struct Split(pub u16, pub u16, pub u8, pub u8);

/// Fills the masks of all blocks, row by row, from the boosters' columns ([`Boosters::columns`]) and their sorted splits.
pub const fn fill_masks(masks: &mut [Masks], columns: &[(u16, u16)], splits: &[Split]) {
    let rows = match columns.last() {
        Some((_, end)) => *end as usize + columns.len(),
        None => return,
    };
    let mut column = 0;
    let mut row = 0;
    let mut next = 0;
    while column < columns.len() {
        let first = row;
        let end = columns[column].1 as usize + column + 1;
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

/// Fills the blocks of thresholds, which are infinite beforehand, from the boosters' columns ([`Boosters::columns`]) and their
/// sorted thresholds. The last block of a column ends with an infinite one, which no value passes.
pub const fn fill_thresholds(blocks: &mut [[f64; THRESHOLDS]], columns: &[(u16, u16)], sorted: &[f64]) {
    let mut column = 0;
    let mut at = 0;
    let mut block = 0;
    while column < columns.len() {
        let first = at;
        let end = columns[column].1 as usize;
        while at < end {
            blocks[block + (at - first) / THRESHOLDS][(at - first) % THRESHOLDS] = sorted[at];
            at += 1;
        }
        block += (end - first) / THRESHOLDS + 1;
        column += 1;
    }
}

/// A part of a row: a number from -29 to 27 for each choice, and zeros.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(16))]
pub struct Row(pub [i8; LANES]);

/// The boosters of a model.
#[derive(Clone, Copy, Debug)]
pub struct Boosters<'a> {
    /// The columns that boosters test, sorted: the position of each one's value, and the end of its thresholds.
    pub columns: &'a [(u16, u16)],
    /// The distinct thresholds in ascending order, column after column, in blocks ([`fill_thresholds`]).
    pub thresholds: &'a [[f64; THRESHOLDS]],
    /// For each block of boosters its rows of masks ([`fill_masks`]).
    pub masks: &'a [Masks],
    /// By booster: the number of the row of its first leaf. Those of its other leaves follow, from left to right.
    pub first_rows: &'a [u16],
    /// The rows, each in as many parts as it needs.
    pub rows: &'a [Row],
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
        value: impl FnMut(usize) -> f64,
    ) -> Result<(), usize> {
        self.fill_codes(codes, value)?;
        let rows = self.columns.last().map_or(0, |last| usize::from(last.1)) + self.columns.len();
        for (block, first_rows) in self.first_rows.chunks(BLOCK).enumerate() {
            let left = remaining(&self.masks[block * rows..], codes);
            let parts = sums.len();
            let row = |first: u16, left: u64| {
                let start = (usize::from(first) + left.trailing_zeros() as usize) * parts;
                &self.rows[start..][..parts]
            };
            let left = left.as_chunks::<ROWS_PER_SUM>().0;
            for (few, left) in first_rows.chunks(ROWS_PER_SUM).zip(left) {
                match few.first_chunk::<ROWS_PER_SUM>() {
                    Some(few) => add::<ROWS_PER_SUM>(sums, core::array::from_fn(|at| row(few[at], left[at]))),
                    None => few.iter().zip(left).for_each(|(first, left)| add(sums, [row(*first, *left)])),
                }
            }
        }
        Ok(())
    }

    /// Writes the row of masks that each column's value selects. Not inlined, because arithmetic around it would take its registers.
    #[inline(never)]
    fn fill_codes(&self, codes: &mut [u16], mut value: impl FnMut(usize) -> f64) -> Result<(), usize> {
        let mut start = 0;
        let mut blocks = self.thresholds;
        for (number, (code, &(column, end))) in codes.iter_mut().zip(self.columns).enumerate() {
            let value = value(usize::from(column));
            if value.is_nan() {
                return Err(usize::from(column));
            }
            let (own, rest) = blocks.split_at(usize::from(end - start) / THRESHOLDS + 1);
            let mut block = 0;
            while value > own[block][THRESHOLDS - 1] {
                block += 1;
            }
            // A binary search without branches, which the processor would guess wrong half of the time.
            let mut below = 0;
            let mut half = THRESHOLDS / 2;
            while half > 0 {
                below |= half * usize::from(value > own[block][below | (half - 1)]);
                half /= 2;
            }
            *code = (usize::from(start) + number + THRESHOLDS * block + below) as u16;
            (start, blocks) = (end, rest);
        }
        Ok(())
    }
}

/// Adds a few rows to the sums. All together fit into 8 bits.
#[inline(always)]
fn add<const N: usize>(sums: &mut [[i16; LANES]], rows: [&[Row]; N]) {
    for (part, sum) in sums.iter_mut().enumerate() {
        let mut few = [0; LANES];
        for row in rows {
            few.iter_mut().zip(row[part].0).for_each(|(sum, number)| *sum += number);
        }
        sum.iter_mut().zip(few).for_each(|(sum, few)| *sum += i16::from(few));
    }
}

/// The leaves of a block that some rows of masks have in common. Inlined, they are computed one by one instead of
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
    /// The least is best.
    pub score: f64,
    /// False if the promise does not allow the choice. The fallback is always allowed.
    pub allowed: bool,
    /// False if a program that does not list its choices is not expected to offer it. The fallback always is.
    pub expected: bool,
}

/// A part of the ranking of a leaf: the scores, which are infinite in a lane without a choice, and the choices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part(pub [f64; LANES], pub [Ranked; LANES]);

impl Part {
    /// No choices.
    pub const NONE: Self = {
        let none = Ranked { choice: 0, score: f64::INFINITY, allowed: false, expected: false };
        Self([f64::INFINITY; LANES], [none; LANES])
    };
}

/// Fills the parts of all leaves, which have no choices beforehand, from their rankings, one after the other, and the end of each.
/// `by_choice`: the lane of a choice is its number, as in the rows of boosters; otherwise a leaf's lanes are in its own order.
pub const fn fill_leaves(parts: &mut [Part], rankings: &[Ranked], ends: &[usize], by_choice: bool) {
    let mut leaf = 0;
    let mut at = 0;
    while leaf < ends.len() {
        let first = at;
        while at < ends[leaf] {
            let lane = if by_choice { rankings[at].choice as usize } else { at - first };
            let Part(scores, ranked) = &mut parts[parts.len() / ends.len() * leaf + lane / LANES];
            (scores[lane % LANES], ranked[lane % LANES]) = (rankings[at].score, rankings[at]);
            at += 1;
        }
        leaf += 1;
    }
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
    /// True if the scores of leaves are factors of the costs of a formula. Without boosters they are.
    pub are_factors: bool,
}

impl Rule {
    /// The choices of a leaf for an input, best first; of equal ones the one in the first lane. `sums` are zeros without
    /// boosters; `costs` is empty without a formula; `scores` is scratch. All have the parts of the leaf.
    ///
    /// `score(c) = costs[c] + leaf.score + unit * sums[c]`, with [factors](Self::are_factors) `costs[c] * leaf.score`, and `c` is allowed if it is the fallback, or if the leaf allows it and
    /// `score(c) <= score(fallback) - margin`. In a leaf that never saw the fallback it cannot run, so a margin allows everything.
    pub fn best_first<'a>(
        self,
        leaf: &'a [Part],
        sums: &[[i16; LANES]],
        costs: &[[f64; LANES]],
        scores: &'a mut [[f64; LANES]],
    ) -> impl Iterator<Item = Ranked> + use<'a> {
        for ((scores, Part(leaf, _)), sums) in scores.iter_mut().zip(leaf).zip(sums) {
            let sums = leaf.iter().zip(sums).map(|(score, sum)| score + self.unit * f64::from(*sum));
            scores.iter_mut().zip(sums).for_each(|(score, sum)| *score = sum);
        }
        for (scores, costs) in scores.iter_mut().zip(costs) {
            for (score, cost) in scores.iter_mut().zip(costs) {
                *score = if self.are_factors { cost * *score } else { cost + *score };
            }
        }
        let most = self.margin.map_or(f64::INFINITY, |margin| {
            let of_fallback = |fallback| scores.as_flattened()[fallback as usize];
            self.fallback.map_or(f64::NEG_INFINITY, of_fallback) - margin
        });
        core::iter::from_fn(move || {
            let (lane, score) = take_least(scores)?;
            let ranked = leaf[lane / LANES].1[lane % LANES];
            let allowed = ranked.allowed && (score <= most || Some(ranked.choice) == self.fallback);
            Some(Ranked { score, allowed, ..ranked })
        })
    }
}

/// Takes the first lane with the least score, and makes its score infinite. No branch depends on the scores before the lane.
#[inline(never)]
fn take_least(scores: &mut [[f64; LANES]]) -> Option<(usize, f64)> {
    let mut least = [f64::INFINITY; 8];
    for few in scores.as_flattened().as_chunks::<8>().0 {
        least.iter_mut().zip(few).for_each(|(least, x)| *least = if x < least { *x } else { *least });
    }
    let least = least.iter().fold(f64::INFINITY, |least, &x| if x < least { x } else { least });
    if least == f64::INFINITY {
        return None;
    }
    let part = scores.iter().position(|part| part.iter().fold(false, |any, x| any | (*x <= least)))?;
    let lane = scores[part].iter().position(|x| *x <= least)?;
    scores[part][lane] = f64::INFINITY;
    Some((LANES * part + lane, least))
}

/// The choice to take from a ranking, best first: the first that is allowed and offered. The fallback always counts as offered.
///
/// `None` declines: nothing is allowed, or only the fallback and an offered choice that is not allowed is better. `offered` is
/// asked only for a choice that may change the answer.
pub fn pick(
    ranking: impl IntoIterator<Item = Ranked>,
    fallback: Option<u32>,
    mut offered: impl FnMut(u32) -> bool,
) -> Option<u32> {
    let mut declines = false;
    for Ranked { choice, allowed, .. } in ranking {
        let is_fallback = Some(choice) == fallback;
        if is_fallback || offered(choice) {
            if allowed {
                return if is_fallback && declines { None } else { Some(choice) };
            }
            declines = true;
        }
    }
    None
}
