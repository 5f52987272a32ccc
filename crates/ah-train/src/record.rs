//! The record in the model: how to learn it again, and what it is worth.

use ah_types::{LogRecord, Provenance};
use serde_json::json;

use crate::judge::TestReport;
use crate::promise::Trainer;
use crate::search::Portfolio;

/// Returns the record of a training. `cost` is the mean log slowdown that cross-validation found, `timed` the share of all
/// cells that were measured, if the others are estimates.
pub fn provenance(
    trainer: &Trainer<'_>,
    cost: f64,
    held_out: &TestReport,
    portfolio: Option<&Portfolio>,
    timed: Option<f64>,
) -> Provenance {
    let object = |value: serde_json::Value| value.as_object().cloned().unwrap_or_default();
    let logs = trainer.dataset.sources.iter().map(|s| LogRecord {
        file: s.path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        blake3: s.hash.clone(),
        rows: s.rows,
    });
    let kept = portfolio
        .map(|p| json!({ "choices": p.choices, "slowdown": p.slowdown, "exact": p.exact, "curve": p.curve }));
    let mut parameters = object(json!({
        "settings": trainer.plan.settings,
        "chosen": trainer.configuration,
        "portfolio": kept,
    }));
    if let Some(most) = trainer.max_leaves {
        parameters.insert("max_leaves".to_owned(), most.into());
    }
    if let Some(share) = timed {
        parameters.insert("timed".to_owned(), share.into());
    }
    let mut metrics = object(json!({
        "note": "judged on held-out inputs with a heuristic learned from the training part; this one learned from all inputs",
        "train_inputs": held_out.train_inputs,
        "cross_validated_slowdown": cost.exp(),
        "held_out": held_out.comparison.model,
        "held_out_always_deciding": held_out.always,
        "held_out_by_input": held_out.by_input,
        "always_fallback": held_out.comparison.always_fallback,
        "best_single": held_out.comparison.best_single,
    }));
    if !held_out.by_device.is_empty() {
        metrics.insert("by_device".to_owned(), json!(held_out.by_device));
    }
    Provenance {
        tool: concat!("ah-train ", env!("CARGO_PKG_VERSION")).to_owned(),
        logs: logs.collect(),
        seed: trainer.plan.seed,
        parameters,
        metrics,
    }
}
