//! The plan of a training: all its settings, resolved and checked once.
//!
//! A flag wins over the `[training]` of the optimization, that over the log, that over a default. The rest of the
//! training reads only the plan; `-v` prints it and the model records it.

use ah_model::{Error, LANES, Objective, PromiseMode, Purpose, Target};

use crate::data::Dataset;
use crate::data::usable::too_few;
use crate::learners::{Boost, Boosting, CostTree};
use crate::overhead::CallSite;
use crate::params::{LearnerKind, MaxRisk, Outside, Params, Size, SplitBy, leaf_size};
use crate::promise::calibrate::{Look, default_looks};
use crate::setting::{Origin, Settings};

/// Testing the range of each feature takes at most this share of the shortest run, or is left out. Sorting two numbers takes 4 ns, and two
/// comparisons more than one.
const WORTH_TESTING: f64 = 0.01;

/// The folds that the search cuts the training part into.
pub const SEARCH_FOLDS: usize = 5;
/// The depth limit, where none is asked for.
pub const MAX_DEPTH: usize = 8;
/// Inputs from which on a log is large: its readable tree only has the evidence of the boosted ones.
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
    /// The learner.
    pub learner: LearnerKind,
    /// Most splits on a path of the tree.
    pub max_depth: usize,
    /// Fewest inputs in a leaf of the tree.
    pub min_samples_leaf: usize,
    /// The parameters of boosted trees, where there may be some.
    pub boost: Option<Boost>,
    /// The readable tree beside the boosted ones of a large log.
    pub evidence_tree: Option<CostTree>,
    /// The size of the model.
    pub size: Size,
    /// How a program asks the model.
    pub call_site: CallSite,
    /// The promises to try in turn: the share of inputs that may break it. None: always decides.
    pub looks: Vec<Look>,
    /// The limit of the promise.
    pub max_slowdown: f64,
    /// How the promise is calibrated.
    pub promise: PromiseMode,
    /// What the heuristic does far from all measured inputs.
    pub outside: Outside,
    /// Every setting with its origin.
    pub settings: Settings,
}

impl TrainPlan {
    /// Resolves the settings of a training on the inputs `training`.
    ///
    /// # Errors
    /// [`Error`] if settings contradict each other, name an unknown choice, or want more inputs.
    pub fn resolve(params: &Params, dataset: &Dataset, training: &[u32]) -> Result<Self, Error> {
        let inputs = training.len();
        if inputs < SEARCH_FOLDS {
            return Err(too_few(dataset.usable.len()));
        }
        let given: &Params = &dataset.settings;
        let mut settings = dataset.settings.clone();
        if !dataset.has_fallback() || dataset.table.has_estimates() {
            // Without a fallback there is nothing to decline for, and a promise must not rest on estimated times.
            settings.replace(&no_promise(), Origin::Log);
        } else if given.ranking.is_some() {
            // A program that measures several choices itself needs no promise.
            settings.replace(&no_promise(), Origin::Flag);
        }
        let by_group = dataset.groups.is_some();
        let promise = if by_group { PromiseMode::ByGroup } else { PromiseMode::CrossFitted };
        let looks = default_looks(promise, dataset.count_evidence(training));
        let asked = settings.max_risk;
        settings.add_layer(&usual(looks.first().map(|look| look.share)), Origin::Default);
        let learner = settings.learner.unwrap_or(LearnerKind::Auto);

        // On PyTorch's logs leaves of 2, 3 and 5 inputs differ by less than 0.0003.
        let usual_leaf = if inputs < 32 { 1 } else { 3 };
        let mut call_site = call_site(dataset, &mut settings);
        // A program without a fallback, or one that measures, has nothing to decline for.
        let shortest = training.iter().map(|&input| dataset.table.inputs[input as usize].best);
        let is_short = call_site.range_tests_ms(dataset.features.base().len())
            > WORTH_TESTING * shortest.fold(f64::INFINITY, f64::min);
        let cannot = !dataset.has_fallback() || given.ranking.is_some();
        if cannot || is_short && given.outside.is_none() {
            settings.replace(&Params { outside: Some(Outside::Decide), ..Params::default() }, Origin::Log);
        }
        let outside = settings.outside.unwrap_or_default();
        call_site.tests_range = outside == Outside::Decline;
        let takes_more = call_site.is_free() && dataset.table.choices.len() <= LANES;
        let boost = boost(given, learner, inputs, takes_more)?;
        Ok(Self {
            heuristic_name: params.heuristic_name.clone(),
            seed: settings.seed.unwrap_or_default(),
            test_split: settings.test_split.unwrap_or_default(),
            learner,
            max_depth: settings.max_depth.unwrap_or(MAX_DEPTH),
            min_samples_leaf: settings.min_samples_leaf.map_or(usual_leaf, |least| leaf_size(least, inputs)),
            evidence_tree: boost.as_ref().and_then(|_| evidence_tree(given, inputs)),
            boost,
            size: settings.size.unwrap_or_default(),
            call_site,
            looks: asked.map_or(looks, |asked| asked.share().map(Look::only).into_iter().collect()),
            max_slowdown: settings.max_slowdown.unwrap_or(Purpose::MAX_SLOWDOWN),
            promise,
            outside,
            settings,
        })
    }

