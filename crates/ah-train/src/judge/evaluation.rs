//! `ah-train evaluate`: a model judged on any log of its optimization.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ah_model::shown::{listed, quoted};
use ah_model::{Device, Error, Feature, FeatureKind, Model, admits, artefact, capability_identity};
use ah_types::log::{Log, Metadata, ReadOptions, read_with};

use super::comparison::BaselineComparison;
use super::losses::Losses;
use crate::data::{self, Table, irregularities};
use crate::decisions::{self, JudgedInput};
use crate::error::mismatch;
use crate::joint;
use crate::overhead::CallSite;
use crate::prepared::Prepared;

/// A model judged on a log.
pub struct Evaluation {
    /// The log, with the values of the features that the model has.
    pub table: Arc<Table>,
    /// The decision for each usable input, by text.
    pub judged: Vec<JudgedInput>,
    /// The model beside always taking one choice; the best single choice is the best on this log.
    pub comparison: BaselineComparison,
    /// Where the test part of a training is judged: the number of inputs that its heuristic learned from.
    pub learned_from: Option<usize>,
    /// Whether the model was learned from one of the logs: then its figures here are too good.
    pub seen: bool,
    /// Sentences for the user.
    pub warnings: Vec<String>,
}

/// Judges `model` on `logs`, whose inputs have the weights of a file, else 1.
///
/// # Errors
/// [`Error`] if a log cannot be read or is of another optimization.
pub fn evaluate(
    model: &Model,
    logs: &[PathBuf],
    weights: Option<&Path>,
    skip_bad_rows: bool,
) -> Result<Evaluation, Error> {
    let names: Vec<&str> = model.features.base().features().iter().map(|f| f.name.as_str()).collect();
    let mut log = read_with(logs, ReadOptions { skip_bad_rows, device_features: Some(&names) })?;
    if log.metadata.name != model.optimization {
        return Err(mismatch(&logs[0], &model.optimization, &log.metadata.name));
    }
    let mut warnings = irregularities::warnings(&log.irregularities);
    warnings.extend(of_another_device(model, &log.metadata));
    take_features_of(model, &mut log, &mut warnings);
    warnings.extend(unknown_choices(model, &log));
    // By the BLAKE3 of a log's unpacked bytes.
    let is_known = |hash: &String| log.sources.iter().any(|source| source.hash == *hash);
    let seen = model.provenance.logs.iter().any(|log| is_known(&log.blake3));
    let call_site = CallSite::of_model(model, &log.metadata);
    let logged = log.schema.clone();
    let mut table = Table::new(log, &mut warnings);
    table.objective = model.purpose.objective;
    if let Some(path) = weights {
        warnings.extend(data::weights::read(path, &logged, &mut table)?);
    }
    let inputs: Vec<u32> = (0..table.inputs.len() as u32).filter(|&i| table.is_usable(i)).collect();
    if model.purpose.timed.is_some() {
        table.timed = joint::sparsely_timed(&table, &inputs);
    }
    if inputs.is_empty() {
        return Err(Error::TooLittle(format!(
            "{}: every choice failed on all inputs; measure inputs on which a choice runs",
            logs[0].display()
        )));
    }
    let failed = table.inputs.len() - inputs.len();
    if failed > 0 {
        warnings.push(format!("{failed} inputs do not count: every choice failed there"));
    }
    if seen {
        warnings.push(
            "the model was learned from these inputs, so it loses more on new ones; its figures on held-out inputs are \
             in its record"
                .to_owned(),
        );
    }
    warnings.extend(outside(model, &table, &inputs));
    let judged = decisions::decide(model, &table, &inputs, &call_site);
    let known = model.fallback.and_then(|f| table.choice_id(model.choice_name(f)));
    let fallback = known.unwrap_or_else(|| table.best_fallback(&inputs));
    if let Some(absent) = model.fallback.filter(|_| known.is_none()) {
        warnings.push(format!(
            "the log has no choice {}, the model's fallback; {} takes its place",
            quoted(model.choice_name(absent)),
            quoted(&table.choices[fallback.index()])
        ));
    }
    let losses = Losses { table: &table, fallback, max_slowdown: model.purpose.max_slowdown };
    let comparison = BaselineComparison::new(&losses, &judged, &[], table.best_single(&inputs));
    Ok(Evaluation { table: table.into(), judged, comparison, learned_from: None, seen, warnings })
}

