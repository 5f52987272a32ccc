//! Timing on the processor: a monotonic clock around whole samples, on pinned threads.

use std::cell::Cell;
use std::error::Error as _;
use std::time::Instant;

use ah_measure::{Burst, Times};

/// Times `run` with warm caches, and returns the mean of each sample in milliseconds.
pub(super) fn time(burst: Burst, mut run: impl FnMut()) -> Times {
    pin();
    let sample = |_| {
        let start = Instant::now();
        (0..burst.runs).for_each(|_| run());
        start.elapsed().as_secs_f64() * 1e3 / f64::from(burst.runs)
    };
    (0..burst.samples).map(sample).collect()
}

/// Starts rayon's pool and pins each of its threads to one core, so that no kernel starts on a core whose caches
/// another one filled. If the program already has a pool, it stays unchanged.
///
/// # Errors
/// The system starts no more threads. Without a pool, the first kernel on all threads would panic.
pub(super) fn start_threads() -> Result<(), String> {
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    let pool = rayon::ThreadPoolBuilder::new().start_handler(move |i| {
        if let Some(core) = cores.get(i) {
            core_affinity::set_for_current(*core);
        }
    });
    match pool.build_global() {
        // Only a thread that could not be started has a cause.
        Err(e) if e.source().is_some() => Err(format!("cannot start a thread for each core: {e}")),
        _ => Ok(()),
    }
}

/// Pins the measuring thread to the last core. It stays free if the system does not allow it.
fn pin() {
    thread_local!(static PINNED: Cell<bool> = const { Cell::new(false) });
    if !PINNED.replace(true)
        && let Some(core) = core_affinity::get_core_ids().unwrap_or_default().last()
    {
        core_affinity::set_for_current(*core);
    }
}
