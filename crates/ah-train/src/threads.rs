//! Runs work on a number of threads.

use ah_cli::warning;

/// Runs `work` on this many threads (`None`: one for each core), or on this thread alone if they cannot be started.
/// The result does not depend on their number.
pub fn on_threads<T: Send>(threads: Option<u16>, work: impl FnOnce() -> T + Send) -> T {
    let count = threads.unwrap_or(0).into();
    match rayon::ThreadPoolBuilder::new().num_threads(count).build() {
        Ok(pool) => pool.install(work),
        Err(error) => {
            warning(&format!("cannot start the threads: {error}; one thread does the work"));
            // Without this pool, the first parallel step would try to start threads again and panic.
            let _ = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global();
            work()
        }
    }
}
