//! A hash of a kernel's source, which distinguishes its versions.

/// Returns a hash of a kernel's source, for use as its version: `source_hash(include_str!("softmax.rs"))`.
/// FNV-1a, 64 bits.
#[must_use]
pub const fn source_hash(source: &str) -> u64 {
    let (bytes, mut at, mut hash) = (source.as_bytes(), 0, 0xcbf2_9ce4_8422_2325_u64);
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    hash
}
