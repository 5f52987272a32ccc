//! Panics of a program's kernels, as values.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls `f` and catches its panic. In a build with `panic = "abort"` the panic still ends the program.
///
/// The caller must not read what `f` was writing when it panicked.
#[inline]
pub(crate) fn caught<T>(f: impl FnOnce() -> T) -> std::thread::Result<T> {
    catch_unwind(AssertUnwindSafe(f))
}

/// `panicked: ` and the message of a caught panic.
pub(crate) fn reason(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("panicked: {}", text.unwrap_or("no message"))
}
