//! What is learned, made ready: the log as a table, its features as columns, its fallback, and
//! which inputs can be learned from.

use std::path::PathBuf;

use ah_types::log::{Dirt, ReadOptions, Source};
use ah_types::model::Precondition;
use ah_types::optimization::TrainingPolicy;
use ah_types::{ChoiceId, Context, Features, Optimization, expr, log};

use super::columns::{Columns, FeatureColumns};
use super::table::Table;
use super::targets::Targets;
use super::weights;
use crate::error::TrainError;
use crate::params::{MAX_DEPTH, Params};
use crate::policy::Policy;
use crate::policy::{Criterion, LearnerKind};

/// Ranks are exact up to this many distinct values; a column of more becomes quantiles. In ten-fold
/// cross-validation on PyTorch's logs 1024 and 512 lose nothing against exact ranks, 256 lose
/// 0.0007 on mixed_mm H100 and on pad_mm.
const MAX_BINS: usize = 1024;

/// A log ready to be learned from.
pub struct Task {
    /// The optimization, built in or given.
    pub optimization: Optimization,
    /// The log's first line.
    pub metadata: log::Metadata,
    /// The files that were read.
    pub sources: Vec<Source>,
    /// Logged and derived features.
    pub features: Features,
    /// Inputs × choices.
    pub table: Table,
    /// The features of all inputs.
    pub columns: Columns,
    /// The categories seen, by slot.
    pub categories: Vec<Vec<String>>,
    /// The domain.
    pub precondition: Option<Precondition>,
    /// The inputs that can be learned from, ascending.
    pub usable: Vec<u32>,
    /// What the fallback is; `None`: the best single choice on what is learned from.
    named_fallback: Option<ChoiceId>,
    /// What to tell the user, in sentences.
    pub warnings: Vec<String>,
}

impl Task {
    /// Reads the logs and makes them ready.
    ///
    /// # Errors
    /// [`TrainError`] where a log, the optimization or a name is not what it should be.
    pub fn read(params: &Params, policy: Option<&dyn Policy>) -> Result<Self, TrainError> {
        let options = ReadOptions { skip_bad_rows: params.skip_bad_rows, max_rows: params.nrows };
        let further = params.also_train.iter().map(|l| &l.path);
        let paths: Vec<&PathBuf> = params.logs.iter().chain(further).collect();
        let mut log = log::read_with(&paths, options)?;
        let mut warnings = dirt(&log.dirt);
        let mut optimization = match &params.optimization {
            Some(path) => Optimization::read(path)?,
            None => Optimization::built_in(&log.metadata.name)?,
        };
        if let Some(path) = &params.policy {
            let dimensions = std::mem::take(&mut optimization.training.dimensions);
            optimization.training = TrainingPolicy::read(path)?;
            if optimization.training.dimensions.is_empty() {
                optimization.training.dimensions = dimensions;
            }
        }
        check(&optimization)?;
        let policy = policy.unwrap_or(&optimization.training);
        let features = features(&optimization, policy, &log, &mut warnings)?;
        let (metadata, sources) = (log.metadata.clone(), std::mem::take(&mut log.sources));
        let mut table = Table::new(log, &weights(params, &sources), &policy.cell_filter());
        if table.copies > 0 {
            warnings.push(format!(
                "{} cells repeat one and the same time; their repetitions count once",
                table.copies
            ));
        }
        if table.filtered > 0 {
            warnings.push(format!("{} cells left out by the filter of the training policy", table.filtered));
        }
        if let Some(path) = &params.weights {
            warnings.extend(weights::read(path, &mut table)?);
        }
        let FeatureColumns { columns, undefined, categories } = Columns::build(&table, &features, MAX_BINS);

        let default_choice = params.fallback.clone().map(|f| ("--fallback", f));
        let default_choice =
            default_choice.or_else(|| policy.default_choice().map(|c| ("default_choice", c)));
        let named_fallback = named_fallback(default_choice, &optimization, &table)?;
        let precondition = precondition(&optimization, &metadata, &features, &table, &mut warnings)?;
        let usable = usable(&table, &features, &undefined, &mut warnings);
        let usable = filtered(usable, &optimization, policy, &features, &table, &mut warnings)?;
        Ok(Self {
            optimization,
            metadata,
            sources,
            features,
            table,
            columns,
            categories,
            precondition,
            usable,
            named_fallback,
            warnings,
        })
    }

