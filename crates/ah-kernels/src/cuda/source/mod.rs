//! A kernel from a user's file: compiled, launched, checked and timed by its [`InputPlan`].
//!
//! The plan is plain data, made without a GPU (`ah-collect` makes it from a TOML file). On each input
//! the runner fills the buffers, runs the reference once and keeps its outputs; a choice is checked against these.

mod fill;

pub use super::element::Element;
pub use super::kernels::Grid;
pub use fill::{Fill, NamedFill};

use std::path::{Path, PathBuf};

use ah_measure::draws::Inputs;
use ah_measure::sampling::Rng;
use ah_measure::{BenchmarkRunner, Burst, Experiment, Failure, Times};
use ah_model::{ChoiceId, Context};
use ah_types::{Optimization, TimingPolicy};
use rand::Rng as _;

use super::arena::{Allocation, Buffer};
use super::clock;
use super::device::{Gpu, Kernel};
use super::element::Arg;
use super::error::CudaError;
use super::nvrtc::Source;
use crate::{ServeFn, open_and_serve};

const BUFFERS: Source = Source::shipped("buffers.cu", include_str!("buffers.cu"));
/// More bytes than any device has; sums of them stay far from overflow.
const TOO_MANY: u64 = 1 << 44;

/// A user's file.
#[derive(Clone, Debug)]
pub struct UserSource {
    /// The name, for messages.
    pub file: String,
    /// The CUDA C++ in it.
    pub text: String,
    /// Folders of headers.
    pub include: Vec<PathBuf>,
    /// Further options of NVRTC.
    pub options: Vec<String>,
}

/// Plans an input.
pub type Planner = Box<dyn Fn(&Context) -> Result<InputPlan, String>>;

/// A user's kernel and its configurations, which are the choices.
pub struct UserKernel {
    /// The file.
    pub source: UserSource,
    /// The decision.
    pub optimization: Optimization,
    /// The names of the choices.
    pub choices: Vec<String>,
    /// The definitions that each choice is compiled with.
    pub defines: Vec<Vec<String>>,
    /// How the features are drawn.
    pub inputs: Inputs,
    /// Plans an input with these features, or returns why it makes no sense.
    pub plan: Planner,
}

impl UserKernel {
    /// The worker of this kernel on the GPU of this index.
    pub fn serve_fn(self, index: u32) -> ServeFn {
        let failed = |e: CudaError| format!("a kernel in a TOML file needs a GPU: {e}");
        open_and_serve(move || UserRunner::open(self, index).map_err(failed))
    }
}

/// The launches of one input.
#[derive(Clone, Debug)]
pub struct InputPlan {
    /// The buffers, in any order.
    pub buffers: Vec<BufferPlan>,
    /// The kernel's arguments, in order; all kernels of the plan take the same.
    pub arguments: Vec<Argument>,
    /// The launch with the correct outputs.
    pub reference: LaunchPlan,
    /// The launch of each choice, or the reason why it cannot run here.
    pub launches: Vec<Result<LaunchPlan, Failure>>,
    /// The largest difference from the reference, as a share of the largest magnitude; `None`: by type.
    pub tolerance: Option<f64>,
}

/// A buffer of one input.
#[derive(Clone, Debug, PartialEq)]
pub struct BufferPlan {
    /// The name, for messages.
    pub name: String,
    /// The type of the elements.
    pub element: Element,
    /// The number of elements.
    pub length: u64,
    /// The contents before a kernel runs.
    pub fill: Fill,
    /// Whether a kernel writes its result to it.
    pub is_output: bool,
}

/// An argument of a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Argument {
    /// The address of the buffer of this index.
    Buffer(usize),
    /// A number.
    Scalar(Element, f64),
}

/// One launch of one kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchPlan {
    /// The function.
    pub kernel: String,
    /// The definitions that it is compiled with, `NAME=VALUE`.
    pub defines: Vec<String>,
    /// The size.
    pub grid: Grid,
}

