//! The two ends of the margins: what a choice must save by the scores, to be taken.

/// The margin that takes no choice but the fallback. Such a model is a constant: nothing needs to be asked.
pub const NEVER: f64 = f64::INFINITY;
/// The margin that takes every choice, also where the fallback has no score.
pub const ALWAYS: f64 = f64::NEG_INFINITY;
