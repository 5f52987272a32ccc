//! The share of inputs that an adapted model promises.

use crate::params::PromiseMode;
use crate::promise::calibrate;

/// The mode of every adaptation: new inputs are too few to hold whole shapes out.
pub const MODE: PromiseMode = PromiseMode::CrossFitted;
/// The shares to promise where none is asked for, ascending.
const SHARES: [f64; 5] = [0.01, 0.02, 0.05, 0.1, 0.2];
/// A share is promised if this many violations would still pass its test. A test without room ends at the first violation,
/// and the heuristic then declines often.
const ROOM: u64 = 2;

/// Returns the share to promise: the asked one, or else the first of `wanted` and the looser [shares](SHARES) for which so many
/// inputs leave [`ROOM`]; `wanted` if they are too few for all of these. The number of inputs alone decides, so that their
/// times cannot bend the promise.
pub fn share(asked: Option<f64>, wanted: Option<f64>, inputs: usize) -> Option<f64> {
    let has_room = |share: &f64| calibrate::passes(MODE.test(*share), inputs, ROOM);
    asked.or_else(|| {
        let wanted = wanted?;
        let looser = SHARES.into_iter().filter(|share| *share > wanted);
        Some(std::iter::once(wanted).chain(looser).find(has_room).unwrap_or(wanted))
    })
}

/// Returns the number of inputs from which on `share` is promised without being asked for.
pub fn inputs_for(share: f64) -> usize {
    (1..).find(|&inputs| calibrate::passes(MODE.test(share), inputs, ROOM)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_inputs_decides_the_share() {
        let shares = [1000, 400, 200, 100, 40, 20].map(|inputs| share(None, Some(0.01), inputs));
        assert_eq!(shares, [0.01, 0.02, 0.05, 0.1, 0.2, 0.01].map(Some));
        assert_eq!(share(None, Some(0.03), 1000), Some(0.03));
        assert_eq!(share(Some(0.01), Some(0.05), 20), Some(0.01));
        assert_eq!(share(None, None, 1000), None);
        let least = inputs_for(0.01);
        assert_eq!([least, least - 1].map(|n| share(None, Some(0.01), n)), [Some(0.01), Some(0.02)]);
    }
}
