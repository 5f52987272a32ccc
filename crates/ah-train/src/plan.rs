//! The plan of a training: all its settings, resolved and checked once.
//!
//! A flag wins over the `[training]` of the optimization, that over the log, that over a default. The rest of the
//! training reads only the plan; `-v` prints it and the model records it.

use std::collections::BTreeMap;

use ah_types::{LearnerKind, Target, TrainingPolicy};

use crate::data::Dataset;
use crate::data::usable::too_few;
use crate::error::TrainError;
use crate::learners::{Boost, CostTree};
use crate::overhead::Asking;
use crate::params::{MAX_SLOWDOWN, MaxRisk, Params, PromiseMode, Size, SplitBy, ValidParams, leaf_size};
use crate::setting::Settings;

/// The share of the inputs that is held out for the test.
const TEST_SHARE: f64 = 0.2;
/// The folds that the search cuts the training part into.
const FOLDS: usize = 5;
/// The depth limits to search.
const MAX_DEPTHS: [usize; 4] = [2, 4, 6, 8];
/// Inputs from which on a log is large: its boosted trees are judged on one fold, and its readable
/// tree only has the evidence.
pub const LARGE: usize = 20_000;

/// All settings of a training.
#[derive(Clone, Debug)]
pub struct TrainPlan {
    /// The heuristic's name.
    pub heuristic_name: String,
    /// The seed of all splits.
    pub seed: u64,
    /// What is held out together.
    pub test_split: SplitBy,
    /// The share that is held out for the test.
    pub test_share: f64,
    /// The folds of the search.
    pub folds: usize,
    /// The learner.
    pub learner: LearnerKind,
    /// Depth limits to search, ascending; 0 is one leaf.
    pub max_depths: Vec<usize>,
    /// Least numbers of inputs in a leaf to search, the preferred one first.
    pub min_samples_leaves: Vec<usize>,
    /// The parameters of boosted trees, where there may be some.
    pub boost: Option<Boost>,
    /// The readable tree beside the boosted ones of a large log.
    pub evidence_tree: Option<CostTree>,
    /// The most leaves of a tree.
    pub max_leaves: Option<usize>,
    /// The size of the model.
    pub size: Size,
    /// How a program asks the model.
    pub asking: Asking,
    /// The least number of choices in a leaf, for a program that measures them.
    pub ranking: Option<usize>,
    /// The choices that every such leaf has.
    pub always_included: Vec<String>,
    /// The number of choices to keep.
    pub max_choices: Option<usize>,
    /// The share of inputs that may break the promise; `None`: always decides.
    pub max_risk: Option<f64>,
    /// Whether nobody asked for the promise: the number of inputs sets its share.
    pub is_default_promise: bool,
    /// The limit of the promise.
    pub max_slowdown: f64,
    /// How the promise is calibrated.
    pub promise: PromiseMode,
    /// Every setting with its origin.
    pub settings: Settings,
}

