//! The memory of the operands: one large allocation that is divided anew for each input, because cudaMalloc
//! and cudaFree take about as long as a kernel and wait for the device.

use std::sync::Arc;

use cudarc::driver::{CudaContext, result, sys};

use super::error::CudaError;

/// PyTorch's allocator aligns to the same number of bytes; alignment decides which kernels are fast.
const ALIGNMENT: usize = 512;
/// The least size of an allocation, so that the arena rarely grows; half of what is free where that is less.
const LEAST: usize = 1 << 30;
/// The share of the device's memory that no input may exceed: the driver, cuBLAS and the clock hold the rest.
const MOST_PERCENT: usize = 95;

/// A range of device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Buffer {
    pub(super) address: sys::CUdeviceptr,
    pub(super) bytes: usize,
}

impl Buffer {
    /// The buffer from this byte on.
    pub(crate) fn from(self, byte: usize) -> Self {
        assert!(byte <= self.bytes, "byte {byte} of {}", self.bytes);
        Self { address: self.address + byte as u64, bytes: self.bytes - byte }
    }

    /// Sets all bytes to `byte`, in the order of the stream.
    pub(super) fn fill(self, stream: sys::CUstream, byte: u8) -> Result<(), CudaError> {
        // SAFETY: the buffer is memory of this device; the stream keeps the order.
        unsafe { result::memset_d8_async(self.address, byte, self.bytes, stream) }
            .map_err(CudaError::driver("fill memory"))
    }
}

/// A separate allocation, freed on drop.
#[derive(Debug)]
pub(crate) struct Allocation {
    /// Kept until the memory is freed.
    _context: Arc<CudaContext>,
    pub(crate) buffer: Buffer,
}

impl Allocation {
    pub(crate) fn new(context: &Arc<CudaContext>, bytes: usize) -> Result<Self, CudaError> {
        // SAFETY: freed once, on drop.
        let address =
            unsafe { result::malloc_sync(bytes.max(1)) }.map_err(CudaError::driver("allocate memory"))?;
        Ok(Self { _context: Arc::clone(context), buffer: Buffer { address, bytes } })
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // SAFETY: allocated by `new`, freed only here. cuMemFree waits for kernels that use it.
        let _ = unsafe { result::free_sync(self.buffer.address) };
    }
}

/// The memory of one input's operands; the [module](self) has the reason for it.
#[derive(Debug)]
pub(crate) struct Arena {
    context: Arc<CudaContext>,
    block: Option<Allocation>,
}

impl Arena {
    pub(crate) fn new(context: &Arc<CudaContext>) -> Self {
        Self { context: Arc::clone(context), block: None }
    }

    /// New buffers of these sizes. The buffers of earlier calls become invalid.
    ///
    /// # Errors
    /// [`CudaError::TooLarge`] if they can never fit, else the driver's error: another program may hold the memory.
    pub(crate) fn cut(&mut self, bytes: &[usize]) -> Result<Vec<Buffer>, CudaError> {
        let total: usize = bytes.iter().map(|b| b.next_multiple_of(ALIGNMENT)).sum();
        if self.block.as_ref().is_none_or(|b| b.buffer.bytes < total) {
            self.block = None;
            let (free, memory) = result::mem_get_info().map_err(CudaError::driver("ask for free memory"))?;
            self.block = Some(Allocation::new(&self.context, block_bytes(total, free, memory)?)?);
        }
        let mut address = self.block.as_ref().map_or(0, |b| b.buffer.address);
        let cut = |bytes: &usize| {
            let buffer = Buffer { address, bytes: *bytes };
            address += bytes.next_multiple_of(ALIGNMENT) as u64;
            buffer
        };
        Ok(bytes.iter().map(cut).collect())
    }
}

/// The size of a block for `total` bytes, where `free` of the device's `memory` are free.
fn block_bytes(total: usize, free: usize, memory: usize) -> Result<usize, CudaError> {
    if total > memory / 100 * MOST_PERCENT {
        return Err(CudaError::TooLarge { bytes: total });
    }
    Ok(total.max(LEAST.min(free / 2)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn a_block_is_no_larger_than_what_is_free() {
        let memory = 80 << 30;
        assert_eq!(block_bytes(MIB, memory, memory).unwrap(), LEAST);
        assert_eq!(block_bytes(MIB, 700 * MIB, memory).unwrap(), 350 * MIB, "it fits, though no GiB is free");
        // The driver refuses this one: another program holds the memory, and a later run measures the input.
        assert_eq!(block_bytes(900 * MIB, 700 * MIB, memory).unwrap(), 900 * MIB);
        assert!(matches!(block_bytes(77 << 30, 700 * MIB, memory), Err(CudaError::TooLarge { .. })));
    }
}
