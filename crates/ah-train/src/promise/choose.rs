//! Which size is taken: the smallest that loses little more than the best ([`Size`]), where a difference within the noise of the
//! inputs is none.

use std::ops::Range;

use super::calibrate::Look;
use super::candidate::{Candidate, Rung};
use super::recipe::Recipe;
use crate::params::Size;
use crate::search::cross_validation::{BEYOND_NOISE, difference};

/// A smaller model is as good as the best one within this many standard errors of the difference. From 70, 130 and 220 inputs of 18
/// logs (six seeds), heuristics lose 0.31, 0.27 and 0.27 points more with 1.0 to 1.6, and 0.03 less with none, where models grow
/// with every few inputs.
const WITHIN_NOISE: f64 = 0.5;

/// A tree on a formula is taken instead of a plain tree that costs at most this many standard errors less: it has fewer parameters
/// for each input, and holds outside the log's range. With 1.0 a plain tree is taken by one of six seeds
/// on 18 configurations of Triton, which loses 89 instead of 18 % above the measured sizes, and a fifth held out loses 2.04 instead of 1.87 %.
const FORMULA_WITHIN_NOISE: f64 = 2.0;

/// With [`Size::Best`] boosted trees on a formula are taken where they cost at most this many standard errors more: of 60 inputs `intel_fma` loses
/// 1.48 instead of 1.71 %, 18 configurations of Triton 4.0 instead of 4.5 (six seeds).
const BOOSTED_ON_FORMULA_WITHIN_NOISE: f64 = 1.0;

/// Without groups, boosted trees must be better than what people read by more than this many standard errors. With 1.0, and 1.645 beside one
/// leaf, SpMV on an MI100 and an MI250X loses 13.8 and 11.9 instead of 9.6 and 8.0 % of 60 inputs (six seeds); with less, noise has
/// boosted trees more often (docs/laboratory.md).
const BOOSTED_BEYOND_NOISE: f64 = 0.75;

/// Boosted trees must save this share of the time beside one tree,
const WORTH_BOOSTING: f64 = 0.005;
/// or this share of what the tree loses.
pub const WORTH_OF_LOSS: f64 = 0.5;

/// Whether boosted trees save enough beside a tree; both take this many times as long as the best choices.
fn pays(tree: f64, boosted: f64) -> bool {
    tree >= boosted * (1.0 + WORTH_BOOSTING) || boosted - 1.0 <= (tree - 1.0) * (1.0 - WORTH_OF_LOSS)
}

/// The candidate that is taken.
pub struct Taken {
    /// Its position.
    pub at: usize,
    /// The greatest slowdown that counts as good as the best one's.
    pub accepted: f64,
}

/// Takes one of these candidates, of which those without boosted trees come first. By default people read it, unless boosted trees
/// [pay](pays): thousands of lines for a tenth of a percent are not merged.
pub fn choose(candidates: &[Candidate<'_>], look: Option<Look>) -> Taken {
    let Candidate { recipe: Recipe { dataset, plan, .. }, held_out, .. } = &candidates[0];
    let inputs: Vec<u32> = held_out.decisions.iter().map(|judged| judged.input).collect();
    let sizes = Sizes {
        candidates,
        size: plan.size,
        weights: inputs.iter().map(|&input| dataset.table.learned_weight(input)).collect(),
        groups: dataset.group_of(&inputs),
    };
    let all = 0..candidates.len();
    let readable = 0..candidates.partition_point(|candidate| candidate.rung.boosted_trees == 0);
    let boosted = readable.end..all.end;
    match plan.size {
        Size::Best => {
            return sizes.or_on_formula(boosted, sizes.smallest(all), BOOSTED_ON_FORMULA_WITHIN_NOISE);
        }
        Size::Default if !readable.is_empty() => {}
        _ => return sizes.smallest(all),
    }
    let tree = sizes.or_on_formula(readable.clone(), sizes.smallest(readable), FORMULA_WITHIN_NOISE);
    if boosted.is_empty() {
        return tree;
    }
    let trees = sizes.smallest(boosted);
    let rung = &candidates[tree.at].rung;
    // Under a promise one tree may have to decline everywhere.
    let declines = look.is_some() && !rung.decides;
    // A few groups show a gain that new groups do not have.
    let errors = match &sizes.groups {
        None => BOOSTED_BEYOND_NOISE,
        Some(_) if rung.leaves > 1 => 1.0,
        Some(_) => BEYOND_NOISE,
    };
    let pays = pays(sizes.slowdown(tree.at), sizes.slowdown(trees.at));
    if declines || pays && !sizes.is_within(tree.at, trees.at, errors) { trees } else { tree }
}

/// Candidates, and what their costs are compared by.
struct Sizes<'a> {
    candidates: &'a [Candidate<'a>],
    size: Size,
    /// By decision, its weight,
    weights: Vec<f64>,
    /// and its group, where there are groups.
    groups: Option<Vec<u64>>,
}

impl Sizes<'_> {
    fn slowdown(&self, at: usize) -> f64 {
        self.candidates[at].slowdown
    }

    /// Whether a candidate costs at most `errors` standard errors more than another one.
    fn is_within(&self, at: usize, other: usize, errors: f64) -> bool {
        let [costs, others] = [at, other].map(|at| &self.candidates[at].costs);
        let (more, error) = difference(costs, others, &self.weights, self.groups.as_deref());
        more <= errors * error
    }

    /// The smallest of these candidates that is as good as the best of them: it loses as little more as the size lets it, or is
    /// within the noise of the difference.
    fn smallest(&self, of: Range<usize>) -> Taken {
        let by_slowdown = |a: &usize, b: &usize| self.slowdown(*a).total_cmp(&self.slowdown(*b));
        let best = of.clone().min_by(by_slowdown).unwrap_or(of.start);
        let is_leaf = |at: usize| {
            let Rung { leaves, on_formula, .. } = self.candidates[at].rung;
            leaves == 1 && !on_formula
        };
        let one_leaf = if is_leaf(0) { self.slowdown(0) } else { f64::INFINITY };
        let limit = self.size.greatest_slowdown(self.slowdown(best), one_leaf);
        // No tolerance for one leaf: it would give up the whole gain of a tree, and few inputs would change the answer.
        let errors = |at: usize| if is_leaf(at) { 0.0 } else { WITHIN_NOISE };
        let is_enough = |at: &usize| {
            self.slowdown(*at) <= limit || self.size != Size::Best && self.is_within(*at, best, errors(*at))
        };
        let at = of.clone().find(is_enough).unwrap_or(best);
        Taken { at, accepted: limit.max(self.slowdown(at)) }
    }

    /// Where something is learned, the first of these on a formula that costs at most `errors` standard errors more than `taken`,
    /// else `taken`.
    fn or_on_formula(&self, of: Range<usize>, taken: Taken, errors: f64) -> Taken {
        let Rung { leaves, boosted_trees, .. } = self.candidates[taken.at].rung;
        let mut formulas = of.filter(|at| self.candidates[*at].rung.on_formula);
        match formulas.find(|at| self.is_within(*at, taken.at, errors)) {
            Some(at) if leaves + boosted_trees > 1 => {
                Taken { at, accepted: taken.accepted.max(self.slowdown(at)) }
            }
            _ => taken,
        }
    }
}
