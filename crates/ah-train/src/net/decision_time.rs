//! The time of one decision, by form and by the size of the model.
//!
//! A line a form: nanoseconds that every decision takes, and nanoseconds for each part of the model that it visits.
//! `scripts/decision_time.py` fits them to nine models of the logs under `data/` (the less of two runs on one core of a Xeon at
//! 2.8 GHz with nothing else running, 23 November 2026) and prints them. There, one tree takes 20 to 29 ns in Rust and 1.2 to 4.3 us
//! in Python, 24 boosted trees of 41 and 49 choices 0.2 and 0.3 us in Rust and 11 and 15 us in Python.

use ah_types::Target;

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
    Nanoseconds { call: 17.5, split: 1.2, derived: 1.0, booster: 0.0, row_number: 0.17 };
const C: Nanoseconds = Nanoseconds { call: 22.2, split: 2.3, derived: 0.0, booster: 11.1, row_number: 0.40 };
const PYTHON: Nanoseconds =
    Nanoseconds { call: 1128.9, split: 78.0, derived: 14.5, booster: 36.4, row_number: 9.0 };
const MODEL_FILE: Nanoseconds =
    Nanoseconds { call: 70.2, split: 0.0, derived: 19.2, booster: 0.0, row_number: 0.22 };

/// Returns the milliseconds of a decision. Targets that ask once wait for nothing. A model
/// of one leaf without boosted trees needs no decision: a program names that choice.
pub fn milliseconds(form: Target, parts: &VisitedParts) -> f64 {
    let ns = match form {
        Target::Rust => RUST,
        Target::C => C,
        Target::Python => PYTHON,
        Target::ModelFile => MODEL_FILE,
        _ => return 0.0,
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
