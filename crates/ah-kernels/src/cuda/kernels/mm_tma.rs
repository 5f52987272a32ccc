//! The configurations of `mm_tma.cu`.

use super::launch::{Half, Ineligibility, Launch, Limits, MOST, at_least, at_most, blocks, multiple};
use super::mm::MmProblem;

/// A configuration of the kernel that fetches with Hopper's tensor copy engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MmTma {
    block_m: u32,
    block_n: u32,
    stages: u32,
    consumers: u32,
    stream_k: bool,
}

const fn tma(block_m: u32, block_n: u32, stages: u32, consumers: u32, stream_k: bool) -> MmTma {
    MmTma { block_m, block_n, stages, consumers, stream_k }
}

const CHOICES: [MmTma; 8] = [
    tma(64, 128, 8, 1, false),
    tma(64, 256, 5, 1, false),
    tma(128, 128, 5, 1, false),
    tma(128, 128, 6, 2, false),
    tma(128, 128, 6, 2, true),
    tma(128, 256, 4, 2, false),
    tma(128, 256, 4, 2, true),
    tma(256, 128, 4, 2, false),
];

/// Elements of k in a tile, and of the contiguous dimension in a box: 128 bytes.
const BLOCK_K: u32 = 64;

/// The arguments of `cuTensorMapEncodeTiled` that differ between operands. The same for all: two
/// dimensions, no interleave, 128-byte swizzle, promotion to 128 bytes in the second-level cache (256 lost
/// up to 15 % on an H200 if the stride is not a multiple of 256), zeros out of bounds, element strides of
/// 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TensorMap {
    /// Type of the elements.
    pub element: Half,
    /// Sizes, the contiguous dimension first.
    pub sizes: [u64; 2],
    /// Bytes from one element of the second dimension to the next.
    pub stride: u64,
    /// Elements of a box in each dimension.
    pub box_sizes: [u32; 2],
}

impl MmTma {
    /// The kernel's source. Its arguments are (`maps`, c, partial, tickets, m, n, k, ldc). The two encoded
    /// maps have 128 bytes each, in global memory at a multiple of 64.
    pub const SOURCE: &str = include_str!("mm_tma.cu");

