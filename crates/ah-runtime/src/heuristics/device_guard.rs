//! The device that a generated crate was learned on.

use ah_types::{Cpu, Cuda, Device, DeviceMismatch, admits_capability};

/// The device that a generated crate was learned on, as a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceGuard {
    /// A processor.
    Cpu {
        /// The model's name.
        model: &'static str,
        /// Logical processors.
        cores: u32,
        /// Instruction sets, sorted.
        instruction_sets: &'static [&'static str],
    },
    /// An NVIDIA GPU: its name distinguishes an H200 from an H100.
    Cuda {
        /// For example `NVIDIA H200`.
        name: &'static str,
        /// The number of multiprocessors.
        multiprocessors: u32,
    },
    /// The keys of a PyTorch log. They do not distinguish an H200 from an H100. Without any (capability 0.0), the
    /// heuristic holds everywhere: its logs named no device, or several.
    Capability {
        /// `device_capa`.
        capability: (u32, u32),
        /// `shared_memory`, bytes.
        shared_memory: Option<u64>,
    },
}

impl DeviceGuard {
    /// Checks this device by the rule of [`Device::admits`].
    ///
    /// # Errors
    /// The difference, with both values.
    pub fn admits(&self, device: &Device) -> Result<(), DeviceMismatch> {
        match *self {
            Self::Cpu { model, cores, instruction_sets } => Device::Cpu(Cpu {
                model: model.to_owned(),
                cores,
                caches: Vec::new(),
                instruction_sets: instruction_sets.iter().map(|&s| s.to_owned()).collect(),
            })
            .admits(device),
            Self::Cuda { name, multiprocessors } => {
                Device::Cuda(Cuda { name: name.to_owned(), multiprocessors, ..Cuda::default() })
                    .admits(device)
            }
            Self::Capability { capability, shared_memory } => {
                let here = (device.capability(), Some(device.shared_memory()));
                admits_capability((capability, shared_memory), here)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_device_a_heuristic_holds_everywhere() {
        let here = &ah_measure::this_cpu();
        let guard = |capability, shared_memory| DeviceGuard::Capability { capability, shared_memory };
        assert!(guard((0, 0), None).admits(here).is_ok());
        assert!(guard((9, 0), None).admits(here).is_err());
        assert!(guard((0, 0), Some(232_448)).admits(here).is_err());
    }
}
