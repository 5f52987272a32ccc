//! A log made ready to learn from: the table of its times, the columns of its features, its fallback
//! and the inputs to learn from.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ah_model::shown::{did_you_mean, listed};
use ah_model::{ChoiceId, DEVICE_FEATURES, DerivedFeature, Device, Error, Features, Precondition};
use ah_types::Optimization;
use ah_types::log::{Log, LoggedDevice, Metadata, ReadOptions, Source, read_with};
use rustc_hash::FxHashMap;

use super::columns::RankedFeatures;
use super::costs::Costs;
use super::declared;
use super::exclude;
use super::groups::{self, Groups, Shared};
use super::learned_eligible;
use super::split::{self, Partition};
use super::table::{self, Table};
use super::unrepeated;
use super::usable;
use super::values::{self, FeatureValues};
use super::weights;
use super::{domain, irregularities};
use crate::error::unknown_choice;
use crate::params::{Params, SplitBy};
use crate::setting::{Origin, Settings};

/// Ranks are exact up to this many distinct values; a column of more becomes quantiles. In ten-fold
/// cross-validation on PyTorch's logs 1024 and 512 lose nothing against exact ranks; 256 lose
/// 0.0007 on mixed_mm H100 and on pad_mm.
const MAX_BINS: usize = 1024;

/// With a promise, this is added to the log slowdown of a choice that is too slow against the fallback,
/// so that splits separate such inputs. Slowdown with a promise of 1 % over 24 random partitions, at
/// 0, 0.3, 0.5 and 1.0: pad_mm A100 1.0091, 1.0068, 1.0064, 1.0063; mm A100 1.0137, 1.0124, 1.0124,
/// 1.0125; pad_mm H200 1.0101, 1.0100, 1.0087, 1.0081. mixed_mm, where few choices are too slow, stays
/// within 0.0003.
pub const PENALTY: f64 = 0.5;

/// Most choices, as of a worker. Each node of a tree has a score for each choice: a million choices of 1,000 inputs take more than 3 GB.
const MAX_CHOICES: usize = 10_000;

/// The share of the inputs that is held out for the test.
const TEST_SHARE: f64 = 0.2;

/// Most logged features. Learning from 5,000 takes 700 MiB, from 100,000 more than 13 GiB.
const MAX_FEATURES: usize = 5000;

/// A log made ready to learn from.
#[derive(Clone)]
pub struct Dataset {
    /// The optimization, built in or given, else only the log's name.
    pub optimization: Optimization,
    /// Whether the optimization is only the log's name.
    pub ad_hoc: bool,
    /// The first line of the log.
    pub metadata: Metadata,
    /// The devices of the logs.
    pub devices: Vec<LoggedDevice>,
    /// The files of the log.
    pub sources: Vec<Source>,
    /// Logged and derived features.
    pub features: Features,
    /// Inputs × choices, to learn from.
    pub table: Arc<Table>,
    /// The features of all inputs.
    values: FeatureValues,
    /// The domain.
    pub precondition: Option<Precondition>,
    /// Where choices can run at all, by the optimization or the log.
    pub eligible: BTreeMap<ChoiceId, Precondition>,
    /// The inputs to learn from, ascending.
    pub usable: Vec<u32>,
    /// The groups of its inputs, where these are no independent evidence.
    pub groups: Option<Groups>,
    /// The fallback that a flag, the policy or the optimization names.
    named_fallback: Option<ChoiceId>,
    /// The fallback of the heuristic that was judged, where none is named.
    judged_fallback: Option<ChoiceId>,
    /// The settings that flags, the optimization and the log give.
    pub settings: Settings,
    /// Sentences for the user.
    pub warnings: Vec<String>,
}