    /// The same plan with no promise, by a rule of the tool.
    pub fn without_promise(&self) -> Self {
        let mut plan = Self { looks: Vec::new(), ..self.clone() };
        plan.settings.replace(&no_promise(), Origin::Default);
        plan
    }

    /// Whether the time of a decision counts where models are compared. With [`Size::Best`] only what they take counts.
    pub fn counts_asking(&self) -> bool {
        self.size != Size::Best
    }

    /// Whether there is a promise to keep.
    pub fn promises(&self) -> bool {
        !self.looks.is_empty()
    }

    /// Keeps this promise alone.
    pub fn keep(&mut self, look: Look) {
        self.looks = vec![look];
        let kept = Params { max_risk: Some(MaxRisk::Share(look.share)), ..Params::default() };
        if self.settings.is_default("max_risk") {
            self.settings.replace(&kept, Origin::Default);
        }
    }
}

/// The layer that makes no promise.
fn no_promise() -> Params {
    Params { max_risk: Some(MaxRisk::None), ..Params::default() }
}

/// The layer of the tool.
pub fn usual(share: Option<f64>) -> Params {
    Params {
        targets: vec![Target::Rust],
        learner: Some(LearnerKind::Auto),
        objective: Some(Objective::default()),
        size: Some(Size::default()),
        test_split: Some(SplitBy::default()),
        seed: Some(0),
        max_risk: Some(share.map_or(MaxRisk::None, MaxRisk::Share)),
        max_slowdown: Some(Purpose::MAX_SLOWDOWN),
        outside: Some(Outside::default()),
        ..Params::default()
    }
}

/// How a program asks: in which targets, and what the log and the optimization know about the features' times.
fn call_site(dataset: &Dataset, settings: &mut Settings) -> CallSite {
    let [declared, given] = [&dataset.optimization.feature_ms, &dataset.settings.feature_ms];
    let collection = dataset.metadata.collection.as_ref();
    let mut feature_ms = collection.map(|c| c.feature_ms.clone()).unwrap_or_default();
    feature_ms.extend(declared.clone());
    feature_ms.extend(given.clone());
    let from = match (given.is_empty(), declared.is_empty()) {
        (false, _) => Origin::Flag,
        (true, false) => Origin::Optimization,
        (true, true) => Origin::Log,
    };
    settings.replace(&Params { feature_ms, ..Params::default() }, from);
    let purpose = Purpose {
        targets: settings.targets.clone(),
        feature_ms: settings.feature_ms.clone(),
        decision_ns: collection.map(|c| c.decision_ns.clone()).unwrap_or_default(),
        runs_per_decision: settings.runs_per_decision,
        // SpMV formats on a V100 take 5 us and more, and a decision that overlaps costs nothing there.
        overlaps: dataset.settings.targets.is_empty(),
        ..Purpose::default()
    };
    CallSite::new(purpose, &dataset.features, &dataset.metadata)
}

/// The parameters of boosted trees, where the learner and the other settings allow them. `takes_more`: see [`Boost::of`].
fn boost(
    given: &Params,
    learner: LearnerKind,
    inputs: usize,
    takes_more: bool,
) -> Result<Option<Boost>, Error> {
    let excluding = given.excludes_boosting();
    if let (Boosting::Always, Some(field)) = (learner.row().boosting, excluding) {
        return Err(Error::parameter(field, "another learner than boosted", "boosted"));
    }
    let is_single = learner.row().boosting == Boosting::Never || excluding.is_some();
    let mut boost = Boost::of(given.size.unwrap_or_default(), inputs >= LARGE, takes_more);
    boost.trees.max_depth = given.max_depth.unwrap_or(usize::MAX).min(boost.trees.max_depth);
    Ok((!is_single).then_some(boost))
}

/// The parameters of the readable tree where it only holds the evidence of the boosted trees of a large log. `None`: the
/// search finds it.
///
/// The leaves of a large log can be small: on the forward convolutions a program that does not list its choices loses 28 % with a
/// depth of 8 and 13 % with 14, because small leaves measured more choices on nearly all of their inputs.
fn evidence_tree(params: &Params, inputs: usize) -> Option<CostTree> {
    let max_depth = params.max_depth.unwrap_or(usize::MAX).min(14);
    let min_samples_leaf = params.min_samples_leaf.map_or(10, |least| leaf_size(least, inputs));
    (inputs >= LARGE).then_some(CostTree { max_depth, min_samples_leaf })
}
