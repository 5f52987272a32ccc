//! The choices of `softmax`: `y = exp(x − max x) / Σ exp(x − max x)` for every row.
//!
//! | form | reads of the row from memory | exponentials an element |
//! | --- | --- | --- |
//! | `plain` | input, input, output | 1, by the C library's `expf` |
//! | `three_pass` | input, input, output | 1 |
//! | `online` | input, input | 2, and some more to rescale the running sum when the maximum grows |
//! | `persistent` | input | 1; the row stays in a buffer |
//!
//! `online` is the one-pass normaliser of Milakov and Gimelshein (arXiv 1805.02867), with one rescaling for each
//! block of vectors. The fastest form depends on whether a row fits the caches and on the cost of an
//! exponential in this instruction set.
//!
//! `plain` is the loop that a user would write. It is the fallback, and wins on rows shorter than a vector.
//!
//! As in PyTorch, a row that holds a NaN or +∞, or only −∞, becomes NaN.

use super::error::KernelError;
use super::exp::exp_non_positive;
use super::instruction_set::InstructionSet;
use super::scratch::AlignedBuffer;
use super::threads::Threads;
use pulp::{Simd, WithSimd};
use rayon::prelude::*;

/// The passes over a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Form {
    Plain,
    ThreePass,
    Online,
    Persistent,
}

/// A choice of `softmax`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Softmax {
    form: Form,
    set: InstructionSet,
    threads: Threads,
}

impl Softmax {
    /// Returns every choice, whether this processor can run it or not, in a fixed order.
    pub fn choices() -> Vec<Self> {
        let plain = |threads| Self { form: Form::Plain, set: InstructionSet::Portable, threads };
        let mut choices = vec![plain(Threads::One), plain(Threads::All)];
        for form in [Form::ThreePass, Form::Online, Form::Persistent] {
            for set in InstructionSet::ALL {
                for threads in [Threads::One, Threads::All] {
                    choices.push(Self { form, set, threads });
                }
            }
        }
        choices
    }

    /// Returns the plain loop on one thread: it runs everywhere.
    pub fn fallback() -> Self {
        Self { form: Form::Plain, set: InstructionSet::Portable, threads: Threads::One }
    }

    /// Returns the stable name, for example `online_avx2_threads=all`.
    pub fn name(&self) -> String {
        let form = match self.form {
            Form::Plain => return format!("plain_threads={}", self.threads.name()),
            Form::ThreePass => "three_pass",
            Form::Online => "online",
            Form::Persistent => "persistent",
        };
        format!("{form}_{}_threads={}", self.set.name(), self.threads.name())
    }

    /// Checks that this processor can run the choice.
    pub fn available(&self) -> Result<(), String> {
        self.set.available()
    }

    /// Writes the softmax of each row of `input` to `output`. Both have `rows` rows of `cols` elements.
    pub fn run(
        &self,
        input: &[f32],
        rows: usize,
        cols: usize,
        output: &mut [f32],
    ) -> Result<(), KernelError> {
        let fits = rows.checked_mul(cols).is_some_and(|n| input.len() == n && output.len() == n);
        if !fits {
            return Err(KernelError::ShapeMismatch {
                expected: format!("input and output of {rows}×{cols} elements"),
                found: format!("{} and {}", input.len(), output.len()),
            });
        }
        self.available().map_err(|reason| KernelError::Unavailable { choice: self.name(), reason })?;
        if input.is_empty() {
            return Ok(());
        }
        let threads = self.threads.count().min(rows);
        let part = rows.div_ceil(threads) * cols;
        let run = |(input, output): (&[f32], &mut [f32])| {
            self.set.run(Rows { form: self.form, input, output, cols })
        };
        if threads == 1 {
            run((input, output))
        } else {
            input.par_chunks(part).zip(output.par_chunks_mut(part)).try_for_each(run)
        }
    }
}

/// The rows of one thread.
struct Rows<'a> {
    form: Form,
    input: &'a [f32],
    output: &'a mut [f32],
    cols: usize,
}

impl WithSimd for Rows<'_> {
    type Output = Result<(), KernelError>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) -> Self::Output {
        let mut buffer = AlignedBuffer::default();
        let rows = self.input.chunks_exact(self.cols).zip(self.output.chunks_exact_mut(self.cols));
        for (x, y) in rows {
            match self.form {
                Form::Plain => plain(x, y),
                Form::ThreePass => three_pass(s, x, y),
                Form::Online => online(s, x, y),
                Form::Persistent => persistent(s, x, y, buffer.take(Some(self.cols))?),
            }
        }
        Ok(())
    }
}