impl Dataset {
    /// Reads the logs and makes them ready.
    pub fn read(params: &Params) -> Result<Self, Error> {
        let options = ReadOptions { skip_bad_rows: params.skip_bad_rows, device_features: Some(&[]) };
        let mut log = read_with(&params.logs, options)?;
        let devices = log.devices.clone();
        let mut warnings = irregularities::warnings(&log.irregularities);
        warnings.extend(log.unconnected());
        let (optimization, training, ad_hoc) = declared::optimization(params, &log, &mut warnings)?;
        let mut settings = Settings::default();
        settings.add_layer(params, Origin::Flag);
        settings.add_layer(&training, Origin::Optimization);
        if log.choices.len() > MAX_CHOICES {
            return Err(Error::Invalid(format!(
                "expected at most {MAX_CHOICES} choices, found {}: {}; if a part of their names belongs to the input, make it a feature",
                log.choices.len(),
                listed(&log.choices)
            )));
        }
        if log.schema.len() > MAX_FEATURES {
            return Err(Error::Invalid(format!(
                "expected at most {MAX_FEATURES} features, found {}; leave columns out of the log",
                log.schema.len()
            )));
        }
        if devices.len() > 1 {
            let names = devices.iter().map(LoggedDevice::name);
            let features = log.schema.features().iter().map(|feature| feature.name.clone());
            warnings.push(format!(
                "the logs are of {} devices ({}), so features of the device are inputs of the heuristic too: {}",
                devices.len(),
                listed(names),
                listed(features.filter(|name| DEVICE_FEATURES.contains(&name.as_str())))
            ));
            warnings.extend(devices.iter().filter(|device| device.is_several()).map(|device| {
                format!(
                    "{}: no feature of all logs distinguishes them; they count as one device",
                    device.name()
                )
            }));
        }
        // A group may be named by a column that the program does not know when it asks.
        let of_samples = groups::named(&log, &settings.group)?;
        exclude::exclude(&mut log, &settings.exclude)?;
        warnings.extend(unrepeated::leave_out(&mut log)?);
        let of_inputs = of_samples.map(|of_samples| {
            let mut of_inputs = vec![0; log.inputs.len()];
            let samples = log.samples.iter().zip(of_samples);
            samples.for_each(|(sample, group)| of_inputs[sample.input as usize] = group);
            of_inputs
        });
        declared::check_names(&optimization, &settings.dimensions, &log.schema)?;
        declared::check_dimensions(&settings, &log.schema)?;
        let features = declared::features(&optimization, ad_hoc, &log, &mut warnings)?;
        let metadata = log.metadata.clone();
        let sources = std::mem::take(&mut log.sources);
        let mut table = table(log, params, &mut warnings)?;
        let groups = of_inputs.map(|of_inputs| Groups {
            keys: table.inputs.iter().map(|input| of_inputs[input.position as usize]).collect(),
            shared: Shared::Columns(settings.group.clone()),
        });
        table.set_objective(settings.objective.unwrap_or_default());
        let (features, values) = values::truth_as_numbers(&table, features);
        let named_fallback = named_fallback(&optimization, ad_hoc, &table, &mut settings, &mut warnings)?;
        // A precondition of one device does not hold for several.
        let unnamed = Metadata { collection: None, ..metadata.clone() };
        let common = if devices.len() == 1 { &metadata } else { &unnamed };
        let (precondition, outside) =
            domain::precondition(&optimization, common, &features, &table, &mut warnings)?;
        let eligible = domain::eligible(&optimization, &metadata, &features, &table, &mut warnings)?;
        let mut usable = usable::inputs(&table, &features, &values.undefined, &mut warnings);
        usable::compared(&table, &mut usable, &mut warnings)?;
        usable.retain(|input| outside.binary_search(input).is_err());
        usable::enough(&table, &usable)?;
        Ok(Self {
            optimization,
            ad_hoc,
            metadata,
            devices,
            sources,
            features,
            table: Arc::new(table),
            values,
            precondition,
            eligible,
            usable,
            groups,
            named_fallback,
            judged_fallback: None,
            settings,
            warnings,
        })
    }

    /// The same dataset with further derived features, which are numbers; without them where they do not fit the log.
    pub fn with_derived(mut self, further: Vec<DerivedFeature>) -> Self {
        let logged = self.features.base().clone();
        let given = self.features.derived();
        let derived: Vec<DerivedFeature> = given.iter().map(|(d, _)| d.clone()).chain(further).collect();
        if let Ok(features) = Features::new(logged, &derived) {
            self.values = FeatureValues::new(&self.table, &features);
            self.features = features;
        }
        self
    }

