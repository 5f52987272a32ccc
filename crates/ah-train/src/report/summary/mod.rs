//! The few lines that end a training or an evaluation.

mod figures;
mod notes;
mod promise;
mod verdict;
mod words;

use serde_json::{Value, json};

use super::sizes;
use crate::judge::BaselineComparison;
use crate::train::TrainedModel;

pub(super) use figures::unknown;
pub use notes::{notes, training_notes};
pub use promise::evidence;
pub use verdict::verdict;

/// The summary of a training, a line each: what to do, what it gains, what it loses to the best choices, the promise or
/// why there is none, and the size that is taken.
pub fn trained(trained: &TrainedModel) -> String {
    let comparison = &trained.held_out.evaluation.comparison;
    let figures = figures::figures("held-out", comparison, trained.chosen.on_new_groups.as_ref());
    format!("{}{figures}{}{}", verdict(trained), promise::promise_line(trained), sizes::taken(trained))
}

/// The figures of a training, for programs.
pub fn json(trained: &TrainedModel) -> Value {
    let model = &trained.model;
    let held_out = &trained.held_out;
    json!({
        "heuristic": model.heuristic,
        "optimization": model.optimization,
        "objective": model.purpose.objective,
        "fallback": model.fallback.map(|fallback| model.choice_name(fallback)),
        "inputs": held_out.train_inputs + held_out.evaluation.comparison.model.inputs,
        "leaves": model.leaf_count(),
        "parameters": model.provenance.parameters,
        "metrics": model.provenance.metrics,
        "promise": model.promise,
        "sizes": trained.chosen.ladder,
        "seconds": trained.duration.as_secs_f64(),
        "warnings": trained.warnings,
        "notes": training_notes(trained),
        "constant": trained.constant(),
        "on_new_groups": trained.chosen.on_new_groups,
        "verdict": trained.verdict,
        "summary": self::trained(trained),
    })
}

/// The summary of an evaluation.
pub fn evaluated(name: &str, comparison: &BaselineComparison) -> String {
    format!("{name}: {}", figures::figures("logged", comparison, None))
}