fn plain(x: &[f32], y: &mut [f32]) {
    let max = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    // In f64: a long row would lose digits in one running f32.
    let mut sum = 0.0;
    for (y, x) in y.iter_mut().zip(x) {
        *y = (x - max).exp();
        sum += f64::from(*y);
    }
    let factor = (1.0 / sum) as f32;
    for y in y {
        *y *= factor;
    }
}

/// Independent accumulators: a vector addition takes four cycles, and two start in each cycle.
const UNROLL: usize = 8;

#[inline(always)]
fn three_pass<S: Simd>(s: S, x: &[f32], y: &mut [f32]) {
    let max = maximum(s, x);
    let sum = exponentials(s, x, y, max);
    scale(s, y, 1.0 / sum);
}

#[inline(always)]
fn persistent<S: Simd>(s: S, x: &[f32], y: &mut [f32], row: &mut [f32]) {
    // The row is read from memory once: the two later passes read the copy.
    row.copy_from_slice(x);
    let max = maximum(s, row);
    let sum = exponentials_in_place(s, row, max);
    scale_into(s, row, y, 1.0 / sum);
}

#[inline(always)]
fn online<S: Simd>(s: S, x: &[f32], y: &mut [f32]) {
    let (vectors, rest) = S::as_simd_f32s(x);
    // The least finite number instead of −∞, because the difference of two infinities is NaN.
    let mut max = s.splat_f32s(f32::MIN);
    let mut sum = s.splat_f32s(0.0);
    let mut blocks = vectors.chunks_exact(UNROLL);
    for block in &mut blocks {
        (max, sum) = add_block(s, block, max, sum);
    }
    for block in blocks.remainder().chunks(1) {
        (max, sum) = add_block(s, block, max, sum);
    }

    let mut total_max = s.reduce_max_f32s(max);
    total_max = rest.iter().fold(total_max, |m, &v| m.max(v));
    let rescale = exp_non_positive(s, s.sub_f32s(max, s.splat_f32s(total_max)));
    let mut total = s.reduce_sum_f32s(s.mul_f32s(sum, rescale));
    for &v in rest {
        total += exp_one(s, v - total_max);
    }

    let factor = 1.0 / total;
    let (outputs, output_rest) = S::as_mut_simd_f32s(y);
    let (m, f) = (s.splat_f32s(total_max), s.splat_f32s(factor));
    for (&v, out) in vectors.iter().zip(outputs) {
        *out = s.mul_f32s(exp_non_positive(s, s.sub_f32s(v, m)), f);
    }
    for (&v, out) in rest.iter().zip(output_rest) {
        *out = exp_one(s, v - total_max) * factor;
    }
}

/// Adds a block of vectors to the running maxima and sums, lane by lane.
#[inline(always)]
fn add_block<S: Simd>(s: S, block: &[S::f32s], max: S::f32s, sum: S::f32s) -> (S::f32s, S::f32s) {
    let mut new = max;
    for &v in block {
        new = s.max_f32s(new, v);
    }
    let mut sum = s.mul_f32s(sum, exp_non_positive(s, s.sub_f32s(max, new)));
    for &v in block {
        sum = s.add_f32s(sum, exp_non_positive(s, s.sub_f32s(v, new)));
    }
    (new, sum)
}

#[inline(always)]
fn exp_one<S: Simd>(s: S, x: f32) -> f32 {
    s.reduce_max_f32s(exp_non_positive(s, s.splat_f32s(x)))
}

#[inline(always)]
fn maximum<S: Simd>(s: S, x: &[f32]) -> f32 {
    let (vectors, rest) = S::as_simd_f32s(x);
    let mut maxima = [s.splat_f32s(f32::NEG_INFINITY); UNROLL];
    let mut blocks = vectors.chunks_exact(UNROLL);
    for block in &mut blocks {
        for (max, &v) in maxima.iter_mut().zip(block) {
            *max = s.max_f32s(*max, v);
        }
    }
    for (max, &v) in maxima.iter_mut().zip(blocks.remainder()) {
        *max = s.max_f32s(*max, v);
    }
    let max = maxima.into_iter().reduce(|a, b| s.max_f32s(a, b));
    let max = max.map_or(f32::NEG_INFINITY, |m| s.reduce_max_f32s(m));
    rest.iter().fold(max, |m, &v| m.max(v))
}

