//! Learning: an ensemble from all inputs and one from each fold's training part, and what a heuristic of any size loses on
//! the inputs that its folds hold out.
//!
//! The folds serve twice. With a promise they calibrate it; and they compare sizes ([`super::ladder`]), each with the
//! threshold that it would get: a small tree may lose little if it always decides, and decline nearly everywhere (pad_mm H200
//! with 3 leaves: 0.9 % and 81 %).

use ah_types::ChoiceId;
use rayon::prelude::*;

use super::calibrate::{self, Violation};
use super::price::{DEAR, LOOSER, LossCurve, PromisePrice};
use super::risk_model::{self, Taken};
use super::trainer::{Heuristic, Trainer, promise};
use crate::data::split::{self, Partition};
use crate::data::{Costs, Subset};
use crate::error::TrainError;
use crate::overhead::{ModelUse, Overhead};
use crate::tree::FittedEnsemble;
use crate::tree::prune::PruningOrder;

/// Folds of the calibration. The trees of a fold learn from fewer inputs than the trees that ship: with
/// 5 folds the promise of 1 % costs up to 1.0118 on pad_mm A100 (median 1.0064, 40 random
/// partitions), with 10 up to 1.0085 (1.0061), with 20 up to 1.0111 (1.0062).
const FOLDS: usize = 10;

impl Trainer<'_> {
    /// Learns from these inputs, with a promise if the plan has one.
    ///
    /// # Errors
    /// Those of the learners.
    pub fn learn(&self, inputs: &[u32]) -> Result<Heuristic, TrainError> {
        let parts = self.plan.max_risk.map_or_else(Vec::new, |_| self.calibration_parts(inputs));
        Ok(CrossFit::new(self, inputs, &parts, None)?.heuristic(self.max_leaves))
    }

    /// Learns a heuristic that always decides.
    ///
    /// # Errors
    /// Those of the learners.
    pub fn learn_without_promise(&self, inputs: &[u32]) -> Result<Heuristic, TrainError> {
        Trainer { plan: &self.plan.always_deciding(), ..*self }.learn(inputs)
    }

    /// Returns the partition of each calibration fit. Folds by input are the default, as the promise is for inputs drawn
    /// like these. Folds by dimensions, for new shapes, cost more (mm A100: 1.020 against 1.015).
    pub fn calibration_parts(&self, inputs: &[u32]) -> Vec<Partition> {
        let keys = self.dataset.keys(self.plan.promise.held_out_together(), inputs);
        split::partitions(&self.dataset.table, inputs, &keys, FOLDS, self.plan.seed)
    }
}

/// The ensembles of one learner, whole.
pub struct CrossFit<'a> {
    trainer: &'a Trainer<'a>,
    inputs: &'a [u32],
    parts: &'a [Partition],
    fallback: ChoiceId,
    /// What the ensembles learn from; with a promise, with its penalty.
    costs: Costs,
    /// Learned from all inputs.
    whole: FittedEnsemble,
    /// By part, learned from its training inputs.
    of_parts: Vec<FittedEnsemble>,
    /// By choice, its id in the table that judges.
    judging_ids: Vec<ChoiceId>,
}

impl<'a> CrossFit<'a> {
    /// Learns from `inputs` and from the training inputs of each part. `trees` lends its trees, learned from the same inputs, to
    /// boosted ones beside the same kind of tree.
    ///
    /// # Errors
    /// Those of the learners.
    pub fn new(
        trainer: &'a Trainer<'a>,
        inputs: &'a [u32],
        parts: &'a [Partition],
        trees: Option<&Self>,
    ) -> Result<Self, TrainError> {
        let Trainer { dataset, plan, configuration, .. } = trainer;
        let fallback = dataset.fallback(inputs);
        let of_tree = dataset.costs_within(fallback, plan.max_risk.map(|_| plan.max_slowdown));
        // With boosters, choices need no penalty: they are allowed by what they save, not by the risk of a leaf.
        let of_boosters = trainer.is_boosted().then(|| dataset.costs());
        let costs = of_boosters.as_ref().unwrap_or(&of_tree);
        let trees = trees.filter(|trees| configuration.has_tree_of(trees.trainer.configuration));
        let fit = |inputs: &[u32], tree: Option<&FittedEnsemble>| {
            let rows = Subset { columns: &trainer.features.columns, inputs };
            let tree = tree.map_or_else(|| configuration.fit(&rows, &of_tree), |tree| Ok(tree.clone()))?;
            Ok::<_, TrainError>(configuration.boost(tree, &rows, costs))
        };
        let fit_part = |(at, part): (usize, &Partition)| fit(&part.training, trees.map(|t| &t.of_parts[at]));
        let fit_parts = || parts.par_iter().enumerate().map(fit_part).collect::<Result<Vec<_>, _>>();
        let (whole, of_parts) = rayon::join(|| fit(inputs, trees.map(|trees| &trees.whole)), fit_parts);
        let (whole, of_parts) = (whole?, of_parts?);
        let costs = of_boosters.unwrap_or(of_tree);
        let all = (0..dataset.table.choices.len() as u32).map(ChoiceId);
        let judging_ids = all.map(|choice| dataset.judging(choice).1).collect();
        Ok(Self { trainer, inputs, parts, fallback, costs, whole, of_parts, judging_ids })
    }

