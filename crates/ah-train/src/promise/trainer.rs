//! Learning a heuristic, with or without a promise.

use ah_types::{ChoiceId, Model, Promise};
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use super::calibrate::{self, CONFIDENCE, CalibratedThreshold};
use super::price::{DEAR, LOOSER, LossCurve, PromisePrice};
use super::risk_model::{self, Taken};
use crate::data::split::{self, Partition};
use crate::data::{Costs, Dataset, RankedFeatures, Subset};
use crate::error::TrainError;
use crate::params::SplitBy;
use crate::plan::TrainPlan;
use crate::search::{Configuration, boosting};
use crate::tree::leaves::{self, RankingPolicy};
use crate::tree::prune::prune;
use crate::tree::{FittedEnsemble, risk};

/// Folds of the calibration. The trees of a fold learn from fewer inputs than the trees that ship: with
/// 5 folds the promise of 1 % costs up to 1.0118 on pad_mm A100 (median 1.0064, 40 random
/// partitions), with 10 up to 1.0085 (1.0061), with 20 up to 1.0111 (1.0062).
const FOLDS: usize = 10;

/// What to learn, and how.
#[derive(Clone, Copy)]
pub struct Trainer<'a> {
    /// The data.
    pub dataset: &'a Dataset,
    /// The features, as ranked from the inputs to learn from.
    pub features: &'a RankedFeatures,
    /// All settings.
    pub plan: &'a TrainPlan,
    /// The learner.
    pub configuration: &'a Configuration,
    /// The most leaves of a tree.
    pub max_leaves: Option<usize>,
    /// The choices that a leaf ranks.
    pub ranking: &'a RankingPolicy,
}

/// A learned heuristic.
pub struct Heuristic {
    /// The ensemble.
    pub fitted: FittedEnsemble,
    /// The inputs that it was learned from.
    pub fit_inputs: Vec<u32>,
    /// The fallback.
    pub fallback: ChoiceId,
    /// Choices up to this [risk ratio](risk) are allowed.
    pub threshold: f64,
    /// `None` if no promise is asked for, or none is possible.
    pub promise: Option<Promise>,
    /// What the promise costs; `None` if none is asked for.
    pub price: Option<PromisePrice>,
}

