//! Hashes that are the same on every machine and in every version.

/// Returns the 64-bit FNV-1a hash of a text.
pub const fn fnv1a(text: &str) -> u64 {
    let (bytes, mut at, mut hash) = (text.as_bytes(), 0, 0xcbf2_9ce4_8422_2325_u64);
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    hash
}

/// Returns a number whose bits each depend on all bits of `x`: the last step of SplitMix64 (Steele, Lea and Flood,
/// OOPSLA 2014).
pub const fn scramble(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