impl TrainPlan {
    /// Resolves the settings of a training on the inputs `training`.
    ///
    /// # Errors
    /// [`TrainError`] if settings contradict each other, name an unknown choice, or want more inputs.
    pub fn resolve(params: &ValidParams, dataset: &Dataset, training: &[u32]) -> Result<Self, TrainError> {
        let policy = &dataset.optimization.training;
        let inputs = training.len();
        let mut settings = dataset.settings.clone();
        if inputs < FOLDS {
            return Err(too_few(dataset.usable.len()));
        }
        let is_asked = params.test_split != SplitBy::Input;
        settings.flag("test_split", Some(params.test_split).filter(|_| is_asked));
        let test_share = settings.resolve("test_share", None, policy.test_share, None, test_share(policy));
        // Leaves of a single tree are too small for each of them to have measured what they pick.
        let may_boost = dataset.table.has_estimates() && params.excludes_boosting().is_none();
        let of_estimates = may_boost.then_some(LearnerKind::Boosted);
        let learner =
            settings.resolve("learner", params.learner, policy.learner, of_estimates, LearnerKind::Auto);

        let of_policy = Some(policy.max_depth.clone()).filter(|depths| !depths.is_empty());
        // The flag is a limit, not a demand: shallower trees are tried too.
        let limited = params.max_depth.map(|limit| {
            let depths = of_policy.iter().flatten().chain(MAX_DEPTHS.iter().filter(|_| of_policy.is_none()));
            depths.copied().filter(|depth| *depth < limit).chain([limit]).collect()
        });
        let mut max_depths =
            settings.resolve("max_depth", limited, of_policy.clone(), None, MAX_DEPTHS.to_vec());
        if dataset.ad_hoc && learner == LearnerKind::Auto {
            // One leaf: the best single choice.
            max_depths.push(0);
        }
        max_depths.sort_unstable();
        max_depths.dedup();

        let sizes = |sizes: &[f64]| sizes.iter().map(|least| leaf_size(*least, inputs)).collect();
        let of_policy = Some(&policy.min_samples_leaf[..]).filter(|leaves| !leaves.is_empty()).map(sizes);
        let asked = params.min_samples_leaf.map(|least| sizes(&[least]));
        let min_samples_leaves =
            settings.resolve("min_samples_leaf", asked, of_policy, None, min_samples_leaves(inputs));

        let boost = boost(params, policy, learner, inputs, &mut settings)?;
        let max_leaves = settings.flag("max_leaves", params.max_leaves);
        let size = params.size;
        settings.flag("size", Some(size).filter(|size| *size != Size::Default));
        let asking = asking(params, dataset, &mut settings);
        let ranking = settings.flag("ranking", params.ranking);
        let included = ranking.map(|_| policy.always_included.clone()).unwrap_or_default();
        for choice in &included {
            dataset.table.named("always_included", choice.clone())?;
        }
        let max_choices = settings.flag("max_choices", params.max_choices);

        let of_log = dataset.neighbourhoods.as_ref().map(|_| PromiseMode::ByNeighbourhood);
        let promise = settings.resolve("promise", params.promise, None, of_log, PromiseMode::CrossFitted);
        // A promise must not rest on estimated times.
        let may_promise = dataset.has_fallback() && !dataset.table.has_estimates();
        let flag = match params.max_risk {
            // Without a fallback there is nothing to decline for.
            _ if !may_promise => None,
            // A program that measures several choices itself needs no promise.
            _ if ranking.is_some() => Some(None),
            MaxRisk::None => Some(None),
            MaxRisk::Share(share) => Some(Some(share)),
            MaxRisk::Default => None,
        };
        let log = (!may_promise).then_some(None);
        let usual = promise.default_share(dataset.count_judging(promise.held_out_together(), training));
        let is_default_promise = flag.is_none();
        let max_risk = settings.resolve("max_risk", flag, None, log, usual);
        let max_slowdown = settings.resolve("max_slowdown", params.max_slowdown, None, None, MAX_SLOWDOWN);
        Ok(Self {
            heuristic_name: params.heuristic_name.clone(),
            seed: params.seed,
            test_split: params.test_split,
            test_share,
            folds: FOLDS,
            learner,
            max_depths,
            min_samples_leaves,
            evidence_tree: boost.as_ref().and_then(|_| evidence_tree(params, inputs)),
            boost,
            max_leaves,
            size,
            asking,
            ranking,
            always_included: included,
            max_choices,
            max_risk,
            is_default_promise,
            max_slowdown,
            promise,
            settings,
        })
    }

    /// Returns the same plan for a heuristic that always decides.
    pub fn always_deciding(&self) -> Self {
        Self { max_risk: None, ..self.clone() }
    }

    /// Returns the same plan for a program that asks in another target.
    pub fn asked_in(&self, target: Target) -> Self {
        Self { asking: self.asking.for_target(target), ..self.clone() }
    }

