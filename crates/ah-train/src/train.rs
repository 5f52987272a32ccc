//! One training: label → split → search → fit → evaluate → fit again on everything.
//!
//! Two models are learned with the same parameters. One sees only the training part and is
//! judged on the held-out test part: its figures stand in the table and in the record. The
//! other sees all inputs and is what ships: a quarter more data, and never judged on what it saw.

use ah_types::model::{LogRecord, Provenance};
use ah_types::{ChoiceId, Model};
use serde_json::json;

use crate::error::TrainError;
use crate::evaluate::{self, DEFAULT_MAX_SLOWDOWN, Metrics};
use crate::learners::Rows;
use crate::leaves;
use crate::params::Params;
use crate::search::{self, Configuration, Grid, Scored};
use crate::split::{self, SplitBy};
use crate::task::Task;

/// The share of the inputs that is held out for the test.
const TEST_SHARE: f64 = 0.2;
/// Folds of the search.
const FOLDS: usize = 5;
/// Fewer inputs than this cannot be split into a test part and folds.
const MIN_INPUTS: usize = 10;

/// What a training gave.
pub struct Trained {
    /// Learned from all inputs; what ships.
    pub model: Model,
    /// What was chosen.
    pub configuration: Configuration,
    /// All that was tried.
    pub search: Vec<Scored>,
    /// The figures of the model that was learned from the training part, on the test part.
    pub held_out: HeldOut,
    /// What to tell the user, in sentences.
    pub warnings: Vec<String>,
}

/// Figures on the test part.
pub struct HeldOut {
    /// Inputs learned from.
    pub train_inputs: usize,
    /// Leaves of the model that is judged.
    pub leaves: usize,
    /// Depth of the model that is judged.
    pub depth: usize,
    /// The model.
    pub model: Metrics,
    /// Always taking the fallback.
    pub fallback: Metrics,
    /// Always taking the choice that is best on the training part.
    pub best_single: Metrics,
    /// The fallback's name.
    pub fallback_name: String,
    /// That choice's name.
    pub best_single_name: String,
}

/// Learns from the logs of `params`.
///
/// # Errors
/// [`TrainError`], one sentence each.
pub fn train(params: &Params) -> Result<Trained, TrainError> {
    let mut task = Task::read(params)?;
    enough(&task)?;
    let dimensions = &task.optimization.training.dimensions;
    let keys = split::keys(&task.table, &task.features, dimensions, params.test_split, &task.usable);
    let (training, test) = split::hold_out(&task.usable, &keys, TEST_SHARE, params.seed);
    if test.is_empty() || training.len() < FOLDS {
        return Err(too_few(task.usable.len()));
    }

    let fallback = task.fallback(&training);
    let targets = task.targets(fallback);
    let grid = grid(params, &task, training.len());
    let keys = split::keys(&task.table, &task.features, &[], SplitBy::Input, &training);
    let scored =
        search::cross_validate(&grid, &task.columns, &training, &keys, &targets, FOLDS, params.seed)?;
    let Some(best) = search::best(&scored) else { return Err(too_few(task.usable.len())) };
    let configuration = best.configuration.clone();

    let judged = fit(&task, params, &configuration, &training, fallback)?;
    let held_out = judge(&task, &judged, &training, &test, fallback);
    let fallback = task.fallback(&task.usable);
    let mut model = fit(&task, params, &configuration, &task.usable, fallback)?;
    model.provenance = record(&task, params, &configuration, best.cost, &held_out);
    let warnings = std::mem::take(&mut task.warnings);
    Ok(Trained { model, configuration, search: scored, held_out, warnings })
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

fn grid(params: &Params, task: &Task, inputs: usize) -> Grid {
    let or = |given: Option<usize>, policy: &[usize], default: &[usize]| match given {
        Some(x) => vec![x],
        None if !policy.is_empty() => policy.to_vec(),
        None => default.to_vec(),
    };
    let policy = &task.optimization.training;
    let depths = match params.max_depth {
        // A limit, not a demand: less deep trees are searched too.
        Some(limit) => [2, 3, 4, 5, 6, limit].into_iter().filter(|d| *d <= limit).collect(),
        None => or(None, &policy.max_depth, &[2, 4, 6, 8]),
    };
    let mut leaves = or(params.min_samples_leaf, &policy.min_samples_leaf, &[3, 8]);
    leaves.retain(|l| params.min_samples_leaf.is_some() || *l * 4 <= inputs);
    if leaves.is_empty() {
        leaves.push(1);
    }
    Grid::new(params.learner, &depths, &leaves)
}

/// The model that `configuration` learns from these inputs.
fn fit(
    task: &Task,
    params: &Params,
    configuration: &Configuration,
    inputs: &[u32],
    fallback: ChoiceId,
) -> Result<Model, TrainError> {
    let targets = task.targets(fallback);
    let rows = Rows { columns: &task.columns, inputs };
    let (tree, scores) = configuration.fit(&rows, &targets)?;
    let tree = leaves::with_leaves(&tree, &scores, &task.columns, &task.table, inputs, fallback);
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
        fallback: Some(fallback),
        trees: vec![tree],
        promise: None,
        provenance: Provenance::default(),
    })
}

fn judge(task: &Task, model: &Model, training: &[u32], test: &[u32], fallback: ChoiceId) -> HeldOut {
    let slots: Vec<Option<usize>> = (0..task.features.base().len()).map(Some).collect();
    let judged = evaluate::decide(model, &task.table, test, &slots);
    let single = task.table.best_single(training).unwrap_or(fallback);
    let always = |choice| evaluate::always(&task.table, test, choice, fallback, DEFAULT_MAX_SLOWDOWN);
    HeldOut {
        train_inputs: training.len(),
        leaves: model.trees[0].leaves().count(),
        depth: model.trees[0].depth(),
        model: evaluate::metrics(&task.table, &judged, fallback, DEFAULT_MAX_SLOWDOWN),
        fallback: always(fallback),
        best_single: always(single),
        fallback_name: task.table.choices[fallback.index()].clone(),
        best_single_name: task.table.choices[single.index()].clone(),
    }
}

/// Enough to learn the model again, and what it is worth.
fn record(
    task: &Task,
    params: &Params,
    configuration: &Configuration,
    cost: f64,
    held_out: &HeldOut,
) -> Provenance {
    let object = |value: serde_json::Value| value.as_object().cloned().unwrap_or_default();
    let logs = task.sources.iter().map(|s| LogRecord {
        file: s.path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        blake3: s.hash.clone(),
        rows: s.rows,
    });
    Provenance {
        tool: concat!("ah-train ", env!("CARGO_PKG_VERSION")).to_owned(),
        logs: logs.collect(),
        seed: params.seed,
        parameters: object(json!({ "asked": params, "chosen": configuration })),
        metrics: object(json!({
            "note": "judged on held-out inputs with a model learned from the training part; this model learned from all inputs",
            "train_inputs": held_out.train_inputs,
            "cross_validated_slowdown": cost.exp(),
            "held_out": held_out.model,
            "always_fallback": held_out.fallback,
            "best_single": { "choice": held_out.best_single_name, "metrics": held_out.best_single },
        })),
    }
}
