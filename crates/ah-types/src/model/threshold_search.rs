//! The search for the code of a value: the number of its column's thresholds that are below it.
//!
//! The upper bits of a positive float are a bucket that never falls as the float grows. So thresholds in lower buckets are below
//! the value, those in higher ones are not, and only the few in its own bucket are compared: at most 4 for most columns, where a
//! binary search compares 8 one after the other. A column takes half the instructions.

use crate::tree::goes_left;

/// The most buckets of a column.
const MOST_BUCKETS: u64 = 512;

/// Thresholds of a bucket that are compared without a search.
const FEW: usize = 4;

/// The distinct thresholds of a column.
#[derive(Clone, Debug, PartialEq)]
pub struct ThresholdSearch {
    /// The thresholds in ascending order, and behind them as many infinite ones as are compared at a time.
    pub padded: Vec<f64>,
    /// By bucket: the number of thresholds in lower ones.
    pub starts: Vec<u16>,
    /// The least values of the first bucket and of the last one. Values outside of the buckets are in the next one.
    ends: [f64; 2],
    /// The bits of a float that its bucket leaves out.
    pub shift: u32,
    /// The first bucket. It has all lower floats too, as the last one has all higher ones.
    pub first: i64,
    /// The most thresholds of a bucket, rounded up to a power of two.
    pub window: usize,
}

impl ThresholdSearch {
    /// Returns the thresholds in ascending order.
    pub fn thresholds(&self) -> &[f64] {
        &self.padded[..self.padded.len() - self.window]
    }

    /// Returns the search among these distinct thresholds in ascending order.
    pub(super) fn new(thresholds: &[f64]) -> Self {
        let mut search = Self {
            padded: Vec::new(),
            starts: Vec::new(),
            ends: [0.0; 2],
            shift: u64::BITS - 1,
            first: 0,
            window: usize::MAX,
        };
        // The coarsest buckets with few thresholds, else the finest ones.
        while search.window > FEW {
            let shift = search.shift - 1;
            let key = |x: f64| bits(x) >> shift;
            let positive = || thresholds.iter().copied().filter(|x| *x > 0.0).map(key);
            let (first, last) = (positive().min().unwrap_or(0), positive().max().unwrap_or(0));
            if shift == 0 || first.abs_diff(last) >= MOST_BUCKETS {
                break;
            }
            (search.shift, search.first) = (shift, first);
            search.ends = [first, last].map(|bucket| f64::from_bits((bucket << shift).cast_unsigned()));
            search.starts = vec![0; last.abs_diff(first) as usize + 1];
            let mut counts = vec![0_usize; search.starts.len()];
            thresholds.iter().for_each(|x| counts[search.bucket(*x)] += 1);
            search.window = counts.iter().copied().max().unwrap_or(0).next_power_of_two().max(FEW);
            let mut sum = 0;
            for (start, count) in search.starts.iter_mut().zip(counts) {
                *start = sum as u16;
                sum += count;
            }
        }
        search.padded = [thresholds, &vec![f64::INFINITY; search.window]].concat();
        search
    }

    /// Returns the bucket of a value.
    #[inline(always)]
    fn bucket(&self, value: f64) -> usize {
        let [first, last] = self.ends;
        let value = if value > first { value } else { first };
        let value = if value < last { value } else { last };
        ((bits(value) >> self.shift) - self.first) as usize
    }

    /// Returns the code of a value, or of what replaces NaN.
    #[inline(always)]
    pub(super) fn code_or<E>(
        &self,
        value: f64,
        undefined: impl FnOnce() -> Result<f64, E>,
    ) -> Result<u32, E> {
        Ok(self.code(if value.is_nan() { undefined()? } else { value }))
    }

    /// Returns the number of thresholds below a value.
    #[inline(always)]
    pub(super) fn code(&self, value: f64) -> u32 {
        let mut start = if self.starts.len() == 1 { 0 } else { usize::from(self.starts[self.bucket(value)]) };
        let mut window = self.window;
        while window > FEW {
            window /= 2;
            start += window * usize::from(!goes_left(value, self.padded[start + window - 1]));
        }
        let few = self.padded[start..].first_chunk::<FEW>();
        start as u32 + few.map_or(0, |few| few.iter().map(|x| u32::from(!goes_left(value, *x))).sum::<u32>())
    }
}

/// Returns the bits of a float as a number that grows with positive floats and is negative for negative ones.
#[inline(always)]
fn bits(x: f64) -> i64 {
    x.to_bits().cast_signed()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn numbers() -> impl Strategy<Value = f64> {
        let edges = vec![0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::MIN, f64::MAX, 5e-324, -5e-324];
        prop_oneof![
            prop::sample::select(edges),
            any::<f64>().prop_filter("a number", |x| !x.is_nan()),
            (0_u32..5000).prop_map(f64::from),
            -1.0..1.0,
            1e6..1e6 + 1.0,
        ]
    }

    proptest! {
        #[test]
        fn the_code_is_the_number_of_thresholds_below(
            mut thresholds in prop::collection::vec(numbers(), 1..300),
            values in prop::collection::vec(numbers(), 50),
        ) {
            thresholds.retain(|x| x.is_finite());
            thresholds.sort_by(f64::total_cmp);
            thresholds.dedup();
            let search = ThresholdSearch::new(&thresholds);
            let near = thresholds.iter().flat_map(|x| [x.next_down(), *x, x.next_up()]);
            for value in values.into_iter().chain(near) {
                let below = thresholds.iter().filter(|x| **x < value).count();
                prop_assert_eq!(search.code(value) as usize, below, "{} of {:?}", value, search);
            }
        }
    }
}
