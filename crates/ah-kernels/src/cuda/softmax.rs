//! `softmax` on a GPU. Our kernels keep a row on the chip or read it twice, the alternatives of Inductor's
//! MultiKernel.

use ah_model::{ChoiceId, Context};
use ah_types::{Optimization, TimingPolicy};
use rand::Rng as _;

use super::clock;
use super::device::{Gpu, Kernel};
use super::element::{Arg, Element};
use super::error::CudaError;
use super::kernels::{Grid, Softmax};
use super::nvrtc::Source;
use super::operands::{Operands, int};
use super::product::{Matrix, element};
use crate::features::size;
use ah_measure::sampling::{self, Rng};
use ah_measure::{BenchmarkRunner, Burst, Experiment, Failure, Times};

const SOURCE: Source = Source::shipped("softmax.cu", Softmax::SOURCE);

/// Measures `softmax` on a GPU.
pub(super) struct SoftmaxRunner {
    experiment: Experiment,
    gpu: Gpu,
    operands: Operands,
}

/// See [`BenchmarkRunner::Input`].
pub(super) struct Input {
    x: Matrix,
    y: Matrix,
    seed: u64,
}

impl SoftmaxRunner {
    pub(super) fn new(optimization: Optimization, gpu: Gpu) -> Result<Self, CudaError> {
        let choices = Softmax::ALL.iter().map(Softmax::name).collect();
        // Most kernels take some microseconds, so that the clock's step (32 ns) and one cache line more or
        // less are a percent: choices near the best get up to 36 samples. Ninety halve the spread within a run (1.7 to
        // 0.7 %) but not the spread between runs, and take twice the time.
        let timing = TimingPolicy { budget_ms: 20.0, max_samples: 36, ..clock::policy() };
        let experiment = Experiment::new(optimization, gpu.device(), choices, timing);
        Ok(Self { experiment, operands: Operands::new(&gpu)?, gpu })
    }

    fn kernel(&self, input: &Input, choice: ChoiceId) -> Result<(Kernel, Grid), Failure> {
        let ours = Softmax::ALL[choice.index()];
        let grid = ours.launch(&input.x, &self.gpu.identity)?;
        Ok((self.gpu.kernel(SOURCE, "softmax", ours.defines(&input.x))?, grid))
    }

    fn run(&self, Input { x, y, .. }: &Input, (kernel, grid): &(Kernel, Grid)) -> Result<(), CudaError> {
        let stride = Arg::I64(x.columns as i64);
        let args =
            [Arg::Buffer(x.buffer), Arg::Buffer(y.buffer), int(x.rows), int(x.columns), stride, stride];
        self.gpu.launch(kernel, *grid, &args)
    }
}

/// Reads the rows of an input, without memory.
fn rows(context: &Context) -> Result<Matrix, String> {
    let rows = size(context, "rows")?;
    let columns = size(context, "columns")?;
    match element(context, "dtype")? {
        Element::F32 => Ok(Matrix::row_major(Element::F32, rows, columns)),
        other => Err(format!("dtype must be torch.float32, found {}", other.torch())),
    }
}

impl BenchmarkRunner for SoftmaxRunner {
    type Input = Input;

    fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    /// From a row of a small head to a vocabulary; at most 2 GiB are read and written.
    fn draw(&self, rng: &mut Rng) -> Context {
        loop {
            let rows = sampling::dimension(rng, 1, 1 << 17, 0.3);
            let columns = sampling::dimension(rng, 32, 1 << 18, 0.6);
            if rows * columns <= 1 << 28 {
                let context = Context::new().with("rows", rows).with("columns", columns);
                return context.with("dtype", Element::F32.torch());
            }
        }
    }

    fn accepts(&self, context: &Context) -> Result<(), String> {
        rows(context).map(|_| ())
    }

    fn load(&mut self, context: &Context, rng: &mut Rng) -> Result<Input, Failure> {
        let seed = rng.random();
        let gpu = &self.gpu;
        let matrix = rows(context).map_err(Failure::skipped)?;
        let buffers = gpu.buffers(&[matrix.bytes(); 2])?;
        let [x, y] = [0, 1].map(|at| Matrix { buffer: buffers[at], ..matrix });
        let fit = Softmax::ALL.iter().filter(|c| c.launch(&x, &gpu.identity).is_ok());
        gpu.prepare(fit.map(|c| (SOURCE, c.defines(&x))).collect());
        self.operands.randomize(gpu, &x, 1.0, seed)?;
        Ok(Input { x, y, seed })
    }

    fn check(&mut self, input: &mut Input, choice: ChoiceId) -> Result<(), Failure> {
        let kernel = self.kernel(input, choice)?;
        self.gpu.fill(input.y.buffer, 0xff)?;
        self.run(input, &kernel)?;
        self.operands.check_softmax(&self.gpu, [&input.x, &input.y], input.seed)
    }

    fn run_benchmark(&mut self, input: &mut Input, choice: ChoiceId, burst: Burst) -> Result<Times, Failure> {
        let kernel = self.kernel(input, choice)?;
        self.gpu.clock.time(burst, || self.run(input, &kernel))
    }
}
