//! Two or more kernels of one signature, of which the fastest for the input at hand runs.
//!
//! ```
//! use ah_runtime::{AutoHeuristic, MultiKernel, source_hash};
//!
//! type Sum = fn(&[f32]) -> f32;
//! fn forward(x: &[f32]) -> f32 { x.iter().sum() }
//! fn in_lanes(x: &[f32]) -> f32 {
//!     let mut sums = [0.0; 8];
//!     for chunk in x.chunks(8) {
//!         for (sum, value) in sums.iter_mut().zip(chunk) { *sum += value; }
//!     }
//!     sums.iter().sum()
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let sum = MultiKernel::<Sum>::builder(AutoHeuristic::builder("sum").numerical("length"))
//!     .kernel("forward", "1", forward)
//!     .kernel("in_lanes", source_hash(include_str!("mod.rs")), in_lanes)
//!     # .no_cache()
//!     .build()?;
//!
//! let x = vec![1.0; 1000];
//! // The first call for a shape measures both; later ones look the pick up.
//! let total = sum.run(&[x.len().into()], |kernel| Ok::<_, String>(kernel(&x)))?;
//! assert_eq!(total, 1000.0);
//! println!("{}", sum.explain());
//! # Ok(())
//! # }
//! ```
//!
//! What a call does, in order:
//!
//! 1. A kernel that the environment forces runs.
//! 2. A learned heuristic that is sure decides ([`AutoHeuristic`]).
//! 3. A remembered pick whose [guards](Guard) hold runs ([`Dimension`] says how sizes are keyed).
//! 4. A [miss](Miss) looks at the picks on disk, where another process may have put it meanwhile, and
//!    else measures every eligible kernel, remembers the fastest, in memory and on disk, and runs it.
//!    Of kernels that differ by less than the policy's target relative error the first given wins.
//!    Meanwhile other threads that miss the same key run the fallback.
//!
//! A kernel that does not support the actual input ([`Builder::eligible`]) never runs, whatever was
//! remembered; the fallback supports every input. Nothing is measured with an undefined feature,
//! after [`Builder::max_picks`], or in a program that only [looks up](Builder::lookup).

mod builder;
mod claims;
mod event;
mod guard;
#[cfg(all(test, loom))]
mod loom_tests;
mod measure;
mod metrics;
mod picker;
mod shape_key;
mod store;
mod table;
mod watch;

pub use builder::{Builder, MultiKernelError};
pub use event::{Event, Miss};
pub use guard::{Bucket, Guard};
pub use measure::POLICY;
pub use shape_key::Dimension;
pub use store::PicksError;
pub use watch::Watch;

use std::fmt;
use std::hint::black_box;

use ah_types::Scalar;

use crate::AutoHeuristic;
use picker::{Batches, Picker};

/// Kernels of one signature `F`, for example `fn(&[f32], &mut [f32])`, of which the fastest for
/// the input at hand runs. See the [module](self).
pub struct MultiKernel<F> {
    functions: Vec<F>,
    picker: Picker,
}

/// What a kernel returns: whether it failed, so that failing fast never wins.
pub trait Attempt {
    /// Why it failed, where it did.
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
    /// Begins the set-up. `decision` has the name, the features and, if wanted, the fallback
    /// (else the first kernel), the device and heuristics; its choices are the kernels. A
    /// precondition concerns its heuristics only: outside it the kernels are measured.
    pub fn builder(decision: crate::Builder) -> Builder<F> {
        Builder::new(decision)
    }

    /// Runs the fastest kernel for these values of the features.
    ///
    /// `call` calls the kernel that it is given with the caller's own arguments. When the kernels
    /// are measured it is called again and again, so a call must not change what the next one
    /// computes: for kernels that write their input there is [`run_on`](Self::run_on).
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

    /// As [`run`](Self::run), for kernels that write their input: measuring works on clones of it,
    /// made outside the time.
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

    /// The kernel that would run, by position, without measuring; `None` where this call would measure.
    #[inline]
    #[must_use]
    pub fn pick(&self, values: &[Scalar<'_>]) -> Option<usize> {
        self.picker.known(values)
    }

    /// The decision point: choices (the kernels), features, heuristics.
    #[must_use]
    pub fn decision(&self) -> &AutoHeuristic {
        self.picker.decision()
    }

    /// What happened off the hot path, oldest first: the last 64 events.
    #[must_use]
    pub fn events(&self) -> Vec<Event> {
        self.picker.events()
    }

    /// In words: who decides, every remembered pick with its guards, its time and the second
    /// best's, and the last events: why something was measured, and measured again.
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
            None => unreachable!("the timer did not call what it should time: see Builder::timer"),
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

/// A hash of a kernel's source, for its version: `source_hash(include_str!("softmax.rs"))`. FNV-1a, 64 bits.
#[must_use]
pub const fn source_hash(source: &str) -> u64 {
    let (bytes, mut at, mut hash) = (source.as_bytes(), 0, 0xcbf2_9ce4_8422_2325_u64);
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    hash
}
