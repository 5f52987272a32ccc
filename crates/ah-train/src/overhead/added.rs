//! The time that asking a model adds to a run.

use ah_model::ChoiceId;
use serde::Serialize;

use crate::data::Table;

/// The time that asking a model adds to a run, declined ones too.
///
/// On a CPU the program computes the features, decides, and then runs the choice: the times add up. A GPU works
/// asynchronously: the host prepares the next launch while the device still runs, so only the longer of the two counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Overhead {
    /// Milliseconds of the decision and of the features.
    pub ms: f64,
    /// True if the device runs while the host decides.
    pub overlaps: bool,
}

impl Overhead {
    /// The time of a run with the decision.
    pub fn net(&self, time: f64) -> f64 {
        if self.overlaps { time.max(self.ms) } else { time + self.ms }
    }

    /// The objective's cost of taking `choice`, with the decision, as it is learned: at most the greatest that counts, so that
    /// no single input decides a mean.
    pub fn cost(&self, table: &Table, input: u32, choice: ChoiceId, fallback: ChoiceId) -> f64 {
        let time = self.net(table.time(input, choice, fallback));
        let cost = table.objective.cost(time, table.inputs[input as usize].best) / table.raised(input);
        cost.min(table.objective.greatest_cost())
    }

    /// The cost that asking adds to the best choice, as it is learned.
    pub fn added(&self, table: &Table, input: u32) -> f64 {
        let best = table.inputs[input as usize].best;
        table.objective.cost(self.net(best), best) / table.raised(input)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_waits_and_a_gpu_works_meanwhile() {
        let cpu = Overhead { ms: 0.5, overlaps: false };
        let gpu = Overhead { ms: 0.5, overlaps: true };
        assert_eq!([cpu.net(1.0), gpu.net(1.0), gpu.net(0.25)], [1.5, 1.0, 0.5]);
        assert_eq!(Overhead::default().net(0.1), 0.1);
    }
}
