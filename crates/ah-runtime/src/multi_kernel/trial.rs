//! How measuring calls the kernels: on the caller's own arguments, or on clones of them.
//!
//! A kernel's panic is caught, and is a failure.

use std::hint::black_box;

use ah_measure::Failure;

use crate::panics::{caught, reason};

/// Runs its argument once; returns the milliseconds.
pub(super) type Timer = Box<dyn Fn(&mut dyn FnMut()) -> f64 + Send + Sync>;

/// A kernel's return value. It reports failure, so that a kernel that fails fast does not win.
pub trait Attempt {
    /// Why it failed; `None` if it succeeded.
    fn failure(&self) -> Option<String>;
}

impl Attempt for () {
    fn failure(&self) -> Option<String> {
        None
    }
}

impl<T, E: std::fmt::Display> Attempt for Result<T, E> {
    fn failure(&self) -> Option<String> {
        self.as_ref().err().map(ToString::to_string)
    }
}

/// Whether a kernel's result agrees with the fallback's, the first argument; `None`: nothing is compared.
pub type Agrees<'a, T> = Option<&'a dyn Fn(&T, &T) -> bool>;

/// Runs kernels on the arguments of the call that missed.
pub(super) struct Calls<'a, T> {
    /// Times this many runs of a kernel; returns the milliseconds of all, and the last result.
    pub(super) attempt: &'a mut dyn FnMut(usize, u32) -> Result<(f64, T), String>,
    pub(super) agrees: Agrees<'a, T>,
    /// Whether a kernel supports the input.
    pub(super) eligible: &'a dyn Fn(usize) -> bool,
    pub(super) fallback: usize,
    /// The fallback's result, once it is known.
    pub(super) expected: Option<T>,
}

impl<T> Calls<'_, T> {
    pub(super) fn attempt(&mut self, kernel: usize, runs: u32) -> Result<(f64, T), Failure> {
        let attempted = caught(|| (self.attempt)(kernel, runs)).unwrap_or_else(|panic| Err(reason(&*panic)));
        attempted.map_err(Failure::Failed)
    }

    /// Compares a kernel's result with the fallback's, if the program gave a comparison.
    pub(super) fn agrees(&mut self, kernel: usize) -> Result<(), Failure> {
        if !(self.eligible)(kernel) {
            return Err(Failure::skipped("not eligible"));
        }
        let Some(agrees) = self.agrees.filter(|_| kernel != self.fallback) else { return Ok(()) };
        if self.expected.is_none() {
            let (_, expected) = self.attempt(self.fallback, 1).map_err(|e| {
                let why = "nothing to compare the result with, because the fallback failed";
                Failure::failed(format!("{why}: {}", e.reason()))
            })?;
            self.expected = Some(expected);
        }
        let (_, result) = self.attempt(kernel, 1)?;
        match caught(|| self.expected.as_ref().is_some_and(|expected| agrees(expected, &result))) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Failure::failed("wrong result: it does not agree with the fallback's")),
            Err(panic) => Err(Failure::failed(reason(&*panic))),
        }
    }
}

/// The milliseconds of a call, and its result.
pub(super) fn timed<T>(
    timer: &Timer,
    mut call: impl FnMut() -> Result<T, String>,
) -> Result<(f64, T), String> {
    let mut result = Err("the timer did not call the kernel".to_owned());
    let ms = timer(&mut || result = call());
    result.map(|result| (ms, result))
}

/// The result, or why the kernel failed.
pub(super) fn succeeded<R>(result: R, failure: fn(&R) -> Option<String>) -> Result<R, String> {
    failure(black_box(&result)).map_or(Ok(result), Err)
}