    /// The fallback; `None` where it is to be found as the best single choice.
    #[must_use]
    pub fn named_fallback(&self) -> Option<ChoiceId> {
        self.named_fallback
    }

    /// The fallback when learning from these inputs.
    #[must_use]
    pub fn fallback(&self, inputs: &[u32]) -> ChoiceId {
        self.named_fallback.or_else(|| self.table.best_single(inputs)).unwrap_or(ChoiceId(0))
    }

    /// The costs of all inputs with this fallback, for the choices of `portfolio` (empty: all).
    #[must_use]
    pub fn targets(&self, fallback: ChoiceId, portfolio: &[ChoiceId]) -> Targets {
        Targets::new(&self.table, fallback, |c| portfolio.is_empty() || portfolio.contains(&c))
    }
}

/// The fields of the policy that no type can check.
fn check(optimization: &Optimization) -> Result<(), TrainError> {
    let wrong = |reason: &str| {
        Err(TrainError::Expression {
            optimization: optimization.name.clone(),
            what: "training",
            reason: reason.to_owned(),
        })
    };
    let policy = &optimization.training;
    let share = |x: Option<f64>| x.is_none_or(|x| x > 0.0 && x < 1.0);
    if policy.learner.as_deref().is_some_and(|l| LearnerKind::from_name(l).is_none()) {
        return wrong("learner: expected auto, soft, linfa or regression");
    }
    if policy.criterion.iter().any(|c| Criterion::from_name(c).is_none()) {
        return wrong("criterion: expected gini or entropy");
    }
    if !share(policy.test_share) || !share(policy.validation_share) || !share(policy.allowed_wrong_share) {
        return wrong(
            "test_share, validation_share and allowed_wrong_share: expected shares above 0 and below 1",
        );
    }
    if policy.max_depth.iter().any(|d| !(1..=MAX_DEPTH).contains(d)) {
        return wrong("max_depth: expected numbers from 1 to 64");
    }
    if policy.min_samples_leaf.iter().any(|l| !(*l > 0.0 && l.is_finite())) {
        return wrong("min_samples_leaf: expected numbers above 0");
    }
    Ok(())
}

fn features(
    optimization: &Optimization,
    policy: &dyn Policy,
    log: &log::Log,
    warnings: &mut Vec<String>,
) -> Result<Features, TrainError> {
    let (mut derived, left_out) = optimization.derived_for(&log.schema);
    if !left_out.is_empty() {
        warnings.push(format!(
            "derived features left out, as the log lacks what they use: {}",
            left_out.join(", ")
        ));
    }
    derived.extend(policy.derived());
    // The optimization knows units and which features are whole numbers; the log does not.
    let described = log.schema.features().iter().map(|f| {
        let known = optimization.features.iter().find(|known| known.name == f.name && known.kind == f.kind);
        known.unwrap_or(f).clone()
    });
    let schema = ah_types::Schema::new(described).unwrap_or_else(|_| log.schema.clone());
    Features::new(schema, &derived).map_err(|source| TrainError::Derived {
        optimization: optimization.name.clone(),
        source: Box::new(source),
    })
}

/// For [`Table::new`]: the inputs that first stood in the logs, then in each further one.
fn weights(params: &Params, sources: &[Source]) -> Vec<(u64, f64, bool)> {
    let (main, further) = sources.split_at(params.logs.len().min(sources.len()));
    let mut end = main.iter().map(|s| s.new_inputs).sum();
    let mut parts = vec![(end, 1.0, false)];
    for (source, &weight) in further.iter().zip(&params.also_train_weights) {
        end += source.new_inputs;
        parts.push((end, weight, true));
    }
    parts
}

fn dirt(dirt: &Dirt) -> Vec<String> {
    let mut warnings = Vec::new();
    if dirt.blank_lines > 0 {
        warnings.push(format!("{} blank lines passed over", dirt.blank_lines));
    }
    if dirt.bad_rows > 0 {
        let examples = dirt.examples.join("; ");
        warnings.push(format!("{} malformed rows passed over, among them: {examples}", dirt.bad_rows));
    }
    for path in &dirt.unterminated {
        warnings.push(format!(
            "{}: the last line lacks its end, so its number may be cut short; remove it if the measuring was interrupted",
            path.display()
        ));
    }
    warnings
}

