//! A [`MultiKernel`]: the kernels, and how a call runs one of them.

use std::fmt;
use std::hint::black_box;

use ah_types::Scalar;

use super::event::Event;
use super::picker::{Batches, Picker};
use crate::decide::AutoHeuristic;

/// Kernels of one signature `F`, for example `fn(&[f32], &mut [f32])`; a call runs the fastest one for its input.
/// See the [module](super).
pub struct MultiKernel<F> {
    pub(super) functions: Vec<F>,
    pub(super) picker: Picker,
}

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

impl<T, E: fmt::Display> Attempt for Result<T, E> {
    fn failure(&self) -> Option<String> {
        self.as_ref().err().map(ToString::to_string)
    }
}

impl<F> MultiKernel<F> {
    /// Runs the fastest kernel for these values of the features.
    ///
    /// `call` calls the given kernel with the caller's arguments. Measuring calls it many times, so one call must
    /// not change what the next one computes; for kernels that write their input, use [`run_on`](Self::run_on).
    #[inline]
    pub fn run<R: Attempt>(&self, values: &[Scalar<'_>], mut call: impl FnMut(&F) -> R) -> R {
        match self.picker.known(values) {
            Some(kernel) if !self.picker.is_watched_now() => call(&self.functions[kernel]),
            Some(kernel) => self.run_watched(kernel, values, || call(&self.functions[kernel])),
            None => {
                let kernel = self.picker.missed(values, Batches::Allowed, &mut |kernel, runs| {
                    self.time(|| (0..runs).find_map(|_| black_box(call(&self.functions[kernel])).failure()))
                });
                call(&self.functions[kernel])
            }
        }
    }

    /// Like [`run`](Self::run), for kernels that write their input. Measuring works on clones, and cloning is not
    /// part of the time.
    #[inline]
    pub fn run_on<A: Clone, R: Attempt>(
        &self,
        values: &[Scalar<'_>],
        input: &mut A,
        mut call: impl FnMut(&F, &mut A) -> R,
    ) -> R {
        match self.picker.known(values) {
            Some(kernel) if !self.picker.is_watched_now() => call(&self.functions[kernel], input),
            Some(kernel) => self.run_watched(kernel, values, || call(&self.functions[kernel], input)),
            None => {
                let kernel = self.picker.missed(values, Batches::Forbidden, &mut |kernel, _| {
                    let mut clone = input.clone();
                    self.time(|| black_box(call(&self.functions[kernel], &mut clone)).failure())
                });
                call(&self.functions[kernel], input)
            }
        }
    }

    /// Returns the position of the kernel that would run; `None` if a call would have to measure.
    #[inline]
    #[must_use]
    pub fn pick(&self, values: &[Scalar<'_>]) -> Option<usize> {
        self.picker.known(values)
    }

    /// The decision point: its choices are the kernels.
    #[must_use]
    pub fn decision(&self) -> &AutoHeuristic {
        self.picker.decision()
    }

    /// The last 64 events off the hot path, oldest first.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        self.picker.events()
    }

    /// Describes in words who decides, every remembered pick (guards, time, the second best kernel's time), and the
    /// last events: why something was measured, or measured again.
    #[must_use]
    pub fn explain(&self) -> String {
        self.picker.explain()
    }

    #[cold]
    fn run_watched<R>(&self, kernel: usize, values: &[Scalar<'_>], call: impl FnOnce() -> R) -> R
    where
        R: Attempt,
    {
        let (mut call, mut result) = (Some(call), None);
        let ms = self.picker.time(&mut || {
            if let Some(call) = call.take() {
                result = Some(call());
            }
        });
        match result {
            Some(result) => {
                if result.failure().is_none() {
                    self.picker.judge(kernel, values, ms);
                }
                result
            }
            None => unreachable!("the timer did not call its argument: see Builder::timer"),
        }
    }

    fn time(&self, mut attempt: impl FnMut() -> Option<String>) -> Result<f64, String> {
        let mut failure = None;
        let ms = self.picker.time(&mut || failure = attempt());
        failure.map_or(Ok(ms), Err)
    }
}

impl<F> fmt::Debug for MultiKernel<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MultiKernel").field("decision", self.decision()).finish_non_exhaustive()
    }
}
