//! The ways to adapt, each judged out of fold.

use std::sync::Arc;

use ah_types::{ChoiceId, Model};
use rayon::prelude::*;
use serde::Serialize;

use super::corrected::{self, Risk};
use super::strength::part;
use super::target::{self, MODE};
use super::transfer::{Transfer, slots};
use super::way::{METHODS, Method, Way, retrained};
use crate::data::Dataset;
use crate::error::TrainError;
use crate::judge::comparison::BaselineComparison;
use crate::judge::decisions::{self, JudgedInput};
use crate::judge::study::{Difference, mean_and_error};
use crate::params::ValidParams;
use crate::plan::TrainPlan;
use crate::promise::calibrate::{self, CalibratedThreshold, Violation};
use crate::tree::ScoredChoice;

/// Folds of the new inputs.
pub const FOLDS: usize = 10;

/// A looser promise is a worse one: it must save this share of the loss, and this much log time.
const WORTH: (f64, f64) = (0.5, 0.01);

/// What decisions cost on the new inputs, none of which they were learned from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// Geometric-mean slowdown; where it declines, the fallback's.
    pub slowdown: f64,
    /// The share of inputs on which it decides.
    pub coverage: f64,
    /// The share of inputs that are slower than the fallback by more than the limit.
    pub over_limit: f64,
    /// Geometric-mean slowdown where it always decides.
    pub always: f64,
}

/// All ways on the new inputs.
pub struct Trial<'a> {
    /// The old trees.
    pub transfer: Arc<Transfer<'a>>,
    pub dataset: &'a Dataset,
    /// To retrain from some of the inputs.
    pub params: &'a ValidParams,
    /// The settings for all of them.
    pub plan: &'a TrainPlan,
    pub fallback: ChoiceId,
    /// The rows of the table, in the order of the new inputs.
    pub rows: &'a [u32],
    /// The shares to try to promise ([`target::targets`]).
    pub targets: &'a [Option<f64>],
}

/// One fold.
pub struct Fold<'a> {
    held_out: Vec<usize>,
    /// By method: learned from the other inputs, and from half of them.
    ways: Vec<(Way<'a>, Way<'a>)>,
}

impl<'a> Fold<'a> {
    fn way(&self, method: Method) -> &(Way<'a>, Way<'a>) {
        &self.ways[method as usize]
    }
}

/// One way with one share to promise, judged out of fold.
pub struct Assessment {
    pub method: Method,
    pub target: Option<f64>,
    pub risk: Risk,
    pub calibrated: Option<CalibratedThreshold>,
    pub threshold: f64,
    pub judged: Judged,
}

impl Assessment {
    /// Returns the assessment to ship: of each share, the way that loses least; of the shares, the strictest, unless the
    /// next one is [worth](WORTH) it.
    pub fn best<'a>(assessments: &'a [Self], targets: &[Option<f64>]) -> Option<&'a Self> {
        let least = |target: &Option<f64>| {
            let of_target = assessments.iter().filter(|assessment| assessment.target == *target);
            of_target.min_by(|a, b| a.judged.slowdown.total_cmp(&b.judged.slowdown))
        };
        let is_worth = |strict: &Self, loose: &Self| {
            let loss = |assessment: &Self| assessment.judged.slowdown.ln();
            let saved = loss(strict) - loss(loose);
            loose.calibrated.is_some()
                && (strict.calibrated.is_none() || saved >= WORTH.1.max(WORTH.0 * loss(strict)))
        };
        targets
            .iter()
            .filter_map(least)
            .reduce(|strict, loose| if is_worth(strict, loose) { loose } else { strict })
    }
}

