//! Near-copies: inputs that agree in all features but one or two, such as a shape in several batch sizes.
//!
//! Held out one by one, a copy stays behind to learn from, so losses look smaller than on shapes that the log does not have. Inputs
//! are neighbours where all numbers but the left out ones are near and all categories are equal. Whether that matters is measured:
//! a tree is judged on folds by input and on folds by neighbourhood.

use ah_types::{DEVICE_FEATURES, Scalar, Value};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::configuration::Configuration;
use super::cross_validation::{BEYOND_NOISE, Fold, cross_validate};
use crate::data::split;
use crate::data::{Costs, Dataset, RankedFeatures};
use crate::learners::CostTree;
use crate::params::SplitBy;

/// Numbers are near within a 512th of an octave (0.14 %). Within an eighth, 16 of 60 logs of two independent numbers had neighbours.
const STEPS_PER_OCTAVE: f64 = 512.0;
/// A smaller difference of mean costs is none, however sure.
const LEAST_MORE: f64 = 0.002;
/// Fewest neighbourhoods: folds need some.
const LEAST_GROUPS: usize = 30;
/// The share of the inputs that must have a neighbour.
const LEAST_SHARE: f64 = 0.6;
/// Most numbers whose pairs are left out.
const MOST_NUMBERS: usize = 12;
/// Folds that compare both ways.
const FOLDS: usize = 5;
/// Most inputs that compare them.
const MOST_INPUTS: usize = 4000;
/// Standard errors of a difference that is none.
const ERRORS: f64 = 3.0;
/// Inputs are split by neighbourhood where the loss by neighbourhood is this many times the one by input, and beyond
/// [`BEYOND_NOISE`]: few neighbourhoods are slow, and a promise breaks where they are overlooked. With [`ERRORS`], 4 of 20 simulated
/// logs of near-copies promised, and broke it.
const WORSE: f64 = 1.5;

/// Neighbourhoods that matter.
#[derive(Clone, Debug)]
pub struct Neighbours {
    /// By input of the table, its neighbourhood.
    pub keys: Vec<String>,
    /// The features in which neighbours differ.
    pub left_out: Vec<String>,
    /// What a tree loses on folds by input, and on folds by neighbourhood, as mean costs.
    pub losses: [f64; 2],
    /// Whether the difference is so great that inputs are split and promised by neighbourhood.
    pub splits: bool,
}

/// Returns the neighbourhoods of a dataset; `None` where holding them out makes no difference.
pub fn find(dataset: &Dataset, seed: u64) -> Option<Neighbours> {
    let (keys, left_out) = candidates(dataset)?;
    let step = dataset.usable.len().div_ceil(MOST_INPUTS).max(1);
    // Whole neighbourhoods, so that copies stay together.
    let is_kept = |input: &&u32| {
        let hash = blake3::hash(keys[**input as usize].as_bytes());
        usize::from(hash.as_bytes()[0]) % step == 0
    };
    let inputs: Vec<u32> = dataset.usable.iter().filter(is_kept).copied().collect();
    let by_input = dataset.keys(SplitBy::Input, &inputs);
    let by_neighbourhood: Vec<String> = inputs.iter().map(|&input| keys[input as usize].clone()).collect();
    let losses = [&by_input, &by_neighbourhood].map(|keys| losses(dataset, &inputs, keys, seed));
    // Neighbours are slow together, so a neighbourhood counts once.
    let mut of_groups: FxHashMap<&str, (f64, f64)> = FxHashMap::default();
    for (at, key) in by_neighbourhood.iter().enumerate() {
        let group = of_groups.entry(key).or_default();
        group.0 += losses[1][at] - losses[0][at];
        group.1 += 1.0;
    }
    let count = inputs.len() as f64;
    let means = losses.map(|losses| losses.iter().sum::<f64>() / count);
    let more = means[1] - means[0];
    let mut groups: Vec<(f64, f64)> = of_groups.into_values().collect();
    groups.sort_by(|a, b| a.0.total_cmp(&b.0));
    let squares: f64 = groups.iter().map(|(sum, size)| (sum - more * size).powi(2)).sum();
    let error = squares.sqrt() / count;
    let splits = more > BEYOND_NOISE * error && means[1] > WORSE * means[0];
    (more > LEAST_MORE && (splits || more > ERRORS * error)).then_some(Neighbours {
        keys,
        left_out,
        losses: means,
        splits,
    })
}

