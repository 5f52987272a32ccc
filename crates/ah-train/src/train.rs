//! One training: label → split → search → fit → evaluate → fit again on everything.
//!
//! Two heuristics are learned with the same parameters. One sees only the training part and is
//! judged on the held-out test part: its figures stand in the table and in the record. The
//! other sees all inputs and is what ships: a quarter more data, and never judged on what it saw.

use ah_types::model::Provenance;
use ah_types::{ChoiceId, Model, Tree};

use crate::data::Task;
use crate::data::split::{self, SplitBy};
use crate::error::TrainError;
use crate::judge::metrics::{self, Metrics};
use crate::params::Params;
use crate::policy::Policy;
use crate::promise::PromiseTerms;
use crate::promise::confidence;
use crate::promise::recipe::{self, Heuristic, Recipe};
use crate::record;
use crate::search::portfolio::{self, Portfolio};
use crate::search::{self, Configuration, Folds, Grid, ScoredConfiguration};
use crate::tree::RankingPolicy;

/// Fewer inputs than this cannot be split into a test part and folds.
const MIN_INPUTS: usize = 10;

/// What a training gave.
pub struct TrainedModel {
    /// Heuristic from all inputs; what ships.
    pub model: Model,
    /// What was chosen, one for each tree.
    pub configurations: Vec<Configuration>,
    /// All that was tried.
    pub search: Vec<ScoredConfiguration>,
    /// The choices that were kept, where that was asked for.
    pub portfolio: Option<Portfolio>,
    /// The figures of the heuristic that was learned from the training part, on the test part.
    pub held_out: TestReport,
    /// What to tell the user, in sentences.
    pub warnings: Vec<String>,
}

/// Figures on the test part.
pub struct TestReport {
    /// Inputs learned from.
    pub train_inputs: usize,
    /// Leaves of the heuristic that is judged.
    pub leaves: usize,
    /// Depth of the heuristic that is judged.
    pub depth: usize,
    /// What was held out together.
    pub split: SplitBy,
    /// With what is promised or declined baked in.
    pub model: Metrics,
    /// The same heuristic, always deciding.
    pub always: Metrics,
    /// The same parameters under the easier split by input, where whole dimensions are held out.
    pub by_input: Option<Metrics>,
    /// Always taking the fallback.
    pub fallback: (String, Metrics),
    /// Always taking the choice that is best on the training part.
    pub best_single: (String, Metrics),
}

/// Learns from the logs of `params` by the policy of their optimization.
///
/// # Errors
/// [`TrainError`], one sentence each.
pub fn train(params: &Params) -> Result<TrainedModel, TrainError> {
    train_with(params, None)
}

/// [`train`] by a policy in code.
///
/// # Errors
/// As [`train`].
pub fn train_with(params: &Params, policy: Option<&dyn Policy>) -> Result<TrainedModel, TrainError> {
    let mut task = Task::read(params, policy)?;
    let optimization = task.optimization.clone();
    let policy = policy.unwrap_or(&optimization.training);
    enough(&task)?;
    let (training, test) = hold_out(&task, params, policy, params.test_split)?;

    let portfolio =
        params.max_choices.map(|n| portfolio::choose(&task.table, &training, task.fallback(&training), n));
    let ranking = ranking(params, policy, &task, portfolio.as_ref())?;
    let (configurations, scored) = search(&task, params, policy, &ranking, &training)?;
    let plan = Recipe {
        task: &task,
        configurations: &configurations,
        ranking: &ranking,
        asked: params.max_risk.map(|target| PromiseTerms {
            target,
            limit: params.max_slowdown,
            mode: params.promise,
        }),
        seed: params.seed,
    };

    let (judged, shipped) = rayon::join(|| plan.learn(&training), || plan.learn(&task.usable));
    let (judged, shipped) = (judged?, shipped?);
    let held_out = judge(&plan, params, policy, &judged, &training, &test)?;
    let mut model = model(&plan, params, policy, &shipped, shipped.threshold, &task.usable)?;
    model.promise = shipped.promise();
    let mut warnings = Vec::new();
    if plan.asked.is_some() && shipped.calibration.is_none() {
        warnings.push(format!(
            "no promise possible: at least {} inputs are needed, found {}; only choices that save much for what they are estimated to risk are taken",
            plan.min_inputs(),
            task.usable.len(),
        ));
    }
    model.provenance = record::provenance(&plan, params, &scored, &held_out, portfolio.as_ref());
    task.warnings.extend(warnings);
    Ok(TrainedModel { model, configurations, search: scored, portfolio, held_out, warnings: task.warnings })
}

