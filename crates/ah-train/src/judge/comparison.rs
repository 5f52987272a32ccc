//! A model beside always taking one choice: the figures that every table and record shows.

use ah_model::Objective;
use ah_types::SingleChoice;
use serde::Serialize;

use super::losses::Losses;
use super::metrics::Metrics;
use crate::bootstrap::Range;
use crate::decisions::JudgedInput;

/// A smaller loss is printed as none.
pub const LEAST_LOSS: f64 = 5e-5;

/// Decisions beside always taking one choice, on the same inputs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BaselineComparison {
    /// The model's decisions.
    pub model: Metrics,
    /// Always taking the fallback.
    pub always_fallback: Baseline,
    /// Always taking the best single choice.
    pub best_single: Baseline,
    /// What the model was learned for. The range and the slowdown by halves are its cost.
    pub objective: Objective,
    /// Its choices.
    #[serde(skip)]
    pub single: SingleChoice,
    /// What the model may lose on inputs like these, at 95 % confidence: of [`Metrics::slowdown`], or of [`Metrics::total`] where it was
    /// learned for that.
    pub range: Range,
    /// The model's slowdown where one half of the measurements says which choice is the fastest and the other half times it, the mean
    /// of both ways: the best of noisy times is too good, so that the slowdown errs upward. `None` where nothing was measured twice.
    pub slowdown_by_halves: Option<f64>,
    /// An input is slower than the fallback where it takes more than this many times as long.
    #[serde(skip)]
    pub max_slowdown: f64,
    /// The share of the cells that were measured, where that is so small that the figures are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed: Option<f64>,
}

/// Always taking one choice.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Baseline {
    /// The choice's name, or `A, else B` for a second one where the first has no time.
    pub choice: String,
    /// These names.
    #[serde(skip)]
    pub names: Vec<String>,
    /// Its cost.
    pub metrics: Metrics,
}

impl BaselineComparison {
    /// Prices decisions and the baselines on their inputs. Inputs of one key are held out together.
    pub fn new(losses: &Losses<'_>, judged: &[JudgedInput], keys: &[String], single: SingleChoice) -> Self {
        let Losses { table, fallback, max_slowdown } = *losses;
        let inputs: Vec<u32> = judged.iter().map(|judged| judged.input).collect();
        let constant = |single| JudgedInput::of_single(single, table, &inputs);
        let always = |single: SingleChoice| {
            let names = single.names(&table.choices);
            let metrics = Metrics::new(losses, &constant(single));
            Baseline { choice: names.join(", else "), names, metrics }
        };
        Self {
            model: Metrics::new(losses, judged),
            always_fallback: always(SingleChoice { first: fallback, second: None }),
            best_single: always(single),
            range: losses.range(judged, &constant(single), keys),
            slowdown_by_halves: losses.by_halves(judged),
            objective: table.objective,
            single,
            max_slowdown,
            timed: table.timed,
        }
    }

    /// Whether neither the model nor the best single choice errs on any input, so that the inputs do not show what an error costs.
    pub fn loses_nothing(&self) -> bool {
        self.model.without_asking.max(self.best_single.metrics.slowdown) < 1.0 + LEAST_LOSS
    }
}