impl Trainer<'_> {
    /// Learns from these inputs, with a promise if the plan has one.
    ///
    /// # Errors
    /// Those of the learners.
    pub fn learn(&self, inputs: &[u32]) -> Result<Heuristic, TrainError> {
        match self.plan.max_risk {
            None => self.learn_without_promise(inputs),
            Some(target) => self.learn_with_promise(inputs, target),
        }
    }

    /// Learns a heuristic, and where its promise costs something also with the rival, one of the two of boosted trees.
    /// Returns the one that loses less under the promise: boosted trees only if they gain enough. Always deciding, trees may
    /// be as good as boosted ones whose promise costs half as much. Where neither can promise anything, too few inputs judge
    /// them, and the first one stays.
    ///
    /// # Errors
    /// Those of the learners.
    pub fn better_of(self, rival: &Self, inputs: &[u32]) -> Result<(Self, Heuristic), TrainError> {
        let own = self.learn(inputs)?;
        // Learning boosted trees beside one tree for nothing took 20 of 23 s on pad_mm of an H200.
        let is_dear = own.price.as_ref().is_some_and(|p| p.promised - p.always > boosting::LEAST_GAIN);
        if !is_dear {
            return Ok((self, own));
        }
        let others = rival.learn(inputs)?;
        let is_judged = own.promise.is_some() || others.promise.is_some();
        let is_better = is_judged && rival.loss_to_compare(&others) < self.loss_to_compare(&own);
        Ok(if is_better { (*rival, others) } else { (self, own) })
    }

    /// Returns the loss of a heuristic of this trainer under its promise, out of fold; of boosted trees with what their longer
    /// decisions cost and what they must gain.
    pub fn loss_to_compare(&self, heuristic: &Heuristic) -> f64 {
        let promised = heuristic.price.as_ref().map_or(0.0, |price| price.promised);
        if !self.is_boosted() {
            return promised;
        }
        let inputs = &heuristic.fit_inputs;
        let slower = inputs.iter().map(|&input| boosting::decision_cost(self.dataset, input)).sum::<f64>();
        promised + slower / inputs.len() as f64 + boosting::LEAST_GAIN
    }

    /// Learns a heuristic that always decides.
    ///
    /// # Errors
    /// Those of the learners.
    pub fn learn_without_promise(&self, inputs: &[u32]) -> Result<Heuristic, TrainError> {
        let fallback = self.dataset.fallback(inputs);
        let targets = self.dataset.costs();
        let rows = Subset { columns: &self.features.columns, inputs };
        let fitted = self.fit(&rows, &targets)?;
        let fit_inputs = inputs.to_vec();
        Ok(Heuristic { fitted, fit_inputs, fallback, threshold: f64::INFINITY, promise: None, price: None })
    }

    /// Learns, and calibrates on inputs that none of the ensembles that judge them was learned from.
    fn learn_with_promise(&self, inputs: &[u32], target: f64) -> Result<Heuristic, TrainError> {
        let (dataset, columns) = (self.dataset, &self.features.columns);
        let (mode, limit) = (self.plan.promise, self.plan.max_slowdown);
        let fallback = dataset.fallback(inputs);
        // With boosters, choices need no penalty: they are allowed by what they save, not by the risk of a leaf.
        let targets = dataset.costs_within(fallback, Some(limit).filter(|_| !self.is_boosted()));
        let parts = self.calibration_parts(inputs);
        let fit = |inputs: &[u32]| -> Result<FittedEnsemble, TrainError> {
            let rows = Subset { columns, inputs };
            let mut fitted = self.fit(&rows, &targets)?;
            fitted.assess(&dataset.table, &rows, fallback, limit);
            Ok(fitted)
        };
        let fit_part = |part: &Partition| -> Result<_, TrainError> {
            let (table, fitted) = (&dataset.table, fit(&part.training)?);
            let taken = if self.is_boosted() {
                risk_model::taken(&fitted, columns, table, &targets, &part.held_out, fallback, limit)
            } else {
                Vec::new()
            };
            Ok((fitted, taken))
        };
        let fit_parts = || parts.par_iter().map(fit_part).collect::<Result<Vec<_>, TrainError>>();
        let (whole, of_parts) = rayon::join(|| fit(inputs), fit_parts);
        let mut whole = whole?;
        let (of_parts, taken): (Vec<FittedEnsemble>, Vec<Vec<Taken>>) = of_parts?.into_iter().unzip();
        // The inputs that calibrate must not have taught the ensembles that they judge.
        risk_model::learn(&mut whole.boosters, columns, taken.iter().flatten());
        let judge = |(at, mut fitted): (usize, FittedEnsemble)| {
            let others = taken.iter().enumerate().filter(|(other, _)| *other != at);
            risk_model::learn(&mut fitted.boosters, columns, others.flat_map(|(_, taken)| taken));
            let (table, mut ranking) = (&dataset.table, Vec::new());
            let (mut violations, mut losses) = (Vec::new(), LossCurve::new());
            for &input in &parts[at].held_out {
                fitted.rank(columns, &targets, input, &mut ranking);
                violations.extend(calibrate::violations_of(&ranking, table, input, fallback, limit));
                losses.add(&ranking, table, input, fallback);
            }
            (violations, losses)
        };
        let of_folds: Vec<_> = of_parts.into_par_iter().enumerate().map(judge).collect();
        let (mut violations, mut losses) = (Vec::new(), LossCurve::new());
        for (of_fold, curve) in of_folds {
            violations.extend(of_fold);
            losses.merge(&curve);
        }
        let judged: Vec<u32> = parts.iter().flat_map(|part| &part.held_out).copied().collect();
        let independent = dataset.count_judging(&judged);
        let test =
            |target| calibrate::fixed_sequence_test(&violations, judged.len(), independent, mode, target);
        let calibrated = test(target);
        let threshold = self.threshold(calibrated.as_ref(), target);
        let price = PromisePrice {
            fallback: losses.of_fallback(),
            always: losses.at(f64::INFINITY),
            promised: losses.at(threshold),
            looser: None,
        };
        let looser = LOOSER.iter().filter(|share| **share > target).find_map(|&share| {
            let loss = losses.at(test(share)?.threshold);
            (price.share(loss) <= DEAR).then_some((share, loss))
        });
        Ok(Heuristic {
            fitted: whole,
            fit_inputs: inputs.to_vec(),
            fallback,
            threshold,
            promise: calibrated
                .map(|calibrated| promise(self.dataset, self.plan, &calibrated, inputs, target)),
            price: Some(PromisePrice { looser, ..price }),
        })
    }

    fn is_boosted(&self) -> bool {
        matches!(self.configuration, Configuration::Boosted { .. })
    }

    /// Returns the greatest risk ratio of a choice that is allowed. Without a promise, a choice that saves as much as the
    /// limit lets it lose may be too slow on the target share of inputs.
    pub fn threshold(&self, calibrated: Option<&CalibratedThreshold>, target: f64) -> f64 {
        calibrated.map_or(target / self.plan.max_slowdown.ln(), |c| c.threshold)
    }

    pub(super) fn fit(&self, rows: &Subset<'_>, targets: &Costs) -> Result<FittedEnsemble, TrainError> {
        let fitted = self.configuration.fit(rows, targets)?;
        Ok(match self.max_leaves {
            Some(most) => prune(&fitted, rows, targets, most),
            None => fitted,
        })
    }

    /// Returns the partition of each calibration fit. Folds by input are the default, as the promise is for inputs drawn
    /// like these. Folds by dimensions, for new shapes, cost more (mm A100: 1.020 against 1.015).
    fn calibration_parts(&self, inputs: &[u32]) -> Vec<Partition> {
        let keys = self.dataset.keys(self.plan.promise.held_out_together(), inputs);
        split::partitions(&self.dataset.table, inputs, &keys, FOLDS, self.plan.seed)
    }

    /// Returns a model with the trees of this heuristic, always deciding.
    pub fn always_deciding(&self, heuristic: &Heuristic, model: Model) -> Model {
        self.with_trees(heuristic, f64::INFINITY, model)
    }

    /// Returns a model with the trees of this heuristic; choices with a risk ratio above `threshold` are not allowed.
    pub fn with_trees(&self, heuristic: &Heuristic, threshold: f64, model: Model) -> Model {
        let Heuristic { fitted, fit_inputs, fallback, .. } = heuristic;
        let columns = &self.features.columns;
        let rows = Subset { columns, inputs: fit_inputs };
        let margin = risk::margin(threshold).filter(|_| fitted.is_boosted());
        Model {
            tree: leaves::tree(fitted, &self.dataset.table, &rows, *fallback, threshold, self.ranking),
            boosters: fitted.boosters.in_model(columns, margin.is_some()),
            unit: fitted.boosters.unit,
            margin,
            ..model
        }
    }
}

