//! The share that a number of inputs can promise.

use statrs::distribution::{Binomial, DiscreteCDF};

use crate::params::PromiseMode;

/// The promises to try, ascending.
const TARGETS: [f64; 5] = [0.01, 0.02, 0.05, 0.1, 0.2];
/// A target is possible if this many violations still pass: a walk that ends at the first one declines nearly
/// everywhere. On 200 inputs of mixed_mm from A100 to H100, the promise of 2 % (no violation passes) decides 81 % and
/// loses 11 %, that of 5 % decides 98 % and loses 4 %.
const ROOM: u64 = 2;
/// The mode of every adaptation: new inputs are too few to hold some out.
pub const MODE: PromiseMode = PromiseMode::CrossFitted;

/// Returns the share to promise with this many inputs: the asked one, else the least from `wanted` on that is
/// possible. It depends on the number of inputs alone, so that their times cannot bend the promise.
pub fn target(asked: Option<f64>, wanted: f64, inputs: usize) -> Option<f64> {
    let others = TARGETS.into_iter().filter(|&target| target > wanted);
    match asked {
        Some(asked) => Some(asked).filter(|&asked| inputs >= MODE.min_inputs(asked)),
        None => std::iter::once(wanted).chain(others).find(|&target| passes(target, inputs)),
    }
}

/// Returns the number of inputs from which on `target` is taken without being asked for.
pub fn inputs_for(target: f64) -> usize {
    (MODE.min_inputs(target)..).find(|&inputs| passes(target, inputs)).unwrap_or(usize::MAX)
}

fn passes(target: f64, inputs: usize) -> bool {
    let (share, level) = MODE.test(target);
    Binomial::new(share, inputs as u64).is_ok_and(|binomial| binomial.cdf(ROOM) <= level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_inputs_decides_the_share() {
        let targets = [1000, 400, 200, 100, 50, 20].map(|inputs| target(None, 0.01, inputs));
        assert_eq!(targets, [Some(0.01), Some(0.02), Some(0.05), Some(0.1), Some(0.2), None]);
        assert_eq!(target(None, 0.03, 1000), Some(0.03));
        assert_eq!([200, 190].map(|inputs| target(Some(0.02), 0.01, inputs)), [Some(0.02), None]);
        assert!(passes(0.01, inputs_for(0.01)) && !passes(0.01, inputs_for(0.01) - 1));
    }
}