fn enough(task: &Task) -> Result<(), TrainError> {
    if task.table.choices.len() < 2 {
        return Err(TrainError::TooLittle {
            what: format!("expected at least 2 choices in the log, found 1 ({})", task.table.choices[0]),
            hint: "measure another choice; with one there is nothing to decide",
        });
    }
    if task.usable.len() < MIN_INPUTS {
        return Err(too_few(task.usable.len()));
    }
    Ok(())
}

fn too_few(inputs: usize) -> TrainError {
    TrainError::TooLittle {
        what: format!("expected at least {MIN_INPUTS} distinct inputs to learn from, found {inputs}"),
        hint: "measure more inputs (ah-collect --num-samples)",
    }
}

/// (training part, test part); what stands in a further log alone is only learned from.
fn hold_out(
    task: &Task,
    params: &Params,
    policy: &dyn Policy,
    by: SplitBy,
) -> Result<(Vec<u32>, Vec<u32>), TrainError> {
    let dimensions = &task.optimization.training.dimensions;
    let keys = split::keys(&task.table, &task.features, dimensions, by, &task.usable);
    let (mut training, mut test) =
        split::hold_out(&task.usable, &keys, policy.test_share(), params.seed, "test");
    let further = |i: &u32| task.table.inputs[*i as usize].further;
    training.extend(test.iter().filter(|i| further(i)));
    training.sort_unstable();
    test.retain(|i| !further(i));
    if test.is_empty() || training.len() < policy.folds() {
        return Err(too_few(task.usable.len()));
    }
    Ok((training, test))
}

fn ranking(
    params: &Params,
    policy: &dyn Policy,
    task: &Task,
    portfolio: Option<&Portfolio>,
) -> Result<RankingPolicy, TrainError> {
    let mut always = Vec::new();
    if params.ranking.is_some() {
        for name in policy.always_included() {
            always.extend(task.table.choice_id(&name));
        }
    }
    Ok(RankingPolicy {
        portfolio: portfolio.map(|p| p.choices.clone()).unwrap_or_default(),
        at_least: params.ranking.unwrap_or_default(),
        always,
    })
}

/// The configurations that cross-validation within the training part prefers, one for each tree.
fn search(
    task: &Task,
    params: &Params,
    policy: &dyn Policy,
    ranking: &RankingPolicy,
    training: &[u32],
) -> Result<(Vec<Configuration>, Vec<ScoredConfiguration>), TrainError> {
    let kind = params.learner.or_else(|| policy.learner()).unwrap_or(crate::policy::LearnerKind::Auto);
    let mut depths = policy.max_depths();
    if let Some(limit) = params.max_depth {
        // A limit, not a demand: less deep trees are searched too.
        depths.retain(|d| *d < limit);
        depths.push(limit);
    }
    let leaves =
        params.min_samples_leaf.map_or_else(|| policy.min_samples_leaves(training.len()), |l| vec![l]);
    let grid =
        Grid::new(kind, &policy.criteria(), &depths, &leaves, training.len(), task.columns.all().len());
    let fallback = task.fallback(training);
    let asked = params.max_risk.map(|_| params.max_slowdown);
    let targets = recipe::targets(task, fallback, &ranking.portfolio, asked);
    let keys = split::keys(&task.table, &task.features, &[], SplitBy::Input, training);
    let folds = Folds::new(&task.table, training, &keys, policy.folds(), params.seed);
    // JudgedInput without the penalty: where a choice would be too slow, the promise declines, and
    // with it the penalty would prefer a tree that always takes the fallback (mm H200).
    let costs = task.targets(fallback, &ranking.portfolio);
    let scored = search::cross_validate(&grid, &task.columns, &folds, &targets, &costs)?;
    let best = search::best(&scored).ok_or_else(|| too_few(task.usable.len()))?;
    Ok((best.configuration.committee(params.trees), scored))
}

