//! What a library of CUDA made, and how it is destroyed.

/// A handle or a description, destroyed on drop.
pub(super) struct Owned<T: Copy, E> {
    pub(super) value: T,
    destroy: unsafe fn(T) -> Result<(), E>,
}

impl<T: Copy, E> Owned<T, E> {
    /// Takes what its library has just made; `destroy` is its destructor, and nobody else calls it.
    pub(super) fn new(value: T, destroy: unsafe fn(T) -> Result<(), E>) -> Self {
        Self { value, destroy }
    }
}

impl<T: Copy, E> Drop for Owned<T, E> {
    fn drop(&mut self) {
        // SAFETY: the library made it, and it is destroyed only here.
        let _ = unsafe { (self.destroy)(self.value) };
    }
}
