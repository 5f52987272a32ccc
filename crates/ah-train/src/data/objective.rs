//! The objective: what a choice costs on an input, and how much the input counts.

use ah_types::Objective;

/// The costs of one log: those of an objective, with the log's time limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pricing {
    /// The objective.
    pub objective: Objective,
    /// The time limit in milliseconds: a time of the limit or more is a time-out.
    pub timeout: Option<f64>,
}

impl Pricing {
    /// Returns the cost of a choice of this time, which is infinite if it failed, where the best one takes `best`.
    pub fn cost(&self, time: f64, best: f64) -> f64 {
        match (self.objective, self.timeout) {
            (Objective::Geomean, _) => (time / best).ln(),
            // A failure takes the limit.
            (Objective::Total, Some(limit)) if time.is_infinite() => (limit / best - 1.0).max(0.0),
            (Objective::Total, _) => time / best - 1.0,
        }
    }

    /// Returns how much an input counts whose best choice takes `best`: beside `--weights`, and in any unit.
    pub fn weight(&self, best: f64) -> f64 {
        match self.objective {
            Objective::Total => best,
            Objective::Geomean => 1.0,
        }
    }

    /// Returns the greatest cost that is learned from. Being ten times slower is as bad as it gets, and as bad as failing.
    pub fn greatest(&self) -> f64 {
        match self.objective {
            Objective::Geomean => 2.3,
            Objective::Total => 9.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_and_timeouts_count_as_the_objective_says() {
        let [geomean, total] = [Objective::Geomean, Objective::Total]
            .map(|objective| Pricing { objective, timeout: Some(100.0) });
        // 50 against 2, the limit, and a failure.
        assert_eq!(
            [50.0, 100.0, f64::INFINITY].map(|t| geomean.cost(t, 2.0)),
            [25_f64.ln(), 50_f64.ln(), f64::INFINITY]
        );
        assert_eq!([50.0, 100.0, f64::INFINITY].map(|t| total.cost(t, 2.0)), [24.0, 49.0, 49.0]);
    }
}
