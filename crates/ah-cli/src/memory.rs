//! An allocator that ends the process with a sentence when memory runs out. Rust aborts there, and its hook for
//! another end is not stable.
#![allow(unsafe_code)] // The trait of allocators is unsafe.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::exit;

/// The system's allocator. Where the system has no memory left (`ulimit -v`), the process ends with a sentence
/// on standard error and [`exit::IO`], on any thread.
///
/// Make it the `#[global_allocator]` of a binary.
#[derive(Debug)]
pub struct Memory {
    callers_handle_it: AtomicBool,
}

impl Memory {
    /// Returns the allocator.
    #[allow(clippy::new_without_default)] // It is a static.
    pub const fn new() -> Self {
        Self { callers_handle_it: AtomicBool::new(false) }
    }

    /// From now on, callers learn that memory ran out: a collector skips inputs that do not fit. A caller that does
    /// not handle it aborts the process.
    pub fn let_callers_handle_it(&self) {
        self.callers_handle_it.store(true, Ordering::Relaxed);
    }

    fn found(&self, memory: *mut u8, bytes: usize) -> *mut u8 {
        if memory.is_null() && !self.callers_handle_it.load(Ordering::Relaxed) {
            end(bytes);
        }
        memory
    }
}

// SAFETY: Each call is passed on to `System` unchanged, and its result returned unchanged.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: The caller keeps the same contract.
        self.found(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: The caller keeps the same contract.
        self.found(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: The caller keeps the same contract.
        self.found(unsafe { System.realloc(old, layout, size) }, size)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: The caller keeps the same contract.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Ends the process. Nothing here allocates: standard error has no buffer.
#[cold]
fn end(bytes: usize) -> ! {
    let _ = writeln!(
        std::io::stderr(),
        "error: out of memory: the system refuses {bytes} more bytes; raise the limit (ulimit -v) or give less data"
    );
    std::process::exit(i32::from(exit::IO))
}
