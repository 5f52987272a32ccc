//! The number of inputs that a fact about a log needs; fewer may be corrupt rows.

/// The least share of the inputs.
const LEAST_SHARE: f64 = 0.001;
/// The least number of inputs: a single one may be a corrupt row.
const LEAST_INPUTS: usize = 2;

/// Returns the number of inputs that are enough, out of all inputs of a log.
pub fn least(inputs: usize) -> usize {
    ((inputs as f64 * LEAST_SHARE).ceil() as usize).max(LEAST_INPUTS).min(inputs)
}
