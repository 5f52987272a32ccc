//! Memory that kernels reuse between calls.

use super::error::KernelError;

/// Working memory for the kernels. Keep one and pass it to every call: after the first call with a shape,
/// nothing is allocated.
#[derive(Debug, Default)]
pub struct Scratch {
    /// One copy of an operand for each thread.
    copies: Vec<AlignedBuffer>,
    /// The padded operands and product of `pad_mm`.
    pub(super) padded: [AlignedBuffer; 3],
}

impl Scratch {
    /// Returns one buffer for each of `threads` threads.
    pub(super) fn copies(&mut self, threads: usize) -> &mut [AlignedBuffer] {
        if self.copies.len() < threads {
            self.copies.resize_with(threads, AlignedBuffer::default);
        }
        &mut self.copies[..threads]
    }
}

/// A growing buffer whose first element starts a cache line.
#[derive(Debug, Default)]
pub(super) struct AlignedBuffer(Vec<f32>);

impl AlignedBuffer {
    const LINE: usize = 64;

    /// Returns `len` elements with unspecified contents. `None` stands for a length beyond `usize`.
    pub fn take(&mut self, len: Option<usize>) -> Result<&mut [f32], KernelError> {
        let slack = Self::LINE / size_of::<f32>();
        let needed = len.and_then(|len| len.checked_add(slack));
        let (Some(len), Some(needed)) = (len, needed) else {
            return Err(KernelError::OutOfMemory { elements: usize::MAX });
        };
        if self.0.len() < needed {
            // The contents need not survive, so nothing is copied.
            self.0.clear();
            self.0.try_reserve_exact(needed).map_err(|_| KernelError::OutOfMemory { elements: len })?;
            self.0.resize(needed, 0.0);
        }
        let start = self.0.as_ptr().align_offset(Self::LINE).min(slack);
        Ok(&mut self.0[start..start + len])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_start_a_cache_line() {
        let mut buffer = AlignedBuffer::default();
        for len in [0, 1, 100, 7] {
            let slice = buffer.take(Some(len)).unwrap();
            assert_eq!((slice.len(), slice.as_ptr().addr() % 64), (len, 0));
        }
    }

    #[test]
    fn lengths_beyond_the_memory_are_errors() {
        for len in [None, Some(usize::MAX), Some(usize::MAX / 4), Some(1 << 61)] {
            let error = AlignedBuffer::default().take(len).unwrap_err();
            assert!(matches!(error, KernelError::OutOfMemory { .. }), "{error}");
        }
    }
}