    /// Returns what the folds of the search hold out together.
    pub fn split_by(&self) -> SplitBy {
        match self.promise {
            PromiseMode::ByNeighbourhood => SplitBy::Neighbours,
            PromiseMode::CrossFitted | PromiseMode::ByDimensions => SplitBy::Input,
        }
    }
}

/// Returns the share of the inputs to hold out for the test.
pub fn test_share(policy: &TrainingPolicy) -> f64 {
    policy.test_share.unwrap_or(TEST_SHARE)
}

/// Returns the least numbers of inputs in a leaf to search.
fn min_samples_leaves(inputs: usize) -> Vec<usize> {
    // On PyTorch's logs 2, 3 and 5 differ by less than 0.0003; 8 helps where inputs are few.
    match inputs {
        0..32 => vec![1],
        32..500 => vec![3, 8],
        _ => vec![3],
    }
}

/// Returns how a program asks: in which targets, and what the log and the optimization know about the features' times.
fn asking(params: &Params, dataset: &Dataset, settings: &mut Settings) -> Asking {
    let policy = &dataset.optimization.training;
    let some = |targets: &[Target]| Some(targets.to_vec()).filter(|targets| !targets.is_empty());
    let targets =
        settings.resolve("target", some(&params.targets), some(&policy.targets), None, vec![Target::Rust]);
    let collection = dataset.metadata.collection.as_ref();
    let logged = collection.map(|c| c.feature_ms.clone()).unwrap_or_default();
    let mut feature_ms = logged.clone();
    feature_ms.extend(policy.feature_ms.clone());
    if !feature_ms.is_empty() {
        let declared = Some(feature_ms.clone()).filter(|_| !policy.feature_ms.is_empty());
        settings.resolve("feature_ms", None, declared, Some(logged), BTreeMap::new());
    }
    let is_named = !params.targets.is_empty() || !policy.targets.is_empty();
    Asking::new(&targets, is_named, &feature_ms, &dataset.features, &dataset.metadata)
}

/// Returns the parameters of boosted trees, where the learner and the other settings allow them.
fn boost(
    params: &Params,
    policy: &TrainingPolicy,
    learner: LearnerKind,
    inputs: usize,
    settings: &mut Settings,
) -> Result<Option<Boost>, TrainError> {
    let excluding = params.excludes_boosting();
    if let (LearnerKind::Boosted, Some(flag)) = (learner, excluding) {
        return Err(TrainError::parameter(flag, "another learner than boosted", "boosted"));
    }
    let is_single = matches!(learner, LearnerKind::CostTree | LearnerKind::Linfa);
    // A policy that sets the depth or the leaf size asks for a single tree.
    let names_trees = !policy.max_depth.is_empty() || !policy.min_samples_leaf.is_empty();
    let by_policy = (names_trees && learner == LearnerKind::Auto).then_some(false);
    let by_flag = (excluding.is_some() || is_single).then_some(false);
    let may = settings.resolve("boosted_trees", by_flag, by_policy, None, true);
    let usual = Boost::of(params.size, inputs >= LARGE);
    let max_depth = params.max_depth.unwrap_or(usize::MAX).min(usual.max_depth);
    Ok(may.then_some(Boost { max_depth, ..usual }))
}

/// Returns the parameters of the readable tree where it only holds the evidence of the boosted trees of a large log. `None`: the
/// search finds it.
///
/// The leaves of a large log can be small: on the forward convolutions a program that does not list its choices loses 28 % with a
/// depth of 8 and 13 % with 14, because small leaves measured more choices on nearly all of their inputs.
fn evidence_tree(params: &Params, inputs: usize) -> Option<CostTree> {
    let depth = params.max_depth.unwrap_or(usize::MAX).min(14);
    let least = params.min_samples_leaf.map_or(10, |least| leaf_size(least, inputs));
    (inputs >= LARGE).then(|| CostTree::new(depth, least))
}
