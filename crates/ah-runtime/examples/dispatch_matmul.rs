//! A matrix product that asks a learned heuristic which kernel to run, on shapes that it meets for the first time.
//! The operands are stored by rows or by columns, as in the products of a layer and of its gradients: x·W, g·Wᵀ, xᵀ·g.
//!
//! ```sh
//! cargo build --release -p ah-train
//! cargo run --release -p ah-runtime --example dispatch_matmul            # measures for 60 s, learns, and is judged
//! cargo run --release -p ah-runtime --example dispatch_matmul -- 7       # fresh shapes again, by another seed
//! ```
//!
//! 1. *Measure, once*: random shapes go through a [`MultiKernel`], which times every kernel and appends to a log.
//! 2. *Learn, once*: `ah-train` makes `model.json` from the log.
//! 3. *Ask*: 150 shapes that no log holds. The heuristic decides at the first call, and nothing is measured.
//!
//! The log and the model stay in `target/dispatch_matmul`; delete it to measure again.

mod stream;

use std::error::Error;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use ah_kernels::cpu::kernels::MatMul;
use ah_kernels::cpu::kernels::ndarray::{Array2, ShapeBuilder as _};
use ah_measure::sampling;
use ah_runtime::Optimization;
use ah_runtime::Scalar;
use ah_runtime::{AutoHeuristic, MultiKernel};

const FOLDER: &str = "target/dispatch_matmul";
const MEASURING: Duration = Duration::from_secs(60);
/// The seed of the measured shapes; a stream of fresh ones has another.
const SEED: u64 = 0;
const FRESH: u64 = 150;
const SIZES: (u64, u64) = (1, 2048);
/// Multiply-adds: about 3 µs to 2 ms on one core. Below, a decision's 0.1 to 0.2 µs cost more than they can gain, and a
/// program calls one kernel directly.
const WORK: std::ops::RangeInclusive<u64> = 64 << 10..=64 << 20;

#[derive(Clone, Copy, Debug)]
struct Shape {
    sizes: [usize; 3],
    /// Elements between two rows and between two columns of each operand.
    strides: [[usize; 2]; 2],
}

/// Shape `index` of the sequence of `seed`.
fn shape(seed: u64, index: u64) -> Shape {
    let mut rng = sampling::Seed(seed, index).rng();
    loop {
        let sizes = [(); 3].map(|()| sampling::dimension(&mut rng, SIZES.0, SIZES.1, 0.5));
        if WORK.contains(&sizes.iter().product()) {
            let sizes = sizes.map(|size| usize::try_from(size).unwrap_or(usize::MAX));
            let mut strides =
                |rows, columns| if sampling::flag(&mut rng, 0.5) { [columns, 1] } else { [1, rows] };
            let [m, k, n] = sizes;
            return Shape { sizes, strides: [strides(m, k), strides(k, n)] };
        }
    }
}

/// For example `31×425·425×172ᵀ`: the second operand is stored by columns.
impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ([m, k, n], [a, b]) = (self.sizes, self.strides);
        let mark = |strides: [usize; 2], columns| if strides == [columns, 1] { "" } else { "ᵀ" };
        f.pad(&format!("{m}×{k}{}·{k}×{n}{}", mark(a, k), mark(b, n)))
    }
}

/// The features of a product, in the order of the optimization `mm`.
fn values(Shape { sizes: [m, k, n], strides: [a, b] }: Shape) -> [Scalar<'static>; 12] {
    let float = || Scalar::from("torch.float32");
    let contiguous = [a == [k, 1], b == [n, 1]].map(Scalar::from);
    let [[a, b], [c, d]] = [a, b].map(|strides| strides.map(Scalar::from));
    let [first, second] = contiguous;
    [m.into(), k.into(), n.into(), a, b, c, d, float(), float(), first, second, false.into()]
}

struct Product {
    shape: Shape,
    operands: [Array2<f32>; 2],
    result: Array2<f32>,
}

impl Product {
    fn new(shape: Shape) -> Self {
        let ([m, k, n], [a, b]) = (shape.sizes, shape.strides);
        let random = |size: (usize, usize), strides: [usize; 2]| {
            let numbers = (0..size.0 * size.1).map(|i| ((i * 7919) % 1000) as f32 / 500.0 - 1.0).collect();
            Array2::from_shape_vec(size.strides(strides.into()), numbers).expect("the strides fit the size")
        };
        Self { shape, operands: [random((m, k), a), random((k, n), b)], result: Array2::zeros((m, n)) }
    }

