//! The errors of estimates, to judge by.
//!
//! An estimate is smoother than a measured time. So the best of hundreds of estimates is slower than the best of as many measured
//! times would be, and a heuristic that is judged by estimates looks better than it is: of 32 random cells for each of 647 shapes
//! of an H100's log, estimates said 1.029 where the dense log shows 1.072 on the same shapes. So each estimate that judges has an
//! error, drawn from those of the measured times.

use ah_types::random;

/// Bounds of the predicted log slowdown: choices between two of them err alike.
const BOUNDS: [f64; 4] = [0.05, 0.1, 0.2, 0.4];
/// This share of the errors, at either end, is cut to the next one. Some are glitches of a single time, which a draw would repeat
/// on every input: uncut, the best of planned cells comes out 2.2 % too fast, cut 0.2 % (docs/laboratory.md).
const CUT: f64 = 0.02;

/// The errors of the measured times, in log time, by predicted log slowdown.
pub struct Errors {
    /// Each ascending.
    classes: [Vec<f64>; BOUNDS.len() + 1],
}

impl Errors {
    /// Collects pairs of a predicted log slowdown and an error.
    pub fn new(measured: impl Iterator<Item = (f64, f64)>) -> Self {
        let mut classes = <[Vec<f64>; BOUNDS.len() + 1]>::default();
        measured.for_each(|(slowdown, error)| classes[class(slowdown)].push(error));
        for errors in &mut classes {
            errors.sort_unstable_by(f64::total_cmp);
            let cut = (errors.len() as f64 * CUT) as usize;
            let last = errors.len().saturating_sub(1 + cut);
            if let (Some(&least), Some(&most)) = (errors.get(cut), errors.get(last)) {
                errors.iter_mut().for_each(|error| *error = error.clamp(least, most));
            }
        }
        Self { classes }
    }

    /// Draws the error of a choice with this predicted log slowdown; 0 where no time was measured.
    pub fn draw(&self, slowdown: f64, seed: u64) -> f64 {
        let errors = &self.classes[class(slowdown)];
        let at = (random::fraction(seed, 0) * errors.len() as f64) as usize;
        errors.get(at).copied().unwrap_or(0.0)
    }
}

fn class(slowdown: f64) -> usize {
    BOUNDS.partition_point(|bound| *bound <= slowdown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_drawn_from_their_class_without_its_ends() {
        let near = (0..100).map(|at| (0.04, f64::from(at - 50) / 100.0));
        let errors = Errors::new(near.chain([(0.15, -1.0), (0.19, 1.0)]));
        let draws: Vec<f64> = (0..2000).map(|seed| errors.draw(0.01, seed)).collect();
        let (least, most) = draws.iter().fold((0.0_f64, 0.0_f64), |(a, b), x| (a.min(*x), b.max(*x)));
        assert_eq!((least, most), (-0.48, 0.47));
        assert!((0..64).all(|seed| errors.draw(0.1, seed).abs() == 1.0));
        assert_eq!(errors.draw(9.0, 0), 0.0);
    }
}
