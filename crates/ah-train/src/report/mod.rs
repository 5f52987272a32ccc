//! What people read: one table on stdout.

pub mod dot;

use std::fmt::Write as _;

use ah_types::model::Promise;
use comfy_table::{CellAlignment, Table, presets};

use crate::data::SplitBy;
use crate::judge::Metrics;
use crate::train::TrainedModel;

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

/// The table of a training: the heuristic on held-out inputs against always taking one choice.
#[must_use]
pub fn trained(trained: &TrainedModel) -> String {
    let held_out = &trained.held_out;
    let title = match held_out.split {
        SplitBy::Input => "on held-out inputs",
        SplitBy::Dims => "on held-out dimensions",
    };
    let mut header = vec![title, "depth", "leaves"];
    header.extend(FIGURES);
    header.extend(["best of top 3", "best of top 10"]);
    let mut table = table(&header);
    let mut row = |name: String, tree: bool, metrics: &Metrics| {
        let of_tree = |n: usize| if tree { n.to_string() } else { "-".to_owned() };
        let mut cells = vec![name, of_tree(held_out.depth), of_tree(held_out.leaves)];
        cells.extend(figures(metrics));
        cells.extend([format!("{:.4}", metrics.top3), format!("{:.4}", metrics.top10)]);
        table.add_row(cells);
    };
    let name = trained.configurations[0].name();
    if held_out.model != held_out.always {
        row(format!("{name}, declining where it must"), true, &held_out.model);
    }
    row(format!("{name}, always deciding"), true, &held_out.always);
    if let Some(by_input) = &held_out.by_input {
        row(format!("{name}, held out by input"), true, by_input);
    }
    row(format!("always {} (fallback)", held_out.fallback.0), false, &held_out.fallback.1);
    row(format!("always {} (best single)", held_out.best_single.0), false, &held_out.best_single.1);
    let mut text = format!("{table}\n");
    let _ = writeln!(
        text,
        "Heuristic from {} inputs and judged on {} others; the model that ships is learned again from all ({} leaves).",
        held_out.train_inputs,
        held_out.model.inputs,
        trained.model.trees.iter().map(|t| t.leaves().count()).sum::<usize>(),
    );
    if let Some(p) = &trained.portfolio {
        let exact = if p.exact {
            "no others lose less"
        } else {
            "chosen greedily: at least 63 % of what the best set saves"
        };
        let _ = writeln!(
            text,
            "Keeps {} choices; the best of them loses {:.4} on the training part ({exact}).",
            p.choices.len(),
            p.slowdown
        );
    }
    if let Some(p) = &trained.model.promise {
        text.push_str(&promise(p, trained));
    }
    text.push_str(&given_up(trained));
    text
}

/// What to do where the promise gives up more than half of what always deciding saves; else nothing.
fn given_up(trained: &TrainedModel) -> String {
    let held_out = &trained.held_out;
    let saves = |metrics: &Metrics| metrics.speedup_over_fallback.max(1.0).ln();
    let (model, always) = (saves(&held_out.model), saves(&held_out.always));
    if always < 0.01 || model > 0.5 * always {
        return String::new();
    }
    format!(
        "Declining gives up {:.0} % of what always deciding saves; that is too slow on {:.1} % of the held-out inputs. More inputs, a quieter machine or a larger --max-risk leave more of it; `--max-risk none` decides always.\n",
        (1.0 - model / always) * 100.0,
        held_out.always.over_limit * 100.0,
    )
}

/// What is promised, and for whom it holds.
fn promise(p: &Promise, trained: &TrainedModel) -> String {
    let model = &trained.model;
    let fallback = model.fallback.map_or("the fallback", |f| model.choice_name(f));
    let estimate = if p.mode == "hold-out" { "" } else { " (a cross-validated estimate)" };
    format!(
        "On inputs drawn like the {} calibration inputs ({} shapes): with {:.0} % confidence at most {} % are more than {:.0} % slower than {fallback}{estimate}. Seen: {} of {}, {} clearly separated (medians of {} runs); calibrated {}. It says nothing of other shapes, devices or drivers; {:.0} % of the held-out inputs lie outside what training saw in their leaf.\n",
        p.inputs,
        p.groups,
        p.confidence * 100.0,
        (p.target * 1e4).round() / 1e2,
        (p.limit - 1.0) * 100.0,
        p.violations,
        p.inputs,
        p.clear,
        p.runs,
        p.mode,
        trained.held_out.model.outside * 100.0,
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
    format!(
        "{table}\n{:.1} % of the inputs lie outside what training saw in their leaf.\n",
        metrics.outside * 100.0
    )
}
