//! The shares that a number of inputs can promise, and the level at which they are tested.

use super::way::METHODS;
use crate::params::PromiseMode;
use crate::promise::calibrate;

/// The promises to try, ascending; one is possible if it has [`ROOM`]. On 200 inputs of mixed_mm from A100 to H100, the
/// promise of 2 % (no violation passes) decides 81 % and loses 11 %, that of 5 % decides 98 % and loses 4 %.
const TARGETS: [f64; 5] = [0.01, 0.02, 0.05, 0.1, 0.2];
/// A share is possible if this many violations would still pass its test.
const ROOM: u64 = 2;
/// The level that all ways share. New inputs are few, and at 0.05 too many ways pass by chance.
const LEVEL: f64 = 0.02;
/// The mode of every adaptation: new inputs are too few to hold some out.
pub const MODE: PromiseMode = PromiseMode::CrossFitted;

/// Returns the shares to promise with this many inputs, the strictest first: the asked one alone, or else the first of
/// `wanted` and the [usual ones](TARGETS) above it that is possible, and the next looser one; `[None]` if none is possible.
/// They depend on the number of inputs alone, so that their times cannot bend the promise.
///
/// The looser one is tried even where `wanted` is possible, because a test with few violations ends the walk early by
/// chance. On pad_mm from A100 to H200 with 1000 inputs (six draws), 1 % alone lost 0.5 to 8.7 %, with 2 % beside it 0.4 to
/// 0.8 %.
pub fn targets(asked: Option<f64>, wanted: Option<f64>, inputs: usize) -> Vec<Option<f64>> {
    if let Some(asked) = asked {
        return vec![Some(asked).filter(|&asked| passes(asked, inputs, 0, 1))];
    }
    let Some(wanted) = wanted else { return vec![None] };
    let mut shares = std::iter::once(wanted).chain(TARGETS.into_iter().filter(|&target| target > wanted));
    let first = shares.find(|&target| passes(target, inputs, ROOM, 2));
    std::iter::once(first).chain(shares.next().map(Some)).collect()
}

/// Returns the level of each test. The least loss is taken of all ways with all shares, and it favours the way whose
/// violations this sample happens to lack. So all of them share the level. On mm from A100 to the shapes of TIMM, the
/// promise of 5 % broke in 6 of 100 draws when each way had the whole level.
pub fn level(targets: usize) -> f64 {
    LEVEL / (METHODS.len() * targets) as f64
}

/// Returns the number of inputs from which on `target` is taken without being asked for.
pub fn inputs_for(target: f64) -> usize {
    (1..).find(|&inputs| passes(target, inputs, ROOM, 2)).unwrap_or(usize::MAX)
}

/// Returns the loosest share that is promised without being asked for, and the number of inputs from which on it is.
pub fn inputs_for_any(wanted: f64) -> (f64, usize) {
    let loosest = TARGETS.into_iter().fold(wanted, f64::max);
    (loosest, inputs_for(loosest))
}

/// Returns whether a threshold with this many violations passes, where so many shares are tried.
fn passes(target: f64, inputs: usize, violations: u64, targets: usize) -> bool {
    calibrate::passes((MODE.test(target).0, level(targets)), inputs, violations)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_inputs_decides_the_share() {
        let of = |inputs| targets(None, Some(0.01), inputs);
        let shares = [1000, 500, 200, 100, 60, 20].map(of);
        let expected: [&[Option<f64>]; 6] = [
            &[Some(0.01), Some(0.02)],
            &[Some(0.02), Some(0.05)],
            &[Some(0.05), Some(0.1)],
            &[Some(0.1), Some(0.2)],
            &[Some(0.2)],
            &[None],
        ];
        assert_eq!(shares, expected);
        assert_eq!(targets(None, Some(0.03), 1000), [Some(0.03), Some(0.05)]);
        assert_eq!(targets(None, Some(0.2), 1000), [Some(0.2)]);
        assert_eq!(targets(Some(0.01), Some(0.01), 1000), [Some(0.01)]);
        assert_eq!(targets(None, None, 1000), [None]);
        assert_eq!([230, 220].map(|inputs| targets(Some(0.02), None, inputs)[0]), [Some(0.02), None]);
        assert_eq!(inputs_for_any(0.01), (0.2, inputs_for(0.2)));
        assert_eq!([inputs_for(0.01), inputs_for(0.01) - 1].map(|n| of(n)[0]), [Some(0.01), Some(0.02)]);
    }

    #[test]
    fn more_tests_leave_each_less_of_the_level() {
        assert!(level(2) < level(1) && level(1) < LEVEL);
    }
}
