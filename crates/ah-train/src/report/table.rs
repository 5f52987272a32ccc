//! The table of a training or an evaluation, with a few sentences below it.

use std::fmt;

use ah_types::Promise;
use comfy_table::{CellAlignment, Table, presets};

use super::{percent, summary};
use crate::judge::{BaselineComparison, Metrics};
use crate::params::SplitBy;
use crate::train::TrainedModel;

/// Returns the table of a training: the heuristic on held-out inputs beside always taking one choice.
pub fn trained(trained: &TrainedModel) -> String {
    let held_out = &trained.held_out;
    let comparison = &held_out.comparison;
    let title = match held_out.split {
        SplitBy::Input | SplitBy::Device => "on held-out inputs",
        SplitBy::Dims => "on held-out dimensions",
    };
    let size = || vec![held_out.depth.to_string(), held_out.leaves.to_string()];
    let name = trained.configuration.name();
    let mut table = Figures::new(&[title, "depth", "leaves"], comparison.max_slowdown);
    if comparison.model != held_out.always {
        table.add(name, size(), &comparison.model);
    }
    table.add(format!("{name}, deciding"), size(), &held_out.always);
    if let Some(by_input) = &held_out.by_input {
        table.add(format!("{name}, by input"), size(), by_input);
    }
    table.baselines(comparison, || vec!["-".to_owned(); 2]);
    let mut text = format!(
        "{table}\nLearned from {} inputs and judged on {} others. The model that ships is learned from {} ({} leaves).\n",
        held_out.train_inputs,
        comparison.model.inputs,
        summary::learned_from(trained),
        trained.model.leaf_count(),
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
    let mut table = Figures::new(&["on this log", "inputs"], comparison.max_slowdown);
    table.add(name, inputs(), &comparison.model);
    table.baselines(comparison, inputs);
    format!("{table}\n{}", outside(&comparison.model, "these"))
}

/// A row for each figure and a column for each heuristic, so that the table fits a terminal of 80 columns.
struct Figures {
    /// The title, then the names of the figures.
    labels: Vec<String>,
    /// The name of a heuristic, then its figures.
    columns: Vec<Vec<String>>,
    /// What always takes which choice.
    baselines: String,
}

impl Figures {
    fn new(first: &[&str], max_slowdown: f64) -> Self {
        let mut labels: Vec<String> = first.iter().map(|&label| label.to_owned()).collect();
        labels.extend(["slowdown", "p95", "p99", "worst", "total time", "coverage"].map(str::to_owned));
        labels.push(format!("> {} % slower", percent(max_slowdown - 1.0)));
        labels.extend(["speedup over fallback", "best of top 3", "best of top 10"].map(str::to_owned));
        Self { labels, columns: Vec::new(), baselines: String::new() }
    }

    fn add(&mut self, name: impl Into<String>, further: Vec<String>, metrics: &Metrics) {
        let mut column = vec![name.into()];
        column.extend(further);
        column.extend([
            format!("{:.4}", metrics.slowdown),
            format!("{:.4}", metrics.p95),
            format!("{:.4}", metrics.p99),
            format!("{:.3}", metrics.worst),
            format!("{:.4}", metrics.total),
            format!("{:.1} %", metrics.coverage * 100.0),
            format!("{:.2} %", metrics.over_limit * 100.0),
            format!("{:.3}", metrics.speedup_over_fallback),
            format!("{:.4}", metrics.top3),
            format!("{:.4}", metrics.top10),
        ]);
        self.columns.push(column);
    }

    fn baselines(&mut self, comparison: &BaselineComparison, further: impl Fn() -> Vec<String>) {
        let (fallback, single) = (&comparison.always_fallback, &comparison.best_single);
        self.add("fallback", further(), &fallback.metrics);
        self.add("best single", further(), &single.metrics);
        self.baselines =
            format!("fallback: always {}; best single: always {}", fallback.choice, single.choice);
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = |at: usize, label: &String| {
            std::iter::once(label)
                .chain(self.columns.iter().map(move |column| &column[at]))
                .cloned()
                .collect::<Vec<_>>()
        };
        let mut rows = self.labels.iter().enumerate().map(|(at, label)| row(at, label));
        let mut table = Table::new();
        table.load_preset(presets::ASCII_MARKDOWN).set_header(rows.next().unwrap_or_default()).add_rows(rows);
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        write!(f, "{table}\n\n{}", self.baselines)
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
