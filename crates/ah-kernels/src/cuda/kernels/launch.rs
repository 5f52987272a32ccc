//! The size of a launch, and why a configuration cannot run an input.

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
    /// Returns a one-dimensional grid without shared memory.
    pub(crate) fn of(blocks: usize, threads: u32) -> Self {
        let blocks = u32::try_from(blocks).unwrap_or(u32::MAX);
        Self { blocks: [blocks, 1, 1], threads: [threads, 1, 1], shared_memory: 0 }
    }
}

/// Why a configuration cannot run an input, in words.
#[derive(Debug)]
pub struct Ineligibility(pub String);

/// Returns why a configuration cannot run an input.
fn ineligible<T>(reason: String) -> Result<T, Ineligibility> {
    Err(Ineligibility(reason))
}

pub(super) fn at_most(what: &str, found: u64, most: u64) -> Result<(), Ineligibility> {
    if found <= most { Ok(()) } else { ineligible(format!("{what} may be at most {most}, found {found}")) }
}

/// Checks that most of the work is not on elements beyond the end.
pub(super) fn at_least(what: &str, found: u64, least: u64) -> Result<(), Ineligibility> {
    if found >= least {
        return Ok(());
    }
    ineligible(format!("{what} must be at least {least} to be worth it, found {found}"))
}

pub(super) fn multiple(what: &str, found: u64, of: u64) -> Result<(), Ineligibility> {
    if found.is_multiple_of(of) {
        return Ok(());
    }
    ineligible(format!("{what} must be a multiple of {of}, found {found}"))
}

/// Returns a one-dimensional grid, if it may have so many blocks.
pub(super) fn grid(blocks: u64, threads: u32, shared_memory: u32) -> Result<Grid, Ineligibility> {
    at_most("blocks", blocks, MOST)?;
    Ok(Grid { shared_memory, ..Grid::of(blocks as usize, threads) })
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
            _ => ineligible(format!(
                "needs {needed} bytes of shared memory a block, the device has {available}"
            )),
        }
    }

    /// Checks the device's architecture; `fits` says whether it is `needed`.
    pub(super) fn capability(&self, fits: bool, needed: &str) -> Result<(), Ineligibility> {
        if fits {
            return Ok(());
        }
        let (major, minor) = self.capability;
        ineligible(format!("needs compute capability {needed}, the device has {major}.{minor}"))
    }
}

#[cfg(test)]
pub const H200: Limits = Limits { capability: (9, 0), multiprocessors: 132, shared_memory: 227 * 1024 };
#[cfg(test)]
pub const A100: Limits = Limits { capability: (8, 0), multiprocessors: 108, shared_memory: 163 * 1024 };
