//! The size of a launch, and why a configuration cannot run an input.

use ah_measure::Failure;
use ah_model::Cuda;

/// The size of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Blocks.
    pub blocks: [u32; 3],
    /// Threads of a block.
    pub threads: [u32; 3],
    /// Bytes of dynamic shared memory. The kernel must opt in (`CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`) even
    /// below 48 KiB, since its static shared memory counts too.
    pub shared_memory: u32,
}

impl Grid {
    /// A one-dimensional grid without shared memory.
    pub(crate) fn of(blocks: usize, threads: u32) -> Self {
        let blocks = u32::try_from(blocks).unwrap_or(u32::MAX);
        Self { blocks: [blocks, 1, 1], threads: [threads, 1, 1], shared_memory: 0 }
    }
}

/// Skips the configuration unless it suits the input. What was found is no part of the reason, so that a configuration
/// that does not suit many inputs has one reason instead of one for each size.
pub(super) fn expect(suits: bool, reason: impl FnOnce() -> String) -> Result<(), Failure> {
    if suits { Ok(()) } else { Err(Failure::Skipped(reason())) }
}

pub(super) fn at_most(what: &str, found: u64, most: u64) -> Result<(), Failure> {
    expect(found <= most, || format!("{what} may be at most {most}"))
}

/// Checks that most of the work is not on elements beyond the end.
pub(super) fn at_least(what: &str, found: u64, least: u64) -> Result<(), Failure> {
    expect(found >= least, || format!("{what} must be at least {least} to be worth it"))
}

pub(super) fn multiple(what: &str, found: u64, of: u64) -> Result<(), Failure> {
    expect(found.is_multiple_of(of), || format!("{what} must be a multiple of {of}"))
}

/// A one-dimensional grid of this many blocks, if a grid may have them.
pub(super) fn grid(blocks: u64, threads: u32, shared_memory: u32) -> Result<Grid, Failure> {
    at_most("blocks", blocks, GREATEST_INDEX)?;
    Ok(Grid { shared_memory, ..Grid::of(blocks as usize, threads) })
}

/// The kernels index with 32-bit integers.
pub(super) const GREATEST_INDEX: u64 = i32::MAX as u64;

/// Checks that a block may have `needed` bytes of shared memory on this GPU. The kernel itself declares up to 1 KiB more.
pub(super) fn shared_memory(gpu: &Cuda, needed: u64) -> Result<u32, Failure> {
    let available = gpu.shared_memory.saturating_sub(1024);
    let reason = || format!("needs {needed} bytes of shared memory a block, the device has {available}");
    expect(needed <= available, reason).map(|()| needed as u32)
}

/// Checks the GPU's architecture; `fits` says whether it is `needed`.
pub(super) fn capability(gpu: &Cuda, fits: bool, needed: &str) -> Result<(), Failure> {
    let (major, minor) = gpu.capability;
    expect(fits, || format!("needs compute capability {needed}, the device has {major}.{minor}"))
}

#[cfg(test)]
pub mod tests {
    use super::*;

    const fn gpu(capability: (u32, u32), multiprocessors: u32, shared_memory: u64) -> Cuda {
        Cuda {
            name: String::new(),
            capability,
            multiprocessors,
            shared_memory,
            l2: 0,
            memory: 0,
            clock_khz: 0,
            memory_clock_khz: 0,
            driver: String::new(),
            runtime: String::new(),
        }
    }

    pub const H200: Cuda = gpu((9, 0), 132, 227 * 1024);
    pub const A100: Cuda = gpu((8, 0), 108, 163 * 1024);
}
