//! The time of one decision, by form and by the size of the model.
//!
//! A line a form: nanoseconds that every decision takes, and nanoseconds for each part of the model that it visits. Python's
//! follow minima of 15 repetitions over 400 inputs of five logs (one busy core of an AMD EPYC, 23 November 2026): 3.7 to
//! 9.3 us for one tree, 59 and 65 us for 24 boosted trees of 5 and 18 choices. The others follow 50 ns for one tree and 820 ns
//! for 24 boosted trees of 18 choices in Rust; the model file takes twice that.

use ah_types::DecisionForm;

/// The parts of a model that a decision visits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VisitedParts {
    /// Splits of the readable tree, the mean over the inputs that it was learned from.
    pub splits: f64,
    /// Derived features that are computed, the mean over these inputs; beside boosted trees all that any tree tests.
    pub derived: f64,
    /// Boosted trees.
    pub boosters: f64,
    /// Numbers that the rows of boosted trees add: trees times choices.
    pub row_numbers: f64,
}

/// Nanoseconds of a decision.
struct Nanoseconds {
    call: f64,
    split: f64,
    derived: f64,
    booster: f64,
    row_number: f64,
}

const RUST: Nanoseconds =
    Nanoseconds { call: 20.0, split: 3.0, derived: 4.0, booster: 20.0, row_number: 0.5 };
const C: Nanoseconds = Nanoseconds { call: 20.0, split: 3.0, derived: 4.0, booster: 20.0, row_number: 0.5 };
const PYTHON: Nanoseconds =
    Nanoseconds { call: 1200.0, split: 100.0, derived: 300.0, booster: 1500.0, row_number: 60.0 };
const MODEL_FILE: Nanoseconds =
    Nanoseconds { call: 60.0, split: 6.0, derived: 15.0, booster: 40.0, row_number: 1.0 };

/// Returns the milliseconds of a decision. PyTorch decides while a model compiles, so a run does not wait for it. A model
/// of one leaf without boosted trees needs no decision: a program names that choice.
pub fn milliseconds(form: DecisionForm, parts: &VisitedParts) -> f64 {
    let ns = match form {
        DecisionForm::Rust => RUST,
        DecisionForm::C => C,
        DecisionForm::Python => PYTHON,
        DecisionForm::ModelFile => MODEL_FILE,
        DecisionForm::Pytorch => return 0.0,
    };
    if parts.splits == 0.0 && parts.boosters == 0.0 {
        return 0.0;
    }
    let VisitedParts { splits, derived, boosters, row_numbers } = parts;
    1e-6 * (ns.call
        + ns.split * splits
        + ns.derived * derived
        + ns.booster * boosters
        + ns.row_number * row_numbers)
}
