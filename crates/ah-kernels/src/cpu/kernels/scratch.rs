//! Memory that kernels reuse between calls: packed panels and padded copies.

/// Working memory for the kernels. Keep one and pass it to every call: after the first call of a
/// shape nothing is allocated any more.
#[derive(Debug, Default)]
pub struct Scratch {
    /// One set of panels a thread.
    panels: Vec<Panels>,
    /// The padded operands and product of `pad_mm`.
    pub(super) padded: [AlignedBuffer; 3],
}

/// The packed panels of one thread.
#[derive(Debug, Default)]
pub(super) struct Panels {
    pub a: AlignedBuffer,
    pub b: AlignedBuffer,
}

impl Scratch {
    /// The panels of `threads` threads.
    pub(super) fn panels(&mut self, threads: usize) -> &mut [Panels] {
        if self.panels.len() < threads {
            self.panels.resize_with(threads, Panels::default);
        }
        &mut self.panels[..threads]
    }

    /// The panels of one thread beside the padded copies.
    pub(super) fn split(&mut self) -> (&mut Panels, &mut [AlignedBuffer; 3]) {
        if self.panels.is_empty() {
            self.panels.push(Panels::default());
        }
        (&mut self.panels[0], &mut self.padded)
    }
}

/// A growing buffer whose first element starts a cache line.
#[derive(Debug, Default)]
pub(super) struct AlignedBuffer(Vec<f32>);

impl AlignedBuffer {
    const LINE: usize = 64;

    /// `len` elements with unspecified contents.
    pub fn take(&mut self, len: usize) -> &mut [f32] {
        let slack = Self::LINE / size_of::<f32>();
        if self.0.len() < len + slack {
            self.0 = vec![0.0; len + slack];
        }
        let start = self.0.as_ptr().align_offset(Self::LINE).min(slack);
        &mut self.0[start..start + len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_start_a_cache_line() {
        let mut buffer = AlignedBuffer::default();
        for len in [0, 1, 100, 7] {
            let slice = buffer.take(len);
            assert_eq!((slice.len(), slice.as_ptr().addr() % 64), (len, 0));
        }
    }
}
