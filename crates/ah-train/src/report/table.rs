//! The table of a training or an evaluation, with a few sentences below it.

use ah_types::Promise;
use comfy_table::{CellAlignment, Table, presets};

use super::percent;
use crate::judge::{BaselineComparison, Metrics};
use crate::params::SplitBy;
use crate::train::TrainedModel;

/// Returns the table of a training: the heuristic on held-out inputs beside always taking one choice.
pub fn trained(trained: &TrainedModel) -> String {
    let held_out = &trained.held_out;
    let comparison = &held_out.comparison;
    let title = match held_out.split {
        SplitBy::Input => "on held-out inputs",
        SplitBy::Dims => "on held-out dimensions",
    };
    let size = || vec![held_out.depth.to_string(), held_out.leaves.to_string()];
    let name = trained.configurations[0].name();
    let mut table = table(&[title, "depth", "leaves"], comparison.max_slowdown);
    if comparison.model != held_out.always {
        row(&mut table, format!("{name}, declining where it must"), size(), &comparison.model);
    }
    row(&mut table, format!("{name}, always deciding"), size(), &held_out.always);
    if let Some(by_input) = &held_out.by_input {
        row(&mut table, format!("{name}, held out by input"), size(), by_input);
    }
    baselines(&mut table, comparison, || vec!["-".to_owned(); 2]);
    let mut text = format!(
        "{table}\nLearned from {} inputs and judged on {} others. The model that ships is learned from all of them ({} leaves).\n",
        held_out.train_inputs,
        comparison.model.inputs,
        trained.model.trees.iter().map(|t| t.leaves().count()).sum::<usize>(),
    );
    if let Some(p) = &trained.portfolio {
        let search = if p.exact {
            "no other set loses less"
        } else {
            "greedy search: at least 63 % of the best set's saving"
        };
        text += &format!(
            "Keeps {} choices; the best of them loses {:.4} on the training part ({search}).\n",
            p.choices.len(),
            p.slowdown
        );
    }
    if let Some(p) = &trained.model.promise {
        text += &promise(p, trained);
    }
    text
}

/// Returns the table of `ah-train evaluate`.
pub fn evaluated(name: &str, comparison: &BaselineComparison) -> String {
    let inputs = || vec![comparison.model.inputs.to_string()];
    let mut table = table(&["on this log", "inputs"], comparison.max_slowdown);
    row(&mut table, name.to_owned(), inputs(), &comparison.model);
    baselines(&mut table, comparison, inputs);
    format!("{table}\n{}", outside(&comparison.model, "these"))
}

fn table(first: &[&str], max_slowdown: f64) -> Table {
    let mut header: Vec<String> = first.iter().map(|&h| h.to_owned()).collect();
    header.extend(["slowdown", "p95", "worst", "coverage"].map(str::to_owned));
    header.push(format!("> {} % slower than fallback", percent(max_slowdown - 1.0)));
    header.extend(["speedup over fallback", "best of top 3", "best of top 10"].map(str::to_owned));
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN).set_header(header);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn row(table: &mut Table, name: String, further: Vec<String>, metrics: &Metrics) {
    let mut cells = vec![name];
    cells.extend(further);
    cells.extend([
        format!("{:.4}", metrics.slowdown),
        format!("{:.4}", metrics.p95),
        format!("{:.3}", metrics.worst),
        format!("{:.1} %", metrics.coverage * 100.0),
        format!("{:.2} %", metrics.over_limit * 100.0),
        format!("{:.3}", metrics.speedup_over_fallback),
        format!("{:.4}", metrics.top3),
        format!("{:.4}", metrics.top10),
    ]);
    table.add_row(cells);
}

fn baselines(table: &mut Table, comparison: &BaselineComparison, further: impl Fn() -> Vec<String>) {
    for (baseline, name) in
        [(&comparison.always_fallback, "fallback"), (&comparison.best_single, "best single")]
    {
        row(table, format!("always {} ({name})", baseline.choice), further(), &baseline.metrics);
    }
}

/// Returns the promise, the evidence for it, and its limits.
fn promise(p: &Promise, trained: &TrainedModel) -> String {
    let model = &trained.model;
    let fallback = model.fallback.map_or("the fallback", |f| model.choice_name(f));
    let estimate =
        if p.mode == ah_types::CalibrationMode::HoldOut { "" } else { " (a cross-validated estimate)" };
    format!(
        "Promise{estimate}: with {} % confidence, at most {} % of inputs drawn like the {} calibration inputs ({} shapes) are more than {} % slower than {fallback}.\n\
         {} of the {} calibration inputs broke it, {} of them beyond noise (medians of {} runs, {}).\n\
         The promise does not cover other shapes, devices or drivers. {}",
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
        outside(&trained.held_out.comparison.model, "the held-out"),
    )
}

fn outside(metrics: &Metrics, which: &str) -> String {
    let share = metrics.outside * 100.0;
    format!("{share:.1} % of {which} inputs are outside the training range of their leaf.\n")
}
