//! The rows of the boosters' leaves, and their sum for one input.

use std::collections::HashMap;
use std::ops::Deref;

use super::boosters::{ROW_NUMBERS, ScoreRow};
use crate::inline::Inline;

/// Numbers of a part of a row. A register of any x86-64 or Arm processor holds as many.
const LANES: usize = 16;

/// Pairs of numbers of a part.
const PAIRS: usize = LANES / 2;

/// Added to each number, so that none is negative.
const BIAS: i16 = -(*ROW_NUMBERS.start() as i16);

/// Rows that are added at a time: four numbers between 0 and 56 fit into 8 bits.
pub(super) const ROWS_TOGETHER: usize = 4;

/// Parts of a sum that are on the stack, for 255 choices. More cost an allocation.
const INLINE: usize = 16;

/// The distinct rows of some boosters.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rows {
    /// The length of a row.
    length: usize,
    /// The number of parts of a row.
    parts: usize,
    /// Row by row its parts, filled up with 0. The last row is all 0.
    pairs: Vec<Pairs>,
}

/// A part of a row: the first half of its numbers in the low bytes, the second half in the high ones. So a mask and a shift
/// turn four added parts into sums of 16 bits, in half the steps that widening each byte takes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(16))]
struct Pairs([u16; PAIRS]);

/// The sums of the boosters' rows for one input: a number for each choice and one for the risk; empty without boosters.
#[derive(Clone, Debug, PartialEq)]
pub struct Sums {
    parts: Inline<[i16; LANES], INLINE>,
    length: usize,
}

impl Rows {
    /// Returns the distinct ones of some rows of this length, and the number of each.
    pub(super) fn new<'a>(
        all: impl Iterator<Item = &'a ScoreRow>,
        length: usize,
    ) -> (Self, HashMap<&'a [i8], u32>) {
        let (mut pairs, mut numbers) = (Vec::new(), HashMap::new());
        let mut append = |row: &[i8]| {
            let biased = |at: usize| (i16::from(*row.get(at).unwrap_or(&0)) + BIAS) as u16;
            for first in (0..length).step_by(LANES) {
                pairs.push(Pairs(std::array::from_fn(|pair| {
                    biased(first + pair) | biased(first + PAIRS + pair) << u8::BITS
                })));
            }
        };
        for row in all {
            let next = numbers.len() as u32;
            numbers.entry(&**row).or_insert_with(|| {
                append(row);
                next
            });
        }
        append(&[]);
        (Self { length, parts: length.div_ceil(LANES), pairs }, numbers)
    }

    /// Returns the number of the row that is all 0.
    pub(super) fn zero(&self) -> u32 {
        (self.pairs.len() / self.parts - 1) as u32
    }

    /// Returns the row of this number.
    pub(super) fn row(&self, number: usize) -> Vec<i8> {
        let mut sums = Sums::new(self.length);
        let zero = self.zero();
        self.add(&mut sums, &[number as u32, zero, zero, zero]);
        sums.iter().map(|sum| *sum as i8).collect()
    }

    /// Adds the rows of these numbers, a multiple of [`ROWS_TOGETHER`].
    #[inline]
    pub(super) fn add(&self, sums: &mut Sums, numbers: &[u32]) {
        let bias = numbers.len() as i16 * BIAS;
        sums.parts.as_flattened_mut().iter_mut().for_each(|sum| *sum -= bias);
        let groups = numbers.as_chunks().0;
        match self.parts {
            1 => self.add_parts::<1>(sums, groups),
            2 => self.add_parts::<2>(sums, groups),
            3 => self.add_parts::<3>(sums, groups),
            4 => self.add_parts::<4>(sums, groups),
            parts => groups.iter().for_each(|numbers| {
                let [a, b, c, d] = numbers.map(|number| &self.pairs[number as usize * parts..][..parts]);
                for ((((sum, a), b), c), d) in sums.parts.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                    add_four(sum, [a, b, c, d]);
                }
            }),
        }
    }

    /// Sums of a known length stay in registers: 24 rows of 50 numbers take half the instructions.
    #[inline(never)]
    fn add_parts<const PARTS: usize>(&self, sums: &mut Sums, groups: &[[u32; ROWS_TOGETHER]]) {
        let Some(sums) = sums.parts.first_chunk_mut::<PARTS>() else { return };
        let (rows, mut all) = (self.pairs.as_chunks::<PARTS>().0, *sums);
        for &[a, b, c, d] in groups {
            let (a, b, c, d) = (&rows[a as usize], &rows[b as usize], &rows[c as usize], &rows[d as usize]);
            for part in 0..PARTS {
                add_four(&mut all[part], [&a[part], &b[part], &c[part], &d[part]]);
            }
        }
        *sums = all;
    }
}

/// Adds a part of some rows to its sum.
#[inline(always)]
fn add_four(sum: &mut [i16; LANES], [a, b, c, d]: [&Pairs; ROWS_TOGETHER]) {
    for pair in 0..PAIRS {
        let four = a.0[pair] + b.0[pair] + c.0[pair] + d.0[pair];
        sum[pair] += (four & 0xff).cast_signed();
        sum[PAIRS + pair] += (four >> u8::BITS).cast_signed();
    }
}

impl Sums {
    /// Returns the sums, filled up with 0.
    #[inline]
    pub(super) fn padded(&self) -> &[i16] {
        self.parts.as_flattened()
    }

    /// Returns sums of no row.
    #[inline]
    pub(super) fn new(length: usize) -> Self {
        Self { parts: Inline::new([0; LANES], length.div_ceil(LANES)), length }
    }
}

impl Deref for Sums {
    type Target = [i16];

    #[inline]
    fn deref(&self) -> &[i16] {
        &self.parts.as_flattened()[..self.length]
    }
}