/// A warning if the precondition, and so the range of what was measured, leaves out inputs.
fn outside(model: &Model, table: &Table, inputs: &[u32]) -> Option<String> {
    let precondition = model.precondition.as_ref()?;
    let holds = |&&input: &&u32| precondition.holds(&*table.inputs[input as usize].values);
    let outside = inputs.len() - inputs.iter().filter(holds).count();
    (outside > 0).then(|| {
        let expression = &precondition.expression;
        let all = inputs.len();
        format!("the model declines {outside} of {all} inputs, which are outside of {expression}")
    })
}

/// A warning if the log was measured on another device than the model was learned on. Logs of PyTorch name no device, but
/// its capability and shared memory.
fn of_another_device(model: &Model, log: &Metadata) -> Option<String> {
    let here = log.device().map(Device::identity);
    let here = here.unwrap_or_else(|| capability_identity(log.device_capa, log.shared_memory));
    let difference = admits(&model.identity(), &here).err()?;
    Some(format!("the model's promise does not hold on this log: {difference}"))
}

/// Gives the log's inputs the values of the model's features, by slot. A feature that the log lacks is undefined wherever a decision
/// needs it.
fn take_features_of(model: &Model, log: &mut Log, warnings: &mut Vec<String>) {
    let features = model.features.base().features();
    let logged = log.schema.features();
    let slot = |f: &Feature| log.schema.slot(&f.name).filter(|&slot| logged[slot].kind == f.kind);
    let slots: Vec<Option<usize>> = features.iter().map(slot).collect();
    let lacking: Vec<&str> =
        features.iter().zip(&slots).filter(|(_, s)| s.is_none()).map(|(f, _)| f.name.as_str()).collect();
    if !lacking.is_empty() {
        let names = listed(&lacking);
        warnings.push(format!(
            "the log lacks features of the model, which declines where it needs them: {names}"
        ));
    }
    for input in &mut log.inputs {
        let value = |(slot, feature): (&Option<usize>, &Feature)| match (slot, feature.kind) {
            (Some(slot), _) => input.values[*slot].clone(),
            (None, FeatureKind::Numerical) => f64::NAN.into(),
            (None, FeatureKind::Categorical) => "".into(),
        };
        input.values = slots.iter().zip(features).map(value).collect();
    }
}

/// A warning about choices that the model does not know. Where training kept some choices of many, the others are missing on
/// purpose.
fn unknown_choices(model: &Model, log: &Log) -> Option<String> {
    let unknown: Vec<&str> =
        log.choices.iter().filter(|c| model.choice_id(c).is_none()).map(String::as_str).collect();
    let names = listed(&unknown);
    (!unknown.is_empty() && model.purpose.kept_of.is_none())
        .then(|| format!("the model does not know these choices and never takes them: {names}"))
}

impl Evaluation {
    /// Judges what a training learned from the training part on its test part.
    pub fn of_test_part(prepared: &Prepared, model: &Model) -> Self {
        let parts = &prepared.parts;
        let judged = prepared.judge(model, &parts.held_out);
        Self {
            comparison: Self::compared(prepared, model, &judged),
            judged,
            learned_from: Some(parts.training.len()),
            seen: false,
            warnings: Vec::new(),
            table: prepared.judging.clone(),
        }
    }

    /// Decisions of a training beside the single choice that is the best one for its training part.
    pub fn compared(prepared: &Prepared, model: &Model, judged: &[JudgedInput]) -> BaselineComparison {
        let single = prepared.judging.best_single(&prepared.parts.training);
        let losses = Losses::of_training(prepared, model);
        let inputs: Vec<u32> = judged.iter().map(|judged| judged.input).collect();
        BaselineComparison::new(&losses, judged, &prepared.keys(&inputs), single)
    }

    /// Writes one line for each input: its features as in the log, joined by commas, a tab, the
    /// choices best first joined by `;` (none if the model declines). A name with `;`, `"` or white space that ends a field is
    /// written as a JSON string.
    ///
    /// # Errors
    /// [`Error::Io`] names the file.
    pub fn write_decisions(&self, path: &Path) -> Result<(), Error> {
        let mut text = String::new();
        for JudgedInput { input, ranking, .. } in &self.judged {
            // A name that would read as two is quoted.
            let name = |name: &String| match name.contains([';', '\t', '"', '\n']) {
                true => serde_json::Value::from(name.as_str()).to_string(),
                false => name.clone(),
            };
            let names: Vec<String> = ranking.iter().map(|c| name(&self.table.choices[c.index()])).collect();
            let _ = writeln!(text, "{}\t{}", self.table.inputs[*input as usize].text, names.join(";"));
        }
        artefact::write_atomic(path, text.as_bytes()).map_err(Error::io(path, "write the decisions"))
    }
}
