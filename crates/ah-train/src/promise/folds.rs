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

use super::calibrate::{ALWAYS, Calibration, held_out_together};
use super::recipe::{Fitted, Recipe, View};
use crate::data::Dataset;
use crate::data::split::{self, Partition};
use crate::decisions::JudgedInput;
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
    whole: Arc<View>,
    parts: Parts,
    /// Folds that hold out whole groups, where there are groups and a promise.
    by_group: Option<Parts>,
}

/// Folds, and what the fit to each sees.
struct Parts {
    parts: Vec<Partition>,
    views: Vec<Arc<View>>,
}

/// The ensembles of one learner: from all inputs, and by fold.
pub struct CrossFitted {
    /// Learned from all inputs.
    pub whole: Fitted,
    of_parts: Vec<Fitted>,
    by_group: Vec<Fitted>,
}

impl Parts {
    /// Cuts inputs into at most `most` folds, until they hold out `enough` inputs.
    fn new(
        dataset: &Dataset,
        plan: &TrainPlan,
        inputs: &[u32],
        by: SplitBy,
        most: usize,
        enough: usize,
    ) -> Self {
        let mut parts = split::partitions(inputs, &dataset.keys(by, inputs), most, plan.seed);
        parts.truncate(enough.div_ceil(parts[0].held_out.len().max(1)));
        let view = |part: &Partition| Arc::new(View::new(dataset, plan, &part.training));
        let views = parts.par_iter().map(view).collect();
        Self { parts, views }
    }

    fn fit(&self, recipe: &Recipe<'_>) -> Vec<Fitted> {
        self.views.par_iter().map(|view| recipe.fit(view)).collect()
    }

    /// Returns what these ensembles decide, with trees of at most `most` leaves, on the inputs that the folds hold out.
    fn decide(
        &self,
        recipe: &Recipe<'_>,
        fitted: &[Fitted],
        most: Option<usize>,
        fallback: ChoiceId,
    ) -> Vec<JudgedInput> {
        let decide = |(fitted, part): (&Fitted, &Partition)| {
            let model = recipe.model(&recipe.sized(fitted, most), fallback, ALWAYS);
            recipe.decide(&model, &part.held_out)
        };
        let by_part: Vec<_> = fitted.par_iter().zip(&self.parts).map(decide).collect();
        by_part.concat()
    }
}

/// Learns by this recipe from folds that hold out whole groups, and returns what that decides on the inputs held out; nothing without
/// groups.
pub fn decide_by_group(recipe: &Recipe<'_>, inputs: &[u32], fallback: ChoiceId) -> Vec<JudgedInput> {
    let Recipe { dataset, plan, .. } = recipe;
    if dataset.groups.is_none() {
        return Vec::new();
    }
    let parts = Parts::new(dataset, plan, inputs, SplitBy::Groups, SEARCH_FOLDS, ENOUGH);
    parts.decide(recipe, &parts.fit(recipe), recipe.max_leaves, fallback)
}

impl<'a> Folds<'a> {
    /// Cuts `inputs` into folds: those that calibrate the promise, else as many as hold out enough. Folds by
    /// input are the default, as the promise is for inputs drawn like these. Folds by dimensions, for new shapes, cost more (mm
    /// A100: 1.020 against 1.015). `whole` is what a fit to all inputs sees.
    pub fn new(dataset: &Dataset, plan: &TrainPlan, inputs: &'a [u32], whole: &Arc<View>) -> Self {
        let (most, enough) = if plan.promises() { (FOLDS, usize::MAX) } else { (SEARCH_FOLDS, ENOUGH) };
        let parts = Parts::new(dataset, plan, inputs, plan.split_by(), most, enough);
        let calibrates = held_out_together(plan.promise);
        let by_group = plan.promises() && calibrates == SplitBy::Groups;
        let by_group =
            by_group.then(|| Parts::new(dataset, plan, inputs, SplitBy::Groups, FOLDS, usize::MAX));
        let independent = dataset.count_judging(calibrates, inputs);
        let fallback = dataset.fallback(inputs);
        Self { inputs, fallback, independent, whole: whole.clone(), parts, by_group }
    }

    /// Returns the folds as the search sees them.
    pub fn of_search(&self) -> Vec<Fold<'_>> {
        let folds = self.parts.parts.iter().zip(&self.parts.views);
        folds.map(|(part, view)| Fold { part, columns: &view.ranked.columns }).collect()
    }

    /// Learns from all inputs and from the training inputs of each fold.
    pub fn fit(&self, recipe: &Recipe<'_>) -> CrossFitted {
        let fit_parts = || {
            let by_group = || self.by_group.as_ref().map(|parts| parts.fit(recipe)).unwrap_or_default();
            rayon::join(|| self.parts.fit(recipe), by_group)
        };
        let (whole, (of_parts, by_group)) = rayon::join(|| recipe.fit(&self.whole), fit_parts);
        CrossFitted { whole, of_parts, by_group }
    }

    /// Returns what the ensembles decide, with trees of at most `most` leaves, on the inputs that the folds hold out.
    pub fn decide(&self, recipe: &Recipe<'_>, fitted: &CrossFitted, most: Option<usize>) -> Vec<JudgedInput> {
        self.parts.decide(recipe, &fitted.of_parts, most, self.fallback)
    }

    /// Returns the calibration by these decisions of the ensembles, or by theirs where folds hold out whole groups.
    pub fn calibration(
        &self,
        recipe: &Recipe<'_>,
        fitted: &CrossFitted,
        most: Option<usize>,
        judged: &[JudgedInput],
    ) -> Calibration {
        let Recipe { dataset, plan, .. } = recipe;
        let of = |judged| {
            Calibration::new(judged, self.independent, &dataset.table, self.fallback, plan.max_slowdown)
        };
        match &self.by_group {
            Some(parts) => of(&parts.decide(recipe, &fitted.by_group, most, self.fallback)),
            None => of(judged),
        }
    }
}
