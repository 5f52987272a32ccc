//! What every learned heuristic can do, whether it was generated as a crate or read from a model file.

use ah_types::device::{Cpu, Cuda, DeviceMismatch};
use ah_types::{Device, Scalar};

/// A learned heuristic of one optimization.
///
/// Generated crates implement it under their feature `runtime`; [`LoadedModel`](crate::LoadedModel)
/// does for model files. [`AutoHeuristic`](crate::AutoHeuristic) asks it.
///
/// Names are asked for once, when a heuristic is bound to a decision point. [`decide`](Self::decide)
/// is the hot path: it takes values by slot, answers with a position, and allocates nothing.
pub trait Heuristic: Send + Sync {
    /// The heuristic's own name, for example `SimpleHeuristic`.
    fn name(&self) -> &str;

    /// The optimization that it decides, for example `pad_mm`.
    fn optimization(&self) -> &str;

    /// The names of the logged features, by slot: what `decide` wants in `values`.
    fn features(&self) -> Vec<&str>;

    /// The names of the derived features; their slots lie behind the logged ones. Only
    /// [`Unsure`] refers to them.
    fn derived(&self) -> Vec<&str> {
        Vec::new()
    }

    /// The names of the choices, by the positions in which `decide` and `ranked` answer.
    fn choices(&self) -> Vec<&str>;

    /// The device guard: whether what was learned holds on this device.
    ///
    /// # Errors
    /// What differs, with both values.
    fn admits(&self, device: &Device) -> Result<(), DeviceMismatch>;

    /// The position of the choice to take, among those for which `offered` is true.
    ///
    /// `values` are those of [`features`](Self::features), by slot: numbers for numerical
    /// features, categories (or truth values) for categorical ones. A slot that is missing or of
    /// the other kind counts as undefined.
    ///
    /// # Errors
    /// Why it declines.
    fn decide(&self, values: &[Scalar<'_>], offered: &dyn Fn(usize) -> bool) -> Result<usize, Unsure>;

    /// Calls `visit` with the position of each choice that the leaf ranks, best first, also those
    /// that the promise does not allow: what to autotune among.
    ///
    /// # Errors
    /// Why there is no ranking for these values.
    fn ranked(&self, values: &[Scalar<'_>], visit: &mut dyn FnMut(usize)) -> Result<(), Unsure>;
}

/// Why a heuristic declines. Slots are those of [`Heuristic::features`], derived features behind;
/// [`explain`](Self::explain) names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Unsure {
    /// The context is outside the domain.
    #[error("the precondition of the heuristic does not hold")]
    Precondition,
    /// The feature in this slot has no value.
    #[error("the feature in slot {0} is undefined here")]
    Undefined(usize),
    /// The feature in this slot has a category that training never saw.
    #[error("the feature in slot {0} has a category that training never saw")]
    UnknownCategory(usize),
    /// The leaf's best choice is not probable enough.
    #[error("low confidence")]
    LowConfidence,
    /// The leaf's best choice may be too slow.
    #[error("unsafe leaf")]
    UnsafeLeaf,
    /// No choice of the leaf's ranking is both offered and allowed by the promise.
    #[error("no choice that the promise allows is offered")]
    NoneAllowed,
}

impl Unsure {
    /// The reason in words, with the name of the feature that it is about.
    #[must_use]
    pub fn explain(self, heuristic: &dyn Heuristic) -> String {
        let name = |slot: usize| {
            let mut names = heuristic.features();
            names.extend(heuristic.derived());
            names.get(slot).map_or_else(|| format!("slot {slot}"), |name| format!("{name:?}"))
        };
        match self {
            Self::Undefined(slot) => format!("the feature {} is undefined here", name(slot)),
            Self::UnknownCategory(slot) => {
                format!("the feature {} has a category that training never saw", name(slot))
            }
            other => other.to_string(),
        }
    }
}

/// The device that a generated crate is valid for, as a constant.
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
    /// An NVIDIA GPU: its name tells an H200 from an H100.
    Cuda {
        /// For example `NVIDIA H200`.
        name: &'static str,
        /// The number of multiprocessors.
        multiprocessors: u32,
    },
    /// All that a log of PyTorch says. It cannot tell an H200 from an H100.
    Capability {
        /// `device_capa`.
        capability: (u32, u32),
        /// `shared_memory`, bytes.
        shared_memory: Option<u64>,
    },
}

impl DeviceGuard {
    /// Whether this device is the one; the rule is [`Device::admits`].
    ///
    /// # Errors
    /// What differs, with both values.
    pub fn admits(&self, device: &Device) -> Result<(), DeviceMismatch> {
        match *self {
            Self::Cpu { model, cores, instruction_sets } => Device::Cpu(Cpu {
                model: model.to_owned(),
                cores,
                caches: Vec::new(),
                instruction_sets: instruction_sets.iter().map(|&s| s.to_owned()).collect(),
            })
            .admits(device),
            Self::Cuda { name, multiprocessors } => Device::Cuda(Cuda {
                name: name.to_owned(),
                multiprocessors,
                capability: (0, 0),
                shared_memory: 0,
                l2: 0,
                memory: 0,
                clock_khz: 0,
                memory_clock_khz: 0,
                driver: String::new(),
                runtime: String::new(),
            })
            .admits(device),
            Self::Capability { capability, shared_memory } => {
                let mismatch = |what, learned: String, here: String| DeviceMismatch { what, learned, here };
                let here = device.capability();
                if here != capability {
                    let show = |(major, minor): (u32, u32)| format!("{major}.{minor}");
                    return Err(mismatch("compute capability", show(capability), show(here)));
                }
                match shared_memory {
                    Some(bytes) if bytes != device.shared_memory() => Err(mismatch(
                        "size of shared memory",
                        bytes.to_string(),
                        device.shared_memory().to_string(),
                    )),
                    _ => Ok(()),
                }
            }
        }
    }
}
