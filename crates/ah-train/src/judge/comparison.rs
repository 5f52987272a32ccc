//! A model beside always taking one choice: the figures that every table and record shows.

use ah_types::ChoiceId;
use serde::Serialize;

use super::decisions::{JudgedInput, PlainPick};
use super::metrics::Metrics;
use crate::data::Table;
use crate::net::Overhead;

/// Decisions beside always taking one choice, on the same inputs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BaselineComparison {
    /// The model's decisions.
    pub model: Metrics,
    /// Always taking the fallback.
    pub always_fallback: Baseline,
    /// Always taking the best single choice.
    pub best_single: Baseline,
    /// An input is slower than the fallback where it takes more than this many times as long.
    #[serde(skip)]
    pub max_slowdown: f64,
}

/// Always taking one choice.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Baseline {
    /// The choice's name.
    pub choice: String,
    /// Its cost.
    pub metrics: Metrics,
}

impl BaselineComparison {
    /// Prices decisions and the baselines on their inputs. Asking the model takes `overhead`.
    pub fn new(
        table: &Table,
        judged: &[JudgedInput],
        fallback: ChoiceId,
        best_single: ChoiceId,
        max_slowdown: f64,
        overhead: &Overhead,
    ) -> Self {
        let always = |choice: ChoiceId| {
            let take = |j: &JudgedInput| JudgedInput {
                input: j.input,
                ranking: vec![choice],
                plain: PlainPick::Timed(choice),
                outside: false,
            };
            let judged: Vec<JudgedInput> = judged.iter().map(take).collect();
            Baseline {
                choice: table.choices[choice.index()].clone(),
                // A constant needs no decision.
                metrics: Metrics::new(table, &judged, fallback, max_slowdown, &Overhead::default()),
            }
        };
        Self {
            model: Metrics::new(table, judged, fallback, max_slowdown, overhead),
            always_fallback: always(fallback),
            best_single: always(best_single),
            max_slowdown,
        }
    }
}
