//! The operands' memory: one large allocation that each input cuts up anew, because cudaMalloc
//! and cudaFree take about as long as a kernel and wait for the device.

use std::sync::Arc;

use cudarc::driver::{CudaContext, result, sys};

use super::error::CudaError;

/// PyTorch's allocator aligns to as many bytes; what kernels are fast depends on alignment.
const ALIGNMENT: usize = 512;
/// The least that is allocated, so that the arena seldom grows.
const LEAST: usize = 1 << 30;

/// Some bytes of device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Buffer {
    pub(super) address: sys::CUdeviceptr,
    pub(super) bytes: usize,
}

impl Buffer {
    /// From this byte on.
    pub(crate) fn from(self, byte: usize) -> Self {
        assert!(byte <= self.bytes, "byte {byte} of {}", self.bytes);
        Self { address: self.address + byte as u64, bytes: self.bytes - byte }
    }
}

/// An allocation of its own, freed with it.
#[derive(Debug)]
pub(crate) struct Allocation {
    context: Arc<CudaContext>,
    buffer: Buffer,
}

impl Allocation {
    pub(crate) fn new(context: &Arc<CudaContext>, bytes: usize) -> Result<Self, CudaError> {
        context.bind_to_thread().map_err(CudaError::driver("use the device"))?;
        // SAFETY: freed once, on drop.
        let address =
            unsafe { result::malloc_sync(bytes.max(1)) }.map_err(CudaError::driver("allocate memory"))?;
        Ok(Self { context: Arc::clone(context), buffer: Buffer { address, bytes } })
    }

    pub(crate) fn buffer(&self) -> Buffer {
        self.buffer
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        let _ = self.context.bind_to_thread();
        // SAFETY: allocated by `new`, freed here alone. cuMemFree waits for kernels that use it.
        let _ = unsafe { result::free_sync(self.buffer.address) };
    }
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Arena {
    context: Arc<CudaContext>,
    block: Option<Allocation>,
    used: usize,
}

impl Arena {
    pub(crate) fn new(context: &Arc<CudaContext>) -> Self {
        Self { context: Arc::clone(context), block: None, used: 0 }
    }

    /// New buffers of these sizes; those handed out before are given up.
    ///
    /// # Errors
    /// Out of memory.
    pub(crate) fn cut<const N: usize>(&mut self, bytes: [usize; N]) -> Result<[Buffer; N], CudaError> {
        let total: usize = bytes.iter().map(|b| b.next_multiple_of(ALIGNMENT)).sum();
        if self.block.as_ref().is_none_or(|b| b.buffer.bytes < total) {
            self.block = None;
            self.block = Some(Allocation::new(&self.context, total.max(LEAST))?);
        }
        let base = self.block.as_ref().map_or(0, |b| b.buffer.address);
        self.used = 0;
        Ok(bytes.map(|bytes| {
            let address = base + self.used as u64;
            self.used += bytes.next_multiple_of(ALIGNMENT);
            Buffer { address, bytes }
        }))
    }
}
