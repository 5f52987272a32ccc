//! The configurations of `mixed_mm.cu`: their names, definitions and launches.

use ah_measure::Failure;
use ah_model::Cuda;

use super::super::element::Element;
use super::super::product::Product;
use super::launch::{GREATEST_INDEX, Grid, at_least, at_most, capability, grid, multiple, shared_memory};
use Engine::{Direct, Mma, Wgmma};
use Schedule::{ClusterK, SplitK, StreamK};

/// How blocks share the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Schedule {
    /// This many blocks work on a tile; their sums meet in memory.
    SplitK(u32),
    /// A cluster of this many blocks works on a tile; their sums meet in shared memory.
    ClusterK(u32),
    /// This many blocks run on a multiprocessor, each with an equal part of all the work.
    StreamK(u32),
}

/// The instructions that multiply, and the parts that share a block's columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Engine {
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
    block_m: u32,
    engine: Engine,
    stages: u32,
    schedule: Schedule,
}

const fn mma(
    block_m: u32,
    vector: u32,
    warps_n: u32,
    warps_k: u32,
    stages: u32,
    schedule: Schedule,
) -> MixedMm {
    MixedMm { block_m, engine: Mma { vector, warps_n, warps_k }, stages, schedule }
}

const fn wgmma(block_m: u32, tiles: u32, warpgroups: u32, stages: u32, schedule: Schedule) -> MixedMm {
    MixedMm { block_m, engine: Wgmma { tiles, warpgroups }, stages, schedule }
}

const fn direct(vector: u32, warps_k: u32, stages: u32) -> MixedMm {
    MixedMm { block_m: 8, engine: Direct { vector, warps_k }, stages, schedule: SplitK(1) }
}

/// The tuned configurations, chosen greedily from 500 configurations, measured on an H200 at 11 sizes of the weights
/// and m from 1 to 128. The best of this list is within 4 % of the best of all on every size, and within
/// 0.5 % on average. mma.sync wins up to m = 32, wgmma from 64 on (twice as fast at m = 128). The cluster
/// and direct configurations were chosen from 160 more at four sizes and m from 1 to 16; they are up to 11
/// % faster than the rest. Without 13 that were here before, the best choices of the logs in `data/mixed_mm`
/// take 0.03 % longer.
const CHOICES: [MixedMm; 35] = [
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

/// How to launch a kernel on an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Launch {
    pub(crate) grid: Grid,
    /// Floats of workspace, with any contents.
    pub(crate) partial: u64,
    /// 32-bit words of workspace that are zero before and after every launch.
    pub(crate) tickets: u64,
}

impl MixedMm {
    /// The kernels' source.
    pub const SOURCE: &str = concat!(
        "#line 1 \"mixed_mm_weights.cu\"\n",
        include_str!("mixed_mm_weights.cu"),
        "\n#line 1 \"mixed_mm.cu\"\n",
        include_str!("mixed_mm.cu"),
        "\n#line 1 \"mixed_mm_wgmma.cu\"\n",
        include_str!("mixed_mm_wgmma.cu"),
        "\n#line 1 \"mixed_mm_direct.cu\"\n",
        include_str!("mixed_mm_direct.cu")
    );

    /// Every configuration, including those that do not suit every input.
    pub const ALL: &[Self] = &CHOICES;

    /// The stable name, for example
    /// `type=cuda_BLOCK-M=16_BLOCK-N=128_BLOCK-K=512_stages=2_warps=8_WARPS-K=4_SPLIT-K=2`. The name of a
    /// wgmma configuration ends in `_mma=wgmma`, of a direct one in `_mma=direct`. BLOCK-K is one step of all warps of
    /// the block.
    pub fn name(&self) -> String {
        let Self { block_m, stages, .. } = self;
        let block_n = self.block_n();
        let block_k = self.block_k();
        let schedule = match self.schedule {
            SplitK(splits) => format!("SPLIT-K={splits}"),
            ClusterK(splits) => format!("CLUSTER-K={splits}"),
            StreamK(blocks) => format!("STREAM-K={blocks}"),
        };
        let (warps_k, suffix) = match self.engine {
            Mma { warps_k, .. } => (warps_k, ""),
            Wgmma { .. } => (1, "_mma=wgmma"),
            Direct { warps_k, .. } => (warps_k, "_mma=direct"),
        };
        format!(
            "type=cuda_BLOCK-M={block_m}_BLOCK-N={block_n}_BLOCK-K={block_k}_stages={stages}_warps={}\
             _WARPS-K={warps_k}_{schedule}{suffix}",
            self.warps()
        )
    }

