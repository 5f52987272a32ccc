//! A model beside always taking one choice: the figures that every table and record shows.

use ah_model::ChoiceId;
use ah_types::SingleChoice;
use serde::Serialize;

use super::metrics::Metrics;
use crate::data::Table;
use crate::decisions::JudgedInput;

/// Decisions beside always taking one choice, on the same inputs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BaselineComparison {
    /// The model's decisions.
    pub model: Metrics,
    /// Always taking the fallback.
    pub always_fallback: Baseline,
    /// Always taking the best single choice.
    pub best_single: Baseline,
    /// Its choices.
    #[serde(skip)]
    pub single: SingleChoice,
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
    /// Its cost.
    pub metrics: Metrics,
}

impl BaselineComparison {
    /// Prices decisions and the baselines on their inputs.
    pub fn new(
        table: &Table,
        judged: &[JudgedInput],
        fallback: ChoiceId,
        best_single: SingleChoice,
        max_slowdown: f64,
    ) -> Self {
        let always = |single: SingleChoice| {
            let take = |j: &JudgedInput| {
                let choice = single.taken(|choice| table.usable(j.input, choice).is_some());
                JudgedInput::constant(j.input, choice)
            };
            let judged: Vec<JudgedInput> = judged.iter().map(take).collect();
            Baseline {
                choice: single.name(&table.choices),
                metrics: Metrics::new(table, &judged, fallback, max_slowdown),
            }
        };
        Self {
            model: Metrics::new(table, judged, fallback, max_slowdown),
            always_fallback: always(SingleChoice { first: fallback, second: None }),
            best_single: always(best_single),
            single: best_single,
            max_slowdown,
            timed: table.timed,
        }
    }
}