/// Returns the neighbourhood of each input, with the names of the numbers that are left out of it: those that leave most inputs with
/// a neighbour, and of these the ones with most neighbourhoods.
fn candidates(dataset: &Dataset) -> Option<(Vec<String>, Vec<String>)> {
    let schema = dataset.features.base();
    let all = &dataset.table.inputs;
    let is_number = |slot: &usize| {
        let is_own = !DEVICE_FEATURES.contains(&&*schema.features()[*slot].name);
        is_own && all.first().is_some_and(|input| matches!(input.values[*slot], Value::Number(_)))
    };
    let numbers: Vec<usize> = (0..schema.len()).filter(is_number).collect();
    // A neighbourhood that leaves no number to agree in is everything.
    let most = numbers.len().saturating_sub(1).min(2);
    let singles = numbers.iter().map(|&slot| vec![slot]).filter(|_| most >= 1);
    let pairs =
        numbers.iter().enumerate().flat_map(|(at, &a)| numbers[at + 1..].iter().map(move |&b| vec![a, b]));
    let pairs = pairs.filter(|_| most >= 2 && numbers.len() <= MOST_NUMBERS);
    let sets: Vec<Vec<usize>> = singles.chain(pairs).collect();
    let values = |slot: usize| {
        let bits = |&input: &u32| all[input as usize].values[slot].as_scalar().number().map(f64::to_bits);
        dataset.usable.iter().filter_map(bits).collect::<FxHashSet<u64>>().len()
    };
    let distinct: Vec<(usize, usize)> = numbers.iter().map(|&slot| (slot, values(slot))).collect();
    let near: Vec<Vec<u64>> = all.iter().map(|input| input.values.iter().map(near).collect()).collect();
    let keys_of = |set: &Vec<usize>| -> Vec<u64> {
        let key = |input: &Vec<u64>| {
            let mut hasher = blake3::Hasher::new();
            let kept = input.iter().enumerate().filter(|(slot, _)| !set.contains(slot));
            kept.for_each(|(_, part)| _ = hasher.update(&part.to_le_bytes()));
            u64::from_le_bytes(hasher.finalize().as_bytes()[..8].try_into().unwrap_or_default())
        };
        near.iter().map(key).collect()
    };
    let rated = sets.into_par_iter().filter_map(|set| {
        let keys = keys_of(&set);
        let mut sizes: FxHashMap<u64, usize> = FxHashMap::default();
        dataset.usable.iter().for_each(|&input| *sizes.entry(keys[input as usize]).or_default() += 1);
        let with_neighbours: usize = sizes.values().filter(|size| **size > 1).sum();
        // Where most combinations of the values that stay occur, the inputs are a grid: a program meets the same ones again.
        let kept = || distinct.iter().filter(|(slot, _)| !set.contains(slot)).map(|(_, count)| *count);
        let combinations = kept().fold(1, usize::saturating_mul);
        let has_shapes = sizes.len() <= (2 * kept().max().unwrap_or(0)).max(combinations / 2);
        let are_many = with_neighbours as f64 >= LEAST_SHARE * dataset.usable.len() as f64;
        let is_enough = are_many && has_shapes && sizes.len() >= LEAST_GROUPS;
        is_enough.then_some((with_neighbours, sizes.len(), set, keys))
    });
    let rated: Vec<_> = rated.collect();
    let (_, _, set, keys) =
        rated.into_iter().max_by_key(|(with, groups, set, _)| (*with, *groups, set.clone()))?;
    let names = set.iter().map(|&slot| schema.features()[slot].name.clone()).collect();
    Some((keys.iter().map(u64::to_string).collect(), names))
}

/// Returns a number that near values share.
fn near(value: &Value) -> u64 {
    match value.as_scalar() {
        Scalar::Number(0.0) => 0,
        Scalar::Number(x) => {
            let step = (x.abs().log2() * STEPS_PER_OCTAVE).round();
            (if x < 0.0 { -1e6 - step } else { 1e6 + step }).to_bits()
        }
        Scalar::Bool(truth) => u64::from(truth),
        Scalar::Category(name) => {
            u64::from_le_bytes(blake3::hash(name.as_bytes()).as_bytes()[..8].try_into().unwrap_or_default())
        }
    }
}

/// Returns what a tree loses on each of these inputs, where folds by these keys hold it out.
fn losses(dataset: &Dataset, inputs: &[u32], keys: &[String], seed: u64) -> Vec<f64> {
    let position: FxHashMap<u32, usize> = inputs.iter().enumerate().map(|(at, &input)| (input, at)).collect();
    let parts = split::partitions(inputs, keys, FOLDS, seed);
    let ranked: Vec<RankedFeatures> =
        parts.par_iter().map(|part| dataset.ranked_without(&part.training, &Default::default())).collect();
    let folds: Vec<Fold<'_>> =
        parts.iter().zip(&ranked).map(|(part, r)| Fold { part, columns: &r.columns }).collect();
    let judged = cross_validate(
        &Configuration::CostTree(CostTree::new(8, 3)),
        &folds,
        &Costs::new(&dataset.table, None),
    );
    let mut losses = vec![0.0; inputs.len()];
    for (judged, part) in judged.iter().zip(&parts) {
        part.held_out.iter().zip(&judged.costs).for_each(|(input, cost)| losses[position[input]] = *cost);
    }
    losses
}
