//! A row softmax as a [`MultiKernel`]: three passes, two passes or rows kept close, on one thread or on
//! all of this processor.
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

use ah_kernels::cpu::kernels::Softmax;
use ah_runtime::multi_kernel::{Dimension, Event};
use ah_runtime::{AutoHeuristic, MultiKernel};

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
    let mut builder = MultiKernel::<Softmax>::builder(decision)
        .no_cache()
        .dimension("rows", Dimension::dynamic())
        .dimension("columns", Dimension::dynamic());
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
    println!(
        "{} sizes, of which {measured} were measured; the first calls took {measuring:.2?}\n",
        SIZES.len()
    );
    let beats = timings.report("measuring", measuring);
    if std::env::args().any(|argument| argument == "--explain") {
        timings.by_input(SIZES.iter().map(|([rows, columns], _)| format!("{rows} x {columns}")));
        println!("\n{}", softmax.explain());
    }
    Ok(if beats { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
