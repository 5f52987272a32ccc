//! A log made ready to learn from: the table of its times, the columns of its features, its fallback
//! and the inputs to learn from.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use ah_types::log::{self, Log, Metadata, ReadOptions, Source};
use ah_types::shown::{listed, quoted};
use ah_types::{
    ChoiceId, Context, DerivedFeature, Feature, Features, Optimization, Precondition, Schema, expr,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::columns::RankedFeatures;
use super::crossovers;
use super::evidence;
use super::exclude;
use super::split::{self, Partition};
use super::table::{LogPart, Table};
use super::targets::Targets;
use super::values::FeatureValues;
use super::weights;
use super::{domain, irregularities};
use crate::error::TrainError;
use crate::params::{SplitBy, ValidParams};
use crate::policy::{self, Policy};
use crate::policy_file;

/// Ranks are exact up to this many distinct values; a column of more becomes quantiles. In ten-fold
/// cross-validation on PyTorch's logs 1024 and 512 lose nothing against exact ranks; 256 lose
/// 0.0007 on mixed_mm H100 and on pad_mm.
const MAX_BINS: usize = 1024;

/// With a promise, this is added to the log slowdown of a choice that is too slow against the fallback,
/// so that splits separate such inputs. Slowdown with a promise of 1 % over 24 random partitions, at
/// 0, 0.3, 0.5 and 1.0: pad_mm A100 1.0091, 1.0068, 1.0064, 1.0063; mm A100 1.0137, 1.0124, 1.0124,
/// 1.0125; pad_mm H200 1.0101, 1.0100, 1.0087, 1.0081. mixed_mm, where few choices are too slow, stays
/// within 0.0003.
const PENALTY: f64 = 0.5;

/// Most logged features. Learning from 5,000 takes 700 MiB, from 100,000 more than 13 GiB.
const MAX_FEATURES: usize = 5000;

/// Fewer inputs than this cannot be split into a test part and folds.
const MIN_INPUTS: usize = 10;

/// A log made ready to learn from.
pub struct Task {
    /// The optimization, built in or given, else only the log's name.
    pub optimization: Optimization,
    /// Whether the optimization is only the log's name.
    pub undeclared: bool,
    /// The first line of the log.
    pub metadata: Metadata,
    /// The files of the log.
    pub sources: Vec<Source>,
    /// Logged and derived features.
    pub features: Features,
    /// Inputs × choices.
    pub table: Table,
    /// The features of all inputs.
    values: FeatureValues,
    /// The domain.
    pub precondition: Option<Precondition>,
    /// Where choices can run at all, by the optimization or the log; choices without an entry can everywhere.
    pub eligible: BTreeMap<ChoiceId, Precondition>,
    /// The inputs to learn from, ascending.
    pub usable: Vec<u32>,
    /// The fallback that a flag, the policy or the optimization names.
    named_fallback: Option<ChoiceId>,
    /// Sentences for the user.
    pub warnings: Vec<String>,
}

impl Task {
    /// Reads the logs and makes them ready.
    ///
    /// # Errors
    /// [`TrainError`] if a log, the optimization or a name is wrong, or the log holds too little.
    pub fn read(params: &ValidParams, policy: Option<&dyn Policy>) -> Result<Self, TrainError> {
        let mut log = read_logs(params)?;
        if log.schema.len() > MAX_FEATURES {
            return Err(TrainError::TooManyFeatures { most: MAX_FEATURES, found: log.schema.len() });
        }
        let mut warnings = irregularities::warnings(&log.irregularities);
        exclude::exclude(&mut log, &params.exclude)?;
        let (optimization, undeclared) = optimization(params, &log)?;
        check_names(&optimization, &log.schema)?;
        let policy = policy.unwrap_or(&optimization.training);
        let features = features(&optimization, policy, &log.schema, &mut warnings)?;
        let (metadata, sources) = (log.metadata.clone(), std::mem::take(&mut log.sources));
        let table = table(log, params, policy, &sources, &mut warnings)?;
        let values = FeatureValues::new(&table, &features);
        let named_fallback = named_fallback(params, policy, &optimization, &table, &mut warnings)?;
        let (precondition, outside) =
            domain::precondition(&optimization, &metadata, &features, &table, &mut warnings)?;
        let eligible = domain::eligible(&optimization, &metadata, &features, &table, &mut warnings)?;
        let mut usable = usable(&table, &features, &values.undefined, &mut warnings);
        usable.retain(|input| outside.binary_search(input).is_err());
        let usable = filtered(usable, &optimization, policy, &features, &table, &mut warnings)?;
        enough(&table, &usable)?;
        Ok(Self {
            optimization,
            undeclared,
            metadata,
            sources,
            features,
            table,
            values,
            precondition,
            eligible,
            usable,
            named_fallback,
            warnings,
        })
    }

    /// Returns the same task with further derived features. Inputs where one is undefined are not learned from.
    ///
    /// # Errors
    /// [`TrainError::Derived`] for a feature that does not fit the log.
    pub fn with_derived(mut self, further: Vec<DerivedFeature>) -> Result<Self, TrainError> {
        let (logged, given) = (self.features.base().clone(), self.features.derived());
        let derived: Vec<DerivedFeature> = given.iter().map(|(d, _)| d.clone()).chain(further).collect();
        self.features = Features::new(logged, &derived).map_err(|source| TrainError::Derived {
            optimization: self.optimization.name.clone(),
            source: Box::new(source),
        })?;
        self.values = FeatureValues::new(&self.table, &self.features);
        let undefined = &self.values.undefined;
        self.usable.retain(|input| undefined.binary_search_by_key(input, |u| u.0).is_err());
        Ok(self)
    }

    /// Returns whether the program has a fallback of its own. Otherwise it is the best single choice, and there
    /// is nothing to decline for.
    pub fn has_fallback(&self) -> bool {
        !self.undeclared || self.named_fallback.is_some()
    }

    /// Returns the fallback when learning from these inputs: the named one, else the best single choice.
    pub fn fallback(&self, inputs: &[u32]) -> ChoiceId {
        self.named_fallback.unwrap_or_else(|| self.table.best_single(inputs, None))
    }

    /// Returns the features as ranked from these inputs.
    pub fn ranked(&self, inputs: &[u32]) -> RankedFeatures {
        RankedFeatures::new(&self.values, inputs, MAX_BINS)
    }

    /// Returns [`ranked`](Self::ranked) with crossovers of these inputs, so that trees learn from a teacher.
    pub fn ranked_with_crossovers(&self, inputs: &[u32], seed: u64) -> RankedFeatures {
        let (table, mut crossovers) = crossovers::crossed(&self.table, inputs, seed);
        let values = FeatureValues::new(&table, &self.features);
        crossovers.retain(|(row, _)| values.undefined.binary_search_by_key(row, |u| u.0).is_err());
        let RankedFeatures { columns, categories } = RankedFeatures::new(&values, inputs, MAX_BINS);
        RankedFeatures { columns: columns.with_crossovers(crossovers), categories }
    }

    /// Returns the costs of all inputs with this fallback, for the choices of `portfolio` (empty: all).
    pub fn targets(&self, fallback: ChoiceId, portfolio: &[ChoiceId]) -> Targets {
        Targets::new(&self.table, fallback, |c| portfolio.is_empty() || portfolio.contains(&c))
    }

    /// [`targets`](Self::targets) for learning with a promise: they include a penalty for each choice
    /// that is slower than the fallback by more than `limit`.
    pub fn targets_within(&self, fallback: ChoiceId, portfolio: &[ChoiceId], limit: Option<f64>) -> Targets {
        let targets = self.targets(fallback, portfolio);
        match limit {
            Some(limit) => targets.with_penalty(&self.table, fallback, limit, PENALTY),
            None => targets,
        }
    }

    /// What [`split`] splits these inputs by.
    pub fn keys(&self, by: SplitBy, inputs: &[u32]) -> Vec<String> {
        split::keys(&self.table, &self.features, &self.optimization.training.dimensions, by, inputs)
    }

    /// Holds out the test part. Inputs of further logs stay in the training part.
    ///
    /// # Errors
    /// [`TrainError::TooLittle`] if the test part is empty or the training part too small for the
    /// policy's folds.
    pub fn hold_out(&self, by: SplitBy, policy: &dyn Policy, seed: u64) -> Result<Partition, TrainError> {
        let keys = self.keys(by, &self.usable);
        let Partition { mut training, mut held_out } =
            split::hold_out(&self.usable, &keys, policy.test_share(), seed, "test");
        let further = |i: &u32| self.table.inputs[*i as usize].further;
        training.extend(held_out.iter().filter(|i| further(i)));
        training.sort_unstable();
        held_out.retain(|i| !further(i));
        if held_out.is_empty() || training.len() < policy.folds() {
            return Err(too_few(self.usable.len()));
        }
        Ok(Partition { training, held_out })
    }
}

fn read_logs(params: &ValidParams) -> Result<Log, TrainError> {
    let options = ReadOptions { skip_bad_rows: params.skip_bad_rows, max_rows: params.nrows };
    let further = params.also_train.iter().map(|log| &log.path);
    let paths: Vec<&PathBuf> = params.logs.iter().chain(further).collect();
    Ok(log::read_with(&paths, options)?)
}

/// Returns the given or built-in optimization, with the given training policy. The flag is true if there is
/// none, so that only the log declares it.
fn optimization(params: &ValidParams, log: &Log) -> Result<(Optimization, bool), TrainError> {
    let metadata = &log.metadata;
    let built_in = Optimization::built_in_names().any(|name| name == metadata.name);
    let undeclared = params.optimization.is_none() && !built_in;
    let mut optimization = match &params.optimization {
        Some(path) => {
            let optimization = Optimization::read(path)?;
            if optimization.name != metadata.name {
                return Err(TrainError::OtherOptimization {
                    path: path.clone(),
                    log: metadata.name.clone(),
                    found: optimization.name,
                });
            }
            optimization
        }
        None if undeclared => Optimization::from_log(metadata, &log.schema),
        None => Optimization::built_in(&metadata.name)?,
    };
    if let Some(path) = &params.policy {
        let dimensions = std::mem::take(&mut optimization.training.dimensions);
        optimization.training = policy_file::read(path)?;
        if optimization.training.dimensions.is_empty() {
            optimization.training.dimensions = dimensions;
        }
    }
    policy::check(&optimization)?;
    Ok((optimization, undeclared))
}

/// Checks the features that derived features and dimensions name. A name that the optimization knows and
/// the log lacks is no mistake: logs of other devices may have it.
fn check_names(optimization: &Optimization, logged: &Schema) -> Result<(), TrainError> {
    let declared = logged.features().iter().chain(&optimization.features).map(|f| f.name.as_str());
    let mut known: BTreeSet<&str> = declared.collect();
    let check = |what: String, feature: &str, known: &BTreeSet<&str>| match known.contains(feature) {
        true => Ok(()),
        false => Err(TrainError::UnknownFeature {
            optimization: optimization.name.clone(),
            what,
            feature: feature.to_owned(),
            known: known.iter().map(|&name| name.to_owned()).collect(),
        }),
    };
    for dimension in &optimization.training.dimensions {
        check("dimensions".to_owned(), dimension, &known)?;
    }
    for derived in &optimization.derived {
        // `Features::new` reports a malformed expression.
        if let Ok(parsed) = expr::parse(&derived.expression) {
            let mut result = Ok(());
            parsed.for_each_feature(&mut |name| {
                if result.is_ok() {
                    result = check(format!("derived feature {:?}", derived.name), name, &known);
                }
            });
            result?;
        }
        known.insert(&derived.name);
    }
    Ok(())
}

/// Returns the log's features and the derived ones that they allow.
fn features(
    optimization: &Optimization,
    policy: &dyn Policy,
    logged: &Schema,
    warnings: &mut Vec<String>,
) -> Result<Features, TrainError> {
    let (mut derived, left_out) = optimization.derived_for(logged);
    if !left_out.is_empty() {
        warnings.push(format!(
            "derived features left out, because the log lacks a feature they use: {}",
            listed(&left_out)
        ));
    }
    derived.extend(policy.derived());
    // The optimization knows units and which features are whole numbers; the log does not.
    let known: FxHashMap<&str, &Feature> =
        optimization.features.iter().map(|known| (known.name.as_str(), known)).collect();
    let described = logged.features().iter().map(|f| {
        let known = known.get(f.name.as_str()).filter(|known| known.kind == f.kind);
        (*known.unwrap_or(&f)).clone()
    });
    let schema = Schema::new(described).unwrap_or_else(|_| logged.clone());
    Features::new(schema, &derived).map_err(|source| TrainError::Derived {
        optimization: optimization.name.clone(),
        source: Box::new(source),
    })
}

/// Returns the table of a log, with the weights of its inputs.
fn table(
    log: Log,
    params: &ValidParams,
    policy: &dyn Policy,
    sources: &[Source],
    warnings: &mut Vec<String>,
) -> Result<Table, TrainError> {
    let (main, further) = sources.split_at(params.logs.len().min(sources.len()));
    let mut end = main.iter().map(|s| s.new_inputs).sum();
    let mut parts = vec![LogPart { end, weight: 1.0, further: false }];
    for (source, log) in further.iter().zip(&params.also_train) {
        end += source.new_inputs;
        parts.push(LogPart { end, weight: log.weight, further: true });
    }
    let mut table = Table::new(log, &parts, &policy.cell_filter());
    if table.copies > 0 {
        warnings.push(format!("{} cells repeat a single measurement; it counts once", table.copies));
    }
    if table.filtered > 0 {
        warnings.push(format!("{} cells left out by the training policy", table.filtered));
    }
    if table.rare().next().is_some() {
        let (least, inputs) = (evidence::least(table.inputs.len()), table.inputs.len());
        warnings.push(format!(
            "choices that fewer than {least} of {inputs} inputs measure are not learned: {}; \
             measure them on more inputs, or mend their names",
            listed(table.rare())
        ));
    }
    if let Some(path) = &params.weights {
        warnings.extend(weights::read(path, &mut table)?);
    }
    Ok(table)
}

/// Returns the fallback that is named: by the flag, else by the policy, else by the optimization.
fn named_fallback(
    params: &ValidParams,
    policy: &dyn Policy,
    optimization: &Optimization,
    table: &Table,
    warnings: &mut Vec<String>,
) -> Result<Option<ChoiceId>, TrainError> {
    let flag = params.fallback.clone().map(|name| ("--fallback", name));
    let hook = || policy.default_choice().map(|name| ("default_choice", name));
    let known = || optimization.fallback_among(&table.choices).map(|name| ("fallback", name.to_owned()));
    let Some((flag, choice)) = flag.or_else(hook).or_else(known) else {
        if !optimization.fallback.is_empty() {
            warnings.push(format!(
                "the log has none of the optimization's fallbacks ({}); the best single choice takes their place",
                listed(&optimization.fallback)
            ));
        }
        return Ok(None);
    };
    table.named(flag, choice).map(Some)
}

/// Returns the inputs with a usable choice and all features defined.
fn usable(
    table: &Table,
    features: &Features,
    undefined: &[(u32, usize)],
    warnings: &mut Vec<String>,
) -> Vec<u32> {
    if let Some(&(input, slot)) = undefined.first() {
        let name = |slot: usize| features.all().features()[slot].name.as_str();
        let slots: FxHashSet<usize> = undefined.iter().map(|u| u.1).collect();
        let mut names: Vec<&str> = slots.into_iter().map(name).collect();
        names.sort_unstable();
        warnings.push(format!(
            "{} inputs are not learned from: a derived feature is undefined there ({}). The first is {}, where {:?} is undefined",
            undefined.len(),
            listed(&names),
            table.inputs[input as usize].text,
            name(slot),
        ));
    }
    let all = 0..table.inputs.len() as u32;
    let failed = all.clone().filter(|&i| !table.is_usable(i)).count();
    if failed > 0 {
        warnings.push(format!("{failed} inputs are not learned from: every choice failed there"));
    }
    let defined = |input: &u32| undefined.binary_search_by_key(input, |u| u.0).is_err();
    all.filter(|&i| table.is_usable(i)).filter(defined).collect()
}

/// Returns the inputs that the row filter and the policy keep.
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
        let typed = domain::truth(optimization, "row_filter", text, features.all())?;
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

fn enough(table: &Table, usable: &[u32]) -> Result<(), TrainError> {
    if let [only] = &table.choices[..] {
        return Err(TrainError::TooLittle {
            what: format!("expected at least 2 choices in the log, found 1 ({})", quoted(only)),
            hint: "measure another choice: with one there is nothing to decide",
        });
    }
    if let [only] = &table.inputs[..] {
        let why = if only.values.is_empty() { "the log has no features" } else { "no feature varies" };
        return Err(TrainError::TooLittle {
            what: format!("expected at least {MIN_INPUTS} distinct inputs to learn from, found 1: {why}"),
            hint: "measure more inputs (ah-collect --num-samples), and log the features that tell them apart",
        });
    }
    if usable.len() < MIN_INPUTS { Err(too_few(usable.len())) } else { Ok(()) }
}

/// Returns the error of a training with too few inputs.
pub(crate) fn too_few(inputs: usize) -> TrainError {
    TrainError::TooLittle {
        what: format!("expected at least {MIN_INPUTS} distinct inputs to learn from, found {inputs}"),
        hint: "measure more inputs (ah-collect --num-samples)",
    }
}
