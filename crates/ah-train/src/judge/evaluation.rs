//! `ah-train evaluate`: a model on any log of its optimization.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use ah_types::log::ReadOptions;
use ah_types::{ChoiceId, Model, artefact, log};

use super::metrics::{self, DEFAULT_MAX_SLOWDOWN, JudgedInput, Metrics};
use crate::data::Table;
use crate::error::TrainError;
use crate::policy::CellFilter;

/// What judging gave.
pub struct Evaluation {
    /// The log.
    pub table: Table,
    /// One decision for each input, by text.
    pub judged: Vec<JudgedInput>,
    /// The model's figures.
    pub model: Metrics,
    /// Those of always taking the fallback, and its name.
    pub fallback: (String, Metrics),
    /// Those of the choice that is best on this very log, and its name.
    pub best_single: (String, Metrics),
    /// What to tell the user, in sentences.
    pub warnings: Vec<String>,
}

/// Judges `model` on `logs`.
///
/// # Errors
/// [`TrainError`] where a log cannot be read or is of another optimization.
pub fn evaluate(model: &Model, logs: &[PathBuf], skip_bad_rows: bool) -> Result<Evaluation, TrainError> {
    let log = log::read_with(logs, ReadOptions { skip_bad_rows, max_rows: None })?;
    if log.metadata.name != model.optimization {
        return Err(TrainError::Mismatch {
            path: logs[0].clone(),
            model: model.optimization.clone(),
            log: log.metadata.name,
        });
    }
    let mut warnings = Vec::new();
    // By name and kind: a feature that the log lacks is undefined wherever a decision needs it.
    let features = model.features.base().features();
    let slots: Vec<Option<usize>> = features
        .iter()
        .map(|f| log.schema.slot(&f.name).filter(|&s| log.schema.features()[s].kind == f.kind))
        .collect();
    let lacking: Vec<&str> =
        features.iter().zip(&slots).filter(|(_, s)| s.is_none()).map(|(f, _)| f.name.as_str()).collect();
    if !lacking.is_empty() {
        warnings.push(format!(
            "the log lacks features of the model, so decisions that need them are unsure: {}",
            lacking.join(", ")
        ));
    }
    let unknown: Vec<&str> =
        log.choices.iter().filter(|c| model.choice_id(c).is_none()).map(String::as_str).collect();
    if !unknown.is_empty() {
        warnings.push(format!("the model never chooses what it does not know: {}", unknown.join(", ")));
    }
    let table = Table::new(log, &[], &CellFilter::default());
    let inputs: Vec<u32> = (0..table.inputs.len() as u32).filter(|i| table.is_usable(*i as usize)).collect();
    let failed = table.inputs.len() - inputs.len();
    if failed > 0 {
        warnings.push(format!("{failed} inputs do not count, as every choice failed there"));
    }
    let judged = metrics::decide(model, &table, &inputs, &slots);
    let single = table.best_single(&inputs).unwrap_or(ChoiceId(0));
    let fallback = model.fallback.and_then(|f| table.choice_id(model.choice_name(f))).unwrap_or(single);
    let always = |choice: ChoiceId| {
        let metrics = metrics::always(&table, &inputs, choice, fallback, DEFAULT_MAX_SLOWDOWN);
        (table.choices[choice.index()].clone(), metrics)
    };
    Ok(Evaluation {
        model: metrics::metrics(&table, &judged, fallback, DEFAULT_MAX_SLOWDOWN),
        fallback: always(fallback),
        best_single: always(single),
        table,
        judged,
        warnings,
    })
}

impl Evaluation {
    /// Writes one line for each input: its features as they stand in the log, joined by commas,
    /// a tab, the choices best first joined by `;` (empty where undecided).
    ///
    /// # Errors
    /// [`TrainError::Io`] names the file.
    pub fn write_decisions(&self, path: &Path) -> Result<(), TrainError> {
        let mut text = String::new();
        for JudgedInput { input, ranking, .. } in &self.judged {
            let names: Vec<&str> = ranking.iter().map(|c| self.table.choices[c.index()].as_str()).collect();
            let _ = writeln!(text, "{}\t{}", self.table.inputs[*input as usize].text, names.join(";"));
        }
        artefact::write_atomic(path, text.as_bytes()).map_err(|source| TrainError::Io {
            path: path.to_owned(),
            action: "write the decisions",
            source,
        })
    }
}
