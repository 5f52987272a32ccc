//! The launch of a kernel: its size, its needs, and why a configuration cannot run an input.

use thiserror::Error;

/// The limits of a device that a launch depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Compute capability.
    pub capability: (u32, u32),
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Bytes of shared memory that a block may opt into.
    pub shared_memory: u32,
}

/// How to launch a kernel on an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// Blocks, in one dimension.
    pub grid: u32,
    /// Threads of a block, in one dimension.
    pub block: u32,
    /// Bytes of dynamic shared memory; the kernel must opt in
    /// (`CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`) even below 48 KiB, since its static
    /// shared memory counts too.
    pub shared_memory: u32,
    /// Floats of workspace, with any contents.
    pub partial: u64,
    /// 32-bit words of workspace that are zero before and after every launch.
    pub tickets: u64,
}

/// Why a configuration cannot run an input.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[allow(missing_docs)] // The messages show the fields.
pub enum Ineligibility {
    /// The device is too old, or another architecture.
    #[error("needs compute capability {needed}, the device has {}.{}", .found.0, .found.1)]
    Capability { needed: &'static str, found: (u32, u32) },
    /// A block would need more shared memory than there is.
    #[error("needs {needed} bytes of shared memory a block, the device has {available}")]
    SharedMemory { needed: u64, available: u32 },
    /// A size or stride is not a multiple of the kernel's vectors.
    #[error("{what} must be a multiple of {of}, found {found}")]
    Multiple { what: &'static str, of: u64, found: u64 },
    /// A size is larger than the kernel or this configuration takes.
    #[error("{what} may be at most {most}, found {found}")]
    TooLarge { what: &'static str, most: u64, found: u64 },
    /// Most of the configuration's work would be on elements beyond the end.
    #[error("{what} must be at least {least} to be worth it, found {found}")]
    TooSmall { what: &'static str, least: u64, found: u64 },
}

pub(super) fn at_most(what: &'static str, found: u64, most: u64) -> Result<(), Ineligibility> {
    if found <= most { Ok(()) } else { Err(Ineligibility::TooLarge { what, most, found }) }
}

pub(super) fn at_least(what: &'static str, found: u64, least: u64) -> Result<(), Ineligibility> {
    if found >= least { Ok(()) } else { Err(Ineligibility::TooSmall { what, least, found }) }
}

pub(super) fn multiple(what: &'static str, found: u64, of: u64) -> Result<(), Ineligibility> {
    if found.is_multiple_of(of) { Ok(()) } else { Err(Ineligibility::Multiple { what, of, found }) }
}

/// Checks the number of blocks of a grid.
pub(super) fn blocks(found: u64) -> Result<u32, Ineligibility> {
    at_most("blocks", found, MOST)?;
    u32::try_from(found).map_err(|_| Ineligibility::TooLarge { what: "blocks", most: MOST, found })
}

/// The kernels index with 32-bit integers.
pub(super) const MOST: u64 = i32::MAX as u64;

impl Limits {
    /// Checks that a block may have `needed` bytes of shared memory. The kernel itself declares up to 1 KiB
    /// more.
    pub(super) fn shared_memory(&self, needed: u64) -> Result<u32, Ineligibility> {
        let available = self.shared_memory.saturating_sub(1024);
        match u32::try_from(needed) {
            Ok(bytes) if bytes <= available => Ok(bytes),
            _ => Err(Ineligibility::SharedMemory { needed, available }),
        }
    }

    pub(super) fn capability(&self, least: (u32, u32), needed: &'static str) -> Result<(), Ineligibility> {
        if self.capability >= least {
            Ok(())
        } else {
            Err(Ineligibility::Capability { needed, found: self.capability })
        }
    }
}

#[cfg(test)]
pub const H200: Limits = Limits { capability: (9, 0), multiprocessors: 132, shared_memory: 227 * 1024 };
#[cfg(test)]
pub const A100: Limits = Limits { capability: (8, 0), multiprocessors: 108, shared_memory: 163 * 1024 };
