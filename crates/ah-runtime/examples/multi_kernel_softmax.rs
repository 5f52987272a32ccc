//! A row softmax, `y = exp(x − max x) / Σ exp(x − max x)`, as a [`MultiKernel`]: three passes, two passes or rows kept close, on one
//! thread or on all of this processor.
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
//!
//! `cargo run --release -p ah-runtime --example multi_kernel_softmax` (with `-- --explain`: every pick, and why it was
//! measured)
//!
//! Rows and columns are keyed by bucket, as in a program that meets new sizes all the time. Only some sizes of the
//! stream are measured; the others find the pick of their bucket. Each run measures again, so that the cost is seen; a
//! program leaves `no_cache` out, and its next start finds the picks on disk.

mod stream;

use std::process::ExitCode;
use std::time::Instant;

use ah_runtime::multi_kernel::Event;
use ah_runtime::{AutoHeuristic, MultiKernel};
use rayon::prelude::*;

/// Rows, columns, and how often the size comes in the stream.
const SIZES: [([usize; 2], u32); 24] = [
    ([1, 10], 500),
    ([1, 1000], 200),
    ([1, 32_000], 40),
    ([1, 50_257], 40),
    ([1, 128_256], 20),
    ([8, 32_000], 10),
    ([32, 100], 200),
    ([32, 1000], 60),
    ([64, 10], 200),
    ([128, 128], 100),
    ([144, 144], 100),
    ([197, 197], 60),
    ([768, 64], 60),
    ([1024, 50], 60),
    ([1024, 77], 40),
    ([1536, 128], 20),
    ([2364, 197], 8),
    ([3072, 256], 4),
    ([4096, 40], 20),
    ([6144, 512], 2),
    ([12_288, 64], 4),
    ([100_000, 3], 8),
    ([4, 250_000], 4),
    ([1, 1_000_000], 4),
];

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let choices = Softmax::choices();
    let names: Vec<String> = choices.iter().map(Softmax::name).collect();
    let fallback = 0;

    let decision =
        AutoHeuristic::builder("softmax").numerical("rows").numerical("columns").fallback(&names[fallback]);
    let mut builder = MultiKernel::<Softmax>::builder(decision).no_cache();
    for (choice, name) in choices.iter().zip(&names) {
        builder = builder.kernel(name, env!("CARGO_PKG_VERSION"), *choice);
    }
    let softmax = builder.build()?;

    let random =
        |len: usize| (0..len).map(|i| ((i * 7919) % 1000) as f32 / 100.0 - 5.0).collect::<Vec<f32>>();
    let inputs: Vec<_> = SIZES.iter().map(|([rows, columns], _)| random(rows * columns)).collect();
    let mut outputs = inputs.clone();
    let mut run = |contender: usize, input: usize| {
        let ([rows, columns], x, y) = (SIZES[input].0, &inputs[input], &mut outputs[input]);
        match choices.get(contender) {
            Some(choice) => choice.run(x, columns, y),
            None => softmax.run(&[rows.into(), columns.into()], |kernel| kernel.run(x, columns, y)),
        }
    };

    let begin = Instant::now();
    for input in 0..SIZES.len() {
        run(choices.len(), input);
    }
    let measuring = begin.elapsed();
    let calls = SIZES.iter().map(|(_, calls)| *calls).collect();
    let timings = stream::Timings::take(names, fallback, calls, 5, run);
    let measured = softmax.events().iter().filter(|e| matches!(e, Event::Measured { .. })).count();
    println!("{} sizes, {measured} of them measured; the first calls took {measuring:.2?}\n", SIZES.len());
    let beats = timings.report("measuring", measuring);
    if std::env::args().any(|argument| argument == "--explain") {
        timings.by_input(SIZES.iter().map(|([rows, columns], _)| format!("{rows} x {columns}")));
        println!("\n{}", softmax.explain());
    }
    Ok(if beats { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The passes over a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Form {
    Plain,
    Online,
    Persistent,
}

/// The number of threads that a choice uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Threads {
    One,
    /// All of the current rayon pool.
    All,
}

/// A choice of `softmax`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Softmax {
    form: Form,
    threads: Threads,
}

impl Softmax {
    /// Every choice, in a fixed order; the first is the fallback.
    fn choices() -> Vec<Self> {
        let forms = [Form::Plain, Form::Online, Form::Persistent].into_iter();
        forms.flat_map(|form| [Threads::One, Threads::All].map(|threads| Self { form, threads })).collect()
    }

    /// The stable name, for example `online_threads=all`.
    fn name(&self) -> String {
        format!("{:?}_threads={:?}", self.form, self.threads).to_lowercase()
    }

    /// Writes the softmax of each row of `input` to `output`. Both have rows of `cols` elements.
    fn run(self, input: &[f32], cols: usize, output: &mut [f32]) {
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
