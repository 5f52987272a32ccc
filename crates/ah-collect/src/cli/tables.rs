//! The table of a judgement.

use std::fmt::Write as _;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use crate::judge::{Judgement, References};
use crate::units::time;

/// Returns the judged inputs as a table, with the geometric means and the inputs that were left out.
pub fn judgement_table(judgement: &Judgement) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    let References { fallback, baseline } = &judgement.references;
    let with_baseline = !baseline.is_empty();
    let mut add_row = |cells: [String; 6], library: [String; 2]| {
        table.add_row(cells.into_iter().chain(library.into_iter().filter(|_| with_baseline)));
    };
    add_row(
        ["input", "choice", "winner", "time", "slowdown", "speedup"].map(str::to_owned),
        ["what a library would have done", "gain over it"].map(str::to_owned),
    );
    for input in &judgement.inputs {
        add_row(
            [
                input.label.clone(),
                input.chosen.clone().unwrap_or_else(|| format!("unsure: {fallback}")),
                input.winner.clone(),
                time(input.ms),
                format!("{:.3}", input.slowdown()),
                format!("{:.3}", input.speedup()),
            ],
            [
                input
                    .baseline
                    .as_ref()
                    .map_or_else(String::new, |(name, ms)| format!("{name} {}", time(*ms))),
                input.gain().map_or_else(String::new, |gain| format!("{gain:.3}")),
            ],
        );
    }
    add_row(
        [
            format!("geometric mean of {}", judgement.inputs.len()),
            String::new(),
            String::new(),
            String::new(),
            format!("{:.3}", judgement.slowdown()),
            format!("{:.3}", judgement.speedup()),
        ],
        [String::new(), judgement.gain().map_or_else(String::new, |gain| format!("{gain:.3}"))],
    );
    for column in table.column_iter_mut().skip(3) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut text = String::new();
    for line in table.lines() {
        let _ = writeln!(text, "{}", line.trim_end());
    }
    let _ = write!(
        text,
        "slowdown: against the best choice (always {0}: {1:.3}); speedup: over {0}; decided on {2:.0} % of the inputs\n\
         more than 5 % slower than {0}: {3} of {4} inputs",
        fallback,
        judgement.fallback_slowdown(),
        judgement.coverage() * 100.0,
        judgement.slower_inputs(),
        judgement.inputs.len()
    );
    if judgement.is_plain_different() {
        let _ = write!(
            text,
            "\nnot told what is offered: slowdown {:.3}, a choice without a time on {} of {} inputs (counted as {fallback})",
            judgement.plain_slowdown(),
            judgement.plain_untimed(),
            judgement.inputs.len()
        );
    }
    if with_baseline {
        let _ = write!(text, "\na library: the fastest of {} on each input", baseline.join(", "));
    }
    for (label, reason) in &judgement.left_out {
        let _ = write!(text, "\nleft out {label}: {reason}");
    }
    text
}
