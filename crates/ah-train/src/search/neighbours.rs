//! Near-copies: inputs that agree in all features but one or two, such as a shape in several batch sizes or element types.
//!
//! Held out one by one, a copy stays behind to learn from, so losses look smaller than on shapes that the log does not have. Inputs
//! are neighbours where, but for the features that are left out, all numbers are near and all categories are equal. Whether that
//! matters is measured: a tree is judged on folds by input and on folds by neighbourhood.

use std::collections::BTreeMap;

use ah_model::hash::fnv1a;
use ah_model::{DEVICE_FEATURES, FeatureKind, Scalar, Value};
use ah_types::random::mix;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::configuration::Configuration;
use super::cross_validation::{BEYOND_NOISE, Fold, cross_validate};
use crate::data::split;
use crate::data::{Costs, Dataset, RankedFeatures};
use crate::learners::CostTree;
use crate::params::SplitBy;
use crate::plan::SEARCH_FOLDS;

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
/// Most inputs that compare them.
const MOST_INPUTS: usize = 4000;
/// Standard errors of a difference that is none.
const ERRORS: f64 = 3.0;
/// Inputs are split by neighbourhood where the loss by neighbourhood is this many times the one by input, beyond [`BEYOND_NOISE`]
/// (with [`ERRORS`], 4 of 20 simulated logs of near-copies broke their promise), and more than that of a neighbour's fastest choice:
/// of convolutions in several batch sizes it loses 2.0 to 2.9 times as much, of flex attention 1.04 times, of copies nothing.
const WORSE: f64 = 1.25;

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
    let found = candidates(dataset).into_iter().filter_map(|candidate| compare(dataset, seed, candidate));
    found.max_by(|a, b| a.splits.cmp(&b.splits).then(a.losses[1].total_cmp(&b.losses[1])))
}

/// Judges a tree on folds by input and on folds by neighbourhood.
fn compare(dataset: &Dataset, seed: u64, (keys, left_out): (Vec<String>, Vec<String>)) -> Option<Neighbours> {
    let step = dataset.usable.len().div_ceil(MOST_INPUTS).max(1) as u64;
    // Whole neighbourhoods, so that copies stay together.
    let is_kept = |input: &&u32| fnv1a(&keys[**input as usize]).is_multiple_of(step);
    let inputs: Vec<u32> = dataset.usable.iter().filter(is_kept).copied().collect();
    let by_input = dataset.keys(SplitBy::Input, &inputs);
    let by_neighbourhood: Vec<String> = inputs.iter().map(|&input| keys[input as usize].clone()).collect();
    let costs = Costs::new(&dataset.table, None);
    let losses = [&by_input, &by_neighbourhood].map(|keys| losses(dataset, &costs, &inputs, keys, seed));
    let mut groups: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for (input, key) in inputs.iter().zip(&by_neighbourhood) {
        groups.entry(key).or_default().push(*input);
    }
    let count = inputs.len() as f64;
    let means = losses.each_ref().map(|losses| inputs.iter().map(|input| losses[input]).sum::<f64>() / count);
    let more = means[1] - means[0];
    // Neighbours are slow together, so a neighbourhood counts once.
    let beyond = |group: &Vec<u32>| group.iter().map(|x| losses[1][x] - losses[0][x] - more).sum::<f64>();
    let error = groups.values().map(|group| beyond(group).powi(2)).sum::<f64>().sqrt() / count;
    let copied =
        |pair: &[u32]| costs.winner(pair[0]).map(|choice| dataset.table.loss(pair[1], choice, choice));
    let by_copy: Vec<f64> = groups.values().flat_map(|group| group.windows(2).filter_map(copied)).collect();
    let is_more = more > BEYOND_NOISE * error && means[1] > WORSE * means[0];
    let splits = is_more && means[1] * by_copy.len() as f64 > by_copy.iter().sum();
    let found = Neighbours { keys, left_out, losses: means, splits };
    (more > LEAST_MORE && (splits || more > ERRORS * error)).then_some(found)
}