    /// Returns every configuration, including those that do not suit every input.
    pub fn choices() -> &'static [Self] {
        &CHOICES
    }

    /// Returns the stable name, for example
    /// `type=cuda_BLOCK-M=128_BLOCK-N=256_BLOCK-K=64_stages=4_warps=12_STREAM-K=0_mma=tma`.
    pub fn name(&self) -> String {
        let Self { block_m, block_n, stages, .. } = self;
        format!(
            "type=cuda_BLOCK-M={block_m}_BLOCK-N={block_n}_BLOCK-K={BLOCK_K}_stages={stages}_warps={}\
             _STREAM-K={}_mma=tma",
            self.threads() / 32,
            u8::from(self.stream_k)
        )
    }

    /// Returns the definitions to compile the kernel with, `NAME=VALUE`.
    pub fn defines(&self, problem: &MmProblem) -> Vec<String> {
        let [a, b] = problem.transposed.map(u8::from);
        vec![
            format!("BLOCK_M={}", self.block_m),
            format!("BLOCK_N={}", self.block_n),
            format!("STAGES={}", self.stages),
            format!("CONSUMERS={}", self.consumers),
            format!("STREAM_K={}", u8::from(self.stream_k)),
            format!("A_TRANSPOSED={a}"),
            format!("B_TRANSPOSED={b}"),
            problem.element.define(),
        ]
    }

    /// Returns the maps of the two operands.
    pub fn maps(&self, problem: &MmProblem) -> [TensorMap; 2] {
        let &MmProblem { m, n, k, element, transposed, strides } = problem;
        let map = |other: u64, k_contiguous: bool, stride: u64, block: u32| TensorMap {
            element,
            sizes: if k_contiguous { [k, other] } else { [other, k] },
            stride: stride * 2,
            box_sizes: [64, if k_contiguous { block } else { BLOCK_K }],
        };
        [map(m, !transposed[0], strides[0], self.block_m), map(n, transposed[1], strides[1], self.block_n)]
    }

    /// Returns how to launch the kernel on this input.
    pub fn launch(&self, problem: &MmProblem, limits: &Limits) -> Result<Launch, Ineligibility> {
        let &MmProblem { m, n, k, .. } = problem;
        if limits.capability.0 != 9 {
            return Err(Ineligibility::Capability { needed: "9.0 (wgmma)", found: limits.capability });
        }
        for (what, size) in [("m", m), ("n", n), ("k", k)] {
            at_least(what, size, 1)?;
            at_most(what, size, MOST)?;
        }
        for stride in problem.strides {
            multiple("the operands' stride", stride, 8)?;
            at_most("the operands' stride", stride, MOST)?;
        }
        let (block_m, block_n) = (u64::from(self.block_m), u64::from(self.block_n));
        // More than three quarters of the block would multiply elements beyond the end.
        at_least("m", m, if self.block_m == 64 { 1 } else { block_m / 4 })?;
        at_least("n", n, block_n / 4)?;

        let tiles = m.div_ceil(block_m) * n.div_ceil(block_n);
        let units = tiles.saturating_mul(k.div_ceil(u64::from(BLOCK_K)));
        at_most("the number of tiles times steps", units, MOST)?;
        let multiprocessors = u64::from(limits.multiprocessors);
        if self.stream_k {
            // With many tiles the last round hardly counts, and neighbouring tiles share cached operands.
            at_most("the number of tiles", tiles, 4 * multiprocessors)?;
        }
        let grid = multiprocessors.min(if self.stream_k { units } else { tiles });
        let stage = u64::from((self.block_m + self.block_n) * BLOCK_K * 2);
        Ok(Launch {
            grid: blocks(grid)?,
            block: self.threads(),
            shared_memory: limits.shared_memory(2048 + u64::from(self.stages) * stage)?,
            partial: if self.stream_k { 2 * grid * block_m * block_n } else { 0 },
            tickets: if self.stream_k { tiles } else { 0 },
        })
    }

    /// One warpgroup fetches, the others multiply.
    fn threads(&self) -> u32 {
        128 * (1 + self.consumers)
    }
}

#[cfg(test)]
mod tests {
    use super::super::launch::{A100, H200};
    use super::*;

    fn problem(transposed: [bool; 2]) -> MmProblem {
        let (m, n, k) = (1000, 520, 4096);
        let strides = [if transposed[0] { m } else { k }, if transposed[1] { k } else { n }];
        MmProblem { m, n, k, element: Half::Float16, transposed, strides }
    }

    #[test]
    fn a_box_never_exceeds_what_a_map_can_hold() {
        for choice in MmTma::choices() {
            for transposed in [[false, false], [false, true], [true, false], [true, true]] {
                for map in choice.maps(&problem(transposed)) {
                    assert_eq!(map.box_sizes[0], 64);
                    assert!(map.box_sizes[1] <= 256 && map.stride % 16 == 0);
                }
            }
        }
        let [a, b] = CHOICES[5].maps(&problem([false, false]));
        assert_eq!((a.sizes, a.stride, a.box_sizes), ([4096, 1000], 8192, [64, 128]));
        assert_eq!((b.sizes, b.stride, b.box_sizes), ([520, 4096], 1040, [64, 64]));
    }

    #[test]
    fn every_configuration_fits_a_hopper_and_no_other() {
        for choice in MmTma::choices() {
            let launch = choice.launch(&problem([false; 2]), &H200).unwrap();
            assert!(launch.grid <= 132 && launch.block >= 256, "{}", choice.name());
            assert!(choice.launch(&problem([false; 2]), &A100).is_err());
        }
        let odd = MmProblem { strides: [4097, 520], ..problem([false; 2]) };
        let reason = CHOICES[0].launch(&odd, &H200).unwrap_err().to_string();
        assert_eq!(reason, "the operands' stride must be a multiple of 8, found 4097");
    }
}
