//! The few lines that end a training or an evaluation.

use std::fmt::Write as _;

use ah_types::{Model, Objective, Promise};
use serde_json::{Value, json};

use super::{loss, percent, sizes};
use crate::judge::{BaselineComparison, DeviceReport, Metrics};
use crate::params::SplitBy;
use crate::promise::price::PromisePrice;
use crate::search::Portfolio;
use crate::train::TrainedModel;

/// The most characters of a choice's name.
const NAME: usize = 32;

/// Returns the summary of a training: gain, loss, risk, promise and size, one line each.
pub fn trained(trained: &TrainedModel) -> String {
    let (model, comparison) = (&trained.model, &trained.held_out.comparison);
    let mut text = compared(model.objective(), &model.heuristic, "the held-out", comparison);
    if let Some(share) = trained.timed {
        let _ = writeln!(
            text,
            "These figures are estimates: the log has {:.1} % of the times. A joint model gives the others, with errors like its own.",
            share * 100.0
        );
    }
    if let Some(promise) = &model.promise {
        text += &promised(promise, &comparison.always_fallback.choice);
        text.push('\n');
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
    text += &sizes::decision(trained);
    if let Some(portfolio) = trained.portfolio.as_ref().filter(|portfolio| !portfolio.curve.is_empty()) {
        text += &kept(portfolio, trained.evaluation.table.choices.len());
    }
    let inputs = trained.held_out.train_inputs + comparison.model.inputs;
    let leaves = sizes::leaves(model.leaf_count());
    let boosted = trained.ladder.rung().boosted_trees;
    let of_risk = match model.boosters.len().saturating_sub(boosted) {
        0 => String::new(),
        risk => format!(" and {risk} of the risk"),
    };
    let _ = match boosted {
        0 => writeln!(text, "Learned from all {inputs} inputs: {leaves}."),
        _ => writeln!(
            text,
            "Learned from all {inputs} inputs: {}{of_risk}, {leaves}. (`--size smallest`: one tree, which people can read.)",
            sizes::trees(boosted),
        ),
    };
    text
}

/// Returns the evidence behind a training's figures: what it was judged on, and what its promise rests on.
pub fn evidence(trained: &TrainedModel) -> String {
    let held_out = &trained.held_out;
    let what = match held_out.split {
        SplitBy::Input | SplitBy::Device => "inputs",
        SplitBy::Dims => "dimensions",
    };
    let mut text = format!(
        "Held-out {what}: learned from {} inputs, judged on {} others.\n",
        held_out.train_inputs, held_out.comparison.model.inputs,
    );
    if let Some(by_input) = &held_out.by_input {
        let _ = writeln!(
            text,
            "With single inputs held out, always deciding: loses {}.",
            loss(by_input.slowdown)
        );
    }
    if let Some(portfolio) = &trained.portfolio {
        let _ = writeln!(
            text,
            "Keeps {} choices; the best of them loses {} on the training part.",
            portfolio.choices.len(),
            loss(portfolio.slowdown),
        );
    }
    if let Some(promise) = &trained.model.promise {
        text += &promise_evidence(promise, trained);
    }
    text
}

/// Returns the promise, the evidence for it, and its limits.
fn promise_evidence(p: &Promise, trained: &TrainedModel) -> String {
    let model = &trained.model;
    let fallback = model.fallback.map_or("the fallback", |f| model.choice_name(f));
    format!(
        "Promise (a cross-validated estimate): with {} % confidence, at most {} % of inputs drawn like the {} calibration inputs ({} shapes) are more than {} % slower than {fallback}.\n\
         {} of the {} calibration inputs broke it, {} of them beyond noise (medians of {} runs, {}).\n\
         The promise does not cover other shapes, devices or drivers. {:.1} % of the held-out inputs are outside \
         the training range of their leaf.\n",
        percent(p.confidence),
        percent(p.target),
        p.inputs,
        p.groups,
        percent(p.limit - 1.0),
        p.violations,
        p.inputs,
        p.clear,
        p.runs,
        p.mode,
        trained.held_out.comparison.model.outside * 100.0,
    )
}

/// Returns the number of choices that are kept, and what other numbers would lose.
fn kept(portfolio: &Portfolio, of: usize) -> String {
    let size = |(size, slowdown): &(usize, f64)| format!("{size} {}", loss(*slowdown));
    let sizes: Vec<String> = portfolio.curve.iter().map(size).collect();
    format!(
        "Keeps {} of {of} choices (`--max-choices`); the best of N loses: {}.\n",
        portfolio.choices.len(),
        sizes.join(", "),
    )
}

/// Returns the figures of a training, for programs.
pub fn json(trained: &TrainedModel) -> Value {
    let (model, held_out) = (&trained.model, &trained.held_out);
    json!({
        "heuristic": model.heuristic,
        "optimization": model.optimization,
        "objective": model.objective(),
        "fallback": model.fallback.map(|fallback| model.choice_name(fallback)),
        "inputs": held_out.train_inputs + held_out.comparison.model.inputs,
        "leaves": model.leaf_count(),
        "parameters": model.provenance.parameters,
        "metrics": model.provenance.metrics,
        "promise": model.promise,
        "sizes": trained.ladder,
        "seconds": trained.duration.as_secs_f64(),
        "warnings": trained.warnings,
        "notes": training_notes(trained),
    })
}

/// Returns the advice and the exceptions of a training.
pub fn training_notes(trained: &TrainedModel) -> Vec<String> {
    let comparison = &trained.held_out.comparison;
    let mut notes = notes(comparison);
    notes.extend(learned_conditions(&trained.model));
    if let Some(price) = trained.price.as_ref().filter(|price| price.gain() >= 0.01 && price.is_dear()) {
        notes.push(dear(price, comparison, &trained.held_out.always));
    }
    notes
}

/// Returns the conditions that were learned from where choices have times.
fn learned_conditions(model: &Model) -> Option<String> {
    let learned = model.provenance.parameters.get("learned_eligible")?.as_object()?;
    let (choice, condition) = learned.iter().next()?;
    let others = match learned.len() - 1 {
        0 => String::new(),
        others => format!(" ({others} other choices have such conditions, see `eligible` in the model)"),
    };
    Some(format!(
        "{} is taken only where {}: it has no time elsewhere{others}. Declare where a choice can run with `eligible`",
        name(choice),
        condition.as_str().unwrap_or_default()
    ))
}

/// Returns the summary of an evaluation of a model that was learned for this objective.
pub fn evaluated(objective: Objective, name: &str, comparison: &BaselineComparison) -> String {
    compared(objective, name, "the log's", comparison)
}

/// Advice and exceptions: sentences that appear only if a figure is unusual.
pub fn notes(comparison: &BaselineComparison) -> Vec<String> {
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
    notes
}

/// Returns what the promise costs, and what would cost less.
fn dear(price: &PromisePrice, comparison: &BaselineComparison, always: &Metrics) -> String {
    let share = |loss| format!("{:.0} %", price.share(loss) * 100.0);
    let looser = price.looser.map_or_else(String::new, |(target, loss)| {
        format!("; at {} % it would cost {} (`--max-risk {target}`)", percent(target), share(loss))
    });
    format!(
        "the promise costs {} of the gain{looser}. Always deciding costs nothing (`--max-risk none`), but {:.1} % of the \
         held-out inputs would be > {} % slower than {}",
        share(price.promised),
        always.over_limit * 100.0,
        percent(comparison.max_slowdown - 1.0),
        name(&comparison.always_fallback.choice),
    )
}

fn compared(objective: Objective, heuristic: &str, which: &str, comparison: &BaselineComparison) -> String {
    let BaselineComparison { model, always_fallback, best_single, max_slowdown, .. } = comparison;
    let fallback = name(&always_fallback.choice);
    let single = best_single.choice.split(", else ").map(name).collect::<Vec<_>>().join(", else ");
    let without = match model.inputs - model.comparable {
        0 => String::new(),
        others => format!("; on {others} others it has no time"),
    };
    let plain = match (model.plain_slowdown - model.slowdown).abs() >= 0.002 {
        true => format!("; {} by `choose`, which is not told what is offered", loss(model.plain_slowdown)),
        false => String::new(),
    };
    let is_total = objective == Objective::Total;
    let by_input = format!(
        "{} {} to the best choice (always {single}: {}), {:.2} times at worst{plain}.\n",
        if is_total { "By input: loses" } else { "Loses" },
        loss(model.slowdown),
        loss(best_single.metrics.slowdown),
        model.worst,
    );
    let total = format!(
        "Total time: {} lost (always {single}: {}), {} than {fallback}; p99 {:.2}.\n",
        loss(model.total),
        loss(best_single.metrics.total),
        more_or_less(model.total_over_fallback),
        model.p99,
    );
    // What the model was learned for comes first.
    let (speedup, figures) = match is_total {
        true => (
            format!("{:.3} times as fast as {fallback} in total time", 1.0 / model.total_over_fallback),
            total + &by_input,
        ),
        false => {
            (format!("{:.3} times as fast as {fallback}", model.speedup_over_fallback), by_input + &total)
        }
    };
    format!(
        "{heuristic}: {speedup} on {which} {} inputs{without}.\n{figures}\
         Decides {:.1} %; {:.2} % are > {} % slower than {fallback}.\n",
        model.comparable,
        model.coverage * 100.0,
        model.over_limit * 100.0,
        percent(max_slowdown - 1.0),
    )
}

/// Returns a ratio of times as what is more or less.
fn more_or_less(ratio: f64) -> String {
    match ratio < 1.0 {
        true => format!("{:.2} % less", (1.0 - ratio) * 100.0),
        false => format!("{:.2} % more", (ratio - 1.0) * 100.0),
    }
}

/// Returns a promise in one sentence.
pub(super) fn promised(promise: &Promise, fallback: &str) -> String {
    format!(
        "Promise: at most {} % are > {} % slower than {} ({} % confidence).",
        percent(promise.target),
        percent(promise.limit - 1.0),
        name(fallback),
        percent(promise.confidence),
    )
}

/// Returns a choice's name, cut if it is long.
pub(super) fn name(choice: &str) -> String {
    match choice.char_indices().nth(NAME) {
        Some((end, _)) => format!("{}…", &choice[..end]),
        None => choice.to_owned(),
    }
}