/// Returns the neighbourhoods without one number, without two and without a category that leave most inputs with a neighbour; of each
/// the largest ones, since copies in one number may be copies in another one too. Returns each by input, with the names of what is
/// left out.
fn candidates(dataset: &Dataset) -> Vec<(Vec<String>, Vec<String>)> {
    let schema = dataset.features.base();
    let all = &dataset.table.inputs;
    let is_own = |slot: &usize| !DEVICE_FEATURES.contains(&&*schema.features()[*slot].name);
    let is_number = |slot: &usize| schema.features()[*slot].kind == FeatureKind::Numerical;
    let (numbers, categories): (Vec<usize>, Vec<usize>) =
        (0..schema.len()).filter(is_own).partition(is_number);
    // A neighbourhood that leaves no number to agree in is everything.
    let singles = numbers.iter().map(|&slot| vec![slot]).filter(|_| numbers.len() > 1);
    let pairs =
        numbers.iter().enumerate().flat_map(|(at, &a)| numbers[at + 1..].iter().map(move |&b| vec![a, b]));
    let pairs = pairs.filter(|_| (3..=MOST_NUMBERS).contains(&numbers.len()));
    let [near, same] = [STEPS_PER_OCTAVE, f64::INFINITY].map(|steps| -> Vec<Vec<u64>> {
        all.iter().map(|input| input.values.iter().map(|value| near(value, steps)).collect()).collect()
    });
    let distinct = |&slot: &usize| {
        let values = dataset.usable.iter().map(|&input| same[input as usize][slot]);
        (slot, values.collect::<FxHashSet<u64>>().len())
    };
    let distinct: Vec<(usize, usize)> = numbers.iter().map(distinct).collect();
    // By number that stays, how many values it has.
    let distinct_of = |set: &[usize]| -> Vec<usize> {
        distinct.iter().filter(|(slot, _)| !set.contains(slot)).map(|(_, count)| *count).collect()
    };
    let keys_of = |set: &Vec<usize>| -> Vec<u64> {
        // In one number alone, many of some hundred independent inputs are near.
        let near = if distinct_of(set).len() == 1 { &same } else { &near };
        let key = |input: &Vec<u64>| {
            let kept = input.iter().enumerate().filter(|(slot, _)| !set.contains(slot));
            kept.fold(0, |key, (_, part)| mix(key, *part))
        };
        near.iter().map(key).collect()
    };
    let of_categories = categories.iter().map(|&slot| vec![slot]).filter(|_| !numbers.is_empty());
    let sets: Vec<Vec<usize>> = singles.chain(pairs).chain(of_categories).collect();
    let rated = sets.into_par_iter().filter_map(|set| {
        let keys = keys_of(&set);
        let mut sizes: FxHashMap<u64, usize> = FxHashMap::default();
        dataset.usable.iter().for_each(|&input| *sizes.entry(keys[input as usize]).or_default() += 1);
        let with_neighbours: usize = sizes.values().filter(|size| **size > 1).sum();
        // Where most combinations of the values that stay occur, the inputs are a grid: a program meets the same ones again.
        let kept = distinct_of(&set);
        let combinations = kept.iter().copied().fold(1, usize::saturating_mul);
        let has_shapes = sizes.len() <= (2 * kept.into_iter().max().unwrap_or(0)).max(combinations / 2);
        let are_many = with_neighbours as f64 >= LEAST_SHARE * dataset.usable.len() as f64;
        let is_enough = are_many && has_shapes && sizes.len() >= LEAST_GROUPS;
        is_enough.then_some((with_neighbours, sizes.len(), set, keys))
    });
    let rated: Vec<_> = rated.collect();
    let best = |size: usize, of_numbers: bool| {
        let of_size =
            rated.iter().filter(|(_, _, set, _)| set.len() == size && is_number(&set[0]) == of_numbers);
        let (_, _, set, keys) =
            of_size.max_by_key(|(with, groups, set, _)| (*with, std::cmp::Reverse(*groups), set.clone()))?;
        let names = set.iter().map(|&slot| schema.features()[slot].name.clone()).collect();
        Some((keys.iter().map(u64::to_string).collect(), names))
    };
    [best(1, true), best(2, true), best(1, false)].into_iter().flatten().collect()
}

/// Returns a number that near values share; with infinitely many steps, equal ones.
fn near(value: &Value, steps_per_octave: f64) -> u64 {
    match value.as_scalar() {
        Scalar::Number(0.0) => 0,
        Scalar::Number(x) if steps_per_octave.is_infinite() => x.to_bits(),
        Scalar::Number(x) => {
            let step = (x.abs().log2() * steps_per_octave).round();
            (if x < 0.0 { -1e6 - step } else { 1e6 + step }).to_bits()
        }
        Scalar::Bool(truth) => u64::from(truth),
        Scalar::Category(name) => fnv1a(name),
    }
}

/// Returns what a tree loses on each of these inputs, where folds by these keys hold it out.
fn losses(data: &Dataset, costs: &Costs, inputs: &[u32], keys: &[String], seed: u64) -> FxHashMap<u32, f64> {
    let parts = split::partitions(inputs, keys, SEARCH_FOLDS, seed);
    let ranked: Vec<RankedFeatures> =
        parts.par_iter().map(|part| data.ranked_without(&part.training, &Default::default())).collect();
    let folds: Vec<Fold<'_>> =
        parts.iter().zip(&ranked).map(|(part, r)| Fold { part, columns: &r.columns }).collect();
    // It remembers single inputs. With leaves of 3 it overlooked pairs, and 20 of 60 logs broke their promise.
    let tree = Configuration::CostTree(CostTree::new(20, 1));
    let judged = cross_validate(&tree, &folds, costs).into_iter().flat_map(|(_, costs)| costs);
    parts.into_iter().flat_map(|part| part.held_out).zip(judged).collect()
}
