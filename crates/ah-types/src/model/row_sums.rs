//! The rows of the boosters' leaves, and their sum for one input.

use std::collections::HashMap;
use std::ops::Deref;

use super::boosters::ScoreRow;
use crate::inline::Inline;

/// Numbers that are added at a time. A register of any x86-64 or Arm processor holds as many.
const LANES: usize = 16;

/// Rows that are added at a time: four numbers between -29 and 27 fit into 8 bits.
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
    lanes: Vec<[i8; LANES]>,
}

/// The sums of the boosters' rows for one input: a number for each choice and one for the risk; empty without boosters.
#[derive(Clone, Debug)]
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
        let (mut lanes, mut numbers) = (Vec::new(), HashMap::new());
        let mut append = |row: &[i8]| {
            for part in row.chunks(LANES) {
                let mut filled = [0; LANES];
                filled[..part.len()].copy_from_slice(part);
                lanes.push(filled);
            }
        };
        for row in all {
            let next = numbers.len() as u32;
            numbers.entry(&**row).or_insert_with(|| {
                append(row);
                next
            });
        }
        append(&vec![0; length]);
        (Self { length, parts: length.div_ceil(LANES), lanes }, numbers)
    }

    /// Returns the number of the row that is all 0.
    pub(super) fn zero(&self) -> u32 {
        (self.lanes.len() / self.parts - 1) as u32
    }

    /// Returns the row of this number.
    pub(super) fn row(&self, number: usize) -> &[i8] {
        &self.lanes[number * self.parts..][..self.parts].as_flattened()[..self.length]
    }

    /// Adds the rows of these numbers.
    #[inline]
    pub(super) fn add(&self, sums: &mut Sums, numbers: [u32; ROWS_TOGETHER]) {
        let row = |number: u32| &self.lanes[number as usize * self.parts..][..self.parts];
        let [a, b, c, d] = numbers.map(row);
        for ((((sum, a), b), c), d) in sums.parts.iter_mut().zip(a).zip(b).zip(c).zip(d) {
            let four: [i8; LANES] =
                std::array::from_fn(|i| a[i].wrapping_add(b[i]).wrapping_add(c[i]).wrapping_add(d[i]));
            sum.iter_mut().zip(four).for_each(|(sum, four)| *sum += i16::from(four));
        }
    }
}

impl Sums {
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
