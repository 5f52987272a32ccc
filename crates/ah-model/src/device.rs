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
    /// The name of the model.
    pub fn name(&self) -> &str {
        match self {
            Self::Cpu(c) => &c.model,
            Self::Cuda(c) => &c.name,
        }
    }

    /// PyTorch's `device_capa`; (0, 0) for a processor.
    pub fn capability(&self) -> (u32, u32) {
        if let Self::Cuda(c) = self { c.capability } else { (0, 0) }
    }

    /// PyTorch's `shared_memory`, bytes; 0 for a processor.
    pub fn shared_memory(&self) -> u64 {
        if let Self::Cuda(c) = self { c.shared_memory } else { 0 }
    }

    /// The identity of this device. Drivers, clocks and library versions may differ; everything that changes
    /// which kernel is fastest may not.
    pub fn identity(&self) -> Identity {
        let mut all = vec![("device", self.name().to_owned())];
        match self {
            Self::Cpu(c) => all.extend([
                ("number of cores", c.cores.to_string()),
                ("instruction sets", c.instruction_sets.join(" ")),
                ("compute capability", "0.0".to_owned()),
            ]),
            Self::Cuda(c) => {
                all.push(("number of multiprocessors", c.multiprocessors.to_string()));
                all.extend(capability_identity(c.capability, Some(c.shared_memory)));
            }
        }
        all
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

/// What distinguishes devices: names and values.
pub type Identity = Vec<(&'static str, String)>;

/// PyTorch's identity of a device. Logs of several devices have no capability: theirs is empty.
pub fn capability_identity((major, minor): (u32, u32), shared_memory: Option<u64>) -> Identity {
    if (major, minor) == (0, 0) {
        return Vec::new();
    }
    let shared_memory = shared_memory.map(|bytes| ("size of shared memory", bytes.to_string()));
    [("compute capability", format!("{major}.{minor}"))].into_iter().chain(shared_memory).collect()
}

/// Checks that a heuristic learned on one device may be used on another. Values that one of them lacks are not compared.
///
/// # Errors
/// [`DeviceMismatch`] names the first difference, with both values.
pub fn admits<S: AsRef<str>>(learned: &[(&str, S)], here: &Identity) -> Result<(), DeviceMismatch> {
    for (name, learned) in learned {
        if let Some((what, here)) =
            here.iter().find(|(other, value)| other == name && value != learned.as_ref())
        {
            return Err(DeviceMismatch { what, learned: learned.as_ref().to_owned(), here: here.clone() });
        }
    }
    Ok(())
}

/// A heuristic was learned on another device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("learned on another {what}: {}, here {}", shown::expression(learned), shown::expression(here))]
pub struct DeviceMismatch {
    /// What differs.
    pub what: &'static str,
    /// The value on the device that the heuristic was learned on.
    pub learned: String,
    /// The value on this device.
    pub here: String,
}