    /// The same dataset with other cells of the same inputs and choices.
    pub fn with_table(&self, table: Table) -> Self {
        Self { table: Arc::new(table), ..self.clone() }
    }

    /// The same dataset with only these choices, by name, sorted.
    pub fn narrowed(mut self, choices: &[String]) -> Self {
        let table = self.table.narrowed(choices);
        let renumbered = |id: ChoiceId| table.choice_id(&self.table.choices[id.index()]);
        self.eligible = std::mem::take(&mut self.eligible)
            .into_iter()
            .filter_map(|(id, condition)| Some((renumbered(id)?, condition)))
            .collect();
        self.named_fallback = self.named_fallback.and_then(renumbered);
        self.table = Arc::new(table);
        self
    }

    /// The device; `None` for logs that do not name it, or of several.
    pub fn device(&self) -> Option<&Device> {
        self.metadata.device().filter(|_| self.devices.len() == 1)
    }

    /// Whether the program has a fallback of its own. Otherwise it is the best single choice, and there
    /// is nothing to decline for.
    pub fn has_fallback(&self) -> bool {
        !self.ad_hoc || self.named_fallback.is_some()
    }

    /// The same dataset with the fallback of the heuristic that was judged, for the one that ships. Of equal choices, all of
    /// its inputs may name another one.
    pub fn falling_back_to(mut self, judged: ChoiceId) -> Self {
        self.judged_fallback = Some(judged);
        self
    }

    /// The fallback when learning from these inputs: the named one, else the best single choice.
    pub fn fallback(&self, inputs: &[u32]) -> ChoiceId {
        let known = self.named_fallback.or(self.judged_fallback);
        known.unwrap_or_else(|| self.table.best_fallback(inputs))
    }

    /// The conditions under which choices can run: the declared ones, and those that these inputs show. The fallback runs
    /// wherever the heuristic declines, so it gets none.
    pub fn eligible_on(&self, inputs: &[u32]) -> BTreeMap<ChoiceId, Precondition> {
        let mut eligible = learned_eligible::learn(&self.table, inputs, self.features.base(), &self.eligible);
        if let Some(fallback) = self.named_fallback {
            eligible.remove(&fallback);
        }
        eligible.extend(self.eligible.clone());
        eligible
    }

    /// Whether a condition is declared for a choice, or bounds on the features separate the inputs that time it from the others:
    /// then it may be one that cannot run elsewhere.
    pub fn is_bounded(&self, choice: ChoiceId) -> bool {
        let schema = self.features.base();
        self.eligible.contains_key(&choice)
            || learned_eligible::condition(&self.table, &self.usable, schema, choice).is_some()
    }

    /// The features as ranked from these inputs, without these logged ones and those derived from them.
    pub fn ranked_without(&self, inputs: &[u32], left_out: &BTreeSet<usize>) -> RankedFeatures {
        // A row and its code share 32 bits while a tree grows.
        let fitting = (1_u64 << 32) / inputs.len().next_power_of_two() as u64;
        let bins = MAX_BINS.min(fitting as usize).max(2);
        let mut ranked = RankedFeatures::new(&self.values, inputs, bins, &Costs::new(&self.table, None));
        if !left_out.is_empty() {
            let reads_none = |slot: usize| {
                let mut none = true;
                self.features.for_each_logged(slot, &mut |logged| none &= !left_out.contains(&logged));
                none
            };
            ranked.columns = ranked.columns.part(|_, column| reads_none(column.slot));
        }
        ranked
    }

    /// The group of each of these inputs, where there are groups.
    pub fn group_of(&self, inputs: &[u32]) -> Option<Vec<u64>> {
        let groups = self.groups.as_ref()?;
        Some(inputs.iter().map(|&input| groups.keys[input as usize]).collect())
    }

    /// What [`split`] splits these inputs by.
    pub fn keys(&self, by: SplitBy, inputs: &[u32]) -> Vec<String> {
        split::keys(&self.table, &self.features, &self.settings.dimensions, by, inputs)
    }

