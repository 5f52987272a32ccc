//! The objective: what a choice costs on an input, and how much the input counts.

use ah_types::Objective;

use crate::error::TrainError;

/// A failure or a time-out counts as this many time limits, in a mean of penalised times (PAR10).
pub const PENALTY: f64 = 10.0;

/// The costs of one log: those of an objective, with the log's time limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pricing {
    /// The objective.
    pub objective: Objective,
    /// The time limit in milliseconds: a time of the limit or more is a time-out.
    pub timeout: Option<f64>,
}

impl Pricing {
    /// Returns the costs of this objective for a log with this time limit.
    ///
    /// # Errors
    /// [`TrainError::Parameter`] if the objective needs a limit and the log has none.
    pub fn new(objective: Objective, timeout: Option<f64>) -> Result<Self, TrainError> {
        if objective == Objective::Par10 && timeout.is_none() {
            return Err(TrainError::parameter(
                "--objective",
                "a time limit beside par10: \"timeout_ms\" under \"autoheuristic_rs\" in the log's first line",
                "par10 and a log without a limit",
            ));
        }
        Ok(Self { objective, timeout })
    }

    /// Returns the cost of a choice of this time, which is infinite if it failed, where the best one takes `best`.
    pub fn cost(&self, time: f64, best: f64) -> f64 {
        match (self.objective, self.timeout) {
            (Objective::Geomean, _) => (time / best).ln(),
            // A failure takes the limit.
            (Objective::Total, Some(limit)) if time.is_infinite() => (limit / best - 1.0).max(0.0),
            (Objective::Total, _) => time / best - 1.0,
            (Objective::Par10, _) => self.share_of_penalty(time) - self.share_of_penalty(best),
        }
    }

    /// Returns a time as PAR10 counts it, over that of a time-out.
    pub fn share_of_penalty(&self, time: f64) -> f64 {
        self.penalised(time) / (PENALTY * self.timeout.unwrap_or(f64::INFINITY))
    }

    /// Returns a time as PAR10 counts it.
    pub fn penalised(&self, time: f64) -> f64 {
        match self.timeout {
            Some(limit) if time >= limit => PENALTY * limit,
            _ => time,
        }
    }

    /// Returns how much an input counts whose best choice takes `best`: beside `--weights`, and in any unit.
    pub fn weight(&self, best: f64) -> f64 {
        match self.objective {
            Objective::Total => best,
            Objective::Geomean | Objective::Par10 => 1.0,
        }
    }

    /// Returns the greatest cost that is learned from. Being ten times slower is as bad as it gets, and as bad as failing.
    pub fn greatest(&self) -> f64 {
        match self.objective {
            Objective::Geomean => 2.3,
            Objective::Total => 9.0,
            Objective::Par10 => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [Objective; 3] = [Objective::Geomean, Objective::Total, Objective::Par10];

    #[test]
    fn failures_and_timeouts_count_as_the_objective_says() {
        let [geomean, total, par10] = NAMES.map(|objective| Pricing::new(objective, Some(100.0)).unwrap());
        // 50 against 2, the limit, and a failure.
        assert_eq!(
            [50.0, 100.0, f64::INFINITY].map(|t| geomean.cost(t, 2.0)),
            [25_f64.ln(), 50_f64.ln(), f64::INFINITY]
        );
        assert_eq!([50.0, 100.0, f64::INFINITY].map(|t| total.cost(t, 2.0)), [24.0, 49.0, 49.0]);
        assert_eq!([50.0, 100.0, f64::INFINITY].map(|t| par10.cost(t, 2.0)), [0.048, 0.998, 0.998]);
        // Where every choice times out, all cost alike.
        assert_eq!(par10.cost(f64::INFINITY, 100.0), 0.0);
    }

    #[test]
    fn the_best_choice_costs_nothing_and_par10_needs_a_limit() {
        for objective in NAMES {
            assert_eq!(Pricing { objective, timeout: Some(9.0) }.cost(3.0, 3.0), 0.0);
        }
        assert!(Pricing::new(Objective::Par10, None).unwrap_err().to_string().contains("timeout_ms"));
        assert!(Pricing::new(Objective::Total, None).is_ok());
    }
}
