//! The time of one decision, by form and by the size of the model.
//!
//! A line a form: nanoseconds that every decision takes, and nanoseconds for each part of the model that it visits.
//! `scripts/decision_time.py` fits them to nine models of the logs under `data/` (one core of a Xeon at 2.8 GHz, 23 November 2026; with
//! other work on the second one, the last two parts with none) and prints them. There, one tree takes 24 to 69 ns in Rust and 1.5 to
//! 4.7 us in Python, 24 boosted trees of 41 and 49 choices 0.2 and 0.3 us in Rust and 12 and 22 us in Python.

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
    Nanoseconds { call: 0.3, split: 10.3, derived: 0.0, booster: 0.0, row_number: 0.14 };
const C: Nanoseconds = Nanoseconds { call: 0.3, split: 8.6, derived: 0.0, booster: 7.9, row_number: 0.43 };
const PYTHON: Nanoseconds =
    Nanoseconds { call: 188.9, split: 256.5, derived: 602.9, booster: 46.0, row_number: 7.1 };
const MODEL_FILE: Nanoseconds =
    Nanoseconds { call: 70.3, split: 0.0, derived: 19.3, booster: 0.0, row_number: 0.25 };

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
