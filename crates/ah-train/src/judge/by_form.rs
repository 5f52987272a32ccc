//! A heuristic in each form in which programs ask it.

use ah_types::Target;
use serde::{Deserialize, Serialize};

use super::metrics::Metrics;
use crate::overhead::{Asking, ModelUse, Overhead};

/// What a decision takes in a form, and what a program that asks there experiences.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FormReport {
    /// The form.
    pub form: Target,
    /// Whether the training was asked for it.
    pub asked: bool,
    /// Microseconds of a decision, the features left out.
    pub decision_us: f64,
    /// Geometric mean of time ÷ winner's time, the decision and the features included.
    pub slowdown: f64,
    /// Geometric mean of the fallback's time ÷ time, the decision and the features included.
    pub speedup_over_fallback: f64,
    /// The share of inputs that are slower than the fallback by more than the limit.
    pub over_limit: f64,
}

impl FormReport {
    /// Judges in every form; `judge` judges the decisions where asking adds this much.
    pub fn all(asking: &Asking, used: &ModelUse, judge: impl Fn(&Overhead) -> Metrics) -> Vec<Self> {
        let report = |(_, form): (&str, Target)| {
            let model = judge(&asking.for_target(form).overhead(used));
            Self {
                form,
                asked: asking.targets.contains(&form),
                decision_us: asking.decision_ms(form, &used.parts) * 1e3,
                slowdown: model.slowdown,
                speedup_over_fallback: model.speedup_over_fallback,
                over_limit: model.over_limit,
            }
        };
        Target::NAMES.into_iter().map(report).collect()
    }
}
