//! The time that asking a model adds to a run.

use serde::Serialize;

/// The time that asking a model adds to every run, declined ones too.
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
    /// Returns the time of a run with the decision.
    pub fn net(&self, time: f64) -> f64 {
        if self.overlaps { time.max(self.ms) } else { time + self.ms }
    }

    /// Returns the log slowdown with the decision, of a choice that has this one on an input with this best time.
    pub fn net_loss(&self, best: f64, log_slowdown: f64) -> f64 {
        // Exact where nothing is added.
        if self.ms > 0.0 { (self.net(best * log_slowdown.exp()) / best).ln() } else { log_slowdown }
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
        assert_eq!(cpu.net_loss(1.0, 0.0), 1.5_f64.ln());
        assert_eq!(Overhead::default().net_loss(1.0, 0.1), 0.1);
    }
}
