//! How all runners on a GPU are timed.

use ah_types::TimingPolicy;

/// The policy: cold samples, as Triton's do_bench takes them. Kernels vary far less between runs than on a processor,
/// so six samples, the least that have an interval, are enough, and a choice stops at 1.2 times the best one's time. On an
/// H100, 20 s of `mixed_mm` under this policy lose 1.0123 (419 inputs); with up to 18 samples and a stop at 1.5 times the
/// best time 1.0183 (267 inputs; two seeds each).
pub(super) fn timing() -> TimingPolicy {
    TimingPolicy {
        warmup_runs: 1,
        min_samples: 6,
        max_samples: 6,
        budget_ms: 100.0,
        min_sample_ms: 0.0,
        cold: true,
        early_stop_ratio: 1.2,
        burst: 3,
        ..TimingPolicy::default()
    }
}