/// Writes `exp(x − max)` to `y` and returns its sum.
#[inline(always)]
fn exponentials<S: Simd>(s: S, x: &[f32], y: &mut [f32], max: f32) -> f32 {
    y.copy_from_slice(x);
    exponentials_in_place(s, y, max)
}

#[inline(always)]
fn exponentials_in_place<S: Simd>(s: S, y: &mut [f32], max: f32) -> f32 {
    let (vectors, rest) = S::as_mut_simd_f32s(y);
    let m = s.splat_f32s(max);
    let mut sum = s.splat_f32s(0.0);
    for v in vectors {
        *v = exp_non_positive(s, s.sub_f32s(*v, m));
        sum = s.add_f32s(sum, *v);
    }
    let mut total = s.reduce_sum_f32s(sum);
    for v in rest {
        *v = exp_one(s, *v - max);
        total += *v;
    }
    total
}

#[inline(always)]
fn scale<S: Simd>(s: S, y: &mut [f32], factor: f32) {
    let (vectors, rest) = S::as_mut_simd_f32s(y);
    let f = s.splat_f32s(factor);
    for v in vectors {
        *v = s.mul_f32s(*v, f);
    }
    for v in rest {
        *v *= factor;
    }
}

#[inline(always)]
fn scale_into<S: Simd>(s: S, x: &[f32], y: &mut [f32], factor: f32) {
    let (from, from_rest) = S::as_simd_f32s(x);
    let (to, to_rest) = S::as_mut_simd_f32s(y);
    let f = s.splat_f32s(factor);
    for (&v, out) in from.iter().zip(to) {
        *out = s.mul_f32s(v, f);
    }
    for (&v, out) in from_rest.iter().zip(to_rest) {
        *out = v * factor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::kernels::reference;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn available() -> impl Iterator<Item = Softmax> {
        Softmax::choices().into_iter().filter(|choice| choice.available().is_ok())
    }

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
            for choice in available() {
                let mut output = vec![7.0; input.len() + 32];
                choice.run(input, rows, cols, &mut output[..input.len()]).unwrap();
                let error = reference::relative_error(&output[..input.len()], &expected);
                prop_assert!(error < 1e-6, "{}: {rows}×{cols}: {error}", choice.name());
                prop_assert!(output[input.len()..].iter().all(|&x| x == 7.0), "{}", choice.name());
            }
        }
    }

    #[test]
    fn infinities_and_nan_behave_as_in_pytorch() {
        for choice in available() {
            for cols in [3, 8, 37] {
                let mut row = vec![f32::NEG_INFINITY; cols];
                let mut output = vec![0.0; cols];
                choice.run(&row, 1, cols, &mut output).unwrap();
                assert!(output.iter().all(|x| x.is_nan()), "{}: all −∞", choice.name());
                row[cols - 1] = 2.0;
                choice.run(&row, 1, cols, &mut output).unwrap();
                assert_eq!((output[0], output[cols - 1]), (0.0, 1.0), "{}", choice.name());
                for poison in [f32::NAN, f32::INFINITY] {
                    row[0] = poison;
                    choice.run(&row, 1, cols, &mut output).unwrap();
                    assert!(output.iter().any(|x| x.is_nan()), "{}: {poison}", choice.name());
                }
            }
        }
    }

    #[test]
    fn slices_that_do_not_fit_are_refused() {
        for choice in available() {
            let mut output = [7.0; 6];
            assert!(choice.run(&[0.0; 5], 2, 3, &mut output).is_err());
            assert!(choice.run(&[0.0; 6], usize::MAX, 2, &mut output).is_err());
            assert_eq!(output, [7.0; 6]);
            assert!(choice.run(&[], 4, 0, &mut []).is_ok());
        }
    }

    #[test]
    fn names_are_unique_and_the_fallback_has_one() {
        let names: HashSet<String> = Softmax::choices().iter().map(Softmax::name).collect();
        assert_eq!(names.len(), Softmax::choices().len());
        assert!(names.contains(&Softmax::fallback().name()));
    }
}
