//! What a heuristic is judged by: the time that counts for a choice, and how the scores of boosted trees hold its cost.

use serde::{Deserialize, Serialize};

use crate::math::{exp, ln};

/// What a heuristic is learned for and judged by. `cost` is what a choice loses to the best one on an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Objective {
    /// The geometric mean of the slowdowns: every input counts alike. The cost is `ln(time / best time)`.
    #[default]
    Geomean,
    /// The total time: an input counts by its best time. The cost is `time / best time - 1`.
    Total,
}

impl Objective {
    /// All objectives by name.
    pub const NAMES: [(&str, Self); 2] = [("geomean", Self::Geomean), ("total", Self::Total)];

    /// The cost of a choice of this time where the best one takes `best`; infinite if it failed.
    pub fn cost(self, time: f64, best: f64) -> f64 {
        match self {
            Self::Geomean => ln(time / best),
            Self::Total => time / best - 1.0,
        }
    }

    /// The weight of an input whose best choice takes `best`, in any unit.
    pub fn weight(self, best: f64) -> f64 {
        match self {
            Self::Geomean => 1.0,
            Self::Total => best,
        }
    }

    /// A mean cost as a ratio: what is taken over the best choices.
    pub fn over_best(self, cost: f64) -> f64 {
        match self {
            Self::Geomean => exp(cost),
            Self::Total => 1.0 + cost,
        }
    }

    /// The greatest cost that is learned from. Being ten times slower is as bad as it gets, and as bad as failing.
    pub const fn greatest_cost(self) -> f64 {
        match self {
            Self::Geomean => 2.3,
            Self::Total => 9.0,
        }
    }

    /// The greatest score of boosted trees. Geometric means need not distinguish choices far from the best, and
    /// a limit of 0.2 lets the trees spend their splits on near ones. Total time counts the difference itself.
    pub const fn greatest(self) -> f64 {
        match self {
            Self::Geomean => 0.2,
            Self::Total => 1.0,
        }
    }

    /// A cost as boosted trees score it.
    pub fn saturate(self, cost: f64) -> f64 {
        let greatest = self.greatest();
        // Small costs are themselves, and none is above the greatest.
        greatest * (1.0 - exp(-cost / greatest))
    }

    /// The slowdown that this score of boosted trees predicts.
    pub fn slowdown(self, score: f64) -> f64 {
        self.over_best(-self.greatest() * ln((1.0 - score / self.greatest()).max(f64::MIN_POSITIVE)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_hold_small_costs_as_they_are() {
        for (name, objective) in Objective::NAMES {
            assert_eq!(serde_json::json!(objective), name);
            assert!((objective.saturate(1e-4) - 1e-4).abs() < 1e-6, "{name}");
            assert_eq!(objective.saturate(f64::INFINITY), objective.greatest());
        }
        let slowdown = |objective: Objective, cost| objective.slowdown(objective.saturate(cost));
        assert!((slowdown(Objective::Geomean, 0.1) - 0.1_f64.exp()).abs() < 1e-9);
        assert!((slowdown(Objective::Total, 0.5) - 1.5).abs() < 1e-9);
    }
}
