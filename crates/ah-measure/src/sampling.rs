//! The seeded sequence of inputs. Input i depends only on the seed and on i, so an interrupted run, a
//! second machine and another number of workers all use the same sequence.

use ah_model::math::{exp, ln};
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, RngCore as _};

/// The generator of all random draws: PCG64, the same on every platform.
pub type Rng = rand_pcg::Pcg64;

/// The place of an input in all random draws: the seed of a run, and the position in its sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Seed(pub u64, pub u64);

impl Seed {
    /// The generator of this input: each input has a stream of its own.
    pub fn rng(self) -> Rng {
        let mut rng = Rng::new(u128::from(self.0), u128::from(self.1));
        // Neighbouring streams of an LCG begin with similar numbers.
        for _ in 0..4 {
            rng.next_u64();
        }
        rng
    }
}

/// A whole number from `low` to `high`, both included, each octave as likely as any other.
///
/// # Panics
/// If `low` is 0 or above `high`.
pub fn log_uniform(rng: &mut Rng, low: u64, high: u64) -> u64 {
    assert!(0 < low && low <= high, "an empty range: {low} to {high}");
    let a = ln(low as f64);
    let b = ln(high as f64 + 1.0);
    (exp(rng.random_range(a..b)) as u64).clamp(low, high)
}

/// True with this probability.
pub fn flag(rng: &mut Rng, probability: f64) -> bool {
    rng.random_bool(probability)
}

/// One of `items`, each as likely as any other.
///
/// # Panics
/// If there are none.
pub fn pick<'a, T>(rng: &mut Rng, items: &'a [T]) -> &'a T {
    items.choose(rng).expect("at least one item to pick from")
}

/// A dimension from `low` to `high` like those of real programs: log-uniform, and with probability
/// `rounded` rounded to a multiple of 8, 16, 32, 64 or 128.
pub fn dimension(rng: &mut Rng, low: u64, high: u64, rounded: f64) -> u64 {
    let size = log_uniform(rng, low, high);
    if !flag(rng, rounded) {
        return size;
    }
    let unit = *pick(rng, &[8, 16, 32, 64, 128]);
    let round = (size + unit / 2) / unit * unit;
    if (low..=high).contains(&round) { round } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_i_depends_on_seed_and_i_alone() {
        let draw = |seed, index| Seed(seed, index).rng().next_u64();
        assert_eq!(draw(7, 3), draw(7, 3));
        let mut all: Vec<u64> = (0..100).flat_map(|i| [draw(7, i), draw(8, i)]).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 200);
    }

    #[test]
    fn octaves_are_equally_likely() {
        let mut octaves = [0_u32; 8];
        for i in 0..8000 {
            let x = log_uniform(&mut Seed(1, i).rng(), 1, 255);
            octaves[x.ilog2() as usize] += 1;
        }
        assert!(octaves.iter().all(|n| (850..1150).contains(n)), "{octaves:?}");
    }

    #[test]
    fn the_ends_of_a_range_are_drawn() {
        let draws: Vec<u64> = (0..200).map(|i| log_uniform(&mut Seed(2, i).rng(), 3, 5)).collect();
        assert!(draws.iter().all(|x| (3..=5).contains(x)));
        assert!(draws.contains(&3) && draws.contains(&5));
        assert_eq!(log_uniform(&mut Seed(2, 0).rng(), 9, 9), 9);
    }
}