/// The model of what was learned, with choices up to `threshold` allowed.
fn model(
    plan: &Recipe<'_>,
    params: &Params,
    policy: &dyn Policy,
    learned: &Heuristic,
    threshold: f64,
    inputs: &[u32],
) -> Result<Model, TrainError> {
    let task = plan.task;
    let mut trees = plan.trees(learned, threshold);
    decline_unsafe(&mut trees, policy);
    if let Some(share) = policy.allowed_wrong_share() {
        let least = confidence::threshold(plan, learned.fallback, inputs, share)?;
        confidence::decline(&mut trees, &plan.configurations[0], least);
    }
    Ok(Model {
        heuristic: params.heuristic_name.clone(),
        optimization: task.optimization.name.clone(),
        features: task.features.clone(),
        categories: task.categories.clone(),
        precondition: task.precondition.clone(),
        device: task.metadata.device().cloned(),
        shared_memory: task.metadata.shared_memory,
        device_capa: task.metadata.device_capa,
        choices: task.table.choices.clone(),
        fallback: Some(learned.fallback),
        trees,
        promise: None,
        provenance: Provenance::default(),
    })
}

fn decline_unsafe(trees: &mut [Tree], policy: &dyn Policy) {
    for node in trees.iter_mut().flat_map(|t| &mut t.nodes) {
        if let ah_types::Node::Leaf(leaf) = node
            && policy.is_unsafe_leaf(leaf)
        {
            leaf.unsure = Some(ah_types::tree::LeafUnsure::Unsafe);
        }
    }
}

fn judge(
    plan: &Recipe<'_>,
    params: &Params,
    policy: &dyn Policy,
    learned: &Heuristic,
    training: &[u32],
    test: &[u32],
) -> Result<TestReport, TrainError> {
    let task = plan.task;
    let fallback = learned.fallback;
    let slots: Vec<Option<usize>> = (0..task.features.base().len()).map(Some).collect();
    let metrics = |model: &Model, test: &[u32]| {
        let judged = metrics::decide(model, &task.table, test, &slots);
        metrics::metrics(&task.table, &judged, fallback, params.max_slowdown)
    };
    let single = task.table.best_single(training).unwrap_or(fallback);
    let always = |choice: ChoiceId| {
        let metrics = metrics::always(&task.table, test, choice, fallback, params.max_slowdown);
        (task.table.choices[choice.index()].clone(), metrics)
    };
    let with_promise = model(plan, params, policy, learned, learned.threshold, training)?;
    let mut deciding = with_promise.clone();
    deciding.trees = plan.trees(learned, f64::INFINITY);
    let by_input = if params.test_split == SplitBy::Dims {
        let (training, test) = hold_out(task, params, policy, SplitBy::Input)?;
        let mut other = with_promise.clone();
        other.trees = plan.trees(&Recipe { asked: None, ..*plan }.learn(&training)?, f64::INFINITY);
        Some(metrics(&other, &test))
    } else {
        None
    };
    Ok(TestReport {
        train_inputs: training.len(),
        leaves: deciding.trees.iter().map(|t| t.leaves().count()).sum(),
        depth: deciding.trees.iter().map(Tree::depth).max().unwrap_or(0),
        split: params.test_split,
        model: metrics(&with_promise, test),
        always: metrics(&deciding, test),
        by_input,
        fallback: always(fallback),
        best_single: always(single),
    })
}
