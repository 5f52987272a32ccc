//! Cross-fitting: an ensemble from all inputs and one from each fold's training part, and what each decides on the inputs that
//! its fold holds out. Each held-out input is ranked once for each size; everything else folds over these decisions.
//!
//! The folds serve three times. The search compares configurations on them; with a promise they calibrate it; and they compare
//! sizes ([`super::ladder`]), each with the margin that it would get. Where inputs come in groups, folds by group calibrate instead.
//! A margin matters: a small tree may lose little if it always decides, and decline nearly everywhere (pad_mm H200
//! with 3 leaves: 0.9 % and 81 %).

use std::sync::Arc;

use ah_model::ChoiceId;
use rayon::prelude::*;

use super::calibrate::{ALWAYS, Calibration};
use super::recipe::{Fitted, Recipe, View};
use crate::data::Dataset;
use crate::data::split::{self, Partition};
use crate::decisions::JudgedInput;
use crate::learners;
use crate::params::SplitBy;
use crate::plan::{SEARCH_FOLDS, TrainPlan};
use crate::search::Fold;

/// Folds of the calibration. The trees of a fold learn from fewer inputs than the trees that ship: with
/// 5 folds the promise of 1 % costs up to 1.0118 on pad_mm A100 (median 1.0064, 40 random
/// partitions), with 10 up to 1.0085 (1.0061), with 20 up to 1.0111 (1.0062).
const FOLDS: usize = 10;

/// Without a promise, folds are judged until they hold out this many inputs. With 2000, pad_mm A100 (1245 inputs a fold)
/// takes the smaller model with seed 1 and loses 1.0032; with 4000 it loses 1.0026, as with all folds.
const ENOUGH: usize = 4000;

/// The folds of some inputs, and what the fit to each sees.
pub struct Folds<'a> {
    /// The inputs.
    pub inputs: &'a [u32],
    /// The fallback when learning from them.
    pub fallback: ChoiceId,
    /// The effective number of independent inputs among them.
    independent: usize,
    /// The folds that compare; then, where there are groups, folds that hold out whole groups.
    parts: Vec<Partition>,
    /// The number of folds that compare.
    comparing: usize,
    whole: Arc<View>,
    of_parts: Vec<Arc<View>>,
}

/// What ensembles decide on the inputs that their folds hold out.
pub struct HeldOut {
    /// By the folds that compare.
    pub decisions: Vec<JudgedInput>,
    /// By the folds that hold out whole groups; none without groups.
    pub by_group: Vec<JudgedInput>,
}

/// The ensembles of one learner: from all inputs, and by fold.
pub struct CrossFitted {
    /// Learned from all inputs.
    pub whole: Fitted,
    of_parts: Vec<Fitted>,
}

impl<'a> Folds<'a> {
    /// Cuts `inputs` into folds: those that calibrate the promise, else as many as hold out enough. Folds by
    /// input are the default, as the promise is for inputs drawn like these. Folds by dimensions, for new shapes, cost more (mm
    /// A100: 1.020 against 1.015). `whole` is what a fit to all inputs sees.
    pub fn new(dataset: &Dataset, plan: &TrainPlan, inputs: &'a [u32], whole: &Arc<View>) -> Self {
        let (most, enough) = if plan.promises() { (FOLDS, usize::MAX) } else { (SEARCH_FOLDS, ENOUGH) };
        let cut = |keys: Vec<String>| {
            let mut parts = split::partitions(inputs, &keys, most, plan.seed);
            parts.truncate(enough.div_ceil(parts[0].held_out.len().max(1)));
            parts
        };
        let mut parts = cut(dataset.keys(SplitBy::Input, inputs));
        let comparing = parts.len();
        if dataset.groups.is_some() {
            parts.extend(cut(dataset.evidence_keys(inputs)));
        }
        let independent = dataset.count_evidence(inputs);
        let view =
            |part: &Partition| Arc::new(View::new(dataset, plan, &part.training, whole.formula.is_some()));
        let of_parts = parts.par_iter().map(view).collect();
        let fallback = dataset.fallback(inputs);
        Self { inputs, fallback, independent, parts, comparing, whole: whole.clone(), of_parts }
    }

    /// The same folds on cost formulas; `None` where no field of the choices tiles a feature.
    pub fn on_formula(&self, dataset: &Dataset, plan: &TrainPlan) -> Option<Self> {
        if learners::dimensions(dataset, self.inputs).is_empty() {
            return None;
        }
        let view = |inputs: &[u32]| Arc::new(View::new(dataset, plan, inputs, true));
        let whole = Some(view(self.inputs)).filter(|view| view.formula.is_some())?;
        let of_parts = self.parts.par_iter().map(|part| view(&part.training)).collect();
        Some(Self { parts: self.parts.clone(), whole, of_parts, ..*self })
    }

    /// The folds as the search sees them.
    pub fn of_search(&self) -> Vec<Fold<'_>> {
        let folds = self.parts.iter().zip(&self.of_parts).take(self.comparing);
        folds.map(|(part, view)| Fold { part, columns: &view.ranked.columns }).collect()
    }

    /// Learns from all inputs and from the training inputs of each fold.
    pub fn fit(&self, recipe: &Recipe<'_>) -> CrossFitted {
        let fit_parts = || self.of_parts.par_iter().map(|view| recipe.fit(view)).collect();
        let (whole, of_parts) = rayon::join(|| recipe.fit(&self.whole), fit_parts);
        CrossFitted { whole, of_parts }
    }

    /// The decisions of the ensembles, with trees of the size of `recipe`, on the inputs that the folds hold out.
    pub fn decide(&self, recipe: &Recipe<'_>, fitted: &CrossFitted) -> HeldOut {
        let decide = |(fitted, part): (&Fitted, &Partition)| {
            let model = recipe.model(&recipe.sized(fitted), self.fallback, ALWAYS);
            recipe.decide(&model, &part.held_out)
        };
        let by_part: Vec<_> = fitted.of_parts.par_iter().zip(&self.parts).map(decide).collect();
        let (comparing, by_group) = by_part.split_at(self.comparing);
        HeldOut { decisions: comparing.concat(), by_group: by_group.concat() }
    }

    /// The calibration by these decisions, of whole groups where there are groups.
    pub fn calibration(&self, recipe: &Recipe<'_>, held_out: &HeldOut) -> Calibration {
        let Recipe { dataset, plan, .. } = recipe;
        let HeldOut { decisions, by_group } = held_out;
        let judged = if dataset.groups.is_some() { by_group } else { decisions };
        Calibration::new(judged, self.independent, &dataset.table, self.fallback, plan.max_slowdown)
    }
}
