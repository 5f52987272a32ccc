//! A hash that is the same on every machine and in every version.

/// Returns the 64-bit FNV-1a hash of a text.
pub const fn fnv1a(text: &str) -> u64 {
    let (bytes, mut at, mut hash) = (text.as_bytes(), 0, 0xcbf2_9ce4_8422_2325_u64);
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    hash
}
