//! Which inputs are held out: the test part of a training, and folds.
//!
//! The hash of the seed and of an input's key decides where the input goes, so neither the order of
//! rows nor the other inputs matter. The key is the input's text, or its combination of dimensions
//! where whole combinations are held out together. The key has no features of the device: the same input on two devices
//! is held out together, because its times on one tell much about the other.

use ah_model::{DEVICE_FEATURES, Features, Value};
use rustc_hash::FxHashMap;

use super::table::Table;
use crate::params::SplitBy;

/// The key of each of these inputs.
pub fn keys(
    table: &Table,
    features: &Features,
    dimensions: &[String],
    by: SplitBy,
    inputs: &[u32],
) -> Vec<String> {
    let slots: Vec<usize> = dimensions.iter().filter_map(|d| features.base().slot(d)).collect();
    let is_of_input = |slot: &usize| !DEVICE_FEATURES.contains(&&*features.base().features()[*slot].name);
    let of_input: Vec<usize> = (0..features.base().len()).filter(is_of_input).collect();
    let joined = |values: &[Value], slots: &[usize]| {
        slots.iter().map(|&slot| values[slot].to_string()).collect::<Vec<_>>().join(",")
    };
    let key = |&input: &u32| {
        let input = &table.inputs[input as usize];
        match by {
            SplitBy::Dims if !slots.is_empty() => joined(&input.values, &slots),
            _ if of_input.len() < input.values.len() => joined(&input.values, &of_input),
            _ => input.text.to_string(),
        }
    };
    inputs.iter().map(key).collect()
}

/// Inputs in two parts, each ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// The inputs to learn from.
    pub training: Vec<u32>,
    /// The inputs to judge on.
    pub held_out: Vec<u32>,
}

/// Holds out about `share` of the keys, and at least one: of a dozen keys, one seed in 15 would hold out none. It is independent of
/// [`partitions`].
pub fn hold_out(inputs: &[u32], keys: &[String], share: f64, seed: u64) -> Partition {
    let fractions = fractions(keys, seed, "test");
    let least = fractions.iter().copied().fold(f64::INFINITY, f64::min);
    partition(inputs, |position| fractions[position] < share || fractions[position] <= least)
}

/// `held_out` gets the position of an input.
fn partition(inputs: &[u32], held_out: impl Fn(usize) -> bool) -> Partition {
    let mut parts = Partition { training: Vec::new(), held_out: Vec::new() };
    for (position, &input) in inputs.iter().enumerate() {
        if held_out(position) { parts.held_out.push(input) } else { parts.training.push(input) }
    }
    parts
}

/// The inputs cut into `count` folds by their keys: for each fold a partition that holds it out. Folds differ in size by at
/// most one distinct key.
pub fn partitions(inputs: &[u32], keys: &[String], count: usize, seed: u64) -> Vec<Partition> {
    let fractions = fractions(keys, seed, "folds");
    let mut distinct: Vec<(u64, &String)> = fractions.iter().map(|f| f.to_bits()).zip(keys).collect();
    distinct.sort_unstable();
    distinct.dedup();
    let fold_of: FxHashMap<&String, usize> =
        distinct.iter().enumerate().map(|(i, (_, key))| (*key, i % count)).collect();
    let folds: Vec<usize> = keys.iter().map(|key| fold_of[key]).collect();
    let part = |fold| partition(inputs, |position| folds[position] == fold);
    (0..count).map(part).collect()
}

/// A fraction from 0 (included) to 1 (excluded) for each key, equal for equal keys.
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
