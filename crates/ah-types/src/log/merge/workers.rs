//! Reads with a few threads, and takes their results in order on one thread.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// Calls `work` with 0 to `count` - 1 on this many threads, and `take` with the results in order on this one.
/// Ends at the first error of `take`.
pub(super) fn in_order<T: Send, E>(
    count: usize,
    threads: usize,
    work: impl Fn(usize) -> T + Sync,
    mut take: impl FnMut(usize, T) -> Result<(), E>,
) -> Result<(), E> {
    let next = AtomicUsize::new(0);
    // A result waits in the channel until `take` is ready, so that few of them are in memory.
    let (send, results) = mpsc::sync_channel(threads);
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, count.max(1)) {
            let (next, work, send) = (&next, &work, send.clone());
            scope.spawn(move || {
                loop {
                    let item = next.fetch_add(1, Ordering::Relaxed);
                    if item >= count || send.send((item, work(item))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(send);
        let mut early = BTreeMap::new();
        let mut expected = 0;
        for (item, result) in results {
            early.insert(item, result);
            while let Some(result) = early.remove(&expected) {
                take(expected, result)?;
                expected += 1;
            }
        }
        Ok(())
    })
}
