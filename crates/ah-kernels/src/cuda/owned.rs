//! What a library of CUDA made, and how it is destroyed.

/// A handle or a description, destroyed on drop.
pub(super) struct Owned<T: Copy, E> {
    pub(super) value: T,
    destroy: unsafe fn(T) -> Result<(), E>,
}

impl<T: Copy, E> Owned<T, E> {
    /// Takes what its library has just made.
    ///
    /// # Safety
    /// `destroy` is the destructor of `value`, and nobody else calls it.
    pub(super) unsafe fn new(value: T, destroy: unsafe fn(T) -> Result<(), E>) -> Self {
        Self { value, destroy }
    }
}

impl<T: Copy, E> Drop for Owned<T, E> {
    fn drop(&mut self) {
        // SAFETY: by the contract of `new`.
        let _ = unsafe { (self.destroy)(self.value) };
    }
}
