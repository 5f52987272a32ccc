//! Real kernels that misbehave on a real GPU (`--backend cuda --name faults`). `tests/cuda.rs` repeats on a
//! device the proofs that [`fake`](crate::fake) gives without one.
//!
//! Faults that cost the process (an illegal address, a kernel that does not end, a crash) happen only on
//! even sizes, so that odd sizes show that such a choice loses nothing elsewhere. One size in eight has
//! more elements than any device holds.

use ah_types::{ChoiceId, Context, Optimization};
use rand::Rng as _;

use super::arena::Buffer;
use super::device::{Arg, Gpu, Grid, Kernel};
use super::element::Element;
use super::error::CudaError;
use super::nvrtc::Source;
use super::operands::Operands;
use super::subject;
use ah_measure::sampling::{self, Rng};
use ah_measure::{BenchmarkRunner, Burst, Failure, Subject, Times};

/// The optimization of this runner.
pub const OPTIMIZATION: &str = include_str!("faults.toml");

const SOURCE: Source = Source::shipped("faults.cu", include_str!("faults.cu"));
const THREADS: u32 = 256;
/// More elements than fit any device: 4 TiB.
const TOO_MANY: u64 = 1 << 40;

/// The moment at which a fault happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FaultTime {
    Always,
    /// During the check, on even sizes.
    Checked,
    /// During timing, on even sizes.
    Timed,
}

/// The fault of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// The fault of this number, `FAULT` in the kernel.
    Kernel(u8),
    /// A request for more shared memory than a block can have: the launch is refused.
    Launch,
    /// The process ends itself.
    Process,
}

const CHOICES: [(&str, Fault, FaultTime); 10] = [
    ("steady", Fault::Kernel(0), FaultTime::Always),
    ("steady_too", Fault::Kernel(0), FaultTime::Always),
    ("wrong", Fault::Kernel(1), FaultTime::Always),
    ("unwritten", Fault::Kernel(2), FaultTime::Always),
    ("not_compiling", Fault::Kernel(6), FaultTime::Always),
    ("not_launching", Fault::Launch, FaultTime::Always),
    ("illegal_address", Fault::Kernel(3), FaultTime::Checked),
    ("misaligned_address", Fault::Kernel(4), FaultTime::Timed),
    ("hanging", Fault::Kernel(5), FaultTime::Timed),
    ("crashing", Fault::Process, FaultTime::Timed),
];

/// Measures `faults` on a GPU.
pub(super) struct FaultsRunner {
    subject: Subject,
    gpu: Gpu,
    operands: Operands,
}

/// See [`BenchmarkRunner::Input`].
pub(super) struct Input {
    size: usize,
    x: Buffer,
    y: Buffer,
}

impl FaultsRunner {
    pub(super) fn new(optimization: Optimization, gpu: Gpu) -> Result<Self, CudaError> {
        let choices = CHOICES.iter().map(|(name, ..)| (*name).to_owned()).collect();
        let subject = subject::subject(optimization, &gpu, choices, subject::timing());
        Ok(Self { subject, operands: Operands::new(&gpu)?, gpu })
    }

    /// Returns the kernel and grid of a choice at this stage of an input.
    fn kernel(&self, input: &Input, choice: ChoiceId, stage: FaultTime) -> Result<(Kernel, Grid), CudaError> {
        let (_, fault, when) = CHOICES[choice.index()];
        let shows = when == FaultTime::Always || (when == stage && input.size.is_multiple_of(2));
        let mut grid = Grid::of(input.size.div_ceil(THREADS as usize), THREADS);
        let number = match fault {
            _ if !shows => 0,
            Fault::Kernel(number) => number,
            Fault::Launch => {
                grid.shared_memory = 1 << 30;
                0
            }
            Fault::Process => std::process::abort(),
        };
        Ok((self.gpu.kernel(SOURCE, "faults", vec![format!("FAULT={number}")])?, grid))
    }

    fn run(&self, input: &Input, (kernel, grid): &(Kernel, Grid)) -> Result<(), CudaError> {
        let args = [Arg::Buffer(input.x), Arg::Buffer(input.y), Arg::U64(input.size as u64)];
        self.gpu.launch(kernel, *grid, &args)
    }
}

impl BenchmarkRunner for FaultsRunner {
    type Input = Input;

    fn subject(&self) -> &Subject {
        &self.subject
    }

    fn draw(&self, rng: &mut Rng) -> Context {
        let size = if sampling::flag(rng, 0.125) { TOO_MANY } else { sampling::log_uniform(rng, 1, 1 << 22) };
        Context::new().with("size", size)
    }

    fn accepts(&self, context: &Context) -> Result<(), String> {
        match context.number("size") {
            Some(size) if size >= 1.0 && size.fract() == 0.0 => Ok(()),
            found => Err(format!("size must be a whole number from 1 up, found {found:?}")),
        }
    }

    fn create_input(&mut self, context: &Context, rng: &mut Rng) -> Result<Input, Failure> {
        let seed = rng.random();
        self.accepts(context).map_err(Failure::skipped)?;
        let size = context.number("size").unwrap_or(1.0).min(TOO_MANY as f64) as usize;
        self.gpu.enter()?;
        let [x, y] = self.gpu.operands([size * 4, size * 4])?;
        self.operands.randomize(&self.gpu, x, size, (Element::F32, 1.0), seed)?;
        Ok(Input { size, x, y })
    }

    fn check(&mut self, input: &mut Input, choice: ChoiceId) -> Result<(), Failure> {
        self.gpu.enter()?;
        let kernel = self.kernel(input, choice, FaultTime::Checked)?;
        self.gpu.fill(input.y, 0xff)?;
        self.run(input, &kernel)?;
        let x: Vec<f32> = self.gpu.read(input.x, input.size)?;
        let y: Vec<f32> = self.gpu.read(input.y, input.size)?;
        let wrong = |(x, y): (&f32, &f32)| {
            let error = (2.0 * x + 1.0 - y).abs();
            error.is_nan() || error > 1e-5
        };
        match x.iter().zip(&y).position(wrong) {
            None => Ok(()),
            Some(i) => Err(Failure::failed(format!(
                "wrong result: element {i} is {} (expected {})",
                y[i],
                2.0 * x[i] + 1.0
            ))),
        }
    }

    fn run_benchmark(&mut self, input: &mut Input, choice: ChoiceId, burst: Burst) -> Result<Times, Failure> {
        self.gpu.enter()?;
        let kernel = self.kernel(input, choice, FaultTime::Timed)?;
        self.gpu.time(burst, || self.run(input, &kernel))
    }
}