/// Measures a user's kernel on one GPU.
struct UserRunner {
    experiment: Experiment,
    plan: Planner,
    gpu: Gpu,
    source: Source,
    /// The definitions of each choice, until they are compiled.
    to_compile: Vec<Vec<String>>,
    fill: Kernel,
    difference: Kernel,
    found: Allocation,
}

/// A loaded input.
struct Input {
    plan: InputPlan,
    buffers: Vec<Buffer>,
    /// By buffer: the reference's output.
    expected: Vec<Option<Buffer>>,
    arguments: Vec<Arg>,
    seed: u64,
}

impl UserRunner {
    /// Opens the GPU of this index; the file is compiled for the first input.
    fn open(kernel: UserKernel, index: u32) -> Result<Self, CudaError> {
        let UserKernel { source, optimization, choices, defines: to_compile, inputs, plan } = kernel;
        let gpu = Gpu::open(index)?;
        let folders: Vec<PathBuf> = source.include.into_iter().chain(toolkit_headers()).collect();
        let timing = TimingPolicy { budget_ms: 30.0, ..clock::policy() };
        let experiment = Experiment::new(optimization, gpu.device(), choices, timing);
        Ok(Self {
            experiment: Experiment { inputs: Some(inputs), compiles_ahead: true, ..experiment },
            plan,
            source: Source::of_user(source.file, source.text, &folders, source.options),
            to_compile,
            fill: gpu.kernel(BUFFERS, "fill", Vec::new())?,
            difference: gpu.kernel(BUFFERS, "difference", Vec::new())?,
            found: Allocation::new(gpu.context(), 12)?,
            gpu,
        })
    }

    /// Fills the buffers and runs a kernel once. The kernel before it may also have changed a buffer that it should only read.
    fn run(&self, input: &Input, launch: &LaunchPlan) -> Result<(), CudaError> {
        let kernel = self.kernel(launch)?;
        for index in 0..input.buffers.len() {
            self.fill(input, index)?;
        }
        self.gpu.launch(&kernel, launch.grid, &input.arguments)?;
        self.gpu.wait()
    }

    fn run_reference(&self, input: &Input) -> Result<(), Failure> {
        let launch = &input.plan.reference;
        self.run(input, launch).map_err(|error| match Failure::from(error) {
            Failure::Failed(reason) => Failure::Failed(format!("the reference {}: {reason}", launch.kernel)),
            other => other,
        })?;
        for (buffer, expected) in input.buffers.iter().zip(&input.expected) {
            if let Some(expected) = expected {
                self.gpu.copy(*buffer, *expected)?;
            }
        }
        Ok(())
    }

    fn kernel(&self, launch: &LaunchPlan) -> Result<Kernel, CudaError> {
        self.gpu.kernel(self.source, &launch.kernel, launch.defines.clone())
    }

    /// Fills the buffer of this index by the plan.
    fn fill(&self, input: &Input, index: usize) -> Result<(), CudaError> {
        let buffer = input.buffers[index];
        let plan = &input.plan.buffers[index];
        let Some((how, a, b)) = plan.fill.operands() else { return self.gpu.fill(buffer, 0xff) };
        let args = [
            Arg::Buffer(buffer),
            Arg::U64(plan.length),
            Arg::I32(plan.element as i32),
            Arg::I32(how),
            Arg::F64(a),
            Arg::F64(b),
            Arg::U64(input.seed.wrapping_add(index as u64).wrapping_mul(0x2545_f491_4f6c_dd1d)),
        ];
        self.gpu.launch(&self.fill, self.gpu.grid(), &args)
    }

