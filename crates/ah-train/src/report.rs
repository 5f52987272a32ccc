//! What people read: one table on stdout.

use comfy_table::{CellAlignment, Table, presets};

use crate::evaluate::Metrics;
use crate::train::Trained;

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN).set_header(header.iter().copied());
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn figures(metrics: &Metrics) -> Vec<String> {
    vec![
        format!("{:.4}", metrics.slowdown),
        format!("{:.4}", metrics.p95),
        format!("{:.3}", metrics.worst),
        format!("{:.1} %", metrics.coverage * 100.0),
        format!("{:.2} %", metrics.over_limit * 100.0),
        format!("{:.3}", metrics.speedup_over_fallback),
    ]
}

const FIGURES: [&str; 6] =
    ["slowdown", "p95", "worst", "coverage", "> 5 % slower than fallback", "speedup over fallback"];

/// The table of a training: the model on held-out inputs against always taking one choice.
#[must_use]
pub fn trained(trained: &Trained) -> String {
    let held_out = &trained.held_out;
    let mut header = vec!["on held-out inputs", "depth", "leaves"];
    header.extend(FIGURES);
    let mut table = table(&header);
    let mut row = |name: String, depth: String, leaves: String, metrics: &Metrics| {
        let mut cells = vec![name, depth, leaves];
        cells.extend(figures(metrics));
        table.add_row(cells);
    };
    row(
        trained.configuration.name(),
        held_out.depth.to_string(),
        held_out.leaves.to_string(),
        &held_out.model,
    );
    row(format!("always {} (fallback)", held_out.fallback_name), "-".into(), "-".into(), &held_out.fallback);
    row(
        format!("always {} (best single)", held_out.best_single_name),
        "-".into(),
        "-".into(),
        &held_out.best_single,
    );
    format!(
        "{table}\nLearned from {} inputs and judged on {} others; the model that ships is learned again from all {} ({} leaves).\n",
        held_out.train_inputs,
        held_out.model.inputs,
        held_out.train_inputs + held_out.model.inputs,
        trained.model.trees[0].leaves().count(),
    )
}

/// The table of `ah-train evaluate`.
#[must_use]
pub fn evaluated(
    model: &str,
    metrics: &Metrics,
    fallback: (&str, &Metrics),
    best: (&str, &Metrics),
) -> String {
    let mut header = vec!["on this log", "inputs"];
    header.extend(FIGURES);
    header.extend(["best of top 3", "best of top 10"]);
    let mut table = table(&header);
    let mut row = |name: String, metrics: &Metrics| {
        let mut cells = vec![name, metrics.inputs.to_string()];
        cells.extend(figures(metrics));
        cells.extend([format!("{:.4}", metrics.top3), format!("{:.4}", metrics.top10)]);
        table.add_row(cells);
    };
    row(model.to_owned(), metrics);
    row(format!("always {} (fallback)", fallback.0), fallback.1);
    row(format!("always {} (best single)", best.0), best.1);
    format!("{table}\n")
}
