//! The memory of the operands: one large allocation that is divided anew for each input, because cudaMalloc
//! and cudaFree take about as long as a kernel and wait for the device.

use std::sync::Arc;

use cudarc::driver::{CudaContext, result, sys};

use super::error::CudaError;

/// PyTorch's allocator aligns to the same number of bytes; alignment decides which kernels are fast.
const ALIGNMENT: usize = 512;
/// The least size of an allocation, so that the arena rarely grows.
const LEAST: usize = 1 << 30;

/// A range of device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Buffer {
    pub(super) address: sys::CUdeviceptr,
    pub(super) bytes: usize,
}

impl Buffer {
    /// Returns the buffer from this byte on.
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
    /// Bytes that were free before the first block.
    room: Option<usize>,
}

impl Arena {
    pub(crate) fn new(context: &Arc<CudaContext>) -> Self {
        Self { context: Arc::clone(context), block: None, room: None }
    }

    /// Returns new buffers of these sizes. The buffers of earlier calls become invalid.
    ///
    /// # Errors
    /// [`CudaError::TooLarge`] if they can never fit, else the driver's error.
    pub(crate) fn cut(&mut self, bytes: &[usize]) -> Result<Vec<Buffer>, CudaError> {
        let total: usize = bytes.iter().map(|b| b.next_multiple_of(ALIGNMENT)).sum();
        if total > self.room()? {
            return Err(CudaError::TooLarge { bytes: total });
        }
        if self.block.as_ref().is_none_or(|b| b.buffer.bytes < total) {
            self.block = None;
            self.block = Some(Allocation::new(&self.context, total.max(LEAST))?);
        }
        let mut address = self.block.as_ref().map_or(0, |b| b.buffer.address);
        let cut = |bytes: &usize| {
            let buffer = Buffer { address, bytes: *bytes };
            address += bytes.next_multiple_of(ALIGNMENT) as u64;
            buffer
        };
        Ok(bytes.iter().map(cut).collect())
    }
    /// Returns the bytes that this process could have. All other allocations are made before the first input.
    fn room(&mut self) -> Result<usize, CudaError> {
        if let Some(room) = self.room {
            return Ok(room);
        }
        let (free, _) = result::mem_get_info().map_err(CudaError::driver("ask for free memory"))?;
        Ok(*self.room.insert(free))
    }
}
