//! The runner of a user's CUDA kernel.

use ah_kernels::cuda::source::UserKernel;
use ah_measure::sampling::Seed;
use ah_measure::{Bench, Burst, Failure, Runner, Subject, Times};
use ah_types::{ChoiceId, Context, Optimization};
use rand::Rng as _;

use super::super::drawn;
use super::kernel::CudaKernel;
use crate::error::CollectError;

impl CudaKernel {
    /// Opens the runner on the GPU of this index.
    pub(crate) fn open(
        self,
        optimization: Optimization,
        device: u32,
    ) -> Result<Box<dyn Runner>, CollectError> {
        let bench = UserKernel::open(self.source.clone(), device)
            .map_err(|e| CollectError::Device(format!("a kernel in a TOML file needs a GPU: {e}")))?;
        let subject = Subject {
            device: bench.device(),
            choices: self.names(),
            timing: UserKernel::timing(),
            optimization,
        };
        Ok(Box::new(CudaRunner { subject, kernel: self, bench }))
    }
}

/// Measures the configurations of one kernel.
struct CudaRunner {
    subject: Subject,
    kernel: CudaKernel,
    bench: UserKernel,
}

impl Runner for CudaRunner {
    fn subject(&self) -> &Subject {
        &self.subject
    }

    fn draw(&self, seed: Seed) -> Result<Context, Failure> {
        drawn::draw(&self.subject.optimization, &self.kernel.draws, "[cuda.inputs]", &mut seed.rng())
    }

    fn accepts(&self, context: &Context) -> Result<(), String> {
        self.kernel.plan(context).map(|_| ())
    }

    fn label(&self, context: &Context) -> String {
        context.to_string()
    }

    fn load(&mut self, context: &Context, seed: Seed) -> Result<(), Failure> {
        let plan = self.kernel.plan(context).map_err(Failure::skipped)?;
        self.bench.load(plan, seed.rng().random())
    }

    fn unload(&mut self) {
        self.bench.unload();
    }
}

impl Bench for CudaRunner {
    fn check(&mut self, choice: ChoiceId) -> Result<(), Failure> {
        self.bench.check(choice)
    }

    fn run(&mut self, choice: ChoiceId, burst: Burst) -> Result<Times, Failure> {
        self.bench.run(choice, burst)
    }
}
