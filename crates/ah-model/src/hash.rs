//! Hashes that are the same on every machine and in every version.

/// The 64-bit FNV-1a hash of a text.
pub const fn fnv1a(text: &str) -> u64 {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    hash
}

/// A number whose bits each depend on all bits of `x`: the last step of SplitMix64 (Steele, Lea and Flood,
/// OOPSLA 2014).
pub const fn scramble(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// 128 bits that identify a text, in hex: FNV-1a, then [`scramble`], so that the first digits depend on every byte. It
/// finds other texts, not forged ones.
pub fn identity(text: &str) -> String {
    let hash = text.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128, |hash, byte| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    });
    let high = (hash >> 64) as u64;
    let first = scramble((hash as u64).wrapping_add(scramble(high)));
    format!("{first:016x}{:016x}", scramble(high.wrapping_add(first)))
}
