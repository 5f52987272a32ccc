//! The figures of a model on some inputs, in lines.

use ah_model::Objective;

use super::words::{name, single};
use crate::bootstrap::Range;
use crate::data::Shared;
use crate::judge::BaselineComparison;
use crate::judge::comparison::LEAST_LOSS;
use crate::promise::NewGroups;
use crate::report::{loss, percent};

/// The loss of fewer judged inputs is a range: of 434, other draws of the same inputs lost 0.2 to 4.7 points more.
const PRECISE: usize = 300;

/// Fewer inputs show no range: 1 has one from its own loss to its own loss.
const RANGE: usize = 5;

/// The figures of a model on some inputs. Each includes the time of the decisions. Where the log has groups, its inputs give
/// each other away, so the loss on new groups comes first.
pub fn figures(which: &str, comparison: &BaselineComparison, on_new_groups: Option<&NewGroups>) -> String {
    let BaselineComparison { model, always_fallback, best_single, objective, max_slowdown, range, .. } =
        comparison;
    if let Some(text) = unknown(comparison) {
        return format!("{text}\n");
    }
    let fallback = name(&always_fallback.choice);
    let single = single(&best_single.names);
    let others = model.inputs - model.comparable;
    let without = if others > 0 { format!(", {others} without a time of it") } else { String::new() };
    // It is a share of the mean over inputs, and may exceed that of the total time.
    let asking = match model.slowdown / model.without_asking - 1.0 {
        share if share < 5e-5 || *objective == Objective::Total => String::new(),
        share => format!(" ({} the decision)", loss(1.0 + share)),
    };
    let mean = format!(
        "{:.3} times as fast as always {fallback} ({} {which} {}{without}).\n",
        model.speedup_over_fallback,
        model.inputs,
        if model.inputs == 1 { "input" } else { "inputs" },
    );
    let total = match more_or_less(model.total_over_fallback) {
        Some(than) => format!("Total time: {than} than always {fallback}.\n"),
        None => format!("Total time: the same as always {fallback}.\n"),
    };
    let (mean, total) = match model.comparable {
        0 => (format!("{fallback} has no time on any {which} input.\n"), String::new()),
        _ => (mean, total),
    };
    // What the model was learned for comes first.
    let (lines, lost, of_single) = match objective {
        Objective::Total => (total + &mean, model.total, best_single.metrics.total),
        Objective::Geomean => (mean + &total, model.slowdown, best_single.metrics.slowdown),
    };
    let lost = loss(lost);
    let (loses, decides) = match on_new_groups {
        Some(new) => {
            (format!("{}; {lost}{asking} on these", of_new_groups(new, &single)), "On these inputs: decides")
        }
        None if model.inputs >= PRECISE => (format!("Loses {lost}{asking} to the best choice"), "Decides"),
        // No input shows what an error costs, so that nothing bounds the loss on others.
        None if model.inputs < RANGE || range.high < 1.0 + LEAST_LOSS => {
            (format!("Loses {lost}{asking} to the best choice here"), "Decides")
        }
        None => (format!("Loses {} to the best choice, {lost} here{asking}", losses(*range)), "Decides"),
    };
    format!(
        "{lines}{loses} (always {single}: {}).\n\
         {decides} {:.1} %; {:.2} % are > {} % slower than {fallback}; worst {:.2} times the best.\n",
        loss(of_single),
        model.coverage * 100.0,
        model.over_limit * 100.0,
        percent(max_slowdown - 1.0),
        model.worst,
    )
}

/// Why the figures are not known, where the inputs have times of few choices.
pub fn unknown(comparison: &BaselineComparison) -> Option<String> {
    comparison.timed.map(|share| {
        format!(
            "What it loses is not known: the log times {:.0} % of the choices on each input. Judge it on inputs that time all: \
             ah-train evaluate MODEL LOG.",
            share * 100.0
        )
    })
}

/// The range of a slowdown as the time lost.
fn losses(Range { low, high }: Range) -> String {
    let percent = [low, high].map(|slowdown| (slowdown - 1.0) * 100.0);
    let digits = if percent[1] >= 10.0 {
        0
    } else if percent[1] >= 1.0 {
        1
    } else {
        2
    };
    format!("{:.digits$} to {:.digits$} %", percent[0], percent[1])
}

/// The loss on groups that the log does not have.
fn of_new_groups(NewGroups { shared, groups, mean, single, low, high }: &NewGroups, choice: &str) -> String {
    let range = losses(Range { low: *low, high: *high });
    let counted = match shared {
        Shared::Columns(_) => "in the log",
        Shared::Nearness => "clusters",
        Shared::Stretch => "stretches of the log",
    };
    let mean = loss(*mean);
    let single = loss(*single);
    let new = shared.new_ones();
    format!(
        "Loses {range} to the best choice on {new} ({mean} by the {groups} {counted}, always {choice}: {single})"
    )
}

/// A ratio of times as what is more or less; `None` if it is the same to two digits.
fn more_or_less(ratio: f64) -> Option<String> {
    let percent = ((ratio - 1.0).abs() * 1e4).round() / 1e2;
    (percent > 0.0).then(|| format!("{percent:.2} % {}", if ratio < 1.0 { "less" } else { "more" }))
}
