//! Random numbers without a state: each is a function of a seed and an index, so that the order and the
//! threads in which they are drawn do not matter.

/// Mixes two numbers into one (SplitMix64; Steele, Lea and Flood, OOPSLA 2014).
pub fn mix(seed: u64, index: u64) -> u64 {
    ah_model::hash::scramble(seed.wrapping_add((index.wrapping_add(1)).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

/// A number from 0 (included) to 1 (excluded).
pub fn fraction(seed: u64, index: u64) -> f64 {
    // 53 bits are exact in an f64.
    (mix(seed, index) >> 11) as f64 / (1_u64 << 53) as f64
}
