//! Panics of a program's kernels, as values.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// A caught panic.
pub(crate) struct Panic(Box<dyn Any + Send>);

/// Calls `f` and catches its panic. In a build with `panic = "abort"` the panic still ends the program.
///
/// The caller must not read what `f` was writing when it panicked.
#[inline]
pub(crate) fn caught<T>(f: impl FnOnce() -> T) -> Result<T, Panic> {
    catch_unwind(AssertUnwindSafe(f)).map_err(Panic)
}

impl Panic {
    /// `panicked: ` and the panic's message.
    pub(crate) fn reason(&self) -> String {
        let text = self.0.downcast_ref::<&str>().copied();
        let text = text.or_else(|| self.0.downcast_ref::<String>().map(String::as_str));
        format!("panicked: {}", text.unwrap_or("no message"))
    }

    /// Continues the panic.
    pub(crate) fn resume(self) -> ! {
        resume_unwind(self.0)
    }
}
