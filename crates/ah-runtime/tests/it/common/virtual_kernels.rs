//! Kernels on a virtual clock, which they advance themselves, so that the right pick is known.
#![allow(dead_code)]

use std::cell::{Cell, RefCell};
use std::path::Path;

use ah_runtime::Scalar;
use ah_runtime::multi_kernel::MultiKernelBuilder;
use ah_runtime::{AutoHeuristic, Environment, MultiKernel};

thread_local! {
    /// Milliseconds. Kernels take sums of powers of two, so that no time is rounded.
    pub static CLOCK: Cell<f64> = const { Cell::new(0.0) };
    /// Names of the kernels that ran.
    pub static RAN: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
    /// The current time of `stream`, as a multiple of its usual time.
    pub static STREAM_SLOWDOWN: Cell<f64> = const { Cell::new(1.0) };
}

pub type Kernel = fn(f64) -> Result<f64, String>;

pub fn took(name: &'static str, ms: f64) {
    CLOCK.set(CLOCK.get() + ms);
    RAN.with_borrow_mut(|ran| ran.push(name));
}

/// Fast for small k.
pub fn orig(k: f64) -> Result<f64, String> {
    took("orig", 0.125 + k / 512.0);
    Ok(k * 2.0)
}

/// Fast for large k.
pub fn pad(k: f64) -> Result<f64, String> {
    took("pad", 0.5);
    Ok(k * 2.0)
}

/// The fastest, where it is eligible.
pub fn stream(k: f64) -> Result<f64, String> {
    took("stream", STREAM_SLOWDOWN.get() / 128.0);
    Ok(k * 2.0)
}

/// Fails at once, so that it seems fast.
pub fn broken(_: f64) -> Result<f64, String> {
    took("broken", 1.0 / 8192.0);
    Err("out of shared memory".to_owned())
}

pub fn virtual_time(run: &mut dyn FnMut()) -> f64 {
    let begin = CLOCK.get();
    run();
    CLOCK.get() - begin
}

pub fn decision() -> ah_runtime::AutoHeuristicBuilder {
    AutoHeuristic::builder("pad_mm")
        .numerical("m")
        .numerical("k")
        .categorical("dtype")
        .environment(Environment::default())
}

/// `orig` and `pad` with this decision point.
pub fn two_at(decision: ah_runtime::AutoHeuristicBuilder) -> MultiKernelBuilder<Kernel> {
    let builder = MultiKernel::<Kernel>::builder(decision).kernel("orig", 1, orig as Kernel);
    builder.kernel("pad", 1, pad).timer(virtual_time)
}

pub fn two(environment: Environment) -> MultiKernelBuilder<Kernel> {
    two_at(decision().environment(environment))
}

/// `orig` and `pad` without an environment and without files.
pub fn plain() -> MultiKernelBuilder<Kernel> {
    two(Environment::default()).no_cache()
}

pub fn environment(variables: &[(&str, &Path)]) -> Environment {
    Environment::read(|name| {
        variables.iter().find(|(n, _)| *n == name).map(|(_, value)| value.as_os_str().to_owned())
    })
}

pub fn cached_in(folder: &Path) -> Environment {
    environment(&[("AUTOHEURISTIC_CACHE_DIR", folder)])
}

pub fn values(m: f64, k: f64, dtype: &str) -> [Scalar<'_>; 3] {
    [m.into(), k.into(), dtype.into()]
}

/// Runs one call; returns the kernels that it ran.
pub fn call(multi: &MultiKernel<Kernel>, m: f64, k: f64, dtype: &str) -> Vec<&'static str> {
    RAN.take();
    assert_eq!(multi.try_run(&values(m, k, dtype), |kernel| kernel(k), None), Ok(k * 2.0));
    RAN.take()
}

pub fn measured(multi: &MultiKernel<Kernel>, m: f64, k: f64, dtype: &str) -> &'static str {
    let ran = call(multi, m, k, dtype);
    assert!(ran.len() > 4, "expected a measurement, ran only {ran:?}");
    ran[ran.len() - 1]
}

pub fn remembered(multi: &MultiKernel<Kernel>, m: f64, k: f64, dtype: &str) -> &'static str {
    let ran = call(multi, m, k, dtype);
    assert_eq!(ran.len(), 1, "expected one run, ran {ran:?}");
    ran[0]
}
