//! The few lines that end a training or an evaluation. The full table is in `table.rs`.

use std::fmt::Write as _;

use ah_types::{CalibrationMode, Promise};
use serde_json::{Value, json};

use super::percent;
use crate::judge::{BaselineComparison, DeviceReport, Metrics};
use crate::train::TrainedModel;

/// The most characters of a choice's name.
const NAME: usize = 32;

/// Returns the summary of a training: gain, loss, risk, promise and size, one line each.
pub fn trained(trained: &TrainedModel) -> String {
    let (model, comparison) = (&trained.model, &trained.held_out.comparison);
    let mut text = compared(&model.heuristic, "the held-out", comparison);
    if let Some(share) = trained.timed {
        let _ = writeln!(
            text,
            "These figures are estimates: the log has {:.1} % of the times, a joint model of inputs and choices the others.",
            share * 100.0
        );
    }
    if let Some(promise) = &model.promise {
        text += &promised(promise, comparison);
    }
    for DeviceReport { device, never_measured, learned_there } in &trained.held_out.by_device {
        let _ = writeln!(
            text,
            "{device}, if it had never been measured: loses {} on its {} held-out inputs; learned there: {} (always \
             deciding).",
            loss(never_measured.slowdown),
            never_measured.inputs,
            loss(learned_there.slowdown),
        );
    }
    if let Some(portfolio) = trained.portfolio.as_ref().filter(|portfolio| portfolio.is_usual()) {
        let sizes = portfolio.curve.iter().map(|(size, slowdown)| format!("{size}: {}", loss(*slowdown)));
        let _ = writeln!(
            text,
            "Keeps {} of {} choices (`--max-choices`). What the best of N choices loses: {}.",
            portfolio.choices.len(),
            trained.evaluation.table.choices.len(),
            sizes.collect::<Vec<_>>().join(", "),
        );
    }
    let inputs = learned_from(trained);
    let leaves = model.leaf_count();
    let _ = match model.boosters.len() {
        0 => writeln!(text, "Learned from {inputs}: {leaves} leaves."),
        boosters => writeln!(
            text,
            "Learned from {inputs}: {boosters} boosted trees, {leaves} leaves. (`--learner cost_tree`: one tree, which people can read.)",
        ),
    };
    text
}

/// Returns what the model that ships is learned from.
pub(super) fn learned_from(trained: &TrainedModel) -> String {
    let all = (trained.held_out.train_inputs + trained.held_out.comparison.model.inputs) as u64;
    let is_hold_out = |promise: &&Promise| promise.mode == CalibrationMode::HoldOut;
    match trained.model.promise.as_ref().filter(is_hold_out) {
        None => format!("all {all} inputs"),
        Some(Promise { inputs, .. }) => {
            format!("{} inputs, calibrated on {inputs} others", all.saturating_sub(*inputs))
        }
    }
}

/// Returns the figures of a training, for programs.
pub fn json(trained: &TrainedModel) -> Value {
    let (model, held_out) = (&trained.model, &trained.held_out);
    let mut figures = json!({
        "heuristic": model.heuristic,
        "optimization": model.optimization,
        "fallback": model.fallback.map(|fallback| model.choice_name(fallback)),
        "inputs": held_out.train_inputs + held_out.comparison.model.inputs,
        "leaves": model.leaf_count(),
        "parameters": model.provenance.parameters,
        "metrics": model.provenance.metrics,
        "promise": model.promise,
        "seconds": trained.duration.as_secs_f64(),
        "warnings": trained.warnings,
        "notes": training_notes(trained),
    });
    if let Some(share) = trained.timed {
        figures["timed"] = share.into();
    }
    figures
}

/// Returns the advice and the exceptions of a training.
pub fn training_notes(trained: &TrainedModel) -> Vec<String> {
    notes(&trained.held_out.comparison, Some(&trained.held_out.always))
}

/// Returns the summary of an evaluation.
pub fn evaluated(name: &str, comparison: &BaselineComparison) -> String {
    compared(name, "the log's", comparison)
}

/// Advice and exceptions: sentences that appear only if a figure is unusual.
pub fn notes(comparison: &BaselineComparison, always: Option<&Metrics>) -> Vec<String> {
    let model = &comparison.model;
    let mut notes = Vec::new();
    if (model.plain_slowdown - model.slowdown).abs() >= 5e-5 || model.plain_untimed > 0 {
        notes.push(format!(
            "a program that does not name its choices loses {} to the best choice instead (`choose`, not \
             `choose_among`, and only what 99 % of a leaf's inputs measured). {} of {} inputs have no time for what it \
             takes; there the fallback's time counts",
            loss(model.plain_slowdown),
            model.plain_untimed,
            model.inputs
        ));
    }
    if model.failed > 0 {
        notes.push(format!(
            "on {} of {} inputs the choice that it takes failed. They count as slower than {}, and its time counts there. \
             Give the choice an `eligible` condition, or measure more inputs like these",
            model.failed,
            model.inputs,
            name(&comparison.always_fallback.choice),
        ));
    }
    let saving = |metrics: &Metrics| metrics.speedup_over_fallback.max(1.0).ln();
    if let Some(always) =
        always.filter(|always| saving(always) >= 0.01 && saving(model) <= 0.5 * saving(always))
    {
        notes.push(format!(
            "declining forgoes {:.0} % of the possible saving. Always deciding would be > {} % slower than {} on \
             {:.1} % of the held-out inputs. To decide more often, measure more inputs or on a quieter machine, or \
             raise --max-risk (`none` always decides)",
            (1.0 - saving(model) / saving(always)) * 100.0,
            percent(comparison.max_slowdown - 1.0),
            name(&comparison.always_fallback.choice),
            always.over_limit * 100.0,
        ));
    }
    notes
}

fn compared(heuristic: &str, which: &str, comparison: &BaselineComparison) -> String {
    let BaselineComparison { model, always_fallback, best_single, max_slowdown } = comparison;
    let (fallback, single) = (name(&always_fallback.choice), name(&best_single.choice));
    let without = match model.inputs - model.comparable {
        0 => String::new(),
        others => format!("; on {others} others it has no time"),
    };
    format!(
        "{heuristic}: {:.3} times as fast as {fallback} on {which} {} inputs{without}.\n\
         Loses {} to the best choice (always {single}: {}), {:.2} times at worst.\n\
         Decides {:.1} %; {:.2} % are > {} % slower than {fallback}.\n",
        model.speedup_over_fallback,
        model.comparable,
        loss(model.slowdown),
        loss(best_single.metrics.slowdown),
        model.worst,
        model.coverage * 100.0,
        model.over_limit * 100.0,
        percent(max_slowdown - 1.0),
    )
}

fn promised(promise: &Promise, comparison: &BaselineComparison) -> String {
    format!(
        "Promise: at most {} % are > {} % slower than {} ({} % confidence).\n",
        percent(promise.target),
        percent(promise.limit - 1.0),
        name(&comparison.always_fallback.choice),
        percent(promise.confidence),
    )
}

/// Returns a slowdown as the time lost.
pub(super) fn loss(slowdown: f64) -> String {
    format!("{:.2} %", (slowdown - 1.0) * 100.0)
}

/// Returns a choice's name, cut if it is long.
pub(super) fn name(choice: &str) -> String {
    match choice.char_indices().nth(NAME) {
        Some((end, _)) => format!("{}…", &choice[..end]),
        None => choice.to_owned(),
    }
}