    fn run(&mut self, choice: MatMul) {
        let [a, b] = self.operands.each_ref().map(Array2::view);
        choice.run(a, b, self.result.view_mut());
    }
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let seed = std::env::args().nth(1).map_or(Ok(1), |text| text.parse())?;
    let choices = MatMul::CHOICES;
    let names: Vec<String> = choices.iter().map(MatMul::name).collect();
    let fallback = MatMul::GemmOnAllThreads.name();
    let decision = || -> Result<_, Box<dyn Error>> {
        Ok(AutoHeuristic::builder("mm").optimization(&Optimization::built_in("mm")?).fallback(&fallback))
    };

    let model = Path::new(FOLDER).join("model.json");
    if !model.exists() {
        measure(decision()?, &choices)?;
        learn(&model)?;
    }
    let cost: f64 = std::fs::read_to_string(cost_file())?.trim().parse()?;

    let mm = decision()?.choices(names.clone()).model(&model).build()?;
    let mut products: Vec<Product> = (0..FRESH).map(|index| Product::new(shape(seed + 1, index))).collect();
    let (mut declined, mut first_calls) = (0, Duration::ZERO);
    for product in &mut products {
        let begin = Instant::now();
        let answer = mm.choose(&values(product.shape));
        product.run(choices[answer.index]);
        first_calls += begin.elapsed();
        declined += u32::from(!answer.is_learned());
    }

    // Each shape's burst fills a millisecond: small products come often, large ones seldom.
    let fallback = names.iter().position(|name| *name == fallback).ok_or("the fallback is not available")?;
    let calls = products.iter_mut().map(|product| {
        product.run(choices[fallback]);
        let begin = Instant::now();
        product.run(choices[fallback]);
        (1e-3 / begin.elapsed().as_secs_f64()).clamp(1.0, 500.0) as u32
    });
    let calls: Vec<u32> = calls.collect();
    println!(
        "{FRESH} fresh shapes in {} calls; the heuristic declined on {declined}; the first calls took {first_calls:.1?}\n",
        calls.iter().sum::<u32>()
    );
    let timings = stream::Timings::take(names, fallback, calls, 5, |contender, input| {
        let product = &mut products[input];
        let choice = choices.get(contender).copied();
        let choice = choice.unwrap_or_else(|| choices[mm.choose(&values(product.shape)).index]);
        product.run(choice);
    });
    let beats = timings.report("measuring and learning", Duration::from_secs_f64(cost));
    if std::env::args().any(|argument| argument == "--explain") {
        timings.by_input(products.iter().map(|p| p.shape.to_string()));
    }
    Ok(if beats { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Seconds that measuring and learning took.
fn cost_file() -> std::path::PathBuf {
    Path::new(FOLDER).join("seconds.txt")
}

/// Measures random shapes until the time is over: the first call of a shape times every kernel.
fn measure(decision: ah_runtime::AutoHeuristicBuilder, choices: &[MatMul]) -> Result<(), Box<dyn Error>> {
    let log = Path::new(FOLDER).join("train.txt");
    let _ = std::fs::remove_file(&log);
    let mut builder = MultiKernel::<MatMul>::builder(decision.log(log)).append_to_log(true).no_cache();
    for size in ["m", "k", "n", "mat1_stride_0", "mat2_stride_0"] {
        builder = builder.exact(size);
    }
    for choice in choices {
        builder = builder.kernel(&choice.name(), env!("CARGO_PKG_VERSION"), *choice);
    }
    let kernels = builder.max_picks(usize::MAX).build()?;
    let (begin, mut measured) = (Instant::now(), 0);
    while begin.elapsed() < MEASURING {
        let mut product = Product::new(shape(SEED, measured));
        kernels.run(&values(product.shape), |kernel| product.run(*kernel));
        measured += 1;
    }
    println!("measured {measured} shapes in {:.1?}", begin.elapsed());
    std::fs::write(cost_file(), begin.elapsed().as_secs_f64().to_string())?;
    Ok(())
}

/// Learns a heuristic that always decides.
fn learn(model: &Path) -> Result<(), Box<dyn Error>> {
    let begin = Instant::now();
    let log = Path::new(FOLDER).join("train.txt");
    let train = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/release/ah-train");
    let mut command = Command::new(&train);
    command.arg(log).args(["--heuristic-name", "Mm", "--max-risk", "none", "--model"]).arg(model);
    command.arg("--out").arg(Path::new(FOLDER).join("generated"));
    let status = command.stdout(std::process::Stdio::null()).status();
    let status =
        status.map_err(|e| format!("{}: {e}; cargo build --release -p ah-train", train.display()))?;
    if !status.success() {
        return Err(format!("{} ended with {status}", train.display()).into());
    }
    println!("learned in {:.1?}\n", begin.elapsed());
    let measuring: f64 = std::fs::read_to_string(cost_file())?.trim().parse()?;
    std::fs::write(cost_file(), (measuring + begin.elapsed().as_secs_f64()).to_string())?;
    Ok(())
}
