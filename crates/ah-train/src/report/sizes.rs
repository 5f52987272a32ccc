//! The sizes that a training compared, and the time of a decision, in words.

use std::fmt::Write as _;

use ah_types::{Objective, Target};

use super::loss;
use crate::judge::FormReport;
use crate::params::Size;
use crate::promise::{Ladder, Rung};
use crate::train::TrainedModel;

/// Trees of at most this many leaves are short enough to be shown as lines of code.
const SHORT: usize = 64;

/// Returns one line for each size, with an arrow at the one that is taken: what it loses and gains with its decisions, and
/// what one takes in the slowest form that was asked for.
pub fn sizes(trained: &TrainedModel) -> String {
    let (plan, Ladder { rungs, chosen }) = (&trained.plan, &trained.ladder);
    let rule = match plan.size {
        _ if rungs.len() == 1 => String::new(),
        Size::Best => "; the best is taken".to_owned(),
        Size::Default => {
            format!("; the smallest that keeps {} % of the gain is taken", super::percent(Size::KEPT_GAIN))
        }
        size => format!("; the smallest within {} % of the best is taken", super::percent(size.tolerance())),
    };
    let measure = match trained.model.objective() {
        Objective::Geomean => "",
        Objective::Total => ", in total time",
    };
    let mut text = format!("Sizes by cross-validation{measure}{rule}:\n");
    let names: Vec<String> = rungs.iter().map(|rung| name(rung)).collect();
    let width = names.iter().map(String::len).max().unwrap_or(0);
    for (at, (rung, name)) in rungs.iter().zip(names).enumerate() {
        let arrow = if at == *chosen { '>' } else { ' ' };
        let times = plan.asking.targets.iter().map(|&form| rung.decision_ms(form, &plan.asking));
        let decision = match times.fold(0.0, f64::max) {
            0.0 => "no decision".to_owned(),
            ms => microseconds(ms * 1e3),
        };
        let broken = if rung.promised { "" } else { ", no promise" };
        let _ = writeln!(
            text,
            "{arrow} {name:width$}  loses {}, {:.3} times as fast, {decision}{broken}",
            loss(rung.slowdown),
            rung.speedup,
        );
    }
    text
}

/// Returns what a decision takes in each form that was asked for, and in Rust and Python; nothing for a model that always
/// takes one choice, which nobody needs to ask.
pub fn decision(trained: &TrainedModel) -> String {
    if trained.held_out.by_form.iter().all(|report| report.decision_us == 0.0) {
        return String::new();
    }
    let shown = |report: &&FormReport| report.asked || matches!(report.form, Target::Rust | Target::Python);
    let times = trained.held_out.by_form.iter().filter(shown);
    let times: Vec<String> =
        times.map(|r| format!("{} {}", microseconds(r.decision_us), r.form.words())).collect();
    let features = match trained.plan.asking.features_ms(&trained.ladder.rung().used) {
        0.0 => String::new(),
        ms => format!(", its features {}", microseconds(ms * 1e3)),
    };
    format!("A decision takes {}{features}.\n", times.join(", "))
}

/// Returns microseconds with two digits.
fn microseconds(us: f64) -> String {
    match us {
        0.0 => "0 us".to_owned(),
        us if us < 1.0 => format!("{us:.2} us"),
        us if us < 10.0 => format!("{us:.1} us"),
        us => format!("{us:.0} us"),
    }
}

/// Returns the size in words. Two lines of code for each leaf, and two around them.
fn name(rung: &Rung) -> String {
    match (rung.boosted_trees, rung.leaves) {
        (0, count @ 2..=SHORT) => format!("{}, {} lines", leaves(count), 2 * count + 2),
        (0, count) => leaves(count),
        (boosted, _) => trees(boosted),
    }
}

/// Returns a number of leaves in words.
pub fn leaves(count: usize) -> String {
    if count == 1 { "1 leaf".to_owned() } else { format!("{count} leaves") }
}

/// Returns a number of boosted trees in words.
pub fn trees(boosted: usize) -> String {
    format!("{boosted} boosted trees")
}