    /// Compares an output with the reference's.
    fn compare(&self, input: &Input, index: usize, expected: Buffer) -> Result<(), Failure> {
        let plan = &input.plan.buffers[index];
        self.gpu.fill(self.found.buffer, 0)?;
        let args = [
            Arg::Buffer(input.buffers[index]),
            Arg::Buffer(expected),
            Arg::U64(plan.length),
            Arg::I32(plan.element as i32),
            Arg::Buffer(self.found.buffer),
        ];
        self.gpu.launch(&self.difference, self.gpu.grid(), &args)?;
        let found = self.gpu.read(self.found.buffer, 3)?;
        let [largest, magnitude] = [found[1], found[2]].map(|bits| f64::from(f32::from_bits(bits)));
        let allowed = input.plan.tolerance.unwrap_or_else(|| plan.element.tolerance()) * magnitude;
        let wrong = |what: String| Err(Failure::failed(format!("wrong result: {:?}: {what}", plan.name)));
        if found[0] > 0 {
            return wrong(format!("{} elements are not the reference's", found[0]));
        }
        if largest > allowed {
            return wrong(format!(
                "differs from the reference by {largest:.2e}, at most {allowed:.2e} is allowed"
            ));
        }
        Ok(())
    }
}

/// The bytes of a buffer.
fn bytes(buffer: &BufferPlan) -> Result<usize, Failure> {
    let size = buffer.length.checked_mul(buffer.element.bytes() as u64).filter(|size| *size < TOO_MANY);
    size.and_then(|size| usize::try_from(size).ok()).ok_or_else(|| {
        Failure::skipped(format!("the buffer {:?} would have {} elements", buffer.name, buffer.length))
    })
}

impl BenchmarkRunner for UserRunner {
    type Input = Input;

    fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    fn accepts(&self, context: &Context) -> Result<(), String> {
        (self.plan)(context).map(|_| ())
    }

    /// Compiles all configurations, once: they do not depend on the inputs.
    fn compile_ahead(&mut self, _: &[Context]) {
        let defines = std::mem::take(&mut self.to_compile);
        self.gpu.prepare(defines.into_iter().map(|defines| (self.source, defines)).collect());
    }

    /// Fills the buffers and runs the reference.
    fn load(&mut self, context: &Context, rng: &mut Rng) -> Result<Input, Failure> {
        let plan = (self.plan)(context).map_err(Failure::skipped)?;
        let seed = rng.random();
        let sizes = plan.buffers.iter().map(bytes).collect::<Result<Vec<_>, _>>()?;
        let outputs = plan.buffers.iter().zip(&sizes).filter(|(b, _)| b.is_output).map(|(_, size)| *size);
        let all: Vec<usize> = sizes.iter().copied().chain(outputs).collect();
        let mut buffers = self.gpu.buffers(&all)?;
        let mut copies = buffers.split_off(sizes.len()).into_iter();
        let expected = plan.buffers.iter().map(|b| if b.is_output { copies.next() } else { None }).collect();
        let argument = |argument: &Argument| match *argument {
            Argument::Buffer(index) => Ok(Arg::Buffer(buffers[index])),
            Argument::Scalar(ty, x) => ty
                .scalar(x)
                .ok_or_else(|| Failure::skipped(format!("{x} is no value of the type {}", ty.name()))),
        };
        let arguments = plan.arguments.iter().map(argument).collect::<Result<_, _>>()?;
        let input = Input { plan, buffers, expected, arguments, seed };
        self.run_reference(&input)?;
        Ok(input)
    }

    fn check(&mut self, input: &mut Input, choice: ChoiceId) -> Result<(), Failure> {
        self.run(input, input.plan.launches[choice.index()].as_ref().map_err(Clone::clone)?)?;
        for (index, expected) in input.expected.iter().enumerate() {
            if let Some(expected) = expected {
                self.compare(input, index, *expected)?;
            }
        }
        Ok(())
    }

    fn run_benchmark(&mut self, input: &mut Input, choice: ChoiceId, burst: Burst) -> Result<Times, Failure> {
        let launch = input.plan.launches[choice.index()].as_ref().map_err(Clone::clone)?;
        let kernel = self.kernel(launch)?;
        self.gpu.clock.time(burst, || self.gpu.launch(&kernel, launch.grid, &input.arguments))
    }
}

/// The headers of the CUDA toolkit, if one is installed, such as `cuda_fp16.h`.
fn toolkit_headers() -> Option<PathBuf> {
    let variables = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(std::env::var_os).map(PathBuf::from);
    variables
        .chain([Path::new("/usr/local/cuda").to_owned()])
        .map(|folder| folder.join("include"))
        .find(|folder| folder.is_dir())
}
