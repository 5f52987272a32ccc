//! The choices of `softmax`: `y = exp(x − max x) / Σ exp(x − max x)` for every row.
//!
//! | loop | reads of the row from memory | exponentials an element |
//! | --- | --- | --- |
//! | `plain` | input, input, output | 1 |
//! | `online` | input, input | 2, and one more where the maximum grows |
//! | `persistent` | input | 1; the row stays in a buffer |
//!
//! `plain` is the loop that a user would write, and the fallback. `online` is the one-pass normaliser of Milakov and
//! Gimelshein (arXiv 1805.02867). As in PyTorch, a row that holds a NaN or +∞, or only −∞, becomes NaN. Sums are in f64: a
//! long row would lose digits in one running f32.

use rayon::prelude::*;

use super::mm::Threads;

/// The passes over a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Form {
    Plain,
    Online,
    Persistent,
}

/// A choice of `softmax`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Softmax {
    form: Form,
    threads: Threads,
}

impl Softmax {
    /// Every choice, in a fixed order; the first is the fallback.
    pub fn choices() -> Vec<Self> {
        let forms = [Form::Plain, Form::Online, Form::Persistent].into_iter();
        forms.flat_map(|form| [Threads::One, Threads::All].map(|threads| Self { form, threads })).collect()
    }

    /// The stable name, for example `online_threads=all`.
    pub fn name(&self) -> String {
        format!("{:?}_threads={}", self.form, self.threads.name()).to_lowercase()
    }

    /// Writes the softmax of each row of `input` to `output`. Both have rows of `cols` elements.
    ///
    /// # Panics
    /// If the slices have different lengths, or a part of a row.
    pub fn run(self, input: &[f32], cols: usize, output: &mut [f32]) {
        if input.is_empty() && output.is_empty() {
            return;
        }
        assert_eq!((input.len() % cols, output.len()), (0, input.len()), "whole rows of {cols} elements");
        let some_rows = |(input, output): (&[f32], &mut [f32])| {
            let mut buffer = Vec::new();
            for (x, y) in input.chunks_exact(cols).zip(output.chunks_exact_mut(cols)) {
                match self.form {
                    Form::Plain => plain(x, y),
                    Form::Online => online(x, y),
                    Form::Persistent => persistent(x, y, &mut buffer),
                }
            }
        };
        match self.threads {
            Threads::One => some_rows((input, output)),
            Threads::All => {
                let part = (input.len() / cols).div_ceil(rayon::current_num_threads()) * cols;
                input.par_chunks(part).zip(output.par_chunks_mut(part)).for_each(some_rows);
            }
        }
    }
}

fn maximum(x: &[f32]) -> f32 {
    x.iter().copied().fold(f32::NEG_INFINITY, f32::max)
}

/// Writes `exp(x − max)` to `y` and returns its sum.
fn exponentials(x: &[f32], max: f32, y: &mut [f32]) -> f64 {
    let mut sum = 0.0;
    for (y, x) in y.iter_mut().zip(x) {
        *y = (x - max).exp();
        sum += f64::from(*y);
    }
    sum
}

fn plain(x: &[f32], y: &mut [f32]) {
    let sum = exponentials(x, maximum(x), y);
    let factor = (1.0 / sum) as f32;
    y.iter_mut().for_each(|y| *y *= factor);
}

fn online(x: &[f32], y: &mut [f32]) {
    let (mut max, mut sum) = (f32::NEG_INFINITY, 0.0);
    for &x in x {
        if x > max {
            sum *= f64::from((max - x).exp());
            max = x;
        }
        // −∞ adds nothing, also where nothing greater came before.
        if x != f32::NEG_INFINITY {
            sum += f64::from((x - max).exp());
        }
    }
    let factor = (1.0 / sum) as f32;
    for (y, x) in y.iter_mut().zip(x) {
        *y = (x - max).exp() * factor;
    }
}

fn persistent(x: &[f32], y: &mut [f32], row: &mut Vec<f32>) {
    row.resize(x.len(), 0.0);
    let sum = exponentials(x, maximum(x), row);
    let factor = (1.0 / sum) as f32;
    y.iter_mut().zip(row).for_each(|(y, exp)| *y = *exp * factor);
}

#[cfg(test)]
mod tests {
    use super::super::reference;
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn every_choice_agrees_with_the_reference(
            input in prop::collection::vec(-90.0_f32..90.0, 1..600), cols in 1_usize..200,
        ) {
            let cols = cols.min(input.len());
            let rows = input.len() / cols;
            let input = &input[..rows * cols];
            let expected = reference::softmax(input, cols);
            for choice in Softmax::choices() {
                let mut output = vec![f32::NAN; input.len()];
                choice.run(input, cols, &mut output);
                let error = reference::relative_error(&output, &expected);
                prop_assert!(error < 1e-6, "{}: {rows}×{cols}: {error}", choice.name());
            }
        }
    }

    #[test]
    fn infinities_and_nan_behave_as_in_pytorch() {
        for choice in Softmax::choices() {
            for cols in [3, 8, 37] {
                let mut row = vec![f32::NEG_INFINITY; cols];
                let mut output = vec![0.0; cols];
                choice.run(&row, cols, &mut output);
                assert!(output.iter().all(|x| x.is_nan()), "{}: all −∞", choice.name());
                row[cols - 1] = 2.0;
                choice.run(&row, cols, &mut output);
                assert_eq!((output[0], output[cols - 1]), (0.0, 1.0), "{}", choice.name());
                for poison in [f32::NAN, f32::INFINITY] {
                    row[0] = poison;
                    choice.run(&row, cols, &mut output);
                    assert!(output.iter().any(|x| x.is_nan()), "{}: {poison}", choice.name());
                }
            }
        }
    }

    #[test]
    fn names_are_unique() {
        let names: HashSet<String> = Softmax::choices().iter().map(Softmax::name).collect();
        assert_eq!(names.len(), Softmax::choices().len());
        assert_eq!(Softmax::choices()[0].name(), "plain_threads=1");
    }
}
