//! The configurations of `mm.cu`.

use super::super::element::Element;
use super::super::product::Product;
use super::launch::{Ineligibility, Launch, Limits, MOST, at_least, at_most, blocks, multiple};

/// A configuration of the tensor-core kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mm {
    wgmma: bool,
    block_m: u32,
    block_n: u32,
    block_k: u32,
    stages: u32,
    warps_m: u32,
    warps_n: u32,
    split_k: u32,
}

#[expect(clippy::too_many_arguments, reason = "the columns of a table")]
const fn mm(
    wgmma: bool,
    block_m: u32,
    block_n: u32,
    block_k: u32,
    stages: u32,
    warps_m: u32,
    warps_n: u32,
    split_k: u32,
) -> Mm {
    Mm { wgmma, block_m, block_n, block_k, stages, warps_m, warps_n, split_k }
}

// Together with kernels that fetch with Hopper's copy engine, which win on 1 % of the inputs, these are within 0.1 % on
// average (7 % at worst) of the best of 80 configurations at 73 shapes, even and odd, on an H200. The larger mma ones are
// for devices without wgmma.
const CHOICES: [Mm; 28] = [
    mm(false, 128, 128, 32, 4, 2, 2, 1),
    mm(false, 128, 128, 32, 4, 2, 4, 1),
    mm(false, 128, 128, 64, 3, 2, 4, 1),
    mm(false, 128, 256, 64, 3, 2, 4, 1),
    mm(false, 256, 128, 32, 4, 4, 2, 1),
    mm(false, 64, 128, 64, 4, 2, 2, 1),
    mm(false, 64, 64, 32, 6, 2, 2, 1),
    mm(false, 64, 64, 64, 4, 2, 2, 1),
    mm(false, 64, 64, 64, 4, 2, 2, 4),
    mm(false, 64, 64, 64, 4, 2, 2, 8),
    mm(false, 64, 32, 64, 6, 4, 1, 1),
    mm(false, 64, 32, 64, 6, 4, 1, 4),
    mm(false, 32, 64, 64, 6, 2, 2, 1),
    mm(false, 32, 64, 64, 4, 1, 4, 4),
    mm(false, 16, 64, 64, 6, 1, 4, 1),
    mm(false, 16, 64, 64, 6, 1, 4, 4),
    mm(false, 16, 64, 64, 6, 1, 4, 8),
    mm(false, 16, 64, 64, 6, 1, 4, 16),
    mm(true, 128, 256, 64, 4, 8, 1, 1),
    mm(true, 256, 128, 64, 4, 8, 1, 1),
    mm(true, 256, 128, 64, 4, 8, 1, 2),
    mm(true, 128, 128, 64, 6, 8, 1, 1),
    mm(true, 128, 128, 64, 6, 8, 1, 2),
    mm(true, 128, 128, 64, 6, 8, 1, 4),
    mm(true, 64, 128, 64, 4, 4, 1, 1),
    mm(true, 64, 128, 64, 4, 4, 1, 4),
    mm(true, 64, 128, 64, 4, 4, 1, 8),
    mm(true, 64, 128, 64, 4, 4, 1, 16),
];

impl Mm {
    /// The kernels' source.
    pub const SOURCE: &str = include_str!("mm.cu");

