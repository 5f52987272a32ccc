//! SplitMix64: the same seed gives the same input everywhere.

pub struct Random(u64);

impl Random {
    pub fn new(run: u64, position: u64) -> Self {
        let mut random = Self(run.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ position.rotate_left(32));
        random.next();
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// A number from `low` to `high`, each octave as likely as any other.
    pub fn log_uniform(&mut self, low: usize, high: usize) -> usize {
        let share = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        (low as f64 * (high as f64 / low as f64).powf(share)) as usize
    }
}
