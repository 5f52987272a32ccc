//! The numbers of rows by which splits are sought: one for each choice, or where choices are many random projections of them
//! (Iosipoi and Vakhrushev, "SketchBoost: fast gradient boosted decision tree for multioutput problems", 2022).

use ah_joint::growth::Sample;
use ah_types::random;
use rayon::prelude::*;

/// Most numbers of a row. With 8, mm_a100 loses 1.0078 instead of 1.0069 (docs/laboratory.md).
const MOST: usize = 64;

/// Returns rows of (choice, number) as a sample. A choice without a number has 0. `seed` draws the projections.
pub(super) fn sample<R: IntoIterator<Item = (u32, f64)>>(
    rows: impl IndexedParallelIterator<Item = R>,
    choices: usize,
    weights: &[u32],
    seed: u64,
) -> Sample {
    let outputs = choices.min(MOST);
    Sample::new(outputs, &numbers(rows, choices, outputs, seed), weights)
}

/// Returns `outputs` numbers for each row.
fn numbers<R: IntoIterator<Item = (u32, f64)>>(
    rows: impl IndexedParallelIterator<Item = R>,
    choices: usize,
    outputs: usize,
    seed: u64,
) -> Vec<f32> {
    let mut numbers = vec![0.0; rows.len() * outputs];
    let signs: Vec<f32> = match choices > outputs {
        true => (0..choices * outputs).map(|at| sign(seed, at)).collect(),
        false => Vec::new(),
    };
    numbers.par_chunks_exact_mut(outputs.max(1)).zip(rows).for_each(|(numbers, row)| {
        for (choice, number) in row {
            match signs.chunks_exact(outputs).nth(choice as usize) {
                Some(signs) => numbers.iter_mut().zip(signs).for_each(|(x, sign)| *x += number as f32 * sign),
                None => numbers[choice as usize] = number as f32,
            }
        }
    });
    numbers
}

/// Draws 1 or -1: signs project as well as normal numbers (Achlioptas, "Database-friendly random projections", 2003).
fn sign(seed: u64, at: usize) -> f32 {
    if random::mix(seed, at as u64) & 1 == 1 { 1.0 } else { -1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_choices_are_taken_as_they_are() {
        let rows = [vec![(0, 0.5), (2, -1.0)], vec![(1, 0.25)]];
        assert_eq!(numbers(rows.into_par_iter(), 3, 3, 7), [0.5, 0.0, -1.0, 0.0, 0.25, 0.0]);
    }

    #[test]
    fn projections_keep_the_ratio_of_distances() {
        // Row 1 is 3 times as long as row 0, in other directions.
        let row = |length: f64, odd: u32| -> Vec<(u32, f64)> {
            (0..40).filter(|choice| choice % 2 == odd).map(|choice| (choice, length)).collect()
        };
        let mut squares = [0.0; 2];
        for seed in 0..400 {
            let rows = [row(1.0, 0), row(3.0, 1)];
            let numbers = numbers(rows.into_par_iter(), 40, 8, seed);
            let length = |row: &[f32]| row.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>();
            (0..2).for_each(|row| squares[row] += length(&numbers[row * 8..][..8]));
        }
        let ratio = squares[1] / squares[0];
        assert!((7.0..11.0).contains(&ratio), "{ratio}");
    }
}
