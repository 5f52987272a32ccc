//! The record in the model: how to learn it again, and what it is worth.

use ah_model::{LogRecord, Provenance, Purpose};
use ah_types::log::Source;
use serde_json::{Value, json};

use crate::judge::{TestReport, Verdict};
use crate::prepared::Prepared;
use crate::promise::{Recipe, SizeChoice};
use crate::search::Portfolio;

/// The purpose of a model.
pub fn purpose(prepared: &Prepared) -> Purpose {
    let plan = &prepared.plan;
    let table = &prepared.judging;
    Purpose {
        objective: table.objective,
        max_slowdown: plan.max_slowdown,
        kept_of: prepared.portfolio.as_ref().map(|_| table.choices.len()),
        timed: table.timed,
        ..plan.call_site.purpose.clone()
    }
}

/// The record of a training.
pub fn provenance(
    recipe: &Recipe<'_>,
    chosen: &SizeChoice,
    held_out: &TestReport,
    verdict: &Verdict,
    portfolio: Option<&Portfolio>,
) -> Provenance {
    let kept = portfolio.map(|p| json!({ "choices": p.choices, "slowdown": p.slowdown }));
    let mut parameters = json!({
        "settings": recipe.plan.settings,
        "chosen": recipe.configuration.record(),
        "portfolio": kept,
    });
    if let Some(most) = recipe.max_leaves {
        parameters["max_leaves"] = most.into();
    }
    if let Some(share) = held_out.evaluation.comparison.timed {
        parameters["timed"] = share.into();
    }
    let mut metrics = json!({
        "note": "judged on held-out inputs with a heuristic learned from the training part; this one learned from all inputs",
        "verdict": verdict,
        "train_inputs": held_out.train_inputs,
        "cross_validated_slowdown": chosen.ladder.rung().slowdown,
        "sizes": chosen.ladder,
        "held_out": held_out.evaluation.comparison.model,
        "held_out_range": held_out.evaluation.comparison.range,
        "held_out_by_halves": held_out.evaluation.comparison.slowdown_by_halves,
        "held_out_always_deciding": held_out.always,
        "held_out_by_input": held_out.by_input,
        "always_fallback": held_out.evaluation.comparison.always_fallback,
        "best_single": held_out.evaluation.comparison.best_single,
    });
    if let Some(new) = &chosen.on_new_groups {
        metrics["on_new_groups"] = json!(new);
    }
    // A log and the same one packed are one: the hash is of the unpacked bytes too.
    let file = |source: &Source| {
        let name = source.path.file_name().unwrap_or_default().to_string_lossy();
        name.strip_suffix(".gz").unwrap_or(&name).to_owned()
    };
    let log = |source: &Source| LogRecord {
        file: file(source),
        blake3: source.hash.clone(),
        date: source.date.clone(),
        rows: source.rows,
    };
    let fields = |object: Value| object.as_object().cloned().unwrap_or_default();
    Provenance {
        tool: concat!("ah-train ", env!("CARGO_PKG_VERSION")).to_owned(),
        logs: recipe.dataset.sources.iter().map(log).collect(),
        sources: Vec::new(),
        seed: recipe.plan.seed,
        parameters: fields(parameters),
        metrics: fields(metrics),
    }
}
