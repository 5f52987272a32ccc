//! The record in the model: enough to learn it again, and what it is worth.

use ah_types::model::{LogRecord, Provenance};
use serde_json::json;

use crate::params::Params;
use crate::promise::Recipe;
use crate::search::portfolio::Portfolio;
use crate::search::{self, ScoredConfiguration};
use crate::train::TestReport;

/// The record of a training.
#[must_use]
pub fn provenance(
    plan: &Recipe<'_>,
    params: &Params,
    scored: &[ScoredConfiguration],
    held_out: &TestReport,
    portfolio: Option<&Portfolio>,
) -> Provenance {
    let object = |value: serde_json::Value| value.as_object().cloned().unwrap_or_default();
    let logs = plan.task.sources.iter().map(|s| LogRecord {
        file: s.path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        blake3: s.hash.clone(),
        rows: s.rows,
    });
    let kept = portfolio.map(|p| {
        let names: Vec<&str> =
            p.choices.iter().map(|c| plan.task.table.choices[c.index()].as_str()).collect();
        json!({ "choices": names, "slowdown": p.slowdown, "exact": p.exact })
    });
    Provenance {
        tool: concat!("ah-train ", env!("CARGO_PKG_VERSION")).to_owned(),
        logs: logs.collect(),
        seed: params.seed,
        parameters: object(json!({
            "asked": params,
            "chosen": plan.configurations,
            "portfolio": kept,
        })),
        metrics: object(json!({
            "note": "judged on held-out inputs with a heuristic learned from the training part; this one learned from all inputs",
            "train_inputs": held_out.train_inputs,
            "cross_validated_slowdown": search::best(scored).map(|s| s.cost.exp()),
            "held_out": held_out.model,
            "held_out_always_deciding": held_out.always,
            "held_out_by_input": held_out.by_input,
            "always_fallback": { "choice": held_out.fallback.0, "metrics": held_out.fallback.1 },
            "best_single": { "choice": held_out.best_single.0, "metrics": held_out.best_single.1 },
        })),
    }
}
