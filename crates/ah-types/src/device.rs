//! Device identity: which machine a log was measured on and a heuristic is valid for.
//!
//! PyTorch's `shared_memory` and `device_capa` are the same on H100 and H200, so our identity has more.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::shown;

/// The features of a device that join those of an input where logs of several devices are read as one, in this order.
/// PyTorch's logs have the last two.
pub const DEVICE_FEATURES: [&str; 7] =
    ["multiprocessors", "cores", "clock_khz", "memory_clock_khz", "l2", "shared_memory", "capability"];

/// The device that kernels ran on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Device {
    /// The host's processor.
    Cpu(Cpu),
    /// An NVIDIA GPU.
    Cuda(Cuda),
}

/// A processor, as the operating system describes it. What is unknown is empty or 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cpu {
    /// The model's name, for example `AMD EPYC 7B13`.
    pub model: String,
    /// Logical processors that this process may use.
    pub cores: u32,
    /// Data and unified caches by level, in bytes: L1, L2, L3. Unknown levels are left out.
    #[serde(default)]
    pub caches: Vec<u64>,
    /// The instruction sets that matter to our kernels, for example `avx2`, sorted.
    #[serde(default)]
    pub instruction_sets: Vec<String>,
}

/// An NVIDIA GPU, as driver and runtime describe it. What is unknown is empty or 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cuda {
    /// For example `NVIDIA H200`.
    pub name: String,
    /// Compute capability, major and minor.
    pub capability: (u32, u32),
    /// The number of multiprocessors.
    pub multiprocessors: u32,
    /// Shared memory that a block may opt into, bytes.
    pub shared_memory: u64,
    /// L2 cache, bytes.
    pub l2: u64,
    /// Device memory, bytes.
    pub memory: u64,
    /// Highest clock of the multiprocessors, kHz.
    pub clock_khz: u64,
    /// Highest clock of the memory, kHz.
    pub memory_clock_khz: u64,
    /// Driver version, for example `580.159` (or the CUDA version that it supports).
    pub driver: String,
    /// Versions of the libraries that were measured, for example `nvrtc 13.0 cublas 13.0`.
    pub runtime: String,
}

impl Device {
    /// Returns the name of the model.
    pub fn name(&self) -> &str {
        match self {
            Self::Cpu(c) => &c.model,
            Self::Cuda(c) => &c.name,
        }
    }

    /// Returns PyTorch's `device_capa`; (0, 0) for a processor.
    pub fn capability(&self) -> (u32, u32) {
        match self {
            Self::Cpu(_) => (0, 0),
            Self::Cuda(c) => c.capability,
        }
    }

    /// Returns PyTorch's `shared_memory`, bytes; 0 for a processor.
    pub fn shared_memory(&self) -> u64 {
        match self {
            Self::Cpu(_) => 0,
            Self::Cuda(c) => c.shared_memory,
        }
    }

    /// Checks that a heuristic learned on `self` may be used on `other`. Drivers, clocks and library
    /// versions may differ; everything that changes which kernel is fastest may not.
    ///
    /// # Errors
    /// [`DeviceMismatch`] names the first difference, with both values.
    pub fn admits(&self, other: &Self) -> Result<(), DeviceMismatch> {
        let pairs = match (self, other) {
            (Self::Cpu(a), Self::Cpu(b)) => vec![
                ("processor", a.model.clone(), b.model.clone()),
                ("number of cores", a.cores.to_string(), b.cores.to_string()),
                ("instruction sets", a.instruction_sets.join(" "), b.instruction_sets.join(" ")),
            ],
            (Self::Cuda(a), Self::Cuda(b)) => vec![
                ("GPU", a.name.clone(), b.name.clone()),
                ("number of multiprocessors", a.multiprocessors.to_string(), b.multiprocessors.to_string()),
            ],
            _ => {
                let (learned, here) = (self.name().to_owned(), other.name().to_owned());
                return Err(DeviceMismatch { what: "device", learned, here });
            }
        };
        match pairs.into_iter().find(|(_, learned, here)| learned != here) {
            Some((what, learned, here)) => Err(DeviceMismatch { what, learned, here }),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu(c) => write!(f, "{} ({} cores; {})", c.model, c.cores, c.instruction_sets.join(" ")),
            Self::Cuda(c) => {
                write!(
                    f,
                    "{} ({} multiprocessors, capability {}.{}, driver {})",
                    c.name, c.multiprocessors, c.capability.0, c.capability.1, c.driver
                )
            }
        }
    }
}

/// PyTorch's identity of a device: its capability, and the shared memory in bytes where that is known.
pub type Capability = ((u32, u32), Option<u64>);

/// Checks that a heuristic learned on a device of this capability may be used on one of another. Without any capability, where a log
/// named no device or several, there is nothing to compare.
///
/// # Errors
/// [`DeviceMismatch`] names the first difference, with both values.
pub fn admits_capability(learned: Capability, here: Capability) -> Result<(), DeviceMismatch> {
    let mismatch = |what, learned: String, here: String| Err(DeviceMismatch { what, learned, here });
    if learned == ((0, 0), None) {
        return Ok(());
    }
    if learned.0 != here.0 {
        let show = |(major, minor): (u32, u32)| format!("{major}.{minor}");
        return mismatch("compute capability", show(learned.0), show(here.0));
    }
    match (learned.1, here.1) {
        (Some(learned), Some(here)) if learned != here => {
            mismatch("size of shared memory", learned.to_string(), here.to_string())
        }
        _ => Ok(()),
    }
}

/// A heuristic was learned on another device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("learned on another {what}: {}, here {}", shown::expression(learned), shown::expression(here))]
pub struct DeviceMismatch {
    /// What differs.
    pub what: &'static str,
    /// The value on the device that the heuristic was learned on.
    pub learned: String,
    /// The value on this device.
    pub here: String,
}
