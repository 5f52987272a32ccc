//! `ah-collect evaluate`: compares a model's decisions with the best choices, on fresh inputs.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use ah_cli::{exit, status, stdout, warning};
use ah_measure::sampling::Seed;
use ah_types::Model;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::collect::CollectFlags;
use super::flags::MeasureFlags;
use super::signals;
use super::source::{Program, expect_name};
use crate::error::CollectError;
use crate::evaluate::{self, Evaluation, References};
use crate::plan;
use crate::units::time;

/// Inputs without --num-samples.
const NUM_SAMPLES: u64 = 50;
/// The default seed, so that the inputs are not those of a log collected with the default seed.
const SEED: u64 = 1000;

/// The flags of `ah-collect evaluate`.
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  On 100 fresh inputs:\n    ah-collect evaluate model.json --num-samples 100"
)]
pub(super) struct EvaluateFlags<F: clap::Args> {
    /// The model
    model: PathBuf,
    #[command(flatten)]
    source: F,
    /// Evaluate on N fresh inputs [default: 50]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    num_samples: Option<u64>,
    /// Compare also with the fastest of these choices, as a library would take them
    #[arg(long, value_name = "CHOICE,...", value_delimiter = ',')]
    baseline: Vec<String>,
    #[command(flatten)]
    measure: MeasureFlags,
}

impl<F: clap::Args> EvaluateFlags<F> {
    /// Returns the flags of a bare call with --use-heuristic.
    pub fn new(model: PathBuf, baseline: Vec<String>, collect: CollectFlags<F>) -> Self {
        let CollectFlags { source, num_samples, measure, .. } = collect;
        Self { model, source, num_samples, baseline, measure }
    }

    pub fn run<P: Program<Flags = F>>(self, program: &P) -> Result<u8, CollectError> {
        let Self { model: path, measure, .. } = self;
        let model = Model::read(&path)?;
        let source = program.source(self.source, Some(&model.optimization))?;
        let mut runner = source.open(measure.limits())?.swap_remove(0);
        let subject = runner.subject().clone();
        expect_name(&subject.optimization.name, &model.optimization, &path, "is a heuristic for")?;
        if let Some(learned_on) = &model.device
            && let Err(mismatch) = learned_on.admits(&subject.device)
        {
            warning(&format!("{mismatch}; these results may not hold on the device that it was learned on"));
        }
        let fallback = model
            .fallback
            .map(|id| model.choice_name(id).to_owned())
            .or_else(|| subject.optimization.fallback_among(&subject.choices).map(str::to_owned))
            .ok_or_else(|| CollectError::Usage("the model has no fallback to compare with".to_owned()))?;
        let references = References { fallback, baseline: self.baseline };
        let inputs = match &measure.inputs {
            Some(path) => {
                let contexts = plan::read_inputs(path, &*runner, &subject.optimization.schema()?)?;
                contexts.into_iter().zip((0..).map(|i| Seed(0, i))).collect()
            }
            None => {
                let count = usize::try_from(self.num_samples.unwrap_or(NUM_SAMPLES)).unwrap_or(usize::MAX);
                evaluate::fresh(&*runner, measure.seed.unwrap_or(SEED), count)?
            }
        };
        let stop = signals::stop_on_signal();
        let inputs = inputs.into_iter().take_while(|_| !stop.load(Ordering::Relaxed));
        let each = |input: &evaluate::EvaluatedInput| {
            status(&format!("{}: {} {}\n", input.label, input.winner, time(input.winner_ms)));
        };
        let policy = measure.policy(subject.timing, false);
        let decide = evaluate::decide(&model);
        let evaluation = evaluate::evaluate(&mut *runner, inputs, &policy, &references, decide, each)?;
        let text = if measure.json { serde_json::json!(evaluation).to_string() } else { evaluation.table() };
        stdout(&format!("{text}\n"))?;
        Ok(if stop.load(Ordering::Relaxed) { exit::INTERRUPTED } else { exit::SUCCESS })
    }
}

impl Evaluation {
    /// Returns the inputs as a table, with the geometric means and the inputs that were left out.
    pub fn table(&self) -> String {
        let mut table = Table::new();
        table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        let References { fallback, baseline } = &self.references;
        let with_baseline = !baseline.is_empty();
        let mut add_row = |cells: [String; 6], library: [String; 2]| {
            table.add_row(cells.into_iter().chain(library.into_iter().filter(|_| with_baseline)));
        };
        add_row(
            ["input", "choice", "winner", "time", "slowdown", "speedup"].map(str::to_owned),
            ["what a library would have done", "gain over it"].map(str::to_owned),
        );
        for input in &self.inputs {
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
                format!("geometric mean of {}", self.inputs.len()),
                String::new(),
                String::new(),
                String::new(),
                format!("{:.3}", self.slowdown),
                format!("{:.3}", self.speedup),
            ],
            [String::new(), self.gain.map_or_else(String::new, |gain| format!("{gain:.3}"))],
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
            self.fallback_slowdown,
            self.coverage * 100.0,
            self.slower_inputs,
            self.inputs.len()
        );
        if self.is_unlisted_different() {
            let _ = write!(
                text,
                "\nnot told what is offered: slowdown {:.3}, a choice without a time on {} of {} inputs (counted as {fallback})",
                self.unlisted_slowdown,
                self.unlisted_untimed,
                self.inputs.len()
            );
        }
        if with_baseline {
            let _ = write!(text, "\na library: the fastest of {} on each input", baseline.join(", "));
        }
        for (label, reason) in &self.left_out {
            let _ = write!(text, "\nleft out {label}: {reason}");
        }
        text
    }
}