    /// The keys of independent evidence for a promise: the groups of these inputs, or the inputs where there are no groups.
    pub fn evidence_keys(&self, inputs: &[u32]) -> Vec<String> {
        match self.group_of(inputs) {
            Some(groups) => groups.iter().map(u64::to_string).collect(),
            None => self.keys(SplitBy::Input, inputs),
        }
    }

    /// The effective number of independent inputs among these, for a promise: the square of the summed weights over the sum of
    /// the squared weights of those that are one piece of evidence.
    pub fn count_evidence(&self, inputs: &[u32]) -> usize {
        let mut of_groups: FxHashMap<String, f64> = FxHashMap::default();
        for (key, input) in self.evidence_keys(inputs).into_iter().zip(inputs) {
            *of_groups.entry(key).or_default() += self.table.inputs[*input as usize].weight;
        }
        let mut weights: Vec<f64> = of_groups.into_values().collect();
        // A sum must not depend on the order of a map.
        weights.sort_by(f64::total_cmp);
        let squares: f64 = weights.iter().map(|weight| weight * weight).sum();
        if squares > 0.0 { (weights.iter().sum::<f64>().powi(2) / squares + 1e-6) as usize } else { 0 }
    }

    /// Holds out the test part.
    pub fn hold_out(&self, by: SplitBy, seed: u64) -> Partition {
        split::hold_out(&self.usable, &self.keys(by, &self.usable), TEST_SHARE, seed)
    }
}

/// The table of a log, with the weights of its inputs.
fn table(log: Log, params: &Params, warnings: &mut Vec<String>) -> Result<Table, Error> {
    let schema = log.schema.clone();
    let mut table = Table::new(log, warnings);
    if table.copies > 0 {
        warnings.push(format!(
            "the log repeats {} {}; each counts once. Nothing needs to be done if they are copies; to show how much times \
             vary, write one row for each run with its own time",
            table.copies,
            if table.copies == 1 { "measurement" } else { "measurements" }
        ));
    }
    let rare = table.rare().count();
    let choices = table.choices.len();
    if rare > 0 {
        let least = table::enough(table.inputs.len());
        let inputs = table.inputs.len();
        warnings.push(format!(
            "{rare} of {choices} choices are not learned, because fewer than {least} of {inputs} inputs measure them: {}; \
             measure them on more inputs, or fix their names",
            listed(table.rare())
        ));
    }
    if let Some(path) = &params.weights {
        warnings.extend(weights::read(path, &schema, &mut table)?);
    }
    Ok(table)
}

/// The fallback that is named: by the flag, else by the optimization, which the log may declare.
fn named_fallback(
    optimization: &Optimization,
    ad_hoc: bool,
    table: &Table,
    settings: &mut Settings,
    warnings: &mut Vec<String>,
) -> Result<Option<ChoiceId>, Error> {
    let declared = optimization.fallback_among(&table.choices).map(str::to_owned);
    let of_fallback = |fallback| Params { fallback, ..Params::default() };
    settings.add_layer(&of_fallback(declared), if ad_hoc { Origin::Log } else { Origin::Optimization });
    let Some(choice) = settings.fallback.clone() else {
        if !optimization.fallback.is_empty() {
            warnings.push(format!(
                "the log has none of the optimization's fallbacks ({}), so the best single choice takes their place{}",
                listed(&optimization.fallback),
                did_you_mean(&optimization.fallback[0], &table.choices)
            ));
        }
        settings.add_layer(&of_fallback(Some("the best single choice".to_owned())), Origin::Default);
        return Ok(None);
    };
    let unknown = || unknown_choice("fallback", &choice, &table.choices);
    let id = table.choice_id(&choice).ok_or_else(unknown)?;
    let inputs = 0..table.inputs.len() as u32;
    let has_times = inputs.clone().any(|input| table.is_usable(input));
    if has_times && inputs.clone().all(|input| table.usable(input, id).is_none()) {
        return Err(Error::TooLittle(format!(
            "expected times of the fallback {:?}, but it failed on all {} inputs; fix its command and measure again, or \
             name another fallback",
            table.choices[id.index()],
            inputs.filter(|&input| table.cell(input, id).is_some()).count()
        )));
    }
    Ok(Some(id))
}