    /// Returns every configuration, including those that do not suit every input.
    pub fn choices() -> &'static [Self] {
        &CHOICES
    }

    /// Returns the stable name, for example
    /// `type=cuda_BLOCK-M=128_BLOCK-N=256_BLOCK-K=64_stages=4_warps=8_SPLIT-K=1_mma=wgmma`.
    pub fn name(&self) -> String {
        let Self { block_m, block_n, block_k, stages, split_k, .. } = self;
        let (warps, mma) = (self.warps_m * self.warps_n, if self.wgmma { "wgmma" } else { "mma" });
        format!(
            "type=cuda_BLOCK-M={block_m}_BLOCK-N={block_n}_BLOCK-K={block_k}_stages={stages}_warps={warps}\
             _SPLIT-K={split_k}_mma={mma}"
        )
    }

    /// Returns the definitions to compile the kernel with, `NAME=VALUE`, for a product of 16-bit floats.
    pub(crate) fn defines(&self, product: &Product) -> Vec<String> {
        let ([m, k, n], transposed) = (product.sizes(), product.transposed());
        let [a, b] = transposed.map(u8::from);
        // The elements between two rows, or between two columns if transposed.
        let [a_align, b_align] =
            [if transposed[0] { m } else { k }, if transposed[1] { k } else { n }].map(alignment);
        vec![
            format!("WGMMA={}", u8::from(self.wgmma)),
            format!("BLOCK_M={}", self.block_m),
            format!("BLOCK_N={}", self.block_n),
            format!("BLOCK_K={}", self.block_k),
            format!("STAGES={}", self.stages),
            format!("WARPS_M={}", self.warps_m),
            format!("WARPS_N={}", self.warps_n),
            format!("A_TRANSPOSED={a}"),
            format!("B_TRANSPOSED={b}"),
            format!("A_ALIGN={a_align}"),
            format!("B_ALIGN={b_align}"),
            format!("ELEMENT_BF16={}", u8::from(product.a.element == Element::Bf16)),
        ]
    }

    /// Returns how to launch the kernel on this input.
    pub(crate) fn launch(&self, product: &Product, limits: &Limits) -> Result<Launch, Ineligibility> {
        let ([m, k, n], transposed) = (product.sizes(), product.transposed());
        limits.capability(limits.capability.0 >= 8, "8.0")?;
        limits.capability(!self.wgmma || limits.capability.0 == 9, "9.0 (wgmma)")?;
        for (what, size) in [("m", m), ("n", n), ("k", k)] {
            at_least(what, size, 1)?;
            at_most(what, size, MOST)?;
        }
        // A tile has the layout of its operand, in rows of at least 32 elements.
        if transposed[0] {
            multiple("BLOCK-M, where the first operand is transposed,", u64::from(self.block_m), 32)?;
        }
        let (block_m, block_n) = (u64::from(self.block_m), u64::from(self.block_n));
        // More than three quarters of the block would multiply elements beyond the end.
        at_least("m", m, if self.block_m == 16 { 1 } else { block_m / 4 })?;
        at_least("n", n, if self.block_n <= 64 { 1 } else { block_n / 4 })?;

        let tiles = m.div_ceil(block_m) * n.div_ceil(block_n);
        // Many small tiles read the operands far too often; splitting many tiles gains nothing.
        if self.block_m * self.block_n < 128 * 128 {
            at_most("the number of tiles", tiles, 4096)?;
        }
        if self.split_k > 1 {
            at_most("the number of tiles", tiles, 2 * u64::from(limits.multiprocessors))?;
        }
        let (steps, splits) = (k.div_ceil(u64::from(self.block_k)), u64::from(self.split_k));
        at_least("k", k, if splits == 1 { 1 } else { u64::from(self.block_k) * splits })?;
        at_most("the number of tiles times steps", tiles.saturating_mul(steps), MOST)?;
        let grid = tiles * splits;
        let stage = u64::from((self.block_m + self.block_n) * self.block_k * 2);
        Ok(Launch {
            grid: blocks(grid)?,
            block: 32 * self.warps_m * self.warps_n,
            shared_memory: limits.shared_memory(1024 + u64::from(self.stages) * stage)?,
            partial: if splits == 1 { 0 } else { 2 * grid * block_m * block_n },
            tickets: tiles,
        })
    }
}

/// Returns the largest number of elements that divides the stride and that the kernel can copy at once.
fn alignment(stride: u64) -> u64 {
    [8, 4, 2].into_iter().find(|of| stride.is_multiple_of(*of)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::super::launch::{A100, H200};
    use super::*;
    use std::collections::HashSet;

    fn problem(m: u64, n: u64, k: u64) -> Product {
        Product::dense([m, k, n], [false; 2], [Element::F16; 2], false)
    }

    #[test]
    fn at_least_sixteen_configurations_with_names_of_their_own() {
        let names: HashSet<String> = CHOICES.iter().map(Mm::name).collect();
        assert!(names.len() == CHOICES.len() && names.len() >= 16);
        let offered =
            |limits| CHOICES.iter().filter(|c| c.launch(&problem(4096, 4096, 4096), &limits).is_ok()).count();
        assert!(offered(H200) >= 10, "{}", offered(H200));
        assert!(offered(A100) >= 6, "{}", offered(A100));
    }

    #[test]
    fn a_launch_covers_the_result_and_its_workspace() {
        let launch = mm(false, 64, 128, 64, 4, 2, 2, 4).launch(&problem(65, 129, 4096), &H200).unwrap();
        assert_eq!((launch.grid, launch.block, launch.tickets), (16, 128, 4));
        assert_eq!(launch.partial, 2 * 16 * 64 * 128);
        assert_eq!(launch.shared_memory, 1024 + 4 * (64 + 128) * 64 * 2);
    }

    #[test]
    fn odd_strides_are_copied_element_by_element() {
        let defines = CHOICES[0].defines(&problem(4095, 4100, 4097));
        assert!(defines.contains(&"A_ALIGN=1".to_owned()) && defines.contains(&"B_ALIGN=4".to_owned()));
    }

    #[test]
    fn unsuitable_inputs_say_why() {
        let narrow = mm(false, 16, 128, 64, 4, 1, 4, 1);
        let transposed = Product::dense([16, 512, 512], [true, false], [Element::F16; 2], false);
        assert!(narrow.launch(&transposed, &H200).unwrap_err().0.contains("BLOCK-M"));
        let hopper = mm(true, 128, 256, 64, 4, 8, 1, 1);
        assert!(hopper.launch(&problem(512, 512, 512), &A100).unwrap_err().0.contains("wgmma"));
        let split = mm(false, 64, 64, 64, 4, 2, 2, 4);
        assert_eq!(
            split.launch(&problem(64, 64, 255), &H200).unwrap_err().0,
            "k must be at least 256 to be worth it, found 255"
        );
    }
}
