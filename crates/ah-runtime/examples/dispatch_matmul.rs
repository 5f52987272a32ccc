//! A matrix product that dispatches among the crates `gemm` and `matrixmultiply` and our blocked
//! kernels, over a stream of shapes as they come up in inference.
//!
//! `cargo run --release -p ah-runtime --example dispatch_matmul` (with `-- --explain`: every pick, and why it was measured)
//!
//! The first product of a shape measures; picks are kept on disk for the next run. With
//! `AUTOHEURISTIC_COLLECT=mm` what is measured goes into a log that `ah-train` learns from, and with
//! the model's folder in `AUTOHEURISTIC_PATH` the heuristic decides first.

mod stream;

use std::process::ExitCode;
use std::time::Instant;

use ah_kernels::cpu::kernels::{KernelError, MatMul, MatMut, MatRef, Scratch};
use ah_runtime::ah_types::{Optimization, Scalar};
use ah_runtime::multi_kernel::{Dimension, Event, Watch};
use ah_runtime::{AutoHeuristic, MultiKernel};

/// m, k, n, and how often the shape comes in the stream.
const SHAPES: [([usize; 3], u32); 24] = [
    // A decoder's step, one or a few tokens.
    ([1, 2048, 2048], 40),
    ([1, 2048, 5632], 20),
    ([4, 1024, 4096], 20),
    ([8, 2048, 2048], 10),
    ([16, 1024, 1024], 20),
    // An encoder's layers, 128 tokens.
    ([128, 768, 768], 12),
    ([128, 768, 3072], 4),
    ([128, 3072, 768], 4),
    // Attention heads.
    ([128, 64, 128], 100),
    ([128, 128, 64], 100),
    ([197, 64, 197], 60),
    ([50, 64, 50], 200),
    // Convolutions as products.
    ([64, 147, 3136], 8),
    ([64, 576, 3136], 4),
    ([256, 64, 784], 20),
    ([32, 27, 12544], 8),
    // Small, odd and thin.
    ([10, 10, 10], 500),
    ([37, 37, 37], 200),
    ([100, 100, 100], 100),
    ([333, 100, 77], 50),
    ([1000, 16, 1000], 8),
    ([2000, 16, 16], 20),
    ([512, 512, 512], 4),
    ([1000, 1000, 1000], 1),
];

/// The product of the program: sizes are features, everything else is the same in this program.
struct Product {
    kernels: MultiKernel<MatMul>,
}

impl Product {
    fn new(choices: &[MatMul]) -> Result<Self, Box<dyn std::error::Error>> {
        let decision = AutoHeuristic::builder("mm").optimization(&Optimization::built_in("mm")?);
        let mut builder = MultiKernel::builder(decision.fallback(&MatMul::fallback().name()))
            .max_picks(SHAPES.len())
            .watch(Watch::default());
        // The shapes of a network are few and come again: each is measured. The strides follow from them.
        for size in ["m", "k", "n"] {
            builder = builder.dimension(size, Dimension::exact());
        }
        for choice in choices {
            builder = builder.kernel(&choice.name(), env!("CARGO_PKG_VERSION"), *choice);
        }
        Ok(Self { kernels: builder.build()? })
    }

    /// `c = a · b` by the fastest kernel.
    fn run(&self, a: MatRef, b: MatRef, c: &mut MatMut, scratch: &mut Scratch) -> Result<(), KernelError> {
        let (m, k, n) = (a.rows(), a.cols(), b.cols());
        let values: [Scalar<'_>; 12] = [
            m.into(),
            k.into(),
            n.into(),
            a.row_stride().into(),
            a.col_stride().into(),
            b.row_stride().into(),
            b.col_stride().into(),
            "torch.float32".into(),
            "torch.float32".into(),
            true.into(),
            true.into(),
            false.into(),
        ];
        self.kernels.run(&values, |kernel| kernel.run(a, b, c, scratch))
    }
}

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let choices: Vec<MatMul> = MatMul::choices().into_iter().filter(|c| c.available().is_ok()).collect();
    let names: Vec<String> = choices.iter().map(MatMul::name).collect();
    let fallback =
        choices.iter().position(|c| *c == MatMul::fallback()).ok_or("the fallback is not available")?;
    let product = Product::new(&choices)?;

    #[allow(clippy::cast_precision_loss)]
    let random =
        |len: usize| (0..len).map(|i| ((i * 7919) % 1000) as f32 / 500.0 - 1.0).collect::<Vec<f32>>();
    let inputs: Vec<_> = SHAPES.iter().map(|([m, k, n], _)| (random(m * k), random(k * n))).collect();
    let mut outputs: Vec<_> = SHAPES.iter().map(|([m, _, n], _)| vec![0.0_f32; m * n]).collect();
    let mut scratch = Scratch::default();
    let mut run = |contender: usize, input: usize| -> Result<(), KernelError> {
        let ([m, k, n], (a, b)) = (SHAPES[input].0, &inputs[input]);
        let (a, b) = (MatRef::row_major(a, m, k)?, MatRef::row_major(b, k, n)?);
        let mut c = MatMut::row_major(&mut outputs[input], m, n)?;
        match choices.get(contender) {
            Some(choice) => choice.run(a, b, &mut c, &mut scratch),
            None => product.run(a, b, &mut c, &mut scratch),
        }
    };

    let begin = Instant::now();
    for input in 0..SHAPES.len() {
        run(choices.len(), input)?;
    }
    let measuring = begin.elapsed();
    let mut failed = None;
    let calls = SHAPES.map(|(_, calls)| calls);
    let ms = stream::time(choices.len() + 1, &calls, 3, |contender, input| {
        failed = run(contender, input).err().or(failed.take());
    });
    if let Some(error) = failed {
        return Err(error.into());
    }
    let measured = product.kernels.events().iter().filter(|e| matches!(e, Event::Measured { .. })).count();
    println!(
        "{} shapes, of which this run measured {measured}, {} calls; the first calls took {measuring:.2?}\n",
        SHAPES.len(),
        calls.iter().sum::<u32>()
    );
    let beats = stream::report(&names, fallback, &calls, &ms);
    if !beats && measured < SHAPES.len() {
        println!("an earlier run measured on a busier machine? AUTOHEURISTIC_DISABLE_CACHE=1 measures anew");
    }
    if std::env::args().any(|argument| argument == "--explain") {
        stream::by_input(SHAPES.iter().map(|([m, k, n], _)| format!("{m} x {k} x {n}")), &names, &ms);
        println!("\n{}", product.kernels.explain());
    }
    Ok(if beats { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