    /// The definitions to compile the kernel with, `NAME=VALUE`, for a product of 16-bit activations with 8-bit
    /// weights.
    pub(crate) fn defines(&self, Product { a, b, .. }: &Product) -> Vec<String> {
        let mut defines = vec![
            ("BLOCK_M", self.block_m),
            ("STAGES", self.stages),
            ("WEIGHTS_SIGNED", u32::from(b.element == Element::I8)),
            ("ELEMENT_BF16", u32::from(a.element == Element::Bf16)),
        ];
        defines.extend(match self.engine {
            Mma { vector, warps_n, warps_k } => vec![
                ("ENGINE", 0),
                ("VECTOR", vector),
                ("WARPS_N", warps_n),
                ("WARPS_K", warps_k),
                ("CLUSTER", self.cluster()),
            ],
            Wgmma { tiles, warpgroups } => vec![("ENGINE", 1), ("TILES", tiles), ("WARPGROUPS", warpgroups)],
            Direct { vector, warps_k } => vec![("ENGINE", 2), ("VECTOR", vector), ("WARPS", warps_k)],
        });
        defines.into_iter().map(|(name, value)| format!("{name}={value}")).collect()
    }

    /// How to launch the kernel on this input.
    pub(crate) fn launch(&self, product: &Product, gpu: &Cuda) -> Result<Launch, Failure> {
        let [m, k, n] = product.sizes();
        capability(gpu, gpu.capability.0 >= 8, "8.0")?;
        let is_wgmma = matches!(self.engine, Wgmma { .. });
        capability(gpu, !is_wgmma || gpu.capability.0 == 9, "9.0 (wgmma)")?;
        capability(gpu, self.cluster() == 1 || gpu.capability.0 >= 9, "9.0 (clusters)")?;
        // Rows of both operands begin at multiples of 16 bytes.
        multiple("k", k, 16)?;
        if matches!(self.engine, Direct { .. }) {
            at_most("m", m, 8)?;
        }
        // More than half of the block would multiply rows beyond the end.
        at_least("m", m, if self.block_m == 8 { 1 } else { u64::from(self.block_m) / 2 })?;

        let block_m = u64::from(self.block_m);
        let block_n = u64::from(self.block_n());
        let tiles = m.div_ceil(block_m) * n.div_ceil(block_n);
        let groups = k.div_ceil(u64::from(self.block_k()));
        at_most("the number of tiles times steps", tiles.saturating_mul(groups), GREATEST_INDEX)?;
        at_least("the steps of k for a cluster", groups, u64::from(self.cluster()))?;
        let wanted = match self.schedule {
            SplitK(splits) | ClusterK(splits) => tiles * u64::from(splits),
            StreamK(blocks) => u64::from(gpu.multiprocessors * blocks),
        };
        let parts = wanted.min(tiles * groups);
        let in_memory = parts != tiles && self.cluster() == 1;
        let shared_memory = shared_memory(gpu, self.shared_memory())?;
        Ok(Launch {
            grid: grid(parts, 32 * self.warps(), shared_memory)?,
            partial: if in_memory { 2 * parts * block_m * block_n } else { 0 },
            tickets: if in_memory { tiles } else { 0 },
        })
    }

    /// Blocks of a cluster that share a tile.
    fn cluster(&self) -> u32 {
        if let ClusterK(blocks) = self.schedule { blocks } else { 1 }
    }

    fn warps(&self) -> u32 {
        match self.engine {
            Mma { warps_n, warps_k, .. } => warps_n * warps_k,
            Wgmma { warpgroups, .. } => 4 * warpgroups,
            Direct { warps_k, .. } => warps_k,
        }
    }

    fn block_n(&self) -> u32 {
        match self.engine {
            Mma { vector, warps_n, .. } => warps_n * vector * 8,
            Wgmma { tiles, warpgroups } => 64 * tiles * warpgroups,
            Direct { vector, .. } => 8 * vector,
        }
    }

    /// Steps of k that a block takes at once.
    fn block_k(&self) -> u32 {
        match self.engine {
            Mma { warps_k, .. } => STEP * warps_k,
            Wgmma { .. } => 64,
            Direct { warps_k, .. } => 64 * warps_k,
        }
    }

    /// Dynamic shared memory: stages of weights and activations, and for mma.sync room to exchange sums, as
    /// the sources define it.
    fn shared_memory(&self) -> u64 {
        u64::from(match self.engine {
            Mma { vector, warps_n, warps_k } => {
                let stage = STEP * (vector * 8 + self.block_m * 2);
                let sums = self.block_m * vector * 8 * 4;
                self.stages * self.warps() * stage + warps_n * (warps_k / 2 + self.cluster() - 1) * sums
            }
            Wgmma { .. } => 1024 + self.stages * 64 * (self.block_n() + 2 * self.block_m),
            Direct { .. } => 0,
        })
    }
}

/// Steps of k that a warp takes at once with mma.sync.
const STEP: u32 = 128;

