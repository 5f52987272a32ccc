//! The three functions of the tutorial (`docs/tutorial.md`), which call this file a crate.

use std::collections::HashSet;

pub fn by_hash(values: &[u32]) -> usize {
    values.iter().collect::<HashSet<_>>().len()
}

pub fn by_sort(values: &[u32]) -> usize {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    sorted.len()
}

/// All values are less than `below`.
pub fn by_table(values: &[u32], below: u32) -> usize {
    let mut seen = vec![false; below as usize];
    values.iter().for_each(|&value| seen[value as usize] = true);
    seen.iter().filter(|&&seen| seen).count()
}