    /// Returns the number of leaves of the whole tree.
    pub fn leaves(&self) -> usize {
        self.whole.tree.leaves()
    }

    /// Returns the heuristic whose tree has at most `most` leaves (`None`: the whole tree), with what it loses on the inputs
    /// that the parts hold out.
    pub fn heuristic(&self, most: Option<usize>) -> Heuristic {
        let Trainer { dataset, features, plan, .. } = self.trainer;
        let mut fitted = self.sized(&self.whole, self.inputs, most);
        let rows = Subset { columns: &features.columns, inputs: self.inputs };
        let (of_parts, taken) = self.of_parts(most);
        risk_model::learn(&mut fitted.boosters, rows.columns, taken.iter().flatten());
        let used = ModelUse::of_fitted(&fitted, &dataset.features, &rows);
        let (violations, losses) = self.judge(&of_parts);
        let judged: Vec<u32> = self.parts.iter().flat_map(|part| &part.held_out).copied().collect();
        let independent = dataset.count_judging(&judged);
        let test = |target| {
            calibrate::fixed_sequence_test(&violations, judged.len(), independent, plan.promise, target)
        };
        let calibrated = plan.max_risk.and_then(test);
        let threshold =
            plan.max_risk.map_or(f64::INFINITY, |target| self.trainer.threshold(calibrated.as_ref(), target));
        let price = PromisePrice {
            fallback: losses.of_fallback(),
            always: losses.at(f64::INFINITY),
            promised: losses.at(threshold),
            looser: None,
        };
        let looser = plan.max_risk.and_then(|target| {
            LOOSER.iter().filter(|share| **share > target).find_map(|&share| {
                let loss = losses.at(test(share)?.threshold);
                (price.share(loss) <= DEAR).then_some((share, loss))
            })
        });
        let promised = plan.max_risk.zip(calibrated.as_ref());
        Heuristic {
            fitted,
            fit_inputs: self.inputs.to_vec(),
            fallback: self.fallback,
            threshold,
            promise: promised
                .map(|(target, calibrated)| promise(dataset, plan, calibrated, self.inputs, target)),
            price: (!judged.is_empty()).then_some(PromisePrice { looser, ..price }),
            used,
        }
    }

    /// Returns the ensembles of the parts with trees of at most `most` leaves, and what they take.
    fn of_parts(&self, most: Option<usize>) -> (Vec<FittedEnsemble>, Vec<Vec<Taken>>) {
        let columns = &self.trainer.features.columns;
        let parts = self.of_parts.par_iter().zip(self.parts);
        let mut of_parts: Vec<FittedEnsemble> =
            parts.map(|(fitted, part)| self.sized(fitted, &part.training, most)).collect();
        let taken: Vec<Vec<Taken>> =
            of_parts.par_iter().zip(self.parts).map(|part| self.taken(part)).collect();
        of_parts.par_iter_mut().enumerate().for_each(|(at, fitted)| {
            // The inputs that calibrate must not have taught the ensembles that they judge.
            let others = taken.iter().enumerate().filter(|(other, _)| *other != at);
            risk_model::learn(&mut fitted.boosters, columns, others.flat_map(|(_, taken)| taken));
        });
        (of_parts, taken)
    }

