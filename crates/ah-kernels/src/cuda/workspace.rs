//! The workspace of our own kernels: room for partial sums, and tickets that are zero before and after
//! every launch.

use super::arena::Allocation;
use super::argument::Arg;
use super::device::{Gpu, Grid, Kernel};
use super::error::CudaError;
use super::kernels::Launch;
use super::operands::int;
use super::product::Product;
use ah_measure::Failure;

/// Floats of partial sums: enough for split-K by four of a product with ten thousand tiles.
const PARTIAL: usize = 192 << 20;
const TICKETS: usize = 4 << 20;

/// The [workspace](self) on one device.
pub(crate) struct Workspace {
    partial: Allocation,
    tickets: Allocation,
}

impl Workspace {
    pub(crate) fn new(gpu: &Gpu) -> Result<Self, CudaError> {
        let workspace = Self {
            partial: Allocation::new(gpu.context(), PARTIAL * 4)?,
            tickets: Allocation::new(gpu.context(), TICKETS * 4)?,
        };
        workspace.reset(gpu)?;
        Ok(workspace)
    }

    /// Sets the tickets to zero, after a kernel that may have failed to.
    pub(crate) fn reset(&self, gpu: &Gpu) -> Result<(), CudaError> {
        gpu.fill(self.tickets.buffer(), 0)
    }

    /// # Errors
    /// [`Failure::Skipped`] if the launch needs more than there is.
    pub(crate) fn admits(&self, launch: &Launch) -> Result<(), Failure> {
        let needed = |what: &str, found: u64, most: usize| {
            if found <= most as u64 {
                return Ok(());
            }
            Err(Failure::skipped(format!("needs {found} {what} of workspace, there are {most}")))
        };
        needed("floats", launch.partial, PARTIAL)?;
        needed("tickets", launch.tickets, TICKETS)
    }

    /// Starts one of our products. Its arguments: operands and result, workspace, m, n, k, strides.
    pub(crate) fn product(
        &self,
        gpu: &Gpu,
        (kernel, launch): (&Kernel, &Launch),
        product: &Product,
    ) -> Result<(), CudaError> {
        let matrices = [&product.a, &product.b, &product.c];
        let [a, b, c] = matrices.map(|matrix| Arg::Buffer(matrix.buffer));
        let [m, n, k] = [matrices[0].rows, matrices[1].columns, matrices[0].columns].map(int);
        let [lda, ldb, ldc] = matrices.map(|matrix| Arg::I64(matrix.leading() as i64));
        let (partial, tickets) = (Arg::Buffer(self.partial.buffer()), Arg::Buffer(self.tickets.buffer()));
        let args = [a, b, c, partial, tickets, m, n, k, lda, ldb, ldc];
        gpu.launch(kernel, grid(launch), &args)
    }
}

pub(crate) fn grid(launch: &Launch) -> Grid {
    Grid { blocks: [launch.grid, 1, 1], threads: [launch.block, 1, 1], shared_memory: launch.shared_memory }
}