/// Returns the promise of a threshold that was calibrated on these inputs.
pub fn promise(
    dataset: &Dataset,
    plan: &TrainPlan,
    calibrated: &CalibratedThreshold,
    inputs: &[u32],
    target: f64,
) -> Promise {
    let mode = plan.promise;
    let (tested, level) = mode.test(target);
    let shapes: FxHashSet<String> = dataset.keys(SplitBy::Dims, inputs).into_iter().collect();
    Promise {
        target,
        confidence: CONFIDENCE,
        limit: plan.max_slowdown,
        mode: mode.calibration(),
        tested,
        level,
        inputs: calibrated.inputs as u64,
        groups: shapes.len() as u64,
        violations: calibrated.violations as u64,
        clear: calibrated.clear as u64,
        runs: u64::from(median_runs(dataset, inputs)),
        threshold: Some(calibrated.threshold).filter(|t| t.is_finite()),
    }
}

/// Returns the median number of measurements of a cell.
fn median_runs(dataset: &Dataset, inputs: &[u32]) -> u32 {
    let cells = inputs.iter().flat_map(|&i| dataset.table.cells(i));
    let mut runs: Vec<u32> = cells.filter(|c| c.time.is_finite()).map(|c| c.samples).collect();
    let middle = runs.len() / 2;
    if runs.is_empty() { 0 } else { *runs.select_nth_unstable(middle).1 }
}
