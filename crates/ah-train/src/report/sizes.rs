//! The sizes that a training compared, and the time of a decision, in words.

use std::fmt::Write as _;

use ah_model::Objective;

use super::loss;
use crate::params::Size;
use crate::promise::{Ladder, Rung};
use crate::train::TrainedModel;

/// One line for each size, an arrow at the taken one: what it loses and gains with its decisions, and the mean time of one.
pub fn sizes(trained: &TrainedModel) -> String {
    let Ladder { rungs, chosen, .. } = &trained.chosen.ladder;
    let by =
        if trained.model.purpose.objective == Objective::Total { " (by the root of their time)" } else { "" };
    let compared = match trained.plan.counts_asking() {
        true => "the decision included",
        false => "compared by their picks alone",
    };
    let mut text = format!("Sizes on the inputs that cross-validation holds out{by}, {compared}:\n");
    let names: Vec<String> = rungs.iter().map(name).collect();
    let width = names.iter().map(String::len).max().unwrap_or(0);
    for (at, (rung, name)) in rungs.iter().zip(names).enumerate() {
        let arrow = if at == *chosen { '>' } else { ' ' };
        let picks = match trained.plan.counts_asking() {
            true => String::new(),
            false => format!("picks lose {}, ", loss(rung.slowdown_of_picks)),
        };
        let _ = writeln!(
            text,
            "{arrow} {name:width$}  {picks}loses {}, {:.3} times as fast, {}",
            loss(rung.slowdown),
            rung.speedup,
            decision(trained, rung),
        );
    }
    text
}

/// The size that is taken, and why.
pub fn taken(trained: &TrainedModel) -> String {
    let Ladder { rungs, chosen, accepted, .. } = &trained.chosen.ladder;
    let rung = &rungs[*chosen];
    let best = rungs.iter().min_by(|a, b| a.slowdown.total_cmp(&b.slowdown)).unwrap_or(rung);
    let is_least = rungs.iter().all(|other| other.slowdown_of_picks >= rung.slowdown_of_picks);
    let least = if is_least { "lose least" } else { "lose least within the noise" };
    let why = match trained.plan.size {
        _ if rungs.len() == 1 => String::new(),
        // Of a constant nothing is asked.
        Size::Best if trained.constant().is_some() => String::new(),
        Size::Best if best.slowdown < rung.slowdown => format!(
            ", whose picks {least}. Asking makes it slower than {}: with its time, it loses at least {} instead of {}. Leave --size best out to \
             count that time",
            name(best),
            loss(rung.slowdown),
            loss(best.slowdown)
        ),
        Size::Best => format!(", whose picks {least}"),
        _ if best.slowdown >= rung.slowdown => ", which loses least".to_owned(),
        // People merge one tree.
        Size::Default if rung.boosted_trees == 0 && best.boosted_trees > 0 => {
            format!("; {} lose {} (--size best)", name(best), loss(best.slowdown))
        }
        Size::Default if rung.on_formula && !best.on_formula => {
            format!(", as good as {} within the noise ({})", name(best), loss(best.slowdown))
        }
        _ => format!(", the smallest within {} ({}: {})", loss(*accepted), name(best), loss(best.slowdown)),
    };
    // The one that ships has learned from more inputs; it is a constant where the promise allows only the fallback.
    let leaves = trained.model.tree.leaves().count();
    let shipped = match trained.constant() {
        Some(_) => Rung { leaves: 1, boosted_trees: 0, on_formula: false, asking_ms: 0.0, ..rung.clone() },
        None => Rung { leaves, ..rung.clone() },
    };
    let call_site = &trained.plan.call_site;
    let reading = match call_site.reading_ms() {
        ms if ms > 0.0 && shipped.asking_ms > 0.0 => {
            format!(", {} of it to read the features", microseconds(ms * 1e3))
        }
        _ => String::new(),
    };
    format!("Size: {} ({}{reading}){why}.\n", name(&shipped), decision(trained, &shipped))
}

/// The mean time that a run waits for a decision, the features included.
fn decision(trained: &TrainedModel, rung: &Rung) -> String {
    let whole = trained.model.purpose.runs_per_decision.map_or("a decision", |_| "of a run");
    match rung.asking_ms {
        0.0 if rung.leaves == 1 && rung.boosted_trees == 0 => "no decision".to_owned(),
        0.0 if rung.speedup == 1.0 => "the fallback alone".to_owned(),
        0.0 if trained.plan.call_site.rates.is_some() => "a decision is not counted".to_owned(),
        0.0 => "no run waits for it".to_owned(),
        ms => format!("{} {whole}", microseconds(ms * 1e3)),
    }
}

/// Microseconds with two digits.
fn microseconds(us: f64) -> String {
    match us {
        us if us < 1.0 => format!("{:.0} ns", us * 1e3),
        us if us < 10.0 => format!("{us:.1} µs"),
        us => format!("{us:.0} µs"),
    }
}

/// The size in words.
fn name(rung: &Rung) -> String {
    match (rung.boosted_trees, rung.leaves) {
        (0, 1) if rung.on_formula => "a formula".to_owned(),
        (0, count) if rung.on_formula => format!("a formula and {count} leaves"),
        (boosted, _) if rung.on_formula => format!("{boosted} boosted trees on a formula"),
        (0, 1) => "1 leaf".to_owned(),
        (0, count) => format!("{count} leaves"),
        (boosted, _) => format!("{boosted} boosted trees"),
    }
}
