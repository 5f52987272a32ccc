//! The tuned configurations of `mixed_mm.cu`.
//!
//! Chosen greedily from 500 configurations, measured on an H200 at 11 sizes of the weights
//! and m from 1 to 128. The best of this list is within 4 % of the best of all on every size, and within
//! 0.5 % on average. mma.sync wins up to m = 32, wgmma from 64 on (twice as fast at m = 128). The cluster
//! and direct configurations were chosen from 160 more at four sizes and m from 1 to 16; they are up to 11
//! % faster than the rest. Without 13 that were here before, the best choices of the logs in `data/mixed_mm`
//! take 0.03 % longer.

use Engine::{Direct, Mma, Wgmma};
use Schedule::{ClusterK, SplitK, StreamK};

/// How blocks share the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Schedule {
    /// This many blocks work on a tile; their sums meet in memory.
    SplitK(u32),
    /// A cluster of this many blocks works on a tile; their sums meet in shared memory.
    ClusterK(u32),
    /// This many blocks run on a multiprocessor, each with an equal part of all the work.
    StreamK(u32),
}

/// The instructions that multiply, and the parts that share a block's columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Engine {
    /// `mma.sync`: columns a thread, warps side by side, warps that share columns.
    Mma { vector: u32, warps_n: u32, warps_k: u32 },
    /// Hopper's `wgmma`: tiles of 64 columns a warpgroup, warpgroups.
    Wgmma { tiles: u32, warpgroups: u32 },
    /// `mma.sync` without shared memory in between: columns a thread, warps that share them.
    Direct { vector: u32, warps_k: u32 },
}

/// A configuration of the fused kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MixedMm {
    pub(super) block_m: u32,
    pub(super) engine: Engine,
    pub(super) stages: u32,
    pub(super) schedule: Schedule,
}

pub(super) const fn mma(
    block_m: u32,
    vector: u32,
    warps_n: u32,
    warps_k: u32,
    stages: u32,
    schedule: Schedule,
) -> MixedMm {
    MixedMm { block_m, engine: Mma { vector, warps_n, warps_k }, stages, schedule }
}

pub(super) const fn wgmma(
    block_m: u32,
    tiles: u32,
    warpgroups: u32,
    stages: u32,
    schedule: Schedule,
) -> MixedMm {
    MixedMm { block_m, engine: Wgmma { tiles, warpgroups }, stages, schedule }
}

pub(super) const fn direct(vector: u32, warps_k: u32, stages: u32) -> MixedMm {
    MixedMm { block_m: 8, engine: Direct { vector, warps_k }, stages, schedule: SplitK(1) }
}

/// All configurations.
pub(super) const CHOICES: [MixedMm; 35] = [
    direct(2, 4, 2),
    direct(2, 4, 4),
    direct(2, 8, 2),
    direct(2, 16, 2),
    mma(8, 4, 1, 4, 3, SplitK(1)),
    mma(8, 4, 1, 8, 2, StreamK(2)),
    mma(8, 4, 1, 8, 3, SplitK(1)),
    mma(8, 4, 2, 4, 3, StreamK(1)),
    mma(8, 4, 2, 8, 2, SplitK(1)),
    mma(8, 8, 2, 4, 2, SplitK(1)),
    mma(16, 4, 1, 4, 4, SplitK(1)),
    mma(16, 4, 2, 4, 3, SplitK(1)),
    mma(16, 4, 4, 2, 3, StreamK(1)),
    mma(16, 4, 4, 2, 3, SplitK(1)),
    mma(16, 8, 1, 4, 2, SplitK(1)),
    mma(16, 8, 2, 2, 3, StreamK(1)),
    mma(16, 8, 1, 2, 4, ClusterK(2)),
    mma(16, 8, 2, 2, 3, ClusterK(2)),
    mma(16, 16, 2, 2, 2, SplitK(1)),
    mma(32, 4, 1, 4, 3, SplitK(1)),
    mma(32, 8, 2, 2, 2, StreamK(1)),
    mma(32, 8, 2, 2, 2, SplitK(1)),
    mma(32, 8, 2, 2, 2, ClusterK(2)),
    mma(32, 8, 2, 2, 2, SplitK(3)),
    mma(32, 8, 4, 1, 2, SplitK(1)),
    mma(32, 8, 4, 1, 2, SplitK(3)),
    wgmma(64, 2, 2, 4, SplitK(3)),
    wgmma(64, 2, 2, 4, SplitK(4)),
    wgmma(64, 2, 2, 4, SplitK(8)),
    wgmma(64, 2, 2, 4, StreamK(1)),
    wgmma(128, 2, 2, 3, SplitK(2)),
    wgmma(128, 2, 2, 4, SplitK(3)),
    wgmma(128, 2, 2, 4, SplitK(4)),
    wgmma(128, 2, 2, 3, SplitK(8)),
    wgmma(128, 2, 2, 3, StreamK(1)),
];
