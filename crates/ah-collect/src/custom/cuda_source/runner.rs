//! The runner of a user's CUDA kernel.

use ah_kernels::Server;
use ah_kernels::cuda::source::{UserInput, UserKernel};
use ah_measure::sampling::Rng;
use ah_measure::{BenchmarkRunner, Burst, Experiment, Failure, Times, draws};
use ah_types::{ChoiceId, Context, Optimization};
use rand::Rng as _;

use super::kernel::CudaKernel;

impl CudaKernel {
    /// Returns the worker of this kernel on the GPU of this index.
    pub(crate) fn server(self, optimization: Optimization, device: u32) -> Server {
        Box::new(move || {
            let bench = UserKernel::open(self.source.clone(), device);
            let runner = bench.map(|bench| {
                let (device, choices) = (bench.device(), self.names());
                let experiment = Experiment { device, choices, timing: UserKernel::timing(), optimization };
                CudaRunner { experiment, kernel: self, bench, is_compiled: false }
            });
            ah_measure::serve(runner.map_err(|e| format!("a kernel in a TOML file needs a GPU: {e}")))
        })
    }
}

/// Measures the configurations of one kernel.
struct CudaRunner {
    experiment: Experiment,
    kernel: CudaKernel,
    bench: UserKernel,
    is_compiled: bool,
}

impl BenchmarkRunner for CudaRunner {
    type Input = UserInput;

    fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    fn can_draw(&self) -> Result<(), String> {
        draws::complete(&self.experiment.optimization, &self.kernel.draws, "[cuda.inputs]")
    }

    fn draw(&self, rng: &mut Rng) -> Context {
        draws::draw(&self.experiment.optimization, &self.kernel.draws, rng)
    }

    fn accepts(&self, context: &Context) -> Result<(), String> {
        self.kernel.plan(context).map(|_| ())
    }

    fn load(&mut self, context: &Context, rng: &mut Rng) -> Result<UserInput, Failure> {
        let plan = self.kernel.plan(context).map_err(Failure::skipped)?;
        self.bench.load(plan, rng.random())
    }

    fn compiles_ahead(&self) -> bool {
        true
    }

    /// Compiles all configurations, once: they do not depend on the inputs.
    fn compile_ahead(&mut self, _: &[Context]) {
        if !std::mem::replace(&mut self.is_compiled, true) {
            self.bench.compile(self.kernel.choices.iter().map(|choice| choice.defines.clone()));
        }
    }

    fn check(&mut self, input: &mut UserInput, choice: ChoiceId) -> Result<(), Failure> {
        self.bench.check(input, choice)
    }

    fn run_benchmark(
        &mut self,
        input: &mut UserInput,
        choice: ChoiceId,
        burst: Burst,
    ) -> Result<Times, Failure> {
        self.bench.run(input, choice, burst)
    }
}
