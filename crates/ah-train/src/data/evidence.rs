//! How many inputs prove something. Fewer may be corrupt rows.

/// The least share of the inputs.
const LEAST_SHARE: f64 = 0.001;
/// The least number of inputs: a single one proves nothing.
const LEAST_INPUTS: usize = 2;

/// Returns how many inputs, of so many, prove something.
pub fn least(inputs: usize) -> usize {
    ((inputs as f64 * LEAST_SHARE).ceil() as usize).max(LEAST_INPUTS).min(inputs)
}
