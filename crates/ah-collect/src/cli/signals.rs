//! Ctrl-C and SIGTERM.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ah_cli::{exit, status, warning};

use crate::process_group;

/// A flag that the first SIGINT or SIGTERM sets; a second one ends the process at once.
pub(super) fn stop_on_signal() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let handled = ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            process_group::end_all();
            std::process::exit(i32::from(exit::INTERRUPTED));
        }
        status("ending after the current input; press again to end at once\n");
    });
    if let Err(e) = handled {
        warning(&format!("signals are not handled, Ctrl-C ends at once: {e}"));
    }
    stop
}
