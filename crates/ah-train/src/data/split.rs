//! Which inputs are learned from and which are held out.
//!
//! An input's place is the hash of the seed and of its key, so it depends neither on the order
//! of rows nor on what else is in the log. The key is the input's text, or the combination of its
//! dimensions where whole combinations are held out together.

use ah_types::Features;

use super::table::Table;

/// What is held out together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SplitBy {
    /// Each input alone.
    Input,
    /// All inputs with the same dimensions: harder, as no similar shape remains to learn from.
    Dims,
}

/// A fraction from 0 (included) to 1 (excluded) for each input, equal for equal keys.
fn fractions(keys: &[String], seed: u64, purpose: &str) -> Vec<f64> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes()).update(purpose.as_bytes()).update(&[0]);
    let fraction = |key: &String| {
        let hash = hasher.clone().update(key.as_bytes()).finalize();
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&hash.as_bytes()[..8]);
        // 53 bits are exact in an f64.
        (u64::from_le_bytes(bytes) >> 11) as f64 / (1_u64 << 53) as f64
    };
    keys.iter().map(fraction).collect()
}

/// The key of each input of `rows`.
#[must_use]
pub fn keys(
    table: &Table,
    features: &Features,
    dimensions: &[String],
    by: SplitBy,
    rows: &[u32],
) -> Vec<String> {
    let slots: Vec<usize> = dimensions.iter().filter_map(|d| features.base().slot(d)).collect();
    let key = |&row: &u32| {
        let input = &table.inputs[row as usize];
        match by {
            SplitBy::Dims if !slots.is_empty() => {
                slots.iter().map(|&s| input.values[s].to_string()).collect::<Vec<_>>().join(",")
            }
            _ => input.text.to_string(),
        }
    };
    rows.iter().map(key).collect()
}

/// Splits `rows` into (training, test); about `share` of the keys go to the test part.
/// Splits for different purposes are independent.
#[must_use]
pub fn hold_out(rows: &[u32], keys: &[String], share: f64, seed: u64, purpose: &str) -> (Vec<u32>, Vec<u32>) {
    let fractions = fractions(keys, seed, purpose);
    let mut parts = (Vec::new(), Vec::new());
    for (&row, fraction) in rows.iter().zip(fractions) {
        if fraction < share { parts.1.push(row) } else { parts.0.push(row) }
    }
    parts
}

/// The fold, from 0 to `folds - 1`, of each row. Folds differ in size by at most one key.
#[must_use]
pub fn folds(keys: &[String], folds: usize, seed: u64) -> Vec<usize> {
    let fractions = fractions(keys, seed, "folds");
    let mut distinct: Vec<(u64, &String)> = fractions.iter().map(|f| f.to_bits()).zip(keys).collect();
    distinct.sort_unstable();
    distinct.dedup();
    let place: rustc_hash::FxHashMap<&String, usize> =
        distinct.iter().enumerate().map(|(i, (_, key))| (*key, i % folds)).collect();
    keys.iter().map(|k| place[k]).collect()
}