fn named_fallback(
    asked: Option<(&'static str, String)>,
    optimization: &Optimization,
    table: &Table,
) -> Result<Option<ChoiceId>, TrainError> {
    let known = || optimization.fallback_among(&table.choices).map(|f| ("fallback", f.to_owned()));
    let Some((flag, name)) = asked.or_else(known) else { return Ok(None) };
    table.choice_id(&name).map(Some).ok_or_else(|| TrainError::UnknownChoice {
        flag,
        choice: name,
        known: table.choices.clone(),
    })
}

/// The optimization's precondition for this log's device. One that some measured inputs break
/// is left out: the log shows that the domain is larger than it says.
fn precondition(
    optimization: &Optimization,
    metadata: &log::Metadata,
    features: &Features,
    table: &Table,
    warnings: &mut Vec<String>,
) -> Result<Option<Precondition>, TrainError> {
    let Some(text) = optimization.precondition_for(metadata) else { return Ok(None) };
    let typed = resolve(optimization, "precondition", text, features)?;
    let outside = table.inputs.iter().filter(|i| typed.eval(&*i.values) != Some(true)).count();
    if outside > 0 {
        warnings.push(format!(
            "{outside} of {} inputs are outside the precondition {text}; it is left out, as the log holds measurements there",
            table.inputs.len()
        ));
        return Ok(None);
    }
    Ok(Some(Precondition { expression: text.to_owned(), typed }))
}

fn resolve(
    optimization: &Optimization,
    what: &'static str,
    text: &str,
    features: &Features,
) -> Result<expr::BoolExpr, TrainError> {
    let wrong =
        |reason: String| TrainError::Expression { optimization: optimization.name.clone(), what, reason };
    let parsed = expr::parse(text).map_err(|e| wrong(e.to_string()))?;
    let schema = if what == "precondition" { features.base() } else { features.all() };
    parsed.resolve_bool(schema).map_err(|e| wrong(e.to_string()))
}

/// The inputs with a usable choice and all features defined.
fn usable(
    table: &Table,
    features: &Features,
    undefined: &[(u32, usize)],
    warnings: &mut Vec<String>,
) -> Vec<u32> {
    if let Some(&(input, slot)) = undefined.first() {
        let names: rustc_hash::FxHashSet<usize> = undefined.iter().map(|u| u.1).collect();
        let mut names: Vec<&str> =
            names.into_iter().map(|slot| features.all().features()[slot].name.as_str()).collect();
        names.sort_unstable();
        warnings.push(format!(
            "{} inputs are not learned from, as a derived feature is undefined there ({}); the first is {}, where {:?} is",
            undefined.len(),
            names.join(", "),
            table.inputs[input as usize].text,
            features.all().features()[slot].name,
        ));
    }
    let unusable = (0..table.inputs.len()).filter(|&i| !table.is_usable(i)).count();
    if unusable > 0 {
        warnings.push(format!("{unusable} inputs are not learned from, as every choice failed there"));
    }
    let defined = |input: &u32| undefined.binary_search_by_key(input, |u| u.0).is_err();
    (0..table.inputs.len() as u32).filter(|i| table.is_usable(*i as usize)).filter(defined).collect()
}

/// The inputs that the row filter and the policy keep.
fn filtered(
    mut usable: Vec<u32>,
    optimization: &Optimization,
    policy: &dyn Policy,
    features: &Features,
    table: &Table,
    warnings: &mut Vec<String>,
) -> Result<Vec<u32>, TrainError> {
    let before = usable.len();
    if let Some(text) = &optimization.training.row_filter {
        let typed = resolve(optimization, "row_filter", text, features)?;
        usable.retain(|&i| typed.eval(&features.row(&*table.inputs[i as usize].values)) == Some(true));
    }
    let names = features.base().features();
    usable.retain(|&i| {
        let values = table.inputs[i as usize].values.iter().cloned();
        policy.keeps(&names.iter().map(|f| f.name.as_str()).zip(values).collect::<Context>())
    });
    if usable.len() < before {
        warnings.push(format!("{} inputs left out by the row filter", before - usable.len()));
    }
    Ok(usable)
}