#[cfg(test)]
mod tests {
    use super::super::launch::tests::{A100, H200};
    use super::*;
    use std::collections::HashSet;

    fn problem(m: u64, n: u64, k: u64) -> Product {
        Product::dense([m, k, n], [false, true], [Element::Bf16, Element::I8], false)
    }

    #[test]
    fn at_least_twenty_configurations_and_split_k_among_them() {
        let names: HashSet<String> = CHOICES.iter().map(MixedMm::name).collect();
        assert!(names.len() == CHOICES.len() && names.len() >= 20);
        assert!(CHOICES.iter().any(|c| matches!(c.schedule, SplitK(2..))));
        assert_eq!(
            mma(16, 4, 4, 2, 3, SplitK(4)).name(),
            "type=cuda_BLOCK-M=16_BLOCK-N=128_BLOCK-K=256_stages=3_warps=8_WARPS-K=2_SPLIT-K=4"
        );
    }

    #[test]
    fn every_m_and_device_has_choices() {
        for (limits, least) in [(H200, 5), (A100, 4)] {
            for m in [1, 8, 16, 33, 64, 128] {
                let problem = problem(m, 4096, 4096);
                let fit = CHOICES.iter().filter(|c| c.launch(&problem, &limits).is_ok());
                assert!(fit.count() >= least, "m = {m}");
            }
        }
    }

    #[test]
    fn a_launch_covers_the_work_and_its_workspace() {
        let problem = problem(20, 4112, 4096);
        let launch = mma(16, 4, 4, 2, 3, SplitK(4)).launch(&problem, &H200).unwrap();
        let size = |Launch { grid, .. }: Launch| (grid.blocks[0], grid.threads[0], grid.shared_memory);
        assert_eq!(size(launch), (2 * 33 * 4, 256, 3 * 8 * 128 * (32 + 32) + 4 * 16 * 32 * 4));
        assert_eq!((launch.partial, launch.tickets), (2 * 2 * 33 * 4 * 16 * 128, 2 * 33));
        // There are never more blocks than groups of steps: k = 256 has one group a tile.
        let shallow = self::problem(20, 4112, 256);
        assert_eq!(mma(16, 4, 4, 2, 3, SplitK(4)).launch(&shallow, &H200).unwrap().grid.blocks[0], 66);
        let hopper = wgmma(64, 2, 2, 4, SplitK(3)).launch(&self::problem(64, 4112, 4096), &H200).unwrap();
        assert_eq!(size(hopper), (3 * 17, 256, 1024 + 4 * 64 * (256 + 128)));
        // The sums of a cluster meet in shared memory, and its blocks share every tile equally.
        let clustered = mma(16, 4, 4, 2, 3, ClusterK(2));
        let launch = clustered.launch(&problem, &H200).unwrap();
        assert_eq!(size(launch), (2 * 33 * 2, 256, 3 * 8 * 128 * (32 + 32) + 8 * 16 * 32 * 4));
        assert_eq!((launch.partial, launch.tickets), (0, 0));
        assert!(clustered.launch(&shallow, &H200).is_err(), "k = 256 has one step for two blocks");
        assert!(clustered.launch(&problem, &A100).unwrap_err().to_string().contains("clusters"));
        // A direct configuration has one block a tile, and no dynamic shared memory.
        let narrow = self::problem(3, 4100, 4112);
        let launch = direct(2, 16, 2).launch(&narrow, &H200).unwrap();
        assert_eq!((size(launch), launch.partial), ((257, 512, 0), 0));
        assert!(direct(2, 16, 2).launch(&self::problem(9, 4096, 4096), &H200).is_err());
        let streamed = mma(16, 4, 4, 2, 3, StreamK(1)).launch(&problem, &H200).unwrap();
        assert_eq!(size(streamed).0, 132);
    }

    #[test]
    fn unsuitable_inputs_say_why() {
        let choice = mma(16, 4, 4, 2, 3, SplitK(1));
        let reason = |problem: &Product| choice.launch(problem, &H200).unwrap_err().to_string();
        assert_eq!(reason(&problem(16, 64, 100)), "skipped: k must be a multiple of 16");
        assert_eq!(reason(&problem(4, 64, 64)), "skipped: m must be at least 8 to be worth it");
        let small = Cuda { shared_memory: 100 * 1024, ..H200 };
        assert!(
            choice.launch(&problem(16, 64, 64), &small).unwrap_err().to_string().contains("shared memory")
        );
        assert!(wgmma(64, 2, 2, 4, SplitK(1)).launch(&problem(64, 64, 64), &A100).is_err());
        let old = Cuda { capability: (7, 5), ..H200 };
        assert!(choice.launch(&problem(16, 64, 64), &old).unwrap_err().to_string().contains("8.0"));
    }
}
