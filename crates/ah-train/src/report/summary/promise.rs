//! The promise of a training in words, and the evidence for it.

use std::fmt::Write as _;

use ah_model::Promise;

use super::words::{inputs, name};
use crate::data::{LEAST_MS, Shared};
use crate::params::SplitBy;
use crate::promise::calibrate::{DEFAULT_SHARES, default_inputs};
use crate::promise::{NewGroups, StricterPromise};
use crate::report::{loss, percent};
use crate::train::{NoPromise, TrainedModel};

/// The line below a promise that is not made, where the heuristic decides all the same.
const DECLINES: &str = "It declines only what it does not know.\n";

/// The promise, or why there is none.
pub fn promise_line(trained: &TrainedModel) -> String {
    let held_out = &trained.held_out;
    let fallback = name(&held_out.evaluation.comparison.always_fallback.choice);
    let inputs = inputs(trained);
    let kept = || {
        let Some(promise) = &trained.model.promise else { return String::new() };
        // The training part promises the same and has fewer inputs: only `groups` of all inputs count.
        let counted = (held_out.train_inputs * promise.groups as usize / inputs).max(1);
        let needed = (default_inputs(trained.plan.promise, DEFAULT_SHARES[0]) * inputs).div_ceil(counted);
        let is_loose = trained.plan.settings.is_default("max_risk") && promise.target > DEFAULT_SHARES[0];
        let stricter = match trained.chosen.stricter {
            _ if !is_loose => String::new(),
            Some(StricterPromise { share, takes }) => {
                format!("\nA promise of {} % would take {} longer.", percent(share), loss(takes))
            }
            None if needed > inputs => format!("\n1 % needs about {needed} inputs."),
            // It had room for a stricter one.
            None => format!("\nFor less it would take only {fallback}."),
        };
        format!("{}{stricter}\n", promised(promise, &fallback, trained.plan.call_site.rates.is_none()))
    };
    let groups = trained.chosen.on_new_groups.as_ref();
    let few = |counted| match counted == inputs {
        true => format!("{inputs} inputs are too few"),
        false => {
            let why = groups.map_or("weights".to_owned(), |groups| groups.shared.words());
            format!("{inputs} inputs count as {counted} ({why}), which are too few")
        }
    };
    // A person measures groups, such as files.
    let measure = |needed: usize| match groups.filter(|groups| groups.shared != Shared::Stretch) {
        Some(NewGroups { groups, .. }) => format!("{needed} ({} groups)", (needed * groups).div_ceil(inputs)),
        None => needed.to_string(),
    };
    match trained.no_promise {
        // The first line says that the fallback alone keeps it.
        None | Some(NoPromise::Unkept) => kept(),
        Some(NoPromise::NotAsked) => {
            "No promise was requested: it declines only what it does not know.\n".into()
        }
        Some(NoPromise::NoFallback) => "No promise without a fallback (--fallback CHOICE).\n".into(),
        Some(NoPromise::Estimates) => String::from(
            "No promise: the inputs time few of the choices, and a promise must not rest on estimates. Time the kept choices on \
             all inputs.\n",
        ),
        Some(NoPromise::TooFew { inputs: counted, needed, asked: false }) => {
            let declines = if trained.constant().is_some() { "" } else { DECLINES };
            format!("No promise: {}; measure about {} for one.\n{declines}", few(counted), measure(needed))
        }
        Some(NoPromise::TooFew { inputs: counted, needed, asked: true }) => format!(
            "{} for the promise. Measure about {}, or accept the risk with --max-risk none.\n",
            few(counted),
            measure(needed)
        ),
        Some(NoPromise::OnlyFallback(share)) => {
            let share = percent(share);
            format!("No promise: only {fallback} would keep one (--max-risk {share}%).\n{DECLINES}")
        }
    }
}

/// A promise in one sentence, with its nanoseconds where the times are those of runs.
fn promised(promise: &Promise, fallback: &str, are_runs: bool) -> String {
    let least = if are_runs { format!(" (and {} ns)", LEAST_MS * 1e6) } else { String::new() };
    format!(
        "Promise: at most {} % are > {} %{least} slower than {} ({} % sure).",
        percent(promise.target),
        percent(promise.limit - 1.0),
        name(fallback),
        percent(promise.confidence),
    )
}

/// The inputs that judged a training, and the choices that it took.
pub fn evidence(trained: &TrainedModel) -> String {
    let held_out = &trained.held_out;
    let what = match trained.plan.test_split {
        SplitBy::Input => "inputs",
        SplitBy::Dims => "dimensions",
    };
    let mut text = format!(
        "Held-out {what}: learned from {} inputs, judged on {} others.\n",
        held_out.train_inputs, held_out.evaluation.comparison.model.inputs,
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
            "Keeps {} of {} choices (`--max-choices`); the best of them loses {} on the training part.",
            portfolio.choices.len(),
            held_out.evaluation.table.choices.len(),
            loss(portfolio.slowdown),
        );
    }
    text
}
