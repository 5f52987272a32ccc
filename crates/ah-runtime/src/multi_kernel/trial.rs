//! How measuring calls the kernels: on the caller's own arguments, or on clones of them.
//!
//! A trial catches a kernel's panic and reports it as a failure.

use std::hint::black_box;

use super::measure::Trial;
use super::picker::Timer;
use crate::panics::caught;

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

/// Returns true if a kernel's result agrees with the fallback's, the first argument; `None`: nothing is compared.
pub type Agrees<'a, T> = Option<&'a dyn Fn(&T, &T) -> bool>;

/// Compares results with the fallback's.
pub(super) struct FallbackCheck<'a, T> {
    agrees: Agrees<'a, T>,
    fallback: usize,
    /// The fallback's result, once it is known.
    expected: Option<T>,
}

impl<'a, T> FallbackCheck<'a, T> {
    pub(super) fn new(agrees: Agrees<'a, T>, fallback: usize) -> Self {
        Self { agrees, fallback, expected: None }
    }

    fn check(
        &mut self,
        kernel: usize,
        mut result: impl FnMut(usize) -> Result<T, String>,
    ) -> Result<(), String> {
        let Some(agrees) = self.agrees.filter(|_| kernel != self.fallback) else { return Ok(()) };
        let expected = match &mut self.expected {
            Some(expected) => expected,
            unknown => unknown.insert(result(self.fallback).map_err(|e| {
                format!("nothing to compare the result with, because the fallback failed: {e}")
            })?),
        };
        let found = caught(|| agrees(expected, &result(kernel)?).then_some(()).ok_or_else(wrong));
        found.map_err(|panic| panic.reason())?
    }
}

fn wrong() -> String {
    "wrong result: it does not agree with the fallback's".to_owned()
}

/// Kernels that leave their input as it is.
pub(super) struct Repeatable<'a, F, R, C: FnMut(&F) -> R> {
    pub(super) functions: &'a [F],
    pub(super) timer: &'a Timer,
    pub(super) call: C,
    pub(super) comparison: FallbackCheck<'a, R>,
}

impl<F, R: Attempt, C: FnMut(&F) -> R> Trial for Repeatable<'_, F, R, C> {
    fn repeats(&self) -> bool {
        true
    }

    fn time(&mut self, kernel: usize, runs: u32) -> Result<f64, String> {
        let (function, call) = (&self.functions[kernel], &mut self.call);
        time(self.timer, || (0..runs).find_map(|_| black_box(call(function)).failure()))
    }

    fn check(&mut self, kernel: usize) -> Result<(), String> {
        let (functions, call) = (self.functions, &mut self.call);
        self.comparison.check(kernel, |kernel| {
            let result = caught(|| call(&functions[kernel])).map_err(|panic| panic.reason())?;
            match result.failure() {
                None => Ok(result),
                Some(failure) => Err(failure),
            }
        })
    }
}

/// Kernels that write their input: each run gets a clone, made outside the time.
pub(super) struct OnClones<'a, F, A, R, C: FnMut(&F, &mut A) -> R> {
    pub(super) functions: &'a [F],
    pub(super) timer: &'a Timer,
    pub(super) input: &'a A,
    pub(super) call: C,
    pub(super) comparison: FallbackCheck<'a, A>,
}

impl<F, A: Clone, R: Attempt, C: FnMut(&F, &mut A) -> R> Trial for OnClones<'_, F, A, R, C> {
    fn repeats(&self) -> bool {
        false
    }

    fn time(&mut self, kernel: usize, _: u32) -> Result<f64, String> {
        let (function, call, mut clone) = (&self.functions[kernel], &mut self.call, self.input.clone());
        time(self.timer, || black_box(call(function, &mut clone)).failure())
    }

    fn check(&mut self, kernel: usize) -> Result<(), String> {
        let (functions, call, input) = (self.functions, &mut self.call, self.input);
        self.comparison.check(kernel, |kernel| {
            let mut clone = input.clone();
            let result = caught(|| call(&functions[kernel], &mut clone)).map_err(|panic| panic.reason())?;
            result.failure().map_or(Ok(clone), Err)
        })
    }
}

/// Returns the milliseconds of one attempt.
fn time(timer: &Timer, mut attempt: impl FnMut() -> Option<String>) -> Result<f64, String> {
    let mut failure = None;
    let ms = caught(|| timer(&mut || failure = attempt())).map_err(|panic| panic.reason())?;
    failure.map_or(Ok(ms), Err)
}
