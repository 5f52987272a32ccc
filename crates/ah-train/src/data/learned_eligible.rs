//! Conditions under which a choice can run, learned from where it has times.
//!
//! A log may lack a choice on a part of its inputs without saying why: insertion sort above 2048 numbers. A leaf reaches
//! beyond its training inputs, so it once took insertion sort for 3,862 numbers, where it was 36 times slower than the best.
//!
//! A condition is a conjunction of [bounds](bounds) that hold on all inputs with a time and together on none without one.

use std::collections::{BTreeMap, BTreeSet};

use ah_model::expr::{Binary, Comparison, Expr};
use ah_model::{ChoiceId, FeatureKind, Precondition, Row, Schema, Value};

use super::domain::{all_hold, compare};
use super::table::Table;

/// Fewer inputs without a time may be at one end of a feature by chance: of 600 inputs, 3 are with a probability of 1e-7. Each
/// bound must exclude as many.
const LEAST: usize = 3;

/// A bound that 50 inputs keep is broken by one of 51 further inputs by chance; one that 5 inputs keep by one of 6.
const LEAST_TIMED: usize = 50;

/// The most bounds of a condition. Kernels of softmax need three: a least and a greatest size, and its alignment.
const MOST_BOUNDS: usize = 3;

/// The greatest alignment that is looked for: 64 numbers.
const MOST_ALIGNED: f64 = 64.0;

/// A condition for each of the choices that `declared` lacks, if bounds separate its inputs with a time from those without
/// one.
pub fn learn(
    table: &Table,
    inputs: &[u32],
    schema: &Schema,
    declared: &BTreeMap<ChoiceId, Precondition>,
) -> BTreeMap<ChoiceId, Precondition> {
    let is_learned = |(choice, timed): &(ChoiceId, usize)| {
        *timed >= LEAST_TIMED && !table.is_rare(*choice) && !declared.contains_key(choice)
    };
    let learned = (0_u32..).map(ChoiceId).zip(table.count_timed(inputs)).filter(is_learned);
    learned.filter_map(|(choice, _)| Some((choice, condition(table, inputs, schema, choice)?))).collect()
}

/// A condition that separates the inputs with a time of a choice from those without one, if bounds do.
pub fn condition(table: &Table, inputs: &[u32], schema: &Schema, choice: ChoiceId) -> Option<Precondition> {
    let (timed, without): (Vec<u32>, Vec<u32>) =
        inputs.iter().partition(|&&input| table.usable(input, choice).is_some());
    let [timed, without] =
        [timed, without].map(|inputs| inputs.iter().map(|&input| table.values(input)).collect::<Vec<_>>());
    all_hold(separate(schema, &timed, without)?.into_iter(), schema)
}

/// Bounds that hold on all of `timed` and together on none of `without`.
fn separate<'v>(
    schema: &Schema,
    timed: &[&'v [Value]],
    mut without: Vec<&'v [Value]>,
) -> Option<Vec<Expr<String>>> {
    let all = (0..schema.len()).flat_map(|slot| bounds(schema, slot, timed, &without));
    let typed = |bound: Expr<String>| Some((bound.resolve_bool(schema).ok()?, bound));
    let all: Vec<(Expr, Expr<String>)> = all.filter_map(typed).collect();
    let holds = |at: usize, values: &[Value]| all[at].0.truth(values) == Some(true);
    let mut chosen: BTreeSet<usize> = BTreeSet::new();
    while !without.is_empty() {
        let excluded = |&at: &usize| without.iter().filter(|values| !holds(at, values)).count();
        // The first of those that exclude the most.
        let best = (0..all.len()).rev().max_by_key(excluded)?;
        if excluded(&best) < LEAST || chosen.len() == MOST_BOUNDS {
            return None;
        }
        without.retain(|values| holds(best, values));
        chosen.insert(best);
    }
    Some(chosen.into_iter().map(|at| all[at].1.clone()).collect())
}

/// The tightest bounds on a feature that hold on all of `timed`. A bound on size is the next power of two if no input
/// without a time lies between: programs often have their limits there.
fn bounds(schema: &Schema, slot: usize, timed: &[&[Value]], without: &[&[Value]]) -> Vec<Expr<String>> {
    let feature = &schema.features()[slot];
    let bound = |comparison, value| compare(feature, comparison, value);
    if feature.kind == FeatureKind::Categorical {
        let categories = |rows: &[&[Value]]| -> BTreeSet<String> {
            rows.iter().filter_map(|row| row.category(slot)).map(str::to_owned).collect()
        };
        let seen = categories(timed);
        let others = categories(without);
        return match Vec::from_iter(&seen)[..] {
            [only] => vec![bound(Comparison::Eq, Expr::Text(only.clone()))],
            _ => others.difference(&seen).cloned().map(|x| bound(Comparison::Ne, Expr::Text(x))).collect(),
        };
    }
    let numbers: Vec<f64> = timed.iter().map(|row| row.number(slot)).collect();
    // A condition on a missing value is undefined, so the choice could not run there.
    if numbers.iter().any(|x| x.is_nan()) {
        return Vec::new();
    }
    let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let is_aligned = |size: &f64| numbers.iter().all(|x| x % size == 0.0);
    let sizes = std::iter::successors(Some(MOST_ALIGNED), |size| Some(size / 2.0));
    let aligned = sizes.take_while(|size| *size > 1.0).find(is_aligned);
    let is_free = |from: f64, to: f64| {
        let is_between = |x: f64| from < x && x < to && aligned.is_none_or(|size| x % size == 0.0);
        !without.iter().any(|row| is_between(row.number(slot)))
    };
    let has_power = |x: f64| (1.0..2_f64.powi(52)).contains(&x);
    // Without its mantissa, a number is the power of two at or below it.
    let power_below = |x: f64| f64::from_bits(x.to_bits() & f64::INFINITY.to_bits());
    let below = power_below(least);
    let above = 2.0 * power_below(greatest.next_down());
    let least = if has_power(least) && is_free(below.next_down(), least) { below } else { least };
    let greatest = if has_power(greatest) && is_free(greatest, above.next_up()) { above } else { greatest };
    let multiple = |size: f64| {
        let size = Expr::Number(size);
        let remainder = Expr::binary(Binary::Rem, Expr::Feature(feature.name.clone()), size);
        Expr::binary(Binary::Compare(Comparison::Eq), remainder, Expr::Number(0.0))
    };
    let sizes = [(Comparison::Ge, least), (Comparison::Le, greatest)];
    let sizes = sizes.map(|(comparison, size)| bound(comparison, Expr::Number(size)));
    sizes.into_iter().chain(aligned.map(multiple)).collect()
}
