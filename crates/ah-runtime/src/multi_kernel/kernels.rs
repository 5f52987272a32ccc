//! A [`MultiKernel`]: the kernels, and how a call runs one of them.

use std::fmt;
use std::panic::resume_unwind;

use ah_model::Scalar;
use ah_types::TimingPolicy;

use super::event::Event;
use super::measure::{POLICY, measure};
use super::picker::Picker;
use super::trial::{Agrees, Attempt, Calls, succeeded, timed};
use crate::decide::AutoHeuristic;
use crate::panics::{caught, reason};

/// Kernels of one signature `F`, for example `fn(&[f32], &mut [f32])`; a call runs the fastest one for its input.
/// See the [module](super).
///
/// A kernel that panics is not called again for such inputs, and the fallback runs instead. The fallback's own panic,
/// and every panic in a build with `panic = "abort"`, reaches the caller.
pub struct MultiKernel<F> {
    pub(super) functions: Vec<F>,
    pub(super) picker: Picker,
}

impl<F> MultiKernel<F> {
    /// Runs the fastest kernel for these values of the features, and returns its result.
    ///
    /// `call` calls the given kernel with the caller's arguments. Measuring calls it many times, so one call must
    /// not change what the next one computes; for kernels that write their input, use [`run_on`](Self::run_on). The kernels
    /// are trusted to return the same; [`run_checked`](Self::run_checked) compares them.
    ///
    /// ```
    /// # use ah_runtime::{AutoHeuristic, MultiKernel};
    /// # let x = [1.0_f32, 2.0];
    /// # type Sum = fn(&[f32]) -> f32;
    /// # let sum = MultiKernel::<Sum>::builder(AutoHeuristic::builder("sum").numerical("length"))
    /// #     .kernel("forward", "1", (|x| x.iter().sum()) as Sum).no_cache().build().unwrap();
    /// assert_eq!(sum.run(&[x.len().into()], |kernel| kernel(&x)), 3.0);
    /// ```
    #[inline]
    pub fn run<T>(&self, values: &[Scalar<'_>], call: impl FnMut(&F) -> T) -> T {
        self.run_attempt(values, call, |_| None, None)
    }

    /// Like [`run`](Self::run), but measuring first checks each kernel's result with `agrees`, which gets the fallback's result and
    /// the kernel's. A kernel whose result does not agree never wins: a pick that was measured without a check, in an earlier program too,
    /// is measured again.
    ///
    /// ```
    /// # use ah_runtime::{AutoHeuristic, MultiKernel};
    /// # let x = [1.0_f32, 2.0];
    /// # type Sum = fn(&[f32]) -> f32;
    /// # let sum = MultiKernel::<Sum>::builder(AutoHeuristic::builder("sum").numerical("length"))
    /// #     .kernel("forward", "1", (|x| x.iter().sum()) as Sum).no_cache().build().unwrap();
    /// let total = sum.run_checked(&[x.len().into()], |kernel| kernel(&x), |expected, found| expected == found);
    /// # assert_eq!(total, 3.0);
    /// ```
    #[inline]
    pub fn run_checked<T>(
        &self,
        values: &[Scalar<'_>],
        call: impl FnMut(&F) -> T,
        agrees: impl Fn(&T, &T) -> bool,
    ) -> T {
        self.run_attempt(values, call, |_| None, Some(&agrees))
    }

    /// Like [`run`](Self::run), for kernels that may fail: one that fails while it is measured never wins. With `agrees`,
    /// results are compared as by [`run_checked`](Self::run_checked).
    ///
    /// # Errors
    /// The error of the kernel that ran.
    #[inline]
    pub fn try_run<T, E: fmt::Display>(
        &self,
        values: &[Scalar<'_>],
        call: impl FnMut(&F) -> Result<T, E>,
        agrees: Agrees<'_, Result<T, E>>,
    ) -> Result<T, E> {
        self.run_attempt(values, call, Attempt::failure, agrees)
    }

    #[inline]
    fn run_attempt<R>(
        &self,
        values: &[Scalar<'_>],
        mut call: impl FnMut(&F) -> R,
        failure: fn(&R) -> Option<String>,
        agrees: Agrees<'_, R>,
    ) -> R {
        let kernel = self.picker.known(values, agrees.is_some()).unwrap_or_else(|| {
            let attempt = &mut |kernel: usize, runs: u32| {
                let mut call = || succeeded(call(&self.functions[kernel]), failure);
                timed(&self.picker.timer, || {
                    (1..runs).try_for_each(|_| call().map(drop))?;
                    call()
                })
            };
            self.missed(values, POLICY, attempt, agrees)
        });
        let fallback = self.picker.fallback();
        if kernel != fallback {
            match caught(|| call(&self.functions[kernel])) {
                Ok(result) => return result,
                Err(panic) => self.picker.panicked(kernel, values, reason(&*panic)),
            }
        }
        call(&self.functions[fallback])
    }

    /// Like [`run`](Self::run), for kernels that write their input. Measuring works on clones, and cloning is not
    /// part of the time. `agrees` gets the input after the fallback, and after the kernel.
    ///
    /// A kernel that panics outside measuring may leave the input half written. The panic is then remembered and
    /// reaches the caller.
    #[inline]
    pub fn run_on<A: Clone, R: Attempt>(
        &self,
        values: &[Scalar<'_>],
        input: &mut A,
        mut call: impl FnMut(&F, &mut A) -> R,
        agrees: Agrees<'_, A>,
    ) -> R {
        let kernel = self.picker.known(values, agrees.is_some()).unwrap_or_else(|| {
            let attempt = &mut |kernel: usize, _: u32| {
                let mut clone = input.clone();
                let call = || succeeded(call(&self.functions[kernel], &mut clone), R::failure);
                timed(&self.picker.timer, call).map(|(ms, _)| (ms, clone))
            };
            // Each run needs a fresh input, so one run makes a sample.
            let policy = TimingPolicy { min_sample_ms: 0.0, ..POLICY };
            self.missed(values, policy, attempt, agrees)
        });
        let mut call = || call(&self.functions[kernel], input);
        if kernel == self.picker.fallback() {
            return call();
        }
        caught(call).unwrap_or_else(|panic| {
            self.picker.panicked(kernel, values, reason(&*panic));
            resume_unwind(panic)
        })
    }

    /// The position of the kernel that [`run`](Self::run) would run; `None` if it would have to measure.
    #[inline]
    #[must_use]
    pub fn pick(&self, values: &[Scalar<'_>]) -> Option<usize> {
        self.picker.known(values, false)
    }

    /// The decision point: its choices are the kernels.
    #[must_use]
    pub fn decision(&self) -> &AutoHeuristic {
        &self.picker.decision
    }

    /// The last 64 events off the hot path, oldest first.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        self.picker.events()
    }

    /// Describes in words who decides, every remembered pick (guards, time, the second best kernel's time), and the
    /// last events.
    #[must_use]
    pub fn explain(&self) -> String {
        self.picker.explain()
    }

    /// Finds or measures a pick with these calls of the kernels.
    fn missed<T>(
        &self,
        values: &[Scalar<'_>],
        policy: TimingPolicy,
        attempt: &mut dyn FnMut(usize, u32) -> Result<(f64, T), String>,
        agrees: Agrees<'_, T>,
    ) -> usize {
        let fallback = self.picker.fallback();
        self.picker.missed(values, agrees.is_some(), &mut |eligible| {
            let calls = Calls { attempt: &mut *attempt, agrees, eligible, fallback, expected: None };
            measure(policy, self.functions.len(), calls)
        })
    }
}

impl<F> fmt::Debug for MultiKernel<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MultiKernel").field("decision", self.decision()).finish_non_exhaustive()
    }
}