    fn sized(&self, fitted: &FittedEnsemble, inputs: &[u32], most: Option<usize>) -> FittedEnsemble {
        let Trainer { dataset, features, plan, .. } = self.trainer;
        let rows = Subset { columns: &features.columns, inputs };
        let mut sized = match most {
            Some(most) => PruningOrder::new(fitted, &rows, &self.costs).at_most(fitted, most),
            None => fitted.clone(),
        };
        if plan.max_risk.is_some() {
            sized.assess(&dataset.table, &rows, self.fallback, plan.max_slowdown);
        }
        sized
    }

    /// Returns what a boosted ensemble takes on the inputs that it was not learned from, if a promise needs it.
    fn taken(&self, (fitted, part): (&FittedEnsemble, &Partition)) -> Vec<Taken> {
        let Trainer { dataset, features, plan, .. } = self.trainer;
        if plan.max_risk.is_none() || !fitted.is_boosted() {
            return Vec::new();
        }
        let (columns, table, limit) = (&features.columns, &dataset.table, plan.max_slowdown);
        risk_model::taken(fitted, columns, table, &self.costs, &part.held_out, self.fallback, limit)
    }

    /// Returns what asking the ensemble of a part adds, by the path of an input.
    fn costs_of(&self, fitted: &FittedEnsemble, part: &Partition) -> impl Fn(u32) -> Overhead {
        let Trainer { dataset, features, plan, .. } = self.trainer;
        let rows = Subset { columns: &features.columns, inputs: &part.training };
        let costs = plan.asking.costs(&ModelUse::of_fitted(fitted, &dataset.features, &rows));
        let (tree, columns) = (fitted.tree.clone(), &features.columns);
        move |input| costs.at(Some(tree.leaf_of(columns, input) as usize))
    }

    /// Returns the violations and the losses on the inputs that the parts hold out.
    fn judge(&self, of_parts: &[FittedEnsemble]) -> (Vec<Violation>, LossCurve) {
        let (dataset, columns) = (self.trainer.dataset, &self.trainer.features.columns);
        let (table, limit) = (&dataset.table, self.trainer.plan.max_slowdown);
        let (judging, fallback) = dataset.judging(self.fallback);
        let judge = |(fitted, part): (&FittedEnsemble, &Partition)| {
            let (mut violations, mut losses) = (Vec::new(), LossCurve::new());
            let (mut ranking, overhead) = (Vec::new(), self.costs_of(fitted, part));
            for &input in &part.held_out {
                let overhead = &overhead(input);
                fitted.rank(columns, &self.costs, input, &mut ranking);
                let found = calibrate::violations_of(&ranking, table, input, self.fallback, limit, overhead);
                violations.extend(found);
                ranking.iter_mut().for_each(|ranked| ranked.choice = self.judging_ids[ranked.choice.index()]);
                losses.add(&ranking, judging, input, fallback, overhead);
            }
            (violations, losses)
        };
        let judged: Vec<_> = of_parts.par_iter().zip(self.parts).map(judge).collect();
        let (mut violations, mut losses) = (Vec::new(), LossCurve::new());
        for (of_part, curve) in judged {
            violations.extend(of_part);
            losses.merge(&curve);
        }
        (violations, losses)
    }

    /// Returns the cost of a heuristic of this size on each input that the parts hold out, the decision included.
    pub fn losses(&self, heuristic: &Heuristic, most: Option<usize>) -> Vec<f64> {
        let Trainer { dataset, features, .. } = self.trainer;
        let (table, fallback) = dataset.judging(self.fallback);
        let mut ranking = Vec::new();
        let mut loss = |fitted: &FittedEnsemble, overhead: Overhead, input: u32| {
            fitted.rank(&features.columns, &self.costs, input, &mut ranking);
            let picked = calibrate::pick(&ranking, self.fallback, heuristic.threshold);
            let taken = picked.map_or(fallback, |picked| self.judging_ids[picked.choice.index()]);
            overhead.cost(table, input, taken, fallback)
        };
        let (of_parts, _) = self.of_parts(most);
        let mut losses = Vec::new();
        for (fitted, part) in of_parts.iter().zip(self.parts) {
            let overhead = self.costs_of(fitted, part);
            losses.extend(part.held_out.iter().map(|&input| loss(fitted, overhead(input), input)));
        }
        losses
    }
}
