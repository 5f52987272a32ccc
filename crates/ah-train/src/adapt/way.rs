//! The ways to adapt a model: correct its scores, or retrain.

use std::sync::Arc;

use ah_types::{ChoiceId, Model};
use serde::Serialize;

use super::corrected::{self, Risk};
use super::correction::{Correction, Strength};
use super::rewrite::rewrite;
use super::transfer::Transfer;
use crate::data::Dataset;
use crate::error::TrainError;
use crate::model;
use crate::params::ValidParams;
use crate::plan::TrainPlan;
use crate::promise::Trainer;
use crate::promise::ladder::{self, Climbed};
use crate::search;
use crate::tree::{RankingPolicy, ScoredChoice};

/// All ways, in the order of preference among equals.
pub const METHODS: [Method; 2] = [Method::Corrected, Method::Retrained];

/// How the adapted model came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// The old trees with corrected scores.
    Corrected,
    /// Trees that are learned from the new inputs alone.
    Retrained,
}

/// Trees that were adapted by some of the new inputs.
pub struct Way<'a> {
    /// The trees, with all new inputs.
    transfer: Arc<Transfer<'a>>,
    /// What to add to their scores.
    correction: Correction,
    /// What the old scores weigh; `None` if they are not corrected.
    pub strength: Option<Strength>,
    /// The new inputs that are further evidence for the leaves.
    evidence: Vec<usize>,
}

impl<'a> Way<'a> {
    /// Returns these trees as they are.
    pub fn unchanged(transfer: Arc<Transfer<'a>>) -> Self {
        let correction = Correction::none(&transfer);
        Self { transfer, correction, strength: None, evidence: Vec::new() }
    }

    /// Corrects the scores of the old trees by these inputs.
    pub fn corrected(transfer: &Arc<Transfer<'a>>, inputs: Vec<usize>) -> Self {
        let strength = Strength::choose(transfer, &inputs);
        let correction = Correction::new(transfer, &inputs, strength);
        Self { transfer: transfer.clone(), correction, strength: Some(strength), evidence: inputs }
    }

    /// Returns the timed choices of an input, best first; empty if the trees have no answer.
    pub fn rank(&self, at: usize, risk: Risk) -> Vec<ScoredChoice> {
        corrected::rank(&self.transfer, &self.correction, risk, &self.transfer.inputs[at])
    }

    /// Returns the model; choices with a risk ratio above `threshold` are not allowed.
    pub fn model(&self, risk: Risk, threshold: f64) -> Model {
        rewrite(&self.transfer, &self.correction, &self.evidence, risk, threshold)
    }
}

/// Learns from these inputs alone, as `ah-train` does, always deciding. Looks up `rows` in the trees.
///
/// # Errors
/// Those of the learners.
pub fn retrained<'a>(
    dataset: &'a Dataset,
    params: &ValidParams,
    fallback: ChoiceId,
    (inputs, rows): (&[u32], &[u32]),
) -> Result<Way<'a>, TrainError> {
    let plan = &TrainPlan::resolve(params, dataset, inputs)?.always_deciding();
    let features = &dataset.ranked(inputs);
    let ranking = &RankingPolicy { eligible: dataset.eligible_on(inputs), ..RankingPolicy::default() };
    let searched = search::search(dataset, plan, &features.columns, inputs)?;
    let configuration = &searched.best.configuration;
    let trainer = Trainer { dataset, features, plan, configuration, max_leaves: None, ranking };
    let Climbed { configuration, heuristic, .. } = ladder::climb(&trainer, inputs)?;
    let trainer = Trainer { configuration: &configuration, ..trainer };
    let mut model = model::model(&trainer, &heuristic);
    if dataset.ad_hoc {
        model::drop_unused(&mut model);
    }
    Ok(Way::unchanged(Arc::new(Transfer::new(model, dataset, fallback, rows))))
}
