//! `ah-train report`: one self-contained page about a model on logs, or a few lines of Markdown.
//!
//! `facts.rs` computes what the page shows; `body.html` and `page.js` show it in the frame of `ah_cli::page`.

mod facts;

use std::path::Path;

use ah_cli::page::Page;
use ah_types::Model;

pub use facts::Facts;

use super::summary;
use crate::error::TrainError;
use crate::judge::{Evaluation, Study};

/// Returns the page's text. It fetches nothing. The study is that of the model's training.
pub fn html(model: &Model, evaluation: &Evaluation, study: Option<&Study>) -> String {
    let facts = serde_json::json!(Facts::new(model, evaluation, study)).to_string();
    let page =
        Page { title: &model.heuristic, body: include_str!("body.html"), script: include_str!("page.js") };
    page.html(&facts)
}

/// Returns the summary as Markdown, for a pull request.
pub fn markdown(model: &Model, evaluation: &Evaluation, study: Option<&Study>) -> String {
    let facts = Facts::new(model, evaluation, study);
    let comparison = &evaluation.comparison;
    let mut text = format!(
        "### {}\n\n{}\n| | loss | total time lost | p99 | worst | > {} % slower | speedup |\n| --- | --- | --- | --- | --- | --- | --- |\n",
        model.heuristic,
        summary::evaluated(&model.heuristic, comparison),
        super::percent(comparison.max_slowdown - 1.0),
    );
    let rows = [
        ("the heuristic".to_owned(), &comparison.model),
        (
            format!("always `{}` (fallback)", comparison.always_fallback.choice),
            &comparison.always_fallback.metrics,
        ),
        (
            format!("always `{}` (best single)", comparison.best_single.choice),
            &comparison.best_single.metrics,
        ),
    ];
    for (name, metrics) in rows {
        text += &format!(
            "| {} | {:.2} % | {:.2} % | {:.3} | {:.2} | {:.2} % | {:.3} |\n",
            name.replace('|', "\\|"),
            (metrics.slowdown - 1.0) * 100.0,
            (metrics.total - 1.0) * 100.0,
            metrics.p99,
            metrics.worst,
            metrics.over_limit * 100.0,
            metrics.speedup_over_fallback,
        );
    }
    if facts.learned_from_these {
        text += "\nThe model was learned from these logs: its figures on held-out inputs are in the model's record.\n";
    }
    if let Some(study) = study {
        text += &format!("\n{}\n", study.advice);
    }
    text
}

/// Writes the page (or Markdown, if `path` ends in `.md`).
pub fn write(
    model: &Model,
    evaluation: &Evaluation,
    study: Option<&Study>,
    path: &Path,
) -> Result<(), TrainError> {
    let is_markdown = path.extension().is_some_and(|extension| extension == "md");
    let text = if is_markdown { markdown(model, evaluation, study) } else { html(model, evaluation, study) };
    ah_types::artefact::write_atomic(path, text.as_bytes()).map_err(|source| TrainError::Io {
        path: path.to_owned(),
        action: "write the report",
        source,
    })
}
