//! A list of a fixed length that is on the stack unless it is long.

use std::ops::{Deref, DerefMut};

/// Up to `N` values on the stack, more on the heap.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Inline<T, const N: usize> {
    stack: [T; N],
    heap: Vec<T>,
    length: usize,
}

impl<T: Copy, const N: usize> Inline<T, N> {
    /// Returns a list of this length that is filled with one value.
    #[inline]
    pub(crate) fn new(value: T, length: usize) -> Self {
        let heap = if length > N { vec![value; length] } else { Vec::new() };
        Self { stack: [value; N], heap, length }
    }
}

impl<T, const N: usize> Deref for Inline<T, N> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        if self.length > N { &self.heap } else { &self.stack[..self.length] }
    }
}

impl<T, const N: usize> DerefMut for Inline<T, N> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        if self.length > N { &mut self.heap } else { &mut self.stack[..self.length] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_lists_are_the_same_slices() {
        for length in 0..6 {
            let mut list: Inline<usize, 3> = Inline::new(7, length);
            assert_eq!(*list, vec![7; length]);
            list.iter_mut().enumerate().for_each(|(i, x)| *x = i);
            assert!(list.iter().copied().eq(0..length));
        }
    }
}
