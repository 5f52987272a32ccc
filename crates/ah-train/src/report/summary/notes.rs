//! Advice and exceptions: sentences that appear only if a figure is unusual.

use ah_model::Objective;
use ah_types::Optimization;

use super::words::name;
use crate::data::Spread;
use crate::judge::{BaselineComparison, Reason};
use crate::report::loss;
use crate::train::TrainedModel;

/// A loss that errs upward by a greater share of itself, and by this many percent points at least, is called so.
const UPWARD: [f64; 2] = [0.2, 0.002];
/// Where nothing was measured twice, a greater loss gets a note: noise may be a part of it.
const MUCH: f64 = 1.02;
/// The greater over the lesser of two times of a choice on an input, on one of 20: more points to a feature that no log has. On the published
/// logs it is 1.00 to 1.12.
const HIDDEN: f64 = 1.25;

/// The advice and the exceptions of a training.
pub fn training_notes(trained: &TrainedModel) -> Vec<String> {
    let comparison = &trained.held_out.evaluation.comparison;
    let mut notes = notes(comparison);
    let is_asked = trained.constant().is_none();
    notes.extend(trained.plan.call_site.note().filter(|_| is_asked));
    notes.extend(price(trained));
    notes.extend(without_fallback(trained));
    notes.extend(not_offered(trained));
    notes.extend(noise(trained));
    notes
}

/// The cost of a costly promise.
fn price(trained: &TrainedModel) -> Option<String> {
    let saved = trained.cost_of_promise()? * 100.0;
    let always = &trained.held_out.always;
    let failed = match always.failed {
        0 => String::new(),
        failed => format!(", but takes a choice that fails on {failed} of {} inputs", always.inputs),
    };
    Some(format!("the promise is costly: --max-risk none saves {saved:.0} % more{failed}"))
}

/// A sentence where the fallback lacks times: where they are missing because it was slow, the promise would be better than it
/// looks, and where what is taken is slow, worse.
fn without_fallback(trained: &TrainedModel) -> Option<String> {
    let model = &trained.model;
    let table = &trained.held_out.evaluation.table;
    let fallback = model.promise.as_ref().and(model.fallback)?;
    let choice = table.choice_id(model.choice_name(fallback))?;
    let lacking =
        (0..table.inputs.len() as u32).filter(|&input| table.usable(input, choice).is_none()).count();
    (lacking > 0).then(|| {
        format!(
            "{} has no time on {lacking} of {} inputs, and a promise needs both times: it does not cover inputs like these. Time it \
             there, or write inf if it fails",
            name(model.choice_name(fallback)),
            table.inputs.len()
        )
    })
}

/// A sentence where a choice without a time weakens the promise: a choice that was too slow to be timed must not look like
/// one that was not offered.
fn not_offered(trained: &TrainedModel) -> Option<String> {
    let model = &trained.model;
    let table = &trained.held_out.evaluation.table;
    // A built-in optimization says where its choices can run; a log that has only its name in common does not.
    let is_built_in = !trained.is_ad_hoc && Optimization::built_in(&model.optimization).is_ok();
    if model.promise.is_none() || table.timed.is_some() || is_built_in {
        return None;
    }
    let without = |name: &str| {
        let has_condition = model.choice_id(name).is_some_and(|choice| model.eligible.contains_key(&choice));
        let is_fallback = model.fallback.is_some_and(|fallback| model.choice_name(fallback) == name);
        let choice = table.choice_id(name).filter(|_| !has_condition && !is_fallback)?;
        let count =
            (0..table.inputs.len() as u32).filter(|&input| table.cell(input, choice).is_none()).count();
        (count > 0).then_some(count)
    };
    let choices = model.choices.iter().filter_map(|choice| Some((without(choice)?, choice)));
    let (count, choice) = choices.max_by_key(|(count, _)| *count)?;
    Some(format!(
        "{} has no time on {count} of {} inputs. There it counts as not offered, also in the promise; if it was too slow to finish, \
         write inf",
        name(choice),
        table.inputs.len()
    ))
}

/// Sentences where the runs of a choice on an input differ much.
fn noise(trained: &TrainedModel) -> Vec<String> {
    let evaluation = &trained.held_out.evaluation;
    let spread = evaluation.table.spread(evaluation.judged.iter().map(|judged| judged.input));
    let Some(Spread { median, p95, .. }) = spread else { return Vec::new() };
    let single = &evaluation.comparison.best_single;
    let hidden = (p95 > HIDDEN).then(|| {
        format!(
            "5 % of the measurements repeat worse than {} (median {}). If nothing disturbed them, a feature that distinguishes these \
             runs is missing; the promise counts medians",
            loss(p95),
            loss(median)
        )
    });
    // Where one choice always wins, nothing is decided. The verdict says it of a heuristic.
    let is_said = matches!(trained.verdict.reason, Reason::Noise { .. });
    let larger = (!is_said && single.metrics.slowdown > 1.001 && median > single.metrics.slowdown).then(|| {
        format!(
            "runs of one choice on one input differ by {} in the median, and always {} loses only {}: the noise of this log is larger \
             than what is decided on. Measure longer, or on an idle machine",
            loss(median),
            name(&single.choice),
            loss(single.metrics.slowdown)
        )
    });
    hidden.into_iter().chain(larger).collect()
}

/// Advice and exceptions: sentences that appear only if a figure is unusual.
pub fn notes(comparison: &BaselineComparison) -> Vec<String> {
    let model = &comparison.model;
    let mut notes = Vec::new();
    if (model.ranked_slowdown - model.slowdown).abs() >= 0.002 {
        notes.push(format!(
            "`choose` takes only what 99 % of a leaf's inputs measured. A program that says which choices it can run loses {} to the best \
             choice instead (`choose_among`: ah-codegen --with ranked)",
            loss(model.ranked_slowdown),
        ));
    }
    if model.unmeasured > 0 {
        notes.push(format!(
            "on {} of {} inputs the choice that it takes was not measured; there the fallback's time counts, else the slowest",
            model.unmeasured, model.inputs
        ));
    }
    notes.extend(upward(comparison));
    if model.failed > 0 {
        notes.push(format!(
            "on {} of {} inputs the choice that it takes failed. They count as slower than {}, and its time counts there, \
             else the slowest. Give the choice an `eligible` condition, or measure more inputs like these",
            model.failed,
            model.inputs,
            name(&comparison.always_fallback.choice),
        ));
    }
    notes
}

/// A note that a loss errs upward, where it may do so by much: it compares with the best of noisy times.
fn upward(comparison: &BaselineComparison) -> Option<String> {
    let measured = match comparison.objective {
        Objective::Geomean => comparison.model.slowdown,
        Objective::Total => comparison.model.total,
    };
    let [share, points] = UPWARD;
    match comparison.slowdown_by_halves {
        Some(crossed) if measured - crossed > (share * (measured - 1.0)).max(points) => Some(format!(
            "the loss errs upward: the best of noisy times is too good. Where one half of the runs names the best choice and the other \
             half times it, {} are lost instead of {}",
            loss(crossed.max(1.0)),
            loss(measured)
        )),
        None if measured > MUCH => Some(
            "each choice has one time for each input, so the loss errs upward by as much as times are noisy: the best of noisy times is \
             too good. Repetitions, in rows of their own, would show by how much"
                .to_owned(),
        ),
        _ => None,
    }
}