impl<'a> Trial<'a> {
    /// Adapts by these inputs.
    ///
    /// # Errors
    /// Those of the learners.
    pub fn adapt(&self, method: Method, inputs: &[usize]) -> Result<Way<'a>, TrainError> {
        match method {
            Method::Corrected => Ok(Way::corrected(&self.transfer, inputs.to_vec())),
            Method::Retrained => {
                let mut training: Vec<u32> = inputs.iter().map(|&at| self.rows[at]).collect();
                training.sort_unstable();
                retrained(self.dataset, self.params, self.fallback, (&training, self.rows))
            }
        }
    }

    /// Learns from the inputs outside of one fold, and from half of them.
    ///
    /// # Errors
    /// Those of the learners.
    pub fn fold(&self, all: &[usize], fold: usize) -> Result<Fold<'a>, TrainError> {
        let (training, held_out) = part(all, fold, FOLDS);
        let (half, _) = part(&training, 0, 2);
        let both = |method: &Method| Ok((self.adapt(*method, &training)?, self.adapt(*method, &half)?));
        Ok(Fold { held_out, ways: METHODS.iter().map(both).collect::<Result<_, TrainError>>()? })
    }

    /// Returns the ranking of each input out of fold, in the order of the new inputs.
    fn rankings(&self, folds: &[Fold<'_>], method: Method, risk: Risk) -> Vec<Vec<ScoredChoice>> {
        let mut rankings = vec![Vec::new(); self.rows.len()];
        for fold in folds {
            fold.held_out.iter().for_each(|&at| rankings[at] = fold.way(method).0.rank(at, risk));
        }
        rankings
    }

    /// Judges one way out of fold, with each share to promise.
    pub fn assess(&self, folds: &[Fold<'_>], method: Method) -> Vec<Assessment> {
        let limit = self.plan.max_slowdown.ln();
        let without_risk = self.rankings(folds, method, Risk { spread: 1.0, limit });
        let risk = Risk { spread: corrected::spread(&without_risk, self.fallback), limit };
        let rankings = self.rankings(folds, method, risk);
        let violations = self.violations(&rankings);
        let level = target::level(self.targets.len());
        let with_target = |&target: &Option<f64>| {
            let tested = target.map(|target| (MODE.test(target).0, level));
            let calibrated = tested.and_then(|test| {
                calibrate::fixed_sequence_test_at(&violations, self.rows.len(), self.rows.len(), test)
            });
            let threshold = match (&calibrated, self.plan.max_risk) {
                (_, None) => f64::INFINITY,
                (Some(calibrated), _) => calibrated.threshold,
                // As a training without a promise: a choice that saves as much as the limit lets it lose may be too
                // slow on this share.
                (None, Some(share)) => share / limit,
            };
            let judged = self.judged(|at, threshold| self.cost(&rankings[at], at, threshold), threshold);
            Assessment { method, target, risk, calibrated, threshold, judged }
        };
        self.targets.iter().map(with_target).collect()
    }

    fn violations(&self, rankings: &[Vec<ScoredChoice>]) -> Vec<Violation> {
        let of = |(ranking, &row): (&Vec<ScoredChoice>, &u32)| {
            let limit = self.plan.max_slowdown;
            calibrate::violations_of(ranking, &self.dataset.table, row, self.fallback, limit)
        };
        rankings.iter().zip(self.rows).flat_map(of).collect()
    }

    /// Returns the log slowdown of an input by its ranking, and whether it decides.
    fn cost(&self, ranking: &[ScoredChoice], at: usize, threshold: f64) -> (f64, bool) {
        self.loss(at, calibrate::pick(ranking, self.fallback, threshold).map(|picked| picked.choice))
    }

    fn loss(&self, at: usize, picked: Option<ChoiceId>) -> (f64, bool) {
        let picks = picked.unwrap_or(self.fallback);
        (self.dataset.table.loss(self.rows[at], picks, self.fallback), picked.is_some())
    }

    /// Prices decisions: `cost` returns an input's log slowdown at a threshold, and whether it decides.
    fn judged(&self, cost: impl Fn(usize, f64) -> (f64, bool), threshold: f64) -> Judged {
        let count = self.rows.len();
        let costs: Vec<(f64, bool)> = (0..count).map(|at| cost(at, threshold)).collect();
        let is_slow = |(cost, row): (&(f64, bool), &u32)| {
            let base = self.dataset.table.usable(*row, self.fallback);
            base.is_some_and(|base| cost.0 - base.log_slowdown > self.plan.max_slowdown.ln())
        };
        let mean = |costs: &mut dyn Iterator<Item = f64>| costs.sum::<f64>() / count as f64;
        let share = |count: usize| count as f64 / self.rows.len() as f64;
        Judged {
            slowdown: mean(&mut costs.iter().map(|c| c.0)).exp(),
            coverage: share(costs.iter().filter(|c| c.1).count()),
            over_limit: share(costs.iter().zip(self.rows).filter(|&pair| is_slow(pair)).count()),
            always: mean(&mut (0..count).map(|at| cost(at, f64::INFINITY).0)).exp(),
        }
    }

    /// Returns the adapted model's decisions out of fold, beside always taking one choice.
    pub fn comparison(&self, folds: &[Fold<'_>], best: &Assessment) -> BaselineComparison {
        let Assessment { risk, threshold, .. } = *best;
        let judged = |fold: &Fold<'_>| {
            let model = fold.way(best.method).0.model(risk, threshold);
            let rows: Vec<u32> = fold.held_out.iter().map(|&at| self.rows[at]).collect();
            decisions::decide(&model, &self.dataset.table, &rows, &slots(&model, self.dataset))
        };
        let judged: Vec<JudgedInput> = folds.par_iter().flat_map(judged).collect();
        let single = self.dataset.table.best_single(self.rows);
        let limit = self.plan.max_slowdown;
        BaselineComparison::new(&self.dataset.table, &judged, self.fallback, single, limit)
    }

    /// Judges the old model as it is.
    pub fn old(&self, old: &Model) -> Judged {
        let judged = decisions::decide(old, &self.dataset.table, self.rows, &slots(old, self.dataset));
        let unchanged = Way::unchanged(self.transfer.clone());
        let cost = |at: usize, threshold: f64| match threshold.is_finite() {
            true => self.loss(at, judged[at].ranking.first().copied()),
            false => self.always(&unchanged, at),
        };
        self.judged(cost, 0.0)
    }

    /// Returns the cost of always deciding on an input.
    fn always(&self, way: &Way<'_>, at: usize) -> (f64, bool) {
        self.cost(&way.rank(at, Risk { spread: 1.0, limit: 0.0 }), at, f64::INFINITY)
    }

    /// Returns what the second half of the inputs saved, always deciding.
    pub fn last_half(&self, folds: &[Fold<'_>], method: Method) -> Difference {
        let saved = |fold: &Fold<'_>| {
            let (all, half) = fold.way(method);
            let saved = |&at: &usize| self.always(half, at).0 - self.always(all, at).0;
            fold.held_out.iter().map(saved).collect::<Vec<f64>>()
        };
        let (mean, error) = mean_and_error(&folds.iter().flat_map(saved).collect::<Vec<f64>>());
        Difference { mean, error }
    }
}
