//! The runner of a user's CUDA kernel.

use ah_kernels::cuda::source::UserKernel;
use ah_measure::sampling::Seed;
use ah_measure::{Bench, Burst, Failure, Planned, Runner, Subject, Times};
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
        let is_compiled = vec![false; self.choices.len()];
        Ok(Box::new(CudaRunner { subject, kernel: self, bench, is_compiled }))
    }
}

/// Inputs whose choices are compiled together. Any number would do, because each choice is compiled once.
const LOOK_AHEAD: usize = 100;

/// Measures the configurations of one kernel.
struct CudaRunner {
    subject: Subject,
    kernel: CudaKernel,
    bench: UserKernel,
    /// By choice.
    is_compiled: Vec<bool>,
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

    fn look_ahead(&self) -> usize {
        LOOK_AHEAD
    }

    fn compile_ahead(&mut self, planned: &[Planned]) {
        let is_wanted = |choice: usize| {
            let is_in = |choices: &Vec<ChoiceId>| choices.iter().any(|id| id.index() == choice);
            planned.iter().any(|planned| planned.choices.as_ref().is_none_or(is_in))
        };
        let new: Vec<usize> = (0..self.is_compiled.len())
            .filter(|&choice| !self.is_compiled[choice] && is_wanted(choice))
            .collect();
        new.iter().for_each(|&choice| self.is_compiled[choice] = true);
        self.bench.compile(new.iter().map(|&choice| self.kernel.choices[choice].defines.clone()));
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
