//! The shipped kernels by optimization and backend.

use std::fmt;

use ah_types::{Optimization, OptimizationError};

use crate::error::CollectError;
use ah_kernels::{cpu, cuda};
use ah_measure::Runner;

use crate::fake;

/// The devices that kernels run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// The host's processor.
    Cpu,
    /// NVIDIA GPUs.
    Cuda,
    /// A device that misbehaves on purpose, see [`fake`].
    Fake,
}

impl Backend {
    /// CUDA if a GPU works here; else the processor, with the reason.
    pub fn auto() -> (Self, Option<String>) {
        match cuda::count() {
            Ok(0) => (Self::Cpu, Some("NVIDIA's driver is installed and finds no GPU".to_owned())),
            Ok(_) => (Self::Cuda, None),
            Err(e) => (Self::Cpu, Some(e.to_string())),
        }
    }

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Cuda => "cuda",
            Self::Fake => "fake",
        }
    }

    /// Opens a runner in this process.
    ///
    /// # Errors
    /// [`CollectError::Device`] if the device is missing, [`CollectError::Usage`] if no runner measures this
    /// optimization on it.
    pub fn open(
        self,
        optimization: Optimization,
        device: u32,
        in_worker: bool,
    ) -> Result<Box<dyn Runner>, CollectError> {
        let name = optimization.name.clone();
        let broken = |e: &dyn fmt::Display| CollectError::Device(format!("--backend {self}: {e}"));
        let runner = match self {
            Self::Cpu if device > 0 => {
                return Err(CollectError::Device(format!("the CPU is device 0, found --device {device}")));
            }
            Self::Cpu => cpu::open(optimization).map_err(|e| broken(&e))?,
            Self::Cuda => cuda::open(optimization, device).map_err(|e| broken(&e))?,
            Self::Fake => Some(fake::open(in_worker)?),
        };
        runner.ok_or_else(|| {
            CollectError::Usage(format!(
                "nothing measures {name} with --backend {self}; ah-collect list shows what can be measured, \
                 and --worker takes a program of your own (docs/workers.md)"
            ))
        })
    }

    /// Returns the optimization of this name: a built-in one, or the fake device's.
    ///
    /// # Errors
    /// [`OptimizationError::Unknown`] lists the names that exist.
    pub fn optimization(self, name: &str) -> Result<Optimization, OptimizationError> {
        match self {
            Self::Fake => Optimization::from_toml(fake::OPTIMIZATION),
            Self::Cpu | Self::Cuda => Optimization::built_in(name),
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
